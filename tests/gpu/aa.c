/* What the time gate says to no change at all, and to a true gain of 3 %: searches of one candidate each, every one with
 * processes of its own (control, trial and, when the trial passes, confirmation; the other gates are not repeated). Prints one
 * row a search (places: what the first call of a block, and the process started first, were worth in the control) and a line of
 * sums.  Exit status 0: no more than one of the equal candidates accepted, at least nine of ten of the better ones. Usage: aa
 * BIN_DIR NVCC ARCH N_EQUAL N_BETTER WORKLOADS_FOLDER */
#include "harness/session_impl.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"

#include <stdio.h>
#include <string.h>

#define PTR(param, constant)                                                                                                     \
    {                                                                                                                            \
        .name = param, .kind = KS_PARAM_POINTER, .spelling = "float *", .pointee = KS_DT_FLOAT, .pointee_known = true,           \
        .pointee_bytes = 4, .pointee_const = constant                                                                            \
    }
#define N                                                                                                                        \
    {                                                                                                                            \
        .name = "n", .kind = KS_PARAM_I32, .spelling = "int"                                                                     \
    }
#define STREAM                                                                                                                   \
    {                                                                                                                            \
        .name = "stream", .kind = KS_PARAM_STREAM, .spelling = "cudaStream_t"                                                    \
    }

static const struct ks_param one_in[] = {PTR("x", true), PTR("y", false), N, STREAM};
static const struct ks_param two_in[] = {PTR("x", true), PTR("z", true), PTR("y", false), N, STREAM};

static const struct workload {
    const char *name;
    struct ks_signature signature;
    bool has_better;
} workloads[] = {
    {"compute",
     {.entry = "settle", .symbol = "_Z6settlePKfPfiP11CUstream_st", .params = one_in, .n_params = 4, .returns_void = true},
     true},
    {"memory",
     {.entry = "add", .symbol = "_Z3addPKfS0_PfiP11CUstream_st", .params = two_in, .n_params = 5, .returns_void = true},
     true},
    {"transpose",
     {.entry = "turn", .symbol = "_Z4turnPKfPfiP11CUstream_st", .params = one_in, .n_params = 4, .returns_void = true},
     false},
};
#define N_WORKLOADS (sizeof workloads / sizeof *workloads)

struct bench {
    struct ks_session *session;
    struct ks_built *better;
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_contract *contracts;
    struct ks_str source;
};

static bool text_read(const char *folder, const char *name, const char *suffix, struct ks_str *path, struct ks_str *text)
{
    struct ks_err err;
    ks_str_clear(path);
    ks_str_addf(path, "%s/%s%s.cu", folder, name, suffix);
    ks_str_clear(text);
    return ks_file_read(path->data, KS_MAX_SOURCE_BYTES, text, &err) == KS_OK;
}

static bool bench_open(struct bench *b, const struct workload *w, char **argv, const char *work)
{
    struct ks_err err = {0};
    size_t n = 0;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT, dir = KS_STR_INIT;
    uint8_t secret[32];
    ks_random_bytes(secret, sizeof secret);
    ks_arena_init(&b->arena);
    ks_diags_init(&b->diags);
    ks_path_join(&dir, work, w->name);
    if (ks_dir_make(dir.data, &err) != KS_OK || !text_read(argv[6], w->name, "", &path, &b->source) ||
        ks_contracts_parse(path.data, b->source.data, b->source.len, &b->arena, &b->diags, &b->contracts, &n, &err) != KS_OK ||
        n != 1) {
        fprintf(stderr, "aa: %s: %s\n", w->name, err.message);
        return false;
    }
    char *nvcc[] = {argv[2], (char[]){"-O2"}, (char[]){"-c"}, path.data, NULL};
    struct ks_session_options o = {.unit_path = path.data,
                                   .source = b->source.data,
                                   .source_len = b->source.len,
                                   .nvcc_argv = nvcc,
                                   .input_index = 3,
                                   .contract = b->contracts,
                                   .signature = &w->signature,
                                   .device = KS_DEVICE_CUDA,
                                   .arch = argv[3],
                                   .work_dir = dir.data,
                                   .bin_dir = argv[1],
                                   .secret = secret,
                                   .delta = 0.02,
                                   .regress_limit = 0.01,
                                   .standby = true,
                                   .trial_timeout_ms = 60000};
    bool ok = ks_session_new(&o, &b->session, &err) == KS_OK;
    if (ok && w->has_better)
        ok = text_read(argv[6], w->name, "_3percent", &path, &text) &&
             ks_build(&b->session->opt, text.data, text.len, "better", 120000, &b->better, NULL, &err) == KS_OK;
    if (!ok)
        fprintf(stderr, "aa: %s: %s\n", w->name, err.message);
    return ok;
}

static void bench_close(struct bench *b)
{
    ks_session_free(b->session);
    ks_built_free(b->better);
    ks_diags_release(&b->diags);
    ks_arena_release(&b->arena);
    ks_str_release(&b->source);
}

/* One pass of the time gate; true: passed. */
static bool gate(struct bench *b, const struct ks_built *candidate, bool confirm, struct ks_verdict *v)
{
    struct ks_session *s = b->session;
    struct ks_trial t = {.s = s, .v = v, .confirm = confirm, .cases = s->cases, .n_cases = s->n_cases};
    memset(v, 0, sizeof *v);
    t.deadline_ns = ks_clock_ns() + 60ll * 1000000000;
    t.arm.built = candidate;
    ks_gate_time(&t);
    ks_arm_stop(&t.arm);
    return v->gates[KS_GATE_TIME].state == KS_GATE_PASS;
}

static const char *reason(const struct ks_verdict *v)
{
    const struct ks_gate_result *g = &v->gates[KS_GATE_TIME];
    return g->reason ? g->reason : v->gates[KS_GATE_NUMERICS].reason ? v->gates[KS_GATE_NUMERICS].reason : "-";
}

/* One search; -1: the device could not be used, else whether the candidate was accepted. */
static int search(struct bench *b, const struct workload *w, bool better)
{
    struct ks_session *s = b->session;
    struct ks_verdict trial, confirm = {0};
    struct ks_err err = {0};
    int64_t start_ns = ks_clock_ns();
    const struct ks_built *candidate = better ? b->better : s->baseline;
    ks_arm_stop(&s->base);
    ks_random_bytes(s->secret, sizeof s->secret);
    s->n_trials = 1;
    ks_session_enter(s, false); /* as in a search, where it happens beside the compiler */
    ks_standby_fill(s);
    ks_session_leave(s);
    ks_session_enter(s, true);
    ks_json_free(s->control);
    s->control = NULL;
    if (ks_time_control(s, &err) != KS_OK) {
        ks_session_leave(s);
        printf("%-10s %-6s no control: %s\n", w->name, better ? "3%" : "equal", err.message);
        return -1;
    }
    bool passed = gate(b, candidate, false, &trial), accepted = passed && gate(b, candidate, true, &confirm);
    ks_session_leave(s);
    printf("%-10s %-6s control %.4f [%.4f, %.4f] places %.4f %.4f  trial %.4f [%.4f, %.4f] n=%-3d %-4s", w->name,
           better ? "3%" : "equal", ks_json_get_num(s->control, "aa_ratio", 0), ks_json_get_num(s->control, "aa_lo", 0),
           ks_json_get_num(s->control, "aa_hi", 0), ks_json_get_num(s->control, "place_call", 0),
           ks_json_get_num(s->control, "place_process", 0), trial.speedup, trial.speedup_lo, trial.speedup_hi,
           trial.n_points ? trial.points[0].n_pairs : 0, passed ? "pass" : "fail");
    if (passed)
        printf("  confirmed %.4f [%.4f, %.4f] n=%-3d %-4s", confirm.speedup, confirm.speedup_lo, confirm.speedup_hi,
               confirm.n_points ? confirm.points[0].n_pairs : 0, accepted ? "pass" : "fail");
    printf("  %.2f s  %s\n", (double)(ks_clock_ns() - start_ns) / 1e9,
           passed && accepted ? "" : reason(passed ? &confirm : &trial));
    fflush(stdout);
    ks_verdict_release(&trial);
    ks_verdict_release(&confirm);
    return accepted;
}

int main(int argc, char **argv)
{
    struct bench benches[N_WORKLOADS];
    struct ks_err err;
    KS_AUTO_FREE char *work = NULL;
    if (argc != 7 || ks_dir_make_temp("kscc-aa", &work, &err) != KS_OK) {
        fprintf(stderr, "usage: aa BIN_DIR NVCC ARCH N_EQUAL N_BETTER WORKLOADS_FOLDER\n");
        return 2;
    }
    long n[2] = {strtol(argv[4], NULL, 10), strtol(argv[5], NULL, 10)}, accepted[2] = {0, 0}, done[2] = {0, 0};
    memset(benches, 0, sizeof benches);
    bool ok = true;
    for (size_t i = 0; i < N_WORKLOADS && ok; i++)
        ok = bench_open(&benches[i], &workloads[i], argv, work);
    for (int better = 0; better < 2 && ok; better++)
        for (long k = 0, i = 0; k < n[better]; i++) {
            const struct workload *w = &workloads[i % (long)N_WORKLOADS];
            if (better && !w->has_better)
                continue;
            int r = search(&benches[i % (long)N_WORKLOADS], w, better);
            done[better] += r >= 0;
            accepted[better] += r > 0;
            k++;
        }
    for (size_t i = 0; i < N_WORKLOADS; i++)
        bench_close(&benches[i]);
    printf("equal: %ld of %ld accepted; 3%% better: %ld of %ld accepted\n", accepted[0], done[0], accepted[1], done[1]);
    if (ks_dir_remove(work, &err) != KS_OK)
        fprintf(stderr, "aa: %s\n", err.message);
    return !(ok && done[0] == n[0] && done[1] == n[1] && accepted[0] <= 1 && accepted[1] * 10 >= done[1] * 9);
}
