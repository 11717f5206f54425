/* A session end to end on the emulated device: what it refuses to start with, and that a verdict can be repeated. */
#include "base/process.h"
#include "harness/nvml.h"
#include "harness/remote/remote.h"
#include "tests/unit/session_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define SYMBOL "_Z5scalePKfPfif"
#define CONTRACT(tolerance)                                                                                                      \
    "// kscc: entry scale\n"                                                                                                     \
    "// kscc: dims  n=1..100000\n"                                                                                               \
    "// kscc: in    x : float[n] ~ normal(0,1)\n"                                                                                \
    "// kscc: out   y : float[n] " tolerance "\n"                                                                                \
    "// kscc: arg   a = 2.5\n"                                                                                                   \
    "// kscc: time  n=100000\n"
#define KERNEL(body)  "#include <cuda_runtime.h>\n__global__ void k(const float *x, float *y, int n, float a) { " body " }\n"
#define ENTRY(launch) "void scale(const float *x, float *y, int n, float a) { " launch " }\n"
#define ONE_EACH                                                                                                                 \
    KERNEL("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i];")                                         \
    ENTRY("k<<<(n + 63) / 64, 64>>>(x, y, n, a);")
/* Ends the process in its fifth call. */
#define FIVE_CALLS                                                                                                               \
    "#include <stdlib.h>\nstatic int calls;\n" KERNEL(                                                                           \
        "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i];")                                            \
        ENTRY("if (calls++ == 4) _Exit(0); k<<<(n + 63) / 64, 64>>>(x, y, n, a);")
/* One block for everything: right, and slow. */
#define ONE_BLOCK KERNEL("for (int i = threadIdx.x; i < n; i += 32) y[i] = a * x[i];") ENTRY("k<<<1, 32>>>(x, y, n, a);")

static struct ks_signature signature = {
    .entry = "scale", .symbol = SYMBOL, .params = scale_params, .n_params = 4, .returns_void = true};

static enum ks_code open_session(struct fixture *f, const char *text, size_t memory_limit_bytes, struct ks_err *err)
{
    static const uint8_t secret[32] = "repeatable";
    return fixture_open(
        f, text,
        (struct ks_session_options){
            .unit_path = "scale.cu", .signature = &signature, .secret = secret, .memory_limit_bytes = memory_limit_bytes},
        err);
}

/* The session must not start; `part` is in the reason. */
static void refused(const char *text, size_t memory_limit_bytes, enum ks_code code, const char *part)
{
    struct fixture f;
    struct ks_err err = {0};
    CHECK_INT(open_session(&f, text, memory_limit_bytes, &err), code);
    CHECK_CONTAINS(err.message, part);
    close_session(&f);
}

TEST(a_contract_that_accepts_zeros_is_refused)
{
    refused("// kscc: entry scale\n// kscc: dims n=1..1000\n// kscc: in x : float[n] ~ const(1)\n// kscc: out y : float[n]\n// "
            "kscc: arg a = 2.5\n"
            "// kscc: time n=1000\n" ONE_EACH,
            0, KS_ERR_MISMATCH, "accepts the answer to other inputs");
    refused(CONTRACT("rtol=1e-3 atol=1e-3") KERNEL("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = 0 * x[i];")
                ENTRY("k<<<(n + 63) / 64, 64>>>(x, y, n, a);"),
            0, KS_ERR_MISMATCH, "accepts all zeros");
}

TEST(an_original_that_breaks_its_contract_is_refused)
{
    refused(CONTRACT("rtol=1e-5 atol=1e-6")
                KERNEL("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n && i % 2) y[i] = a * x[i];")
                    ENTRY("k<<<(n + 63) / 64, 64>>>(x, y, n, a);"),
            0, KS_ERR_MISMATCH, "does not write all of its output");
    refused(CONTRACT("rtol=1e-5 atol=1e-6") KERNEL("int i = blockIdx.x * blockDim.x + threadIdx.x; y[i] = a * x[i];")
                ENTRY("k<<<(n + 63) / 64, 64>>>(x, y, n, a);"),
            0, KS_ERR_DEVICE, "past the end of");
    refused(CONTRACT("rtol=1e-5 atol=1e-6") "#include <cuda_runtime.h>\nstatic void scale(const float *, float *, int, float) "
                                            "{}\n__global__ void k() {}\nvoid use() { "
                                            "scale(nullptr, nullptr, 0, 0); k<<<1, 1>>>(); }\n",
            0, KS_ERR_BUILD, "is it static or inline");
    refused(CONTRACT("rtol=1e-5 atol=1e-6") "#include <cuda_runtime.h>\nint broken = ;\n", 0, KS_ERR_BUILD, "scale.cu(8): error");
    refused(CONTRACT("rtol=1e-5 atol=1e-6") ONE_EACH, 1000, KS_ERR_LIMIT, "the limit is");
}

static void verdict_text(const char *candidate, struct ks_str *out)
{
    struct fixture f;
    struct ks_err err = {0};
    struct ks_verdict v;
    CHECK_OK(open_session(&f, CONTRACT("rtol=1e-5 atol=1e-6") ONE_BLOCK, 0, &err));
    if (f.session) {
        CHECK_OK(ks_session_try(f.session, candidate, strlen(candidate), &v, &err));
        struct ks_json *j = ks_verdict_to_json(&v, f.contracts), *profile = NULL;
        ks_json_set(j, "wall", ks_json_null());
        ks_json_print(j, out);
        ks_json_free(j);
        ks_verdict_release(&v);
        CHECK_OK(ks_session_profile(f.session, &profile, &err));
        CHECK(ks_json_len(ks_json_get(profile, "kernels")) == 1);
        CHECK_CONTAINS(ks_json_get_str(profile, "ptxas", ""), "registers");
        ks_json_print(profile, out);
        ks_json_free(profile);
        CHECK_OK(ks_session_confirm(f.session, candidate, strlen(candidate), &v, &err));
        CHECK_INT(v.outcome, KS_OUTCOME_ACCEPTED);
        ks_verdict_release(&v);
    }
    close_session(&f);
}

TEST(a_verdict_repeats_byte_for_byte)
{
    KS_AUTO_STR struct ks_str a = KS_STR_INIT, b = KS_STR_INIT;
    verdict_text(ONE_EACH, &a);
    verdict_text(ONE_EACH, &b);
    CHECK_CONTAINS(a.data, "\"outcome\":\"accepted\"");
    for (int g = 0; g < KS_N_GATES; g++)
        CHECK_CONTAINS(a.data, ks_gate_text((enum ks_gate)g));
    CHECK_STR(a.data, b.data);
}

#define LARGE_CONTRACT(time)                                                                                                     \
    "// kscc: entry scale\n"                                                                                                     \
    "// kscc: dims  n=1..50000000\n"                                                                                             \
    "// kscc: in    x : float[n] ~ normal(0,1)\n"                                                                                \
    "// kscc: out   y : float[n] rtol=1e-5 atol=1e-6\n"                                                                          \
    "// kscc: arg   a = 2.5\n"                                                                                                   \
    "// kscc: time  n=" time "\n"

TEST(a_candidate_that_leaves_out_large_shapes_is_not_confirmed)
{
    struct fixture f;
    struct ks_err err = {0};
    struct ks_verdict v;
    const char *hole = KERNEL("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i];")
        ENTRY("if (n > 100000) return; k<<<(n + 63) / 64, 64>>>(x, y, n, a);");
    CHECK_OK(open_session(&f, LARGE_CONTRACT("100000") ONE_BLOCK, 0, &err));
    if (f.session) {
        CHECK_OK(ks_session_confirm(f.session, hole, strlen(hole), &v, &err));
        CHECK_INT(v.outcome, KS_OUTCOME_REJECTED);
        CHECK_INT(v.gates[KS_GATE_NUMERICS].state, KS_GATE_FAIL);
        ks_verdict_release(&v);
        CHECK_OK(ks_session_confirm(f.session, ONE_EACH, strlen(ONE_EACH), &v, &err));
        CHECK_INT(v.outcome, KS_OUTCOME_ACCEPTED);
        CHECK_INT(ks_json_len(v.unchecked_points), 0);
        CHECK(ks_json_get_i64(v.largest_compared, "bytes", 0) > 2 << 20);
        ks_verdict_release(&v);
    }
    close_session(&f);
}

TEST(a_timing_point_that_nobody_compares_is_named_and_must_be_worked_for)
{
    struct fixture f;
    struct ks_err err = {0};
    struct ks_verdict v;
    const char *idle = KERNEL("int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = a * x[i];")
        ENTRY("k<<<n == 40000000 ? 1 : (n + 63) / 64, 64>>>(x, y, n, a);");
    CHECK_OK(open_session(&f, LARGE_CONTRACT("40000000") ONE_BLOCK, 0, &err));
    if (f.session) {
        CHECK_OK(ks_session_confirm(f.session, idle, strlen(idle), &v, &err));
        CHECK(v.outcome != KS_OUTCOME_ACCEPTED);
        CHECK_CONTAINS(v.gates[KS_GATE_TIME].reason ? v.gates[KS_GATE_TIME].reason : "", "implausible");
        ks_verdict_release(&v);
        CHECK_OK(ks_session_confirm(f.session, ONE_EACH, strlen(ONE_EACH), &v, &err));
        CHECK_INT(v.outcome, KS_OUTCOME_ACCEPTED);
        CHECK_INT(ks_json_len(v.unchecked_points), 1);
        CHECK_CONTAINS(ks_json_get_str(ks_json_at(v.unchecked_points, 0), "shape", ""), "40000000");
        ks_verdict_release(&v);
    }
    close_session(&f);
}

TEST(a_modelled_time_is_at_least_the_sum_of_its_kernels)
{
    static const char text[] = "[{\"kernel\":\"a\",\"modelled_ns\":1500.25},{\"kernel\":\"b\",\"modelled_ns\":500.5}]";
    struct ks_json *kernels = NULL;
    struct ks_err err;
    CHECK_OK(ks_json_parse(text, sizeof text - 1, "counters", &kernels, &err));
    CHECK(ks_counters_agree(kernels, 2000.75));
    CHECK(!ks_counters_agree(kernels, 1.0)); /* as left by a candidate that wrote over the device's total */
    CHECK(ks_counters_agree(kernels, 2100)); /* copies and waits come on top */
    CHECK(!ks_counters_agree(kernels, 1990));
    CHECK(!ks_counters_agree(kernels, 0.0 / 0.0));
    ks_json_free(kernels);
}

/* With `sizes` as in a confirmation, after calls at so many sizes that the code names. */
static void sanitizer_gate(struct fixture *f, const char *candidate, size_t sizes, struct ks_verdict *v)
{
    struct ks_err err = {0};
    struct ks_trial t = {
        .s = f->session, .v = v, .cases = f->session->cases, .n_cases = f->session->n_cases, .confirm = sizes > 0};
    for (size_t i = 0; i < sizes; i++)
        ks_vec_push(&t.sized, ((struct ks_sized_call){t.cases[0].shape, 1000 + i}));
    struct ks_built *b = NULL;
    KS_AUTO_STR struct ks_str log = KS_STR_INIT;
    memset(v, 0, sizeof *v);
    t.deadline_ns = ks_clock_ns() + 60ll * 1000000000;
    CHECK_OK(ks_build(&f->session->opt, candidate, strlen(candidate), "replayed", 60000, &b, &log, &err));
    t.arm.built = b;
    ks_safety_sanitizer(&t);
    ks_built_free(b);
    ks_vec_release(&t.sized);
}

static enum ks_code runner_words(void *context, struct ks_args *out, struct ks_err *err)
{
    (void)context, (void)err;
    ks_args_add_all(out, (char *const[]){(char *)KSCC_BUILD_DIR "/bin/kscc-worker", (char *)"serve", NULL});
    return KS_OK;
}

/* With a stand-in for compute-sanitizer that runs what it is given and finds nothing. */
static void sanitizer_gates(struct ks_remote *remote)
{
    static const uint8_t secret[32] = "repeatable";
    struct fixture f;
    struct ks_err err = {0};
    struct ks_verdict v;
    CHECK_OK(fixture_open(
        &f, CONTRACT("rtol=1e-5 atol=1e-6") ONE_EACH,
        (struct ks_session_options){.unit_path = "scale.cu", .signature = &signature, .secret = secret, .remote = remote}, &err));
    if (f.session) {
        sanitizer_gate(&f, ONE_EACH, remote ? 9 : 0, &v); /* with calls at 9 sizes that the code names, and without */
        CHECK_INT(v.gates[KS_GATE_SAFETY].state, KS_GATE_PASS);
        CHECK_STR(ks_json_get_str(v.gates[KS_GATE_SAFETY].details, "memcheck", ""), "clean");
        CHECK_STR(ks_json_get_str(v.gates[KS_GATE_SAFETY].details, "sizecheck", "not run"), remote ? "clean" : "not run");
        ks_verdict_release(&v);
        sanitizer_gate(&f, FIVE_CALLS, 9, &v); /* the four small calls that the other tools watch come through */
        CHECK_INT(v.gates[KS_GATE_SAFETY].state, KS_GATE_FAIL);
        CHECK_CONTAINS(v.gates[KS_GATE_SAFETY].reason ? v.gates[KS_GATE_SAFETY].reason : "",
                       "sizecheck the candidate ends after");
        ks_verdict_release(&v);
    }
    if (f.session && !remote) {
        sanitizer_gate(&f, ONE_EACH, 9, &v);
        CHECK_STR(ks_json_get_str(v.gates[KS_GATE_SAFETY].details, "sizecheck", ""), "clean");
        ks_verdict_release(&v);
        sanitizer_gate(&f, "#include <stdlib.h>\nvoid scale(const float *, float *, int, float) { _Exit(0); }\n", 0, &v);
        CHECK_INT(v.gates[KS_GATE_SAFETY].state, KS_GATE_FAIL);
        CHECK_CONTAINS(v.gates[KS_GATE_SAFETY].reason ? v.gates[KS_GATE_SAFETY].reason : "", "ends after 0 of");
        ks_verdict_release(&v);
        sanitizer_gate(&f, "#include <unistd.h>\nvoid scale(const float *, float *, int, float) { if (fork() == 0) _exit(0); }\n",
                       0, &v); /* the sandbox is up in a replay, too */
        CHECK_INT(v.gates[KS_GATE_SAFETY].state, KS_GATE_FAIL);
        ks_verdict_release(&v);
    }
    close_session(&f);
}

/* Stands in for NVML: a card that is held down by heat. */
static void fake_nvml(const char *dir)
{
    static const char source[] =
        "int nvmlInit_v2(void) { return 0; }\nint nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { "
        "*d = (void *)d; return (int)i; }\n"
        "int nvmlDeviceGetClockInfo(void *d, int k, unsigned *r) { *r = k == 1 ? 1234 : 99; return !d; }\n"
        "int nvmlDeviceGetTemperature(void *d, int k, unsigned *r) { *r = 77; return !d || k; }\n"
        "int nvmlDeviceGetCurrentClocksThrottleReasons(void *d, unsigned long long *r) { *r = 0x20; return "
        "!d; }\n";
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, library = KS_STR_INIT;
    struct ks_err err = {0};
    struct ks_spawn spawn;
    struct ks_exit e;
    ks_path_join(&path, dir, "nvml.c");
    ks_path_join(&library, dir, "libnvidia-ml.so.1");
    CHECK_OK(ks_file_write_atomic(path.data, source, sizeof source - 1, 0644, &err));
    ks_spawn_init(&spawn);
    spawn.argv = (char *const[]){(char *)"cc", (char *)"-shared", (char *)"-fPIC", (char *)"-o", library.data, path.data, NULL};
    CHECK_OK(ks_process_run(&spawn, NULL, NULL, &e, &err));
    CHECK(ks_exit_ok(&e));
}

TEST(a_replay_that_ends_early_is_no_clean_one_also_where_the_device_is_elsewhere)
{
    static const char tool[] = "#!/bin/sh\nwhile case $1 in --*) true ;; *) false ;; esac; do shift; done\nexec \"$@\"\n";
    struct ks_remote_via via = {.name = "pipes", .command = runner_words};
    struct ks_err err = {0};
    char *dir;
    CHECK_OK(ks_dir_make_temp("kscc-test", &dir, &err));
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, search = KS_STR_INIT;
    KS_AUTO_FREE char *before = ks_xstrdup(getenv("PATH"));
    ks_path_join(&path, dir, "compute-sanitizer");
    CHECK_OK(ks_file_write_atomic(path.data, tool, sizeof tool - 1, 0755, &err));
    ks_str_addf(&search, "%s:%s", dir, before);
    setenv("PATH", search.data, 1);
    sanitizer_gates(NULL);
    fake_nvml(dir);
    KS_AUTO_FREE char *libraries = getenv("LD_LIBRARY_PATH") ? ks_xstrdup(getenv("LD_LIBRARY_PATH")) : NULL;
    setenv("LD_LIBRARY_PATH", dir, 1);
    struct ks_remote *remote = ks_remote_new(&via);
    sanitizer_gates(remote);
    struct ks_nvml_sample there = ks_remote_clocks(remote); /* those of the card there, not of one here */
    CHECK(!ks_remote_lost(remote) && there.present && ks_nvml_throttled(&there));
    CHECK_INT(there.sm_mhz, 1234);
    CHECK_INT(there.celsius, 77);
    if (libraries)
        setenv("LD_LIBRARY_PATH", libraries, 1);
    else
        unsetenv("LD_LIBRARY_PATH");
    ks_remote_free(remote);
    ks_path_join(&path, dir, "none"); /* nothing is found there: skipped, and said */
    setenv("PATH", path.data, 1);
    remote = ks_remote_new(&via);
    struct ks_tool_report reports[KS_N_TOOLS] = {0};
    ks_path_join(&path, dir, "compute-sanitizer");
    enum ks_code code =
        ks_remote_tools(remote, &(struct ks_tools_task){.replay = path.data, .mask = 1, .timeout_ms = 1000}, reports, &err);
    CHECK(code == KS_ERR_NOT_FOUND ||
          code == KS_ERR_PROTOCOL); /* no tool there; where there is a toolkit, that this is no replay */
    ks_remote_free(remote);
    setenv("PATH", before, 1);
    CHECK_OK(ks_dir_remove(dir, &err));
    free(dir);
}

static struct {
    atomic_bool stop;
    atomic_int entered;
} timer;

/* Another process, as far as the lock can tell: wants the device alone again and again. */
static void *timer_thread(void *arg)
{
    struct ks_device_lock l;
    (void)arg;
    ks_device_lock_open(&l);
    while (!timer.stop) {
        ks_device_lock_alone(&l);
        timer.entered++;
        ks_device_lock_leave(&l);
        usleep(100);
    }
    ks_device_lock_close(&l);
    return NULL;
}

TEST(who_times_gets_in_between_two_cases)
{
    struct fixture f;
    struct ks_err err = {0};
    struct ks_built *b = NULL;
    struct ks_verdict v = {0};
    pthread_t thread;
    KS_AUTO_STR struct ks_str log = KS_STR_INIT;
    CHECK_OK(open_session(&f, CONTRACT("rtol=1e-5 atol=1e-6") ONE_BLOCK, 0, &err));
    if (f.session) {
        struct ks_trial t = {.s = f.session, .v = &v, .cases = f.session->cases, .n_cases = f.session->n_cases};
        t.deadline_ns = ks_clock_ns() + 60ll * 1000000000;
        CHECK_OK(ks_build(&f.session->opt, ONE_EACH, strlen(ONE_EACH), "convoy", 60000, &b, &log, &err));
        t.arm.built = b;
        setenv("TMPDIR", f.work, 1);
        ks_device_lock_open(&f.session->lock); /* an emulated device has none of its own */
        CHECK(f.session->lock.lock_fd >= 0);
        CHECK_INT(pthread_create(&thread, NULL, timer_thread, NULL), 0);
        ks_trial_enter(&t, false);
        int before = timer.entered;
        ks_gate_numerics(&t);
        CHECK_INT(v.gates[KS_GATE_NUMERICS].state, KS_GATE_PASS);
        CHECK(timer.entered - before >= (int)t.n_cases / 2);
        ks_session_leave(f.session);
        timer.stop = true;
        pthread_join(thread, NULL);
        unsetenv("TMPDIR");
        ks_arm_stop(&t.arm);
        ks_built_free(b);
        ks_verdict_release(&v);
    }
    close_session(&f);
}

TEST_MAIN
