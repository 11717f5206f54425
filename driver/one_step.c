#include "driver/one_step.h"

#include "base/file.h"
#include "driver/beside.h"
#include "driver/emit.h"
#include "driver/pipeline.h"
#include "driver/program_mode.h"
#include "driver/recorder.h"
#include "driver/say.h"
#include "driver/work_dir.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct one_step {
    const struct ks_cmdline *c;
    const struct ks_settings *s;
    const char *nvcc;
    const char *dir;      /* scratch */
    const char **objects; /* for each input: its object here, NULL: none was made */
    size_t n_emitted;
    struct ks_program_mode *program; /* NULL: what the program does is not looked at */
};

static const char program_stays[] = "the program of nvcc stays";

/* The object of an input, by nvcc and the user's flags. */
static enum ks_code compile(struct one_step *o, size_t input, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    size_t index;
    ks_args_init(&argv);
    ks_cmdline_build_argv(o->c, o->nvcc, input, NULL, NULL, o->objects[input], &argv, &index);
    return ks_tool_run(argv.v, NULL, err);
}

/* True: the object holds every candidate of the unit. */
static bool one_unit(struct one_step *o, size_t input)
{
    struct stat before, after;
    struct ks_err err;
    o->objects[input] = ks_arena_printf(o->c->arena, "%s/%zu.o", o->dir, input);
    /* without a contract it is not worth a second compilation: the pipeline says so before it looks at the object */
    if ((o->s->workload || ks_unit_may_have_contract(o->c->inputs.data[input].path)) && stat(o->objects[input], &before) != 0 &&
        compile(o, input, &err) != KS_OK) {
        ks_wrap(&err, "cannot compile '%s' alone", o->c->inputs.data[input].path);
        ks_say_instead(&err, program_stays);
        return false;
    }
    bool made = stat(o->objects[input], &before) == 0;
    bool all = ks_pipeline_run(o->c, o->s, o->nvcc, input, o->objects[input], NULL, NULL);
    /* a rename put another file there */
    o->n_emitted += made && stat(o->objects[input], &after) == 0 && after.st_ino != before.st_ino;
    if (!made)
        o->objects[input] = NULL;
    return all;
}

/* The user's line with the objects in front of the other inputs, as nvcc itself puts them, and another output.  A language is
 * not for objects: it goes. */
static void link_line(const struct one_step *o, const char *output, bool shared, struct ks_args *out)
{
    const struct ks_cmdline *c = o->c;
    const unsigned left_out = KS_FLAG_OUTPUT | KS_FLAG_DEPS | KS_FLAG_NOISE | KS_FLAG_FILES | KS_FLAG_INPUT_LANG;
    KS_AUTO_FREE bool *skip = ks_xcalloc(c->words.n + 1, sizeof(bool));
    for (size_t i = 0; i < c->items.n; i++)
        if ((c->items.data[i].flag->bits & left_out) || (shared && strcmp(c->items.data[i].flag->long_name, "cudart") == 0)) {
            skip[c->items.data[i].word] = true;
            if (c->items.data[i].value_word != KS_NO_WORD)
                skip[c->items.data[i].value_word] = true;
        }
    ks_args_add(out, o->nvcc);
    for (size_t i = 0; i < c->inputs.n; i++)
        if (o->objects[i]) {
            ks_args_add(out, o->objects[i]);
            skip[c->inputs.data[i].word] = true;
        }
    for (size_t i = 0; i < c->words.n; i++)
        if (!skip[i] && !c->words.data[i].ours)
            ks_args_add(out, c->words.data[i].text);
    if (shared) {
        ks_args_add(out, "-cudart");
        ks_args_add(out, "shared");
    }
    ks_args_add(out, "-o");
    ks_args_add(out, output);
}

/* The units that were not compiled yet, so that the order of the objects is that of the sources. */
static enum ks_code compile_rest(struct one_step *o, struct ks_err *err)
{
    for (size_t i = 0; i < o->c->inputs.n; i++) {
        if (o->c->inputs.data[i].lang != KS_LANG_CUDA || o->objects[i])
            continue;
        o->objects[i] = ks_arena_printf(o->c->arena, "%s/%zu.o", o->dir, i);
        KS_TRY(compile(o, i, err));
    }
    return KS_OK;
}

/* A program of the objects as they are now that can run under the recorder: the emulated device takes the place of the shared
 * runtime, a GPU's program is linked as it will be. */
static enum ks_code link_trial(struct one_step *o, const char *name, char **ret, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    ks_args_init(&argv);
    char *path = ks_arena_printf(o->c->arena, "%s/%s", o->dir, name);
    link_line(o, path, !ks_recorder_is_gpu(o->s), &argv);
    KS_TRY(ks_tool_run(argv.v, NULL, err));
    *ret = path;
    return KS_OK;
}

/* Runs the baseline and makes its recording the workload of its units. */
static bool record_program(struct one_step *o, struct ks_settings *with_workload)
{
    struct ks_err err;
    char *baseline = NULL;
    enum ks_code code = compile_rest(o, &err);
    if (code == KS_OK)
        code = link_trial(o, "baseline", &baseline, &err);
    if (code != KS_OK) {
        ks_say_instead(&err, program_stays);
        return false;
    }
    if (!ks_program_mode_record(o->s, baseline, o->dir, &o->program))
        return false;
    *with_workload = *o->s;
    with_workload->workload = ks_program_mode_workload(o->program);
    o->s = with_workload;
    return true;
}

static enum ks_code link_again(struct one_step *o, struct ks_err *err)
{
    const char *output = ks_cmdline_value(o->c, "output-file");
    char target[PATH_MAX];
    struct stat st;
    KS_AUTO_ARGS struct ks_args argv;
    KS_AUTO_STR struct ks_str fresh = KS_STR_INIT;
    ks_args_init(&argv);
    output = output ? output : "a.out";
    if (!realpath(output, target) || stat(target, &st) < 0 || !S_ISREG(st.st_mode))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "cannot replace '%s': not a regular file", output);
    KS_TRY(compile_rest(o, err));
    if (o->program) {
        char *trial = NULL;
        KS_TRY(link_trial(o, "candidate", &trial, err));
        if (!ks_program_mode_same(o->program, trial))
            return ks_fail(err, KS_ERR_MISMATCH, "the program with candidates is not the same program");
    }
    ks_str_addf(&fresh, "%s.kscc-%ld", target, (long)getpid());
    link_line(o, ks_str_cstr(&fresh), false, &argv);
    enum ks_code code = ks_tool_run(argv.v, NULL, err);
    if (code == KS_OK && (chmod(ks_str_cstr(&fresh), st.st_mode & 07777) < 0 || rename(ks_str_cstr(&fresh), target) < 0))
        code = ks_fail_errno(err, KS_ERR_IO, "cannot replace '%s'", output);
    if (code != KS_OK)
        unlink(ks_str_cstr(&fresh));
    else
        ks_say_progress("linked %s again, from %zu object%s with candidates", output, o->n_emitted, ks_plural_s(o->n_emitted));
    return code;
}

bool ks_one_step(const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc)
{
    struct ks_work_dir scratch;
    struct ks_err err;
    struct one_step o = {.c = c, .s = s, .nvcc = nvcc, .objects = KS_ARENA_ARRAY(c->arena, const char *, c->inputs.n + 1)};
    bool all = true;
    if (ks_work_dir_open("kscc-link", &scratch, &err) != KS_OK) {
        ks_say_instead(&err, program_stays);
        return false;
    }
    o.dir = scratch.path;
    memset(o.objects, 0, (c->inputs.n + 1) * sizeof(*o.objects));
    struct ks_settings with_workload;
    if (ks_program_mode_wanted(s) && !record_program(&o, &with_workload))
        all = false;
    else
        for (size_t i = 0; i < c->inputs.n; i++)
            if (c->inputs.data[i].lang == KS_LANG_CUDA)
                all &= one_unit(&o, i);
    if (o.n_emitted && link_again(&o, &err) != KS_OK) {
        ks_wrap(&err, "cannot link the program with its candidates");
        ks_say_instead(&err, program_stays);
        all = false;
    }
    ks_program_mode_free(o.program);
    ks_work_dir_close(&scratch);
    return all;
}
