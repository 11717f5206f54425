/* kscc optimize: the verified text itself, for people who prefer reviewed source over dispatch. */

#include "base/file.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/diff.h"
#include "driver/emit.h"
#include "driver/opened.h"
#include "driver/pipeline.h"
#include "driver/say.h"
#include "driver/work_dir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int fail(const struct ks_err *err)
{
    ks_say_error(err);
    return 1;
}

static enum ks_code compile(const struct ks_cmdline *c, const char *nvcc, const char *object, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    size_t index;
    ks_args_init(&argv);
    ks_cmdline_build_argv(c, nvcc, 0, NULL, NULL, object, &argv, &index);
    return ks_tool_run(argv.v, NULL, err);
}

/* The text of the source has to be what the search began with: somebody may have gone on editing. */
static int write_back(const char *path, const struct ks_str *before, const struct ks_str *text, const char *entry)
{
    KS_AUTO_STR struct ks_str now = KS_STR_INIT;
    struct ks_err err;
    struct stat st;
    if (ks_file_read(path, SIZE_MAX, &now, &err) != KS_OK)
        return fail(&err);
    if (now.len != before->len || memcmp(ks_str_cstr(&now), ks_str_cstr(before), now.len) != 0) {
        ks_say(KS_SEV_ERROR, "'%s' has changed since the search began; it stays as it is [kscc-stale]", path);
        return 1;
    }
    mode_t mode = stat(path, &st) == 0 ? st.st_mode & 07777 : 0644;
    if (ks_file_write_atomic(path, ks_str_cstr(text), text->len, mode, &err) != KS_OK)
        return fail(&err);
    ks_say_result("%s: %s is rewritten; look at it before you keep it", path, entry);
    return 0;
}

static int optimize(struct ks_opened *o, const char *path, bool in_place, const char *only)
{
    struct ks_err err;
    struct ks_work_dir scratch;
    KS_AUTO_FREE char *nvcc = NULL, *entry = NULL;
    KS_AUTO_STR struct ks_str object = KS_STR_INIT, before = KS_STR_INIT, text = KS_STR_INIT, diff = KS_STR_INIT;
    if (ks_file_read(path, SIZE_MAX, &before, &err) != KS_OK || ks_nvcc_find(o->settings.nvcc, &nvcc, &err) != KS_OK ||
        ks_work_dir_open("kscc-optimize", &scratch, &err) != KS_OK)
        return fail(&err);
    ks_path_join(&object, scratch.path, "unit.o");
    int status = 1;
    if (compile(&o->cmdline, nvcc, ks_str_cstr(&object), &err) != KS_OK)
        fail(&err);
    else if (ks_pipeline_text(&o->cmdline, &o->settings, nvcc, 0, ks_str_cstr(&object), only, &text, &entry))
        status = 0;
    ks_work_dir_close(&scratch);
    if (status == 0 && in_place)
        return write_back(path, &before, &text, entry);
    if (status == 0) {
        ks_diff_texts(ks_str_cstr(&before), before.len, ks_str_cstr(&text), text.len, &diff);
        const char *hunks = strstr(ks_str_cstr(&diff), "@@ ");
        printf("--- a/%s\n+++ b/%s\n%s", path, path, hunks ? hunks : ks_str_cstr(&diff));
    }
    return status;
}

int ks_cmd_optimize(char *const *argv)
{
    struct ks_opened o;
    struct ks_err err;
    const char *path = NULL;
    int status = 2;
    if (ks_opened_words(&o, argv)) {
        bool in_place = ks_command_flag(&o.words, "--in-place"), diff = ks_command_flag(&o.words, "--diff");
        KS_AUTO_FREE char *only = ks_command_value(&o.words, "--entry");
        ks_say_quiet(o.settings.quiet);
        ks_say_verbose(o.settings.verbose || ks_cmdline_find(&o.cmdline, "verbose"));
        if (in_place == diff)
            status = ks_command_usage("optimize");
        else if (ks_opened_input(&o, &path, &err) != KS_OK)
            ks_say_error(&err);
        else
            status = optimize(&o, path, in_place, only);
    }
    ks_opened_release(&o);
    return status;
}
