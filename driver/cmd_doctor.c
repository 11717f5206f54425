#include "base/file.h"
#include "base/process.h"
#include "driver/agent_open.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/nvcc.h"
#include "driver/parse_line.h"
#include "driver/paths.h"
#include "driver/say.h"
#include "analyzer/facts.h"
#include "harness/cupti_find.h"
#include "harness/session.h"
#include "harness/walls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WHOLE "the installation is not whole: install kscc again, or './bootstrap build' in a clone of it"

static int n_missing;
static struct ks_json *findings; /* with --json */

static void add_finding(bool ok, bool needed, const char *what, const char *detail, const char *mend)
{
    struct ks_json *f = ks_json_object();
    ks_json_set_str(f, "what", what);
    ks_json_set_bool(f, "ok", ok);
    ks_json_set_bool(f, "needed", needed);
    ks_json_set_str(f, "detail", detail);
    if (!ok)
        ks_json_set_str(f, "mend", mend);
    ks_json_push(findings, f);
}

/* mend: what to do about it when it is not there. */
static void tell(bool ok, bool needed, const char *what, const char *detail, const char *mend)
{
    n_missing += needed && !ok;
    if (findings) {
        add_finding(ok, needed, what, detail, mend);
        return;
    }
    printf("%-4s %-22s %s\n", ok ? "ok" : "--", what, detail);
    if (!ok)
        printf("%27s to mend: %s\n", "", mend);
}

static void line(bool ok, const char *what, const char *detail, const char *mend)
{
    tell(ok, false, what, detail, mend);
}

static void need(bool ok, const char *what, const char *detail, const char *mend)
{
    tell(ok, true, what, detail, mend);
}

static void check_nvcc(const struct ks_settings *s, struct ks_toolkit *ret)
{
    struct ks_err err;
    KS_AUTO_FREE char *nvcc = NULL;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (ks_nvcc_find(s->nvcc, &nvcc, &err) != KS_OK || ks_toolkit_query(nvcc, ret, &err) != KS_OK) {
        need(
            false, "nvcc", err.message,
            "install a CUDA toolkit of 12.8 or later and put its bin folder on PATH, or name its nvcc: KSCC_NVCC=/PATH/bin/nvcc; "
            "'./bootstrap' in a clone of kscc brings one");
        return;
    }
    ks_str_addf(&text, "%s, toolkit %s in %s", ret->nvcc, ret->version, ret->top);
    need(true, "nvcc", ks_str_cstr(&text), "");
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
                   : err.message,
         "kscc needs libclang 22 and its headers, and a toolkit that they can parse (12.8 to 13.x): install libclang-22-dev, or "
         "run "
         "'./bootstrap' in a clone of kscc, which brings both");
    ks_diags_release(&diags);
    ks_arena_release(&arena);
}

static void check_devices(void)
{
    char name[256] = "", arch[16] = "";
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, path = KS_STR_INIT;
    int n = ks_device_count_cuda(name, sizeof(name), arch, sizeof(arch));
    ks_str_addf(&text, n ? "%d, the first is %s (%s)" : "none: trials run on the emulated device", n, name, arch);
    line(n > 0, "GPU", ks_str_cstr(&text),
         "nothing has to be: the emulated device proves the same, and models times; for measured times a card of compute "
         "capability "
         "7.5 or later and its driver (libcuda.so.1), or one elsewhere: --kscc-device=ssh:HOST");
    ks_paths_emulated(&path);
    need(path.len > 0, "emulated device", path.len ? ks_str_cstr(&path) : "no libcudart.so.13 of ours beside kscc", WHOLE);
    ks_paths_bin(&path);
    ks_str_add(&path, "/kscc-worker");
    need(ks_file_is_executable(ks_str_cstr(&path)), "worker", ks_str_cstr(&path), WHOLE);
    ks_paths_bank(&path);
    need(ks_file_exists(ks_str_cstr(&path)), "question bank", ks_str_cstr(&path), WHOLE);
}

/* What the recorder and the look at timed calls on a GPU need. */
static void check_cupti(const struct ks_toolkit *t)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, recorder = KS_STR_INIT, text = KS_STR_INIT;
    bool found = ks_cupti_find(t->top, &path);
    ks_paths_recorder(&recorder);
    ks_str_addf(&text, "%s; %s", found ? ks_str_cstr(&path) : "not in the toolkit",
                recorder.len ? ks_str_cstr(&recorder) : "no recorder for it: kscc was built without its headers");
    line(found && recorder.len, "CUPTI", ks_str_cstr(&text),
         "without it programs are recorded on the emulated device, and work outside of the timed stream is seen by clocks alone; "
         "install the toolkit's cuda-cupti and cuda-cupti-dev, or name the library: KSCC_RECORD_CUPTI=/PATH/libcupti.so.13");
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
    line(why.len == 0, "sandbox on the GPU", ks_str_cstr(&text),
         "trials run with the walls that are left and say so; for candidates of a source you do not trust use a machine whose "
         "driver "
         "opens behind all of them");
}

/* Every layer, by raising it. */
static void check_sandbox(void)
{
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT, text = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *r = NULL;
    struct ks_err err;
    ks_paths_bin(&bin);
    if (ks_walls_probe(ks_str_cstr(&bin), &r, &err) != KS_OK) {
        need(false, "sandbox", err.message, WHOLE);
        return;
    }
    int abi = (int)ks_json_get_i64(r, "landlock_abi", 0);
    ks_str_addf(&text, abi > 0 ? "version %d" : "not offered by this kernel: candidates see the file system", abi);
    line(abi > 0, "sandbox: Landlock", ks_str_cstr(&text),
         "a kernel of 5.13 or later that has landlock among its security modules (boot with lsm=landlock,... when "
         "/sys/kernel/security/lsm lacks it)");
    bool seccomp = ks_json_get_bool(r, "seccomp", false), none = ks_streq(ks_json_get_str(r, "capabilities", ""), "none");
    line(seccomp, "sandbox: seccomp", seccomp ? "calls are filtered" : "not offered by this kernel",
         "a kernel with CONFIG_SECCOMP_FILTER; in a container, one whose own filter lets seccomp(2) through");
    line(ks_json_get_bool(r, "no_new_privs", false), "sandbox: no_new_privs", "set", "a kernel of 3.5 or later");
    line(ks_json_get_bool(r, "rlimits", false), "sandbox: rlimits", "core files, file sizes, descriptors, processor time",
         "raise the hard limits of this session (ulimit -H -a), they are below what a worker sets");
    line(none, "sandbox: capabilities", none ? "none are left" : "cannot be dropped", "start kscc as an ordinary user");
    ks_str_clear(&text);
    add_list(ks_json_get(r, "namespaces"), &text);
    line(text.len > 0, "sandbox: namespaces", text.len ? text.data : "none: this kernel, or what we run in, allows none",
         "sysctl user.max_user_namespaces above 0 and, where they exist, kernel.unprivileged_userns_clone=1 and "
         "kernel.apparmor_restrict_unprivileged_userns=0; in a container, allow it user namespaces");
    ks_str_clear(&text);
    add_list(ks_json_get(r, "cgroup"), &text);
    line(text.len > 0, "sandbox: cgroup", text.len ? text.data : "none: no group of version 2 is delegated to us",
         "start builds with 'systemd-run --user --scope -p Delegate=yes COMMAND', or as root on a machine with cgroups of "
         "version 2");
    ks_str_clear(&text);
    add_list(ks_json_get(r, "missing"), &text);
    line(text.len == 0, "sandbox: missing", text.len ? text.data : "nothing",
         "as the lines above say; trials run with the walls that are there, and certificates name them");
    check_gpu_walls(ks_str_cstr(&bin));
}

static void check_tools(void)
{
    static const char *const tools[][2] = {{"objcopy", "install binutils"},
                                           {"ld", "install binutils"},
                                           {"nm", "install binutils"},
                                           {"readelf", "install binutils"},
                                           {"diff", "install diffutils"},
                                           {"gcc", "install gcc, a version that the toolkit takes"},
                                           {"g++", "install g++, a version that the toolkit takes"}};
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        KS_AUTO_FREE char *path = NULL;
        struct ks_err err;
        bool ok = ks_path_search(tools[i][0], &path, &err) == KS_OK && ks_file_is_executable(path);
        need(ok, tools[i][0], ok ? path : "not on PATH", tools[i][1]);
    }
}

/* Only trials on a GPU ask it. */
static void check_sanitizer(const struct ks_toolkit *t)
{
    KS_AUTO_FREE char *found = NULL;
    KS_AUTO_STR struct ks_str beside = KS_STR_INIT;
    struct ks_err err;
    ks_path_join(&beside, t->top ? t->top : "", "bin/compute-sanitizer");
    bool there = ks_path_search("compute-sanitizer", &found, &err) == KS_OK || ks_file_is_executable(ks_str_cstr(&beside));
    line(there, "compute-sanitizer",
         found   ? found
         : there ? ks_str_cstr(&beside)
                 : "not on PATH and not in the toolkit",
         "trials on a GPU need it for the gate 'safety': install the toolkit's package cuda-sanitizer; the emulated device has "
         "checks "
         "of its own");
}

static void check_store(const struct ks_settings *s)
{
    const char *dir = s->dir ? s->dir : ".kscc";
    KS_AUTO_STR struct ks_str above = KS_STR_INIT, text = KS_STR_INIT;
    bool there = ks_file_exists(dir);
    ks_path_dir(&above, dir);
    bool ok = access(there ? dir : ks_str_cstr(&above), W_OK | X_OK) == 0;
    ks_str_addf(&text, "%s: %s", dir, !ok ? strerror(errno) : there ? "can be written" : "not there yet, a search makes it");
    line(ok, "store", ks_str_cstr(&text),
         "give yourself the right to write there, or name another place: --kscc-dir=DIR; until then what is found is not kept");
}

static void check_agent(const struct ks_settings *s)
{
    struct ks_err err;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    bool ok = ks_agent_check(s, &err) == KS_OK;
    ks_str_addf(&text, "%s%s%s", s->agent, ok ? "" : ": ", ok ? "" : err.message);
    line(ok, "agent", ks_str_cstr(&text), "'kscc help agents' says what each agent needs; --kscc-agent=builtin needs nothing");
}

int ks_cmd_doctor(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words;
    struct ks_settings s;
    struct ks_toolkit toolkit = {0};
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    bool json = ks_command_flag(&words, "--json");
    if (words.n)
        return ks_command_usage("doctor");
    findings = json ? ks_json_array() : NULL;
    check_nvcc(&s, &toolkit);
    check_analyzer(&toolkit);
    check_devices();
    check_cupti(&toolkit);
    check_sandbox();
    check_tools();
    check_sanitizer(&toolkit);
    check_store(&s);
    check_agent(&s);
    ks_toolkit_release(&toolkit);
    if (json) {
        KS_AUTO_JSON struct ks_json *all = ks_json_object();
        ks_json_set_i64(all, "missing", n_missing);
        ks_json_set(all, "findings", findings);
        ks_command_print(all);
    } else {
        if (n_missing == 0)
            puts("nothing that kscc needs is missing");
        else
            printf("%d of what kscc needs %s missing\n", n_missing, n_missing == 1 ? "is" : "are");
    }
    return n_missing ? 1 : 0;
}
