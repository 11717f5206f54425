#include "driver/program_mode.h"

#include "base/file.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/process.h"
#include "driver/program_output.h"
#include "driver/recorder.h"
#include "driver/say.h"
#include "harness/record/record.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define RUN_TIMEOUT_MS   600000
#define MEMORY_MIB       2048 /* of the device; what the emulated one notes about it takes some more */
#define MAX_SETS         16
#define KERNELS_SHOWN    5
#define MAX_OUTPUT_BYTES ((size_t)64 << 20) /* of a file that a program writes */

static const char nvcc_stays[] = "the program of nvcc stays";

/* One run. */
struct run {
    struct ks_str out;
    int status;
    char *folder, *recording;
};

struct ks_program_mode {
    const struct ks_settings *s;
    const char *dir;
    struct ks_args sets; /* of arguments, as they were given */
    struct run baseline[MAX_SETS];
};

bool ks_program_mode_wanted(const struct ks_settings *s)
{
    return s->program_args != NULL;
}

/* ---- running -------------------------------------------------------------------------------------------------------- */

/* Words between blanks; one that names a file of this folder does so from anywhere. */
static void add_words(const char *set, struct ks_args *argv)
{
    for (const char *p = set + strspn(set, " \t"); *p; p += strspn(p, " \t")) {
        size_t n = strcspn(p, " \t");
        KS_AUTO_FREE char *word = ks_xstrndup(p, n);
        char absolute[PATH_MAX];
        bool file = *word != '/' && ks_file_exists(word) && realpath(word, absolute);
        ks_args_add(argv, file ? absolute : word);
        p += n;
    }
}

static enum ks_code run_program(const struct ks_program_mode *p, const char *program, const char *kind, size_t set,
                                struct run *ret, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    KS_AUTO_STR struct ks_str folder = KS_STR_INIT, recording = KS_STR_INIT;
    struct ks_spawn s;
    struct ks_exit end;
    bool gpu;
    ks_args_init(&argv);
    ks_str_addf(&folder, "%s/%s-%zu", p->dir, kind, set);
    ks_str_addf(&recording, "%s/%s-%zu-recorded", p->dir, kind, set);
    ret->folder = ks_xstrdup(ks_str_cstr(&folder));
    ret->recording = ks_xstrdup(ks_str_cstr(&recording));
    KS_TRY(ks_dir_make(ret->folder, err));
    KS_TRY(ks_dir_make(ret->recording, err));
    ks_args_add(&argv, "env"); /* its environment is not ours, which compilers inherit */
    KS_TRY(ks_recorder_environment(p->s, ret->recording, &argv, &gpu, err));
    ks_args_add(&argv, program);
    add_words(p->sets.v[set], &argv);
    ks_spawn_init(&s);
    s.argv = argv.v;
    s.cwd = ret->folder;
    s.own_group = true;
    s.timeout_ms = RUN_TIMEOUT_MS;
    KS_TRY(ks_process_run(&s, &ret->out, NULL, &end, err));
    if (end.kind != KS_EXIT_STATUS) {
        KS_AUTO_STR struct ks_str how = KS_STR_INIT;
        ks_exit_describe(&end, &how);
        return ks_fail(err, KS_ERR_DEVICE, "the program with the arguments '%s' %s", p->sets.v[set], ks_str_cstr(&how));
    }
    ret->status = end.status;
    return KS_OK;
}

static void run_release(struct run *r)
{
    ks_str_release(&r->out);
    free(r->folder);
    free(r->recording);
    *r = (struct run){.out = KS_STR_INIT};
}

static void say_time(const char *recording)
{
    KS_AUTO_JSON struct ks_json *j = NULL;
    struct ks_err ignored;
    if (ks_recording_summary(recording, &j, &ignored) != KS_OK)
        return;
    const struct ks_json *kernels = ks_json_get(j, "kernels");
    ks_say_progress("program: %.3f us %s in kernels", ks_json_get_num(j, "ns", 0) / 1000,
                    ks_json_get_bool(j, "modelled", false) ? "modelled" : "measured");
    for (size_t i = 0; i < ks_json_len(kernels) && i < KERNELS_SHOWN; i++) {
        const struct ks_json *k = ks_json_at(kernels, i), *bound = ks_json_get(k, "bound");
        KS_AUTO_STR struct ks_str most = KS_STR_INIT;
        if (ks_json_is_number(bound))
            ks_str_addf(&most, ", were it free: %.2fx", ks_json_num(bound, 0));
        ks_say_progress("program: %5.1f %% %s%s", ks_json_get_num(k, "share", 0) * 100, ks_json_get_str(k, "kernel", "?"),
                        ks_str_cstr(&most));
    }
}

bool ks_program_mode_record(const struct ks_settings *s, const char *program, const char *dir, struct ks_program_mode **ret)
{
    struct ks_program_mode *p = ks_xcalloc(1, sizeof(*p));
    struct ks_err err;
    p->s = s;
    p->dir = dir;
    ks_args_init(&p->sets);
    for (const char *set = s->program_args;; set++) {
        size_t n = strcspn(set, ";");
        KS_AUTO_FREE char *one = ks_xstrndup(set, n);
        if (p->sets.n < MAX_SETS)
            ks_args_add(&p->sets, one);
        set += n;
        if (!*set)
            break;
    }
    enum ks_code code = KS_OK;
    for (size_t i = 0; code == KS_OK && i < p->sets.n; i++) {
        code = run_program(p, program, "baseline", i, &p->baseline[i], &err);
        KS_AUTO_JSON struct ks_json *seen = NULL;
        struct ks_err none;
        if (code == KS_OK && ks_recording_summary(p->baseline[i].recording, &seen, &none) != KS_OK)
            code = ks_fail(&err, KS_ERR_UNSUPPORTED,
                           "with the arguments '%s' no process of the program used the device (the emulated one needs PTX)",
                           p->sets.v[i]);
    }
    if (code != KS_OK) {
        ks_say_instead(&err, nvcc_stays);
        ks_program_mode_free(p);
        return false;
    }
    say_time(p->baseline[0].recording);
    *ret = p;
    return true;
}

const char *ks_program_mode_workload(const struct ks_program_mode *p)
{
    return p->baseline[0].recording;
}

/* ---- comparing ------------------------------------------------------------------------------------------------------ */

static enum ks_code same_file(const char *got_path, const char *want_path, const char *name, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str got = KS_STR_INIT, want = KS_STR_INIT, why = KS_STR_INIT;
    KS_TRY(ks_file_read(want_path, MAX_OUTPUT_BYTES, &want, err));
    KS_TRY(ks_file_read(got_path, MAX_OUTPUT_BYTES, &got, err));
    bool text = !memchr(ks_str_cstr(&got), 0, got.len) && !memchr(ks_str_cstr(&want), 0, want.len);
    if (got.len == want.len && ks_program_same_bytes(got.data, want.data, got.len))
        return KS_OK;
    if (text && ks_program_same_text(ks_str_cstr(&got), ks_str_cstr(&want), &why))
        return KS_OK;
    return ks_fail(err, KS_ERR_MISMATCH, "writes another '%s'%s%s", name, why.len ? ": " : "", ks_str_cstr(&why));
}

static enum ks_code same_folder(const char *got, const char *want, struct ks_err *err)
{
    struct dirent **names, **others;
    int n = scandir(want, &names, NULL, alphasort), m = scandir(got, &others, NULL, alphasort);
    enum ks_code code = n < 0 || m < 0 ? ks_fail_errno(err, KS_ERR_IO, "cannot list '%s'", want)
                        : n != m       ? ks_fail(err, KS_ERR_MISMATCH, "writes %d files, expected %d", m - 2, n - 2)
                                       : KS_OK;
    for (int i = 0; code == KS_OK && i < n; i++) {
        const char *name = names[i]->d_name;
        KS_AUTO_STR struct ks_str a = KS_STR_INIT, b = KS_STR_INIT;
        struct stat st;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        ks_path_join(&a, got, name);
        ks_path_join(&b, want, name);
        if (!ks_file_exists(ks_str_cstr(&a)))
            code = ks_fail(err, KS_ERR_MISMATCH, "does not write '%s'", name);
        else if (stat(ks_str_cstr(&b), &st) == 0 && S_ISDIR(st.st_mode))
            code = same_folder(ks_str_cstr(&a), ks_str_cstr(&b), err);
        else
            code = same_file(ks_str_cstr(&a), ks_str_cstr(&b), name, err);
    }
    for (int i = 0; i < n; i++)
        free(names[i]);
    for (int i = 0; i < m; i++)
        free(others[i]);
    if (n >= 0)
        free(names);
    if (m >= 0)
        free(others);
    return code;
}

/* What came back from the device, in the order of the calls: copies of several streams end in any. */
struct copies {
    KS_VEC(struct ks_json *) all;
    int processes;
};

static enum ks_code take_copy(void *arg, const char *process, const struct ks_json *j, struct ks_err *err)
{
    struct copies *c = arg;
    const char *ev = ks_json_get_str(j, "ev", "");
    (void)process;
    (void)err;
    c->processes += strcmp(ev, "head") == 0;
    if (strcmp(ev, "copy") != 0)
        return KS_OK;
    struct ks_json *copy = ks_json_copy(j);
    ks_json_set_num(copy, "process", c->processes);
    ks_vec_push(&c->all, copy);
    return KS_OK;
}

static int by_call(const void *a, const void *b)
{
    const struct ks_json *x = *(struct ks_json *const *)a, *y = *(struct ks_json *const *)b;
    double p = ks_json_get_num(x, "process", 0), q = ks_json_get_num(y, "process", 0);
    int64_t m = ks_json_get_i64(x, "n", 0), n = ks_json_get_i64(y, "n", 0);
    return p != q ? (p > q) - (p < q) : (m > n) - (m < n);
}

static enum ks_code copies_read(const char *dir, struct copies *ret, struct ks_err *err)
{
    int cut;
    KS_TRY(ks_recording_read(dir, take_copy, ret, &cut, err));
    if (ret->all.n > 1)
        qsort(ret->all.data, ret->all.n, sizeof(*ret->all.data), by_call);
    return KS_OK;
}

static void copies_release(struct copies *c)
{
    for (size_t i = 0; i < c->all.n; i++)
        ks_json_free(c->all.data[i]);
    ks_vec_release(&c->all);
}

static enum ks_code compare_copies(const struct run *got, const struct run *want, const struct copies *a, const struct copies *b,
                                   struct ks_err *err)
{
    if (a->all.n != b->all.n)
        return ks_fail(err, KS_ERR_MISMATCH, "copies %zu times to the host, expected %zu", a->all.n, b->all.n);
    for (size_t i = 0; i < a->all.n; i++) {
        const struct ks_json *x = a->all.data[i], *y = b->all.data[i];
        KS_AUTO_STR struct ks_str p = KS_STR_INIT, q = KS_STR_INIT;
        if (ks_streq(ks_json_get_str(x, "contents", ""), ks_json_get_str(y, "contents", "?")))
            continue;
        if (!ks_json_get_bool(x, "kept", false) || !ks_json_get_bool(y, "kept", false))
            return ks_fail(err, KS_ERR_MISMATCH, "copy %zu to the host differs, and its contents were not kept", i + 1);
        KS_TRY(ks_recording_contents(got->recording, ks_json_get_str(x, "contents", ""), &p, err));
        KS_TRY(ks_recording_contents(want->recording, ks_json_get_str(y, "contents", ""), &q, err));
        if (p.len != q.len || !ks_program_same_bytes(p.data, q.data, p.len))
            return ks_fail(err, KS_ERR_MISMATCH, "copy %zu to the host (%zu bytes) differs", i + 1, q.len);
    }
    return KS_OK;
}

static enum ks_code same_copies(const struct run *got, const struct run *want, struct ks_err *err)
{
    struct copies a = {.processes = 0}, b = {.processes = 0};
    enum ks_code code = copies_read(got->recording, &a, err);
    if (code == KS_OK)
        code = copies_read(want->recording, &b, err);
    if (code == KS_OK)
        code = compare_copies(got, want, &a, &b, err);
    copies_release(&a);
    copies_release(&b);
    return code;
}

static enum ks_code same_run(const struct run *got, const struct run *want, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    if (got->status != want->status)
        return ks_fail(err, KS_ERR_MISMATCH, "ends with status %d, expected %d", got->status, want->status);
    if (!ks_program_same_text(ks_str_cstr(&got->out), ks_str_cstr(&want->out), &why))
        return ks_fail(err, KS_ERR_MISMATCH, "prints something else: %s", ks_str_cstr(&why));
    KS_TRY(same_folder(got->folder, want->folder, err));
    return same_copies(got, want, err);
}

bool ks_program_mode_same(struct ks_program_mode *p, const char *program)
{
    enum ks_code code = KS_OK;
    struct ks_err err;
    for (size_t i = 0; code == KS_OK && i < p->sets.n; i++) {
        struct run r = {.out = KS_STR_INIT};
        code = run_program(p, program, "candidate", i, &r, &err);
        if (code == KS_OK && same_run(&r, &p->baseline[i], &err) != KS_OK)
            code = ks_wrap(&err, "with the arguments '%s' the program with candidates", p->sets.v[i]);
        run_release(&r);
    }
    if (code != KS_OK)
        ks_say_instead(&err, nvcc_stays);
    else
        ks_say_progress("program: the same output, files and copies to the host with %zu set%s of arguments", p->sets.n,
                        p->sets.n == 1 ? "" : "s");
    return code == KS_OK;
}

void ks_program_mode_free(struct ks_program_mode *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->sets.n; i++)
        run_release(&p->baseline[i]);
    ks_args_release(&p->sets);
    free(p);
}
