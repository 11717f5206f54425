#include "harness/worker/words.h"

#include "harness/remote/relay.h"
#include "harness/remote/slurm.h"
#include "harness/session.h"
#include "base/file.h"
#include "base/json.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void hang_up(int signal_number)
{
    (void)signal_number;
    close(STDIN_FILENO); /* ends the loop, and with it all workers and the scratch folder */
    ks_bundle_stop();
}

/* The words that are not for a worker process but for a parent elsewhere, or a person.  Standard error is read by that parent. */
struct word {
    const char *name;
    int min_args, max_args;
    enum ks_code (*run)(struct ks_runner *r, const char *self, char **args, int n, struct ks_err *err);
};

static enum ks_code word_serve(struct ks_runner *r, const char *self, char **args, int n, struct ks_err *err)
{
    (void)self, (void)args, (void)n;
    return ks_runner_serve(r, STDIN_FILENO, STDOUT_FILENO, err);
}

static void result_path(char **args, int n, struct ks_str *out)
{
    if (n > 1)
        ks_str_add(out, args[1]);
    else
        ks_path_join(out, args[0], "result");
}

static enum ks_code word_run(struct ks_runner *r, const char *self, char **args, int n, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str result = KS_STR_INIT;
    (void)self;
    result_path(args, n, &result);
    return ks_bundle_run(args[0], ks_str_cstr(&result), r, err);
}

static enum ks_code word_check(struct ks_runner *r, const char *self, char **args, int n, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str result = KS_STR_INIT;
    (void)r, (void)self;
    result_path(args, n, &result);
    return ks_bundle_check(args[0], ks_str_cstr(&result), err);
}

static enum ks_code word_keep(struct ks_runner *r, const char *self, char **args, int n, struct ks_err *err)
{
    (void)r, (void)n;
    return ks_relay_here(args[0], self, STDIN_FILENO, STDOUT_FILENO, err);
}

/* {"cuda": 1, "name": ..., "arch": ...}: for a parent elsewhere. */
static enum ks_code word_devices(struct ks_runner *r, const char *self, char **args, int n, struct ks_err *err)
{
    (void)r, (void)self, (void)args, (void)n;
    char name[256] = "", arch[16] = "";
    KS_AUTO_STR struct ks_str json = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    ks_json_set_i64(j, "cuda", ks_device_count_cuda(name, sizeof name, arch, sizeof arch));
    ks_json_set_str(j, "name", name);
    ks_json_set_str(j, "arch", arch);
    ks_json_print(j, &json);
    ks_str_add(&json, "\n");
    if (write(STDOUT_FILENO, json.data, json.len) != (ssize_t)json.len)
        return ks_fail_errno(err, KS_ERR_IO, "write what there is");
    return KS_OK;
}

static enum ks_code word_slurm(struct ks_runner *r, const char *self, char **args, int n, struct ks_err *err)
{
    (void)r, (void)self;
    return ks_slurm_relay(args[0], strtoll(args[1], NULL, 10), args[2], n > 3 ? args[3] : NULL, STDIN_FILENO, STDOUT_FILENO, err);
}

static const struct word words[] = {
    {"check", 1, 2, word_check},                                /* BUNDLE [RESULT] */
    {"devices", 0, 0, word_devices}, {"keep", 1, 1, word_keep}, /* BUNDLE: as serve, and the steps are kept */
    {"run", 1, 2, word_run},                                    /* BUNDLE [RESULT] */
    {"serve", 0, 0, word_serve},                                /* steps on stdin, answers on stdout */
    {"slurm", 3, 4, word_slurm},                                /* SPEC MINUTES FOLDER [FILE]: between a parent and a job */
};

static int word_run_as(const struct word *w, char **args, int n)
{
    char self[KS_MAX_PATH_BYTES];
    struct ks_runner *r = NULL;
    struct ks_err err = {0};
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (len <= 0)
        return 2;
    self[len] = 0;
    signal(SIGHUP, hang_up);
    signal(SIGTERM, hang_up);
    signal(SIGPIPE, SIG_IGN); /* the parent is gone: end, and remove what is ours */
    enum ks_code code = ks_runner_new(self, &r, &err);
    if (code == KS_OK)
        code = w->run(r, self, args, n, &err);
    ks_runner_free(r);
    if (code != KS_OK)
        fprintf(stderr, "kscc-worker: %s [kscc-worker]\n", err.message);
    return code == KS_OK ? 0 : 1;
}

int ks_words_run(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof words / sizeof *words; i++)
        if (strcmp(argv[1], words[i].name) == 0 && argc - 2 >= words[i].min_args && argc - 2 <= words[i].max_args)
            return word_run_as(&words[i], argv + 2, argc - 2);
    return -1;
}
