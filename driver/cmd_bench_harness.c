/* kscc bench-harness: what judging costs besides the compiler and the device.  A kernel of about 1 ms (on the emulated device a
 * small one) is put against rewritings of itself; every trial's wall time is split into what nvcc, the GPU and the sanitizers
 * took, and the rest. */
#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/nvcc.h"
#include "driver/paths.h"
#include "driver/say.h"
#include "harness/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_TRIALS 4
#define MAX_TRIALS     64

static const char unit[] = "// kscc: entry settle\n"
                           "// kscc: dims  n=1..16777216\n"
                           "// kscc: in    x : float[n] ~ uniform(-1,1)\n"
                           "// kscc: out   y : float[n]  rtol=1e-5 atol=1e-6\n"
                           "// kscc: time  n=%s\n"
                           "#include <cuda_runtime.h>\n"
                           "__global__ void settle_kernel(const float *x, float *y, int n)\n"
                           "{\n"
                           "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                           "    if (i >= n)\n"
                           "        return;\n"
                           "    float v = 0, a = x[i];\n"
                           "    for (int k = 0; k < %s; k++)\n"
                           "        v = fmaf(v, 0.5f, a);\n"
                           "    y[i] = v;\n"
                           "}\n"
                           "void settle(const float *x, float *y, int n, cudaStream_t stream)\n"
                           "{\n"
                           "    settle_kernel<<<(n + %d) / %d, %d, 0, stream>>>(x, y, n);\n"
                           "}\n";

static const struct ks_param params[] = {{.name = "x",
                                          .kind = KS_PARAM_POINTER,
                                          .spelling = "const float *",
                                          .pointee = KS_DT_FLOAT,
                                          .pointee_known = true,
                                          .pointee_bytes = 4,
                                          .pointee_const = true},
                                         {.name = "y",
                                          .kind = KS_PARAM_POINTER,
                                          .spelling = "float *",
                                          .pointee = KS_DT_FLOAT,
                                          .pointee_known = true,
                                          .pointee_bytes = 4},
                                         {.name = "n", .kind = KS_PARAM_I32, .spelling = "int"},
                                         {.name = "stream", .kind = KS_PARAM_STREAM, .spelling = "cudaStream_t"}};
static const struct ks_signature signature = {
    .entry = "settle", .symbol = "_Z6settlePKfPfiP11CUstream_st", .params = params, .n_params = 4, .returns_void = true};

struct bench {
    bool cuda, look_twice, standby;
    char arch[16], name[256];
    struct ks_arena arena;
    char *work; /* owned */
    struct ks_session *session;
    double wall, nvcc, device, tools; /* seconds, of all trials */
};

static void text_make(const struct bench *b, int block, struct ks_str *out)
{
    ks_str_clear(out);
    ks_str_addf(out, unit, b->cuda ? "4194304" : "16384", b->cuda ? "8000" : "40", block - 1, block, block);
}

static enum ks_code session_open(struct bench *b, const char *nvcc, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, path = KS_STR_INIT, bin = KS_STR_INIT;
    struct ks_diags diags;
    struct ks_contract *contracts = NULL;
    size_t n = 0;
    uint8_t secret[32];
    text_make(b, 256, &text);
    ks_path_join(&path, b->work, "bench.cu");
    ks_paths_bin(&bin);
    ks_random_bytes(secret, sizeof(secret));
    ks_diags_init(&diags);
    enum ks_code code = ks_file_write_atomic(path.data, text.data, text.len, 0644, err);
    if (code == KS_OK)
        code = ks_contracts_parse(path.data, text.data, text.len, &b->arena, &diags, &contracts, &n, err);
    ks_diags_release(&diags);
    KS_TRY(code);
    char *argv[] = {(char *)nvcc, (char[]){"-O3"}, (char[]){"-c"}, path.data, NULL};
    struct ks_session_options o = {.unit_path = path.data,
                                   .source = text.data,
                                   .source_len = text.len,
                                   .nvcc_argv = argv,
                                   .input_index = 3,
                                   .contract = contracts,
                                   .signature = &signature,
                                   .device = b->cuda ? KS_DEVICE_CUDA : KS_DEVICE_EMULATED,
                                   .arch = b->arch,
                                   .work_dir = b->work,
                                   .bin_dir = ks_str_cstr(&bin),
                                   .secret = secret,
                                   .delta = 0.02,
                                   .regress_limit = 0.01,
                                   .look_twice = b->look_twice,
                                   .standby = b->standby,
                                   .trial_timeout_ms = 120000};
    return ks_session_new(&o, &b->session, err);
}

static double gate_seconds(const struct ks_verdict *v, enum ks_gate gate)
{
    return (double)v->gate_ns[gate] / 1e9;
}

static enum ks_code trial(struct bench *b, int k, struct ks_err *err)
{
    static const int blocks[] = {128, 512, 64, 1024, 192, 384, 320, 640};
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_verdict v;
    text_make(b, blocks[k % 8], &text);
    ks_str_addf(&text, "// %d\n", k); /* else it would not be built again */
    KS_TRY(ks_session_try(b->session, text.data, text.len, &v, err));
    enum ks_gate failed = ks_verdict_failed_gate(&v);
    if (v.gates[KS_GATE_TIME].state == KS_GATE_NOT_RUN ||
        (failed != KS_N_GATES && failed != KS_GATE_TIME)) { /* not the whole way: no cost */
        ks_fail(err, KS_ERR_MISMATCH, "measure a trial that ends at the gate '%s': %s",
                failed == KS_N_GATES ? "time" : ks_gate_text(failed),
                failed == KS_N_GATES || !v.gates[failed].reason ? "it was not reached" : v.gates[failed].reason);
        ks_verdict_release(&v);
        return err->code;
    }
    double wall = (double)v.wall_ns / 1e9, nvcc = (double)v.build_ns / 1e9, device = (double)(v.device_ns - v.beside_ns) / 1e9,
           tools = (double)v.tools_ns / 1e9;
    printf("%5d %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f %8.3f  %5.1f %%", k + 1, wall, nvcc, device, tools,
           wall - nvcc - device - tools, gate_seconds(&v, KS_GATE_NUMERICS), gate_seconds(&v, KS_GATE_SAFETY),
           gate_seconds(&v, KS_GATE_TIME), 100 * (wall - nvcc - device - tools) / wall);
    if (v.n_points && b->cuda)
        printf("  kernel %.3f ms, GPU busy %.1f %% while timing", v.points[0].reference_ns / 1e6,
               100 * ks_json_get_num(v.gates[KS_GATE_TIME].details, "gpu_busy_share", 0));
    printf("\n");
    b->wall += wall;
    b->nvcc += nvcc;
    b->device += device;
    b->tools += tools;
    ks_verdict_release(&v);
    return KS_OK;
}

static enum ks_code bench_run(struct bench *b, const char *nvcc, int n_trials, struct ks_err *err)
{
    int64_t start_ns = ks_clock_ns();
    KS_TRY(session_open(b, nvcc, err));
    KS_AUTO_JSON struct ks_json *device = ks_session_device_json(b->session);
    KS_AUTO_STR struct ks_str about = KS_STR_INIT;
    ks_json_print(device, &about);
    printf("# %s\n# session opened in %.2f s%s\n", about.data, (double)(ks_clock_ns() - start_ns) / 1e9,
           b->look_twice && b->cuda ? "; every trial is looked at twice, and starts both processes anew" : "");
    printf("# seconds of wall time; gpu: not beside nvcc; rest: neither nvcc nor the GPU nor the sanitizers; numerics, safety, "
           "time: those gates\n"
           "%5s %8s %8s %8s %8s %8s %8s %8s %8s  %s\n",
           "trial", "wall", "nvcc", "gpu", "tools", "rest", "numerics", "safety", "time", "rest / wall");
    for (int k = 0; k < n_trials; k++)
        KS_TRY(trial(b, k, err));
    printf("harness overhead: %.1f %% of the wall time of a trial (%.3f of %.3f s)\n",
           100 * (b->wall - b->nvcc - b->device - b->tools) / b->wall, (b->wall - b->nvcc - b->device - b->tools) / n_trials,
           b->wall / n_trials);
    if (!b->cuda)
        printf("no GPU: the emulated device runs on this processor, so its time is part of the rest\n");
    return KS_OK;
}

int ks_cmd_bench_harness(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words;
    KS_AUTO_FREE char *nvcc = NULL;
    struct ks_settings s;
    struct ks_err err;
    struct bench b = {.arch = "sm_90a"};
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    b.look_twice = ks_command_flag(&words, "--second-look");
    b.standby = !ks_command_flag(&words, "--no-standby");
    long n = words.n ? strtol(words.v[0], NULL, 10) : DEFAULT_TRIALS;
    if (words.n > 1 || n < 1 || n > MAX_TRIALS)
        return ks_command_usage("bench-harness");
    b.cuda = s.device.choice != KS_CHOOSE_EMULATED && ks_device_count_cuda(b.name, sizeof(b.name), b.arch, sizeof(b.arch)) > 0;
    if (!b.cuda && s.device.arch[0])
        snprintf(b.arch, sizeof(b.arch), "%s", s.device.arch);
    ks_arena_init(&b.arena);
    enum ks_code code = ks_nvcc_find(s.nvcc, &nvcc, &err);
    if (code == KS_OK)
        code = ks_dir_make_temp("kscc-work", &b.work, &err);
    if (code == KS_OK)
        code = bench_run(&b, nvcc, (int)n, &err);
    if (code != KS_OK)
        ks_say_error(&err);
    ks_session_free(b.session);
    struct ks_err ignored; /* a leftover in the folder for temporary files hurts nobody */
    if (b.work && ks_dir_remove(b.work, &ignored) != KS_OK)
        ks_say_about(KS_SEV_WARNING, &ignored, "%s", ignored.message);
    free(b.work);
    ks_arena_release(&b.arena);
    return code == KS_OK ? 0 : 1;
}
