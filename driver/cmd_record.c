/* kscc record: runs a program on a GPU or the emulated device and keeps what its kernels read and wrote; prints where the time
 * went. */

#include "base/file.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/recorder.h"
#include "driver/run_emulated.h"
#include "driver/say.h"
#include "harness/record/record.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLE_VARIABLE "KSCC_RECORD_SAMPLE" /* the recorder reads these */
#define MAX_VARIABLE    "KSCC_RECORD_MAX"
#define MIN_CAP_BYTES   4096

/* ---- what was recorded ---------------------------------------------------------------------------------------------- */

static void print_triple(const struct ks_json *v)
{
    for (size_t i = 0; i < ks_json_len(v); i++)
        printf("%s%.0f", i ? "x" : "", ks_json_num(ks_json_at(v, i), 0));
}

static void print_kernel(const struct ks_json *k)
{
    const struct ks_json *shapes = ks_json_get(k, "shapes"), *bound = ks_json_get(k, "bound");
    int64_t n_launches = ks_json_get_i64(k, "launches", 0);
    printf("%6.1f %%  %10.3f us  %7lld launch%-2s  %5lld recorded  ", ks_json_get_num(k, "share", 0) * 100,
           ks_json_get_num(k, "ns", 0) / 1000, (long long)n_launches, n_launches == 1 ? "" : "es",
           (long long)ks_json_get_i64(k, "recorded", 0));
    if (ks_json_is_number(bound))
        printf("at most %.2fx  ", ks_json_num(bound, 0));
    printf("%s\n", ks_json_get_str(k, "kernel", ""));
    for (size_t i = 0; i < ks_json_len(shapes); i++) {
        const struct ks_json *s = ks_json_at(shapes, i);
        printf("            weight %.3f  %lld time%s  grid ", ks_json_get_num(s, "weight", 0),
               (long long)ks_json_get_i64(s, "launches", 0), ks_plural_s(ks_json_get_i64(s, "launches", 0)));
        print_triple(ks_json_get(s, "grid"));
        printf("  block ");
        print_triple(ks_json_get(s, "block"));
        printf("  shared %lld\n", (long long)ks_json_get_i64(s, "shared", 0));
    }
}

static void print_summary(const struct ks_json *j)
{
    const struct ks_json *kernels = ks_json_get(j, "kernels");
    int64_t n_launches = ks_json_get_i64(j, "launches", 0), n_copies = ks_json_get_i64(j, "copies", 0);
    printf("%lld launch%s (%lld with buffers), %lld cop%s to the host, %.3f us %s in kernels\n", (long long)n_launches,
           n_launches == 1 ? "" : "es", (long long)ks_json_get_i64(j, "recorded", 0), (long long)n_copies,
           n_copies == 1 ? "y" : "ies", ks_json_get_num(j, "ns", 0) / 1000,
           ks_json_get_bool(j, "modelled", false) ? "modelled" : "measured");
    for (size_t i = 0; i < ks_json_len(kernels); i++)
        print_kernel(ks_json_at(kernels, i));
}

static void say_not_covered(const struct ks_json *what)
{
    for (size_t i = 0; i < ks_json_len(what); i++) {
        const char *name = ks_json_key(ks_json_at(what, i));
        ks_say(KS_SEV_REMARK, "not in the recording: %s (%lld) [kscc-incomplete]", name,
               (long long)ks_json_get_i64(what, name, 0));
    }
}

/* 0, or 1: said. */
static int show(const char *dir, bool json, bool check)
{
    KS_AUTO_JSON struct ks_json *j = NULL;
    struct ks_err err;
    size_t n = 0;
    if (ks_recording_summary(dir, &j, &err) != KS_OK || (check && ks_recording_check(dir, &n, &err) != KS_OK)) {
        ks_say_error(&err);
        return 1;
    }
    if (ks_json_get_i64(j, "cut", 0) > 0)
        ks_say(KS_SEV_WARNING,
               "%lld of %lld processes did not end through exit(), showing what was recorded before [kscc-incomplete]",
               (long long)ks_json_get_i64(j, "cut", 0), (long long)ks_json_get_i64(j, "processes", 0));
    if (ks_json_get_bool(j, "full", false))
        ks_say(KS_SEV_WARNING,
               "the recording is not whole: its cap or the disk was reached, showing what was kept [kscc-incomplete]");
    say_not_covered(ks_json_get(j, "not_covered"));
    if (check)
        ks_say(KS_SEV_REMARK, "%zu content%s as named [kscc-recorded]", n, n == 1 ? " is" : "s are");
    if (json) {
        ks_command_print(j);
    } else {
        print_summary(j);
    }
    return 0;
}

/* ---- recording ------------------------------------------------------------------------------------------------------ */

static bool is_empty(const char *dir)
{
    struct dirent **names;
    int n = scandir(dir, &names, NULL, NULL);
    for (int i = 0; i < n; i++)
        free(names[i]);
    if (n >= 0)
        free(names);
    return n <= 2;
}

/* An absolute path, because the program may change its folder. */
static enum ks_code make_dir(const char *dir, char **ret_path, struct ks_err *err)
{
    KS_TRY(ks_dir_make(dir, err));
    if (!is_empty(dir))
        return ks_fail(err, KS_ERR_DENIED, "'%s' is not empty: a recording takes a folder of its own", dir);
    char *path = realpath(dir, NULL);
    if (!path)
        return ks_fail_errno(err, KS_ERR_IO, "cannot find '%s'", dir);
    *ret_path = path;
    return KS_OK;
}

static bool any_process(const char *dir)
{
    KS_AUTO_JSON struct ks_json *j = NULL;
    struct ks_err ignored;
    return ks_recording_summary(dir, &j, &ignored) == KS_OK;
}

static int record(const struct ks_settings *s, const char *dir, const char *sample, const char *cap, char *const *program)
{
    KS_AUTO_FREE char *path = NULL;
    KS_AUTO_ARGS struct ks_args words;
    struct ks_err err;
    bool gpu;
    ks_args_init(&words);
    if (make_dir(dir, &path, &err) != KS_OK) {
        ks_say_error(&err);
        return 1;
    }
    if (ks_recorder_environment(s, path, &words, &gpu, &err) != KS_OK) {
        rmdir(path);
        ks_say_error(&err);
        return 1;
    }
    if (!gpu)
        ks_run_warn_static(program[0]);
    ks_environment_set(&words);
    KS_AUTO_STR struct ks_str number = KS_STR_INIT;
    if (sample)
        setenv(SAMPLE_VARIABLE, sample, 1);
    else
        unsetenv(SAMPLE_VARIABLE);
    if (cap) {
        ks_str_addf(&number, "%lld", (long long)ks_command_size(cap));
        setenv(MAX_VARIABLE, ks_str_cstr(&number), 1);
    } else {
        unsetenv(MAX_VARIABLE);
    }
    int status = ks_command_run(program, -1, "keeping what was recorded before [kscc-incomplete]", &err);
    if (status < 0) {
        rmdir(path); /* made for this */
        ks_say_error(&err);
        return err.code == KS_ERR_NOT_FOUND ? 127 : 126;
    }
    if (!any_process(path)) {
        rmdir(path);
        ks_say(KS_SEV_WARNING, "no process of '%s' used the %s: nothing was recorded [kscc-nothing-seen]", program[0],
               gpu ? "GPU" : "emulated device");
    } else {
        ks_say(KS_SEV_REMARK, "recorded in '%s'; 'kscc record --show=%s' prints where the time went [kscc-recorded]", dir, dir);
    }
    return status;
}

/* Takes "-o DIR" out of the words; NULL: not there.  Caller frees. */
static char *output_folder(struct ks_args *words)
{
    for (size_t i = 0; i + 1 < words->n; i++) {
        if (strcmp(words->v[i], "-o") != 0)
            continue;
        char *dir = ks_xstrdup(words->v[i + 1]);
        free(words->v[i]);
        free(words->v[i + 1]);
        memmove(words->v + i, words->v + i + 2, (words->n - i - 1) * sizeof(*words->v)); /* with the NULL at the end */
        words->n -= 2;
        return dir;
    }
    return NULL;
}

static bool is_count(const char *text)
{
    return !text || (strspn(text, "0123456789") == strlen(text) && strlen(text) < 10 && strtol(text, NULL, 10) > 0);
}

int ks_cmd_record(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args before, words;
    struct ks_settings s;
    size_t dashes = 1;
    ks_args_init(&before);
    ks_args_init(&words);
    while (argv[dashes] && strcmp(argv[dashes], "--") != 0)
        dashes++;
    for (size_t i = 0; i < dashes; i++)
        ks_args_add(&before, argv[i]);
    if (!ks_command_args(before.v, &s, &words))
        return 2;
    char *const *program = argv[dashes] ? argv + dashes + 1 : NULL;
    KS_AUTO_FREE char *dir = output_folder(&words), *sample = ks_command_value(&words, "--sample");
    KS_AUTO_FREE char *cap = ks_command_value(&words, "--max-size"), *shown = ks_command_value(&words, "--show");
    bool json = ks_command_flag(&words, "--json"), check = ks_command_flag(&words, "--check");
    if (shown && !program && !dir && !sample && !cap && words.n == 0)
        return show(shown, json, check);
    if (shown || json || check || !dir || !program || !program[0] || words.n || !is_count(sample) ||
        (cap && ks_command_size(cap) < MIN_CAP_BYTES))
        return ks_command_usage("record");
    return record(&s, dir, sample, cap, program);
}
