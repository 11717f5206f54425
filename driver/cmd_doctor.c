#include "base/file.h"
#include "base/process.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/nvcc.h"
#include "driver/parse_line.h"
#include "driver/paths.h"
#include "driver/say.h"
#include "analyzer/facts.h"
#include "harness/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <unistd.h>

static int n_missing;

static void line(bool ok, const char *what, const char *detail)
{
    printf("%-4s %-22s %s\n", ok ? "ok" : "--", what, detail);
}

static void need(bool ok, const char *what, const char *detail)
{
    n_missing += !ok;
    line(ok, what, detail);
}

static void check_nvcc(const struct ks_settings *s, struct ks_toolkit *ret)
{
    struct ks_err err;
    KS_AUTO_FREE char *nvcc = NULL;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (ks_nvcc_find(s->nvcc, &nvcc, &err) != KS_OK || ks_toolkit_query(nvcc, ret, &err) != KS_OK) {
        need(false, "nvcc", err.message);
        return;
    }
    ks_str_addf(&text, "%s, toolkit %s in %s", ret->nvcc, ret->version, ret->top);
    need(true, "nvcc", ks_str_cstr(&text));
}

/* The analyzer parses a one-line unit: libclang, the toolkit's headers and the shim all have to be right for that. */
static void check_analyzer(const struct ks_toolkit *t)
{
    static const char unit[] = "__global__ void k(float *p) { p[threadIdx.x] = 1.0f; }\nvoid e(float *p) { k<<<1, 32>>>(p); }\n";
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_facts *facts;
    struct ks_err err;
    struct ks_parse_options opt;
    char *const argv[] = {"nvcc", "-c", "doctor.cu", NULL};
    if (!t->top)
        return;
    ks_arena_init(&arena);
    ks_parse_options_of(argv, t->top, t->version, &arena, &opt);
    ks_diags_init(&diags);
    bool ok =
        ks_facts_parse("doctor.cu", unit, strlen(unit), &opt, &arena, &diags, &facts, &err) == KS_OK && facts->n_kernels == 1;
    need(ok, "analyzer (libclang)",
         ok        ? "parses a kernel with this toolkit's headers"
         : diags.n ? diags.data[0].message
                   : err.message);
    ks_diags_release(&diags);
    ks_arena_release(&arena);
}

static void check_devices(void)
{
    char name[256] = "", arch[16] = "";
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, path = KS_STR_INIT;
    int n = ks_device_count_cuda(name, sizeof(name), arch, sizeof(arch));
    ks_str_addf(&text, n ? "%d, the first is %s (%s)" : "none: trials run on the emulated device", n, name, arch);
    line(n > 0, "GPU", ks_str_cstr(&text));
    ks_paths_emulated(&path);
    need(path.len > 0, "emulated device", path.len ? ks_str_cstr(&path) : "no libcudart.so.13 of ours beside kscc");
    ks_paths_bin(&path);
    ks_str_add(&path, "/kscc-worker");
    need(ks_file_is_executable(ks_str_cstr(&path)), "worker", ks_str_cstr(&path));
    ks_paths_bank(&path);
    need(ks_file_exists(ks_str_cstr(&path)), "question bank", ks_str_cstr(&path));
}

static void check_sandbox(void)
{
    char text[96];
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    snprintf(text, sizeof(text), abi > 0 ? "version %ld" : "not offered by this kernel: candidates see the file system", abi);
    line(abi > 0, "sandbox: Landlock", text);
    unsigned action = SECCOMP_RET_KILL_PROCESS;
    bool seccomp = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
    line(seccomp, "sandbox: seccomp", seccomp ? "filters available" : "not offered by this kernel");
    bool no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) >= 0;
    line(no_new_privs, "sandbox: no_new_privs", no_new_privs ? "available" : "not offered by this kernel");
}

static void check_tools(void)
{
    static const char *const names[] = {"objcopy", "ld", "nm", "readelf", "diff", "gcc", "g++"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        KS_AUTO_FREE char *path = NULL;
        struct ks_err err;
        bool ok = ks_path_search(names[i], &path, &err) == KS_OK && ks_file_is_executable(path);
        need(ok, names[i], ok ? path : "not on PATH");
    }
}

int ks_cmd_doctor(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words;
    struct ks_settings s;
    struct ks_toolkit toolkit = {0};
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    if (words.n)
        return ks_command_usage("doctor");
    check_nvcc(&s, &toolkit);
    check_analyzer(&toolkit);
    check_devices();
    check_sandbox();
    check_tools();
    ks_toolkit_release(&toolkit);
    printf("%d of what kscc needs %s missing\n", n_missing, n_missing == 1 ? "is" : "are");
    return n_missing ? 1 : 0;
}
