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
#include "harness/walls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
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
    bool ok = ks_facts_parse("doctor.cu", unit, strlen(unit), &opt, &arena, &diags, &facts, &err) == KS_OK &&
              facts->n_kernels == 1 && diags.n == 0;
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

static void add_list(const struct ks_json *list, struct ks_str *out)
{
    for (size_t i = 0; i < ks_json_len(list); i++)
        ks_str_addf(out, "%s%s", out->len ? ", " : "", ks_json_str(ks_json_at(list, i)));
}

/* A GPU's driver may not open behind all walls; then trials have fewer, and say so. */
static void check_gpu_walls(const char *bin)
{
    char name[256] = "", arch[16] = "";
    const char *walls = "";
    struct ks_err err;
    KS_AUTO_STR struct ks_str why = KS_STR_INIT, text = KS_STR_INIT;
    if (ks_device_count_cuda(name, sizeof(name), arch, sizeof(arch)) <= 0)
        return;
    if (ks_walls_probe_cuda(bin, arch, &walls, &why, &err) != KS_OK)
        ks_str_addf(&text, "the device opens in no worker: %s", err.message);
    else
        ks_str_addf(&text, "the device opens behind '%s'%s%s", walls, why.len ? "; not " : "", ks_str_cstr(&why));
    line(why.len == 0, "sandbox on the GPU", ks_str_cstr(&text));
}

/* Every layer, by raising it. */
static void check_sandbox(void)
{
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT, text = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *r = NULL;
    struct ks_err err;
    ks_paths_bin(&bin);
    if (ks_walls_probe(ks_str_cstr(&bin), &r, &err) != KS_OK) {
        need(false, "sandbox", err.message);
        return;
    }
    int abi = (int)ks_json_get_i64(r, "landlock_abi", 0);
    ks_str_addf(&text, abi > 0 ? "version %d" : "not offered by this kernel: candidates see the file system", abi);
    line(abi > 0, "sandbox: Landlock", ks_str_cstr(&text));
    bool seccomp = ks_json_get_bool(r, "seccomp", false), none = ks_streq(ks_json_get_str(r, "capabilities", ""), "none");
    line(seccomp, "sandbox: seccomp", seccomp ? "calls are filtered" : "not offered by this kernel");
    line(ks_json_get_bool(r, "no_new_privs", false), "sandbox: no_new_privs", "set");
    line(ks_json_get_bool(r, "rlimits", false), "sandbox: rlimits", "core files, file sizes, descriptors, processor time");
    line(none, "sandbox: capabilities", none ? "none are left" : "cannot be dropped");
    ks_str_clear(&text);
    add_list(ks_json_get(r, "namespaces"), &text);
    line(text.len > 0, "sandbox: namespaces", text.len ? text.data : "none: this kernel, or what we run in, allows none");
    ks_str_clear(&text);
    add_list(ks_json_get(r, "cgroup"), &text);
    line(text.len > 0, "sandbox: cgroup", text.len ? text.data : "none: no group of version 2 is delegated to us");
    ks_str_clear(&text);
    add_list(ks_json_get(r, "missing"), &text);
    line(text.len == 0, "sandbox: missing", text.len ? text.data : "nothing");
    check_gpu_walls(ks_str_cstr(&bin));
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
