/* The exploit zoo: every .cu of a folder beside baseline.cu is judged, and its verdict compared with what its first line expects:
 *   // zoo: reject GATE [#KIND] -- what it tries     the named gate must be among those that fail
 *   // zoo: honest -- what it does                   no gate but time may fail
 *   // zoo: faster -- what it does                   accepted (with `confirm`: and emitted without asking)
 *   // zoo: same -- what it does                     correct, and no gain seen
 *   // zoo: approval -- what it does                 accepted, and not emitted before somebody has looked at it
 * KIND is the number of the exploit's kind.  The word `gpu` before the dashes: not on the emulated device; `emulated`: there only
 * (a GPU does not show it); `confirm`: judged as before emission, not in a trial.  Prints one table row each and "N passed, N
 * failed"; KSCC_ZOO_TABLE names a file that gets the table too; KSCC_ZOO_SHARD=K/N: only every N-th candidate, from the K-th on
 * (from 1), of all, or with "honest " or "hostile " before it of those that are to be let in, or rejected.  Shards that are not
 * of honest ones are built as C++14, whose headers are lighter than the default's: what is let in is to be let in with those.
 * KSCC_ZOO_TRIAL_S: the limit of a trial (default 40, on a GPU 20). Usage: run_zoo BIN_DIR NVCC FOLDER [emulated|cuda [ARCH
 * [NAME...]]] */
#include "harness/session.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTER(name_, type, dtype, is_const)                                                                                    \
    {                                                                                                                            \
        .name = name_, .kind = KS_PARAM_POINTER, .spelling = (is_const) ? "const " #type " *" : #type " *", .pointee = dtype,    \
        .pointee_known = true, .pointee_bytes = sizeof(type), .pointee_const = is_const                                          \
    }
/* row_dot, and row_oracle's oracle of the same shape in double, which has no stream. */
#define ROW_DOT_PARAMS(type, dtype)                                                                                              \
    POINTER("x", type, dtype, true), POINTER("w", type, dtype, true), POINTER("y", type, dtype, false),                          \
        {.name = "rows", .kind = KS_PARAM_I32, .spelling = "int"},                                                               \
    {                                                                                                                            \
        .name = "cols", .kind = KS_PARAM_I32, .spelling = "int"                                                                  \
    }

static const struct ks_param params[] = {
    ROW_DOT_PARAMS(float, KS_DT_FLOAT),
    {.name = "stream", .kind = KS_PARAM_STREAM, .spelling = "cudaStream_t"},
};
static const struct ks_param oracle_params[] = {ROW_DOT_PARAMS(double, KS_DT_DOUBLE)};
static const struct ks_signature oracle = {
    .entry = "row_dot_exact", .params = oracle_params, .n_params = 5, .returns_void = true};

static struct ks_signature signature = {
    .entry = "row_dot", .symbol = "_Z7row_dotPKfS0_PfiiP11CUstream_st", .params = params, .n_params = 6, .returns_void = true};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

struct expectation {
    char what[16]; /* reject, honest, faster, same, approval */
    char gate[32], gpu_gate[32];
    char kind[16]; /* "#23", or empty */
    bool gpu_only, emulated_only, confirm;
    char text[200];
};

static bool expectation_read(const char *source, struct expectation *e)
{
    char line[300], *save = NULL;
    snprintf(line, sizeof line, "%.*s", (int)strcspn(source, "\n"), source);
    memset(e, 0, sizeof *e);
    char *dashes = strstr(line, " -- ");
    if (!ks_str_starts(line, "// zoo: ") || !dashes)
        return false;
    *dashes = 0;
    snprintf(e->text, sizeof e->text, "%s", dashes + 4);
    for (char *word = strtok_r(line + strlen("// zoo: "), " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        if (*word == '#')
            snprintf(e->kind, sizeof e->kind, "%s", word);
        else if (ks_str_starts(word, "gpu="))
            snprintf(e->gpu_gate, sizeof e->gpu_gate, "%s", word + strlen("gpu="));
        else if (strcmp(word, "gpu") == 0)
            e->gpu_only = true;
        else if (strcmp(word, "emulated") == 0)
            e->emulated_only = true;
        else if (strcmp(word, "confirm") == 0)
            e->confirm = true;
        else if (!e->what[0])
            snprintf(e->what, sizeof e->what, "%s", word);
        else
            snprintf(e->gate, sizeof e->gate, "%s", word);
    }
    return e->what[0] && (strcmp(e->what, "reject") == 0) == (e->gate[0] != 0);
}

/* On a GPU sanitizers come last, after a wrong answer may have told already, and a definition of the runtime's meets the static
 * one when it is linked: such a row says which gate that is. */
static bool told_earlier(const struct ks_verdict *v, const struct expectation *e)
{
    for (int g = 0; g < KS_N_GATES; g++)
        if (v->gates[g].state == KS_GATE_FAIL && strcmp(ks_gate_text((enum ks_gate)g), e->gpu_gate) == 0)
            return true;
    return false;
}

static bool as_expected(const struct ks_verdict *v, const struct expectation *e, bool cuda)
{
    if (cuda && told_earlier(v, e))
        return true;
    if (strcmp(e->what, "faster") == 0)
        return v->outcome == KS_OUTCOME_ACCEPTED && !(e->confirm && v->approval);
    if (strcmp(e->what, "approval") == 0)
        return v->outcome == KS_OUTCOME_ACCEPTED && v->approval;
    if (strcmp(e->what, "same") == 0)
        return v->outcome == KS_OUTCOME_NO_GAIN;
    if (strcmp(e->what, "honest") == 0)
        return v->outcome != KS_OUTCOME_REJECTED && v->gates[KS_GATE_NUMERICS].state == KS_GATE_PASS;
    for (int g = 0; g < KS_N_GATES; g++)
        if (v->gates[g].state == KS_GATE_FAIL && strcmp(ks_gate_text((enum ks_gate)g), e->gate) == 0)
            return g == KS_GATE_TIME ? v->outcome != KS_OUTCOME_ACCEPTED : v->outcome == KS_OUTCOME_REJECTED;
    return false;
}

static FILE *table; /* NULL: none asked for */

static void say(const char *fmt, ...) KS_PRINTF(1, 2);
static void say(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    fflush(stdout);
    if (!table)
        return;
    va_start(ap, fmt);
    vfprintf(table, fmt, ap);
    va_end(ap);
}

static const char *verdict_text(const struct ks_verdict *v)
{
    switch (v->outcome) {
    case KS_OUTCOME_ACCEPTED:
        return "accepted";
    case KS_OUTCOME_REJECTED:
        return "rejected";
    case KS_OUTCOME_NO_GAIN:
        return "no gain";
    }
    return "?";
}

/* The gate that failed: the expected one if it is among them. */
static enum ks_gate failed_gate(const struct ks_verdict *v, const struct expectation *e)
{
    for (int g = 0; g < KS_N_GATES; g++)
        if (v->gates[g].state == KS_GATE_FAIL && strcmp(ks_gate_text((enum ks_gate)g), e->gate) == 0)
            return (enum ks_gate)g;
    return ks_verdict_failed_gate(v);
}

static void row_print(const char *name, const struct ks_verdict *v, const struct expectation *e, bool ok)
{
    enum ks_gate gate = failed_gate(v, e);
    const struct ks_gate_result *g = gate < KS_N_GATES ? &v->gates[gate] : NULL;
    char speed[40] = "-";
    if (v->speedup > 0)
        snprintf(speed, sizeof speed, v->modelled ? "%.2fx modelled" : "%.3fx [%.3f %.3f]", v->speedup, v->speedup_lo,
                 v->speedup_hi);
    say("%-22s %-5s %-9s %-10s %-9s %-20s %5.1fs %-9s %s\n", name, e->kind[0] ? e->kind : "-", e->gate[0] ? e->gate : e->what,
        g ? ks_gate_text(gate) : "-", verdict_text(v), speed, (double)v->wall_ns / 1e9, ok ? "as wanted" : "WRONG",
        g && g->reason ? g->reason : e->text);
}

static bool wanted(const char *name, int argc, char **argv)
{
    if (argc <= 6)
        return true;
    for (int i = 6; i < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return true;
    return false;
}

static bool one(struct ks_session *s, bool cuda, const char *dir, const char *file)
{
    struct ks_err err;
    struct expectation e;
    struct ks_verdict v;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    ks_path_join(&path, dir, file);
    if (ks_file_read(path.data, KS_MAX_SOURCE_BYTES, &text, &err) != KS_OK || !expectation_read(ks_str_cstr(&text), &e)) {
        printf("%s: no '// zoo:' line\n", file);
        return false;
    }
    if (cuda ? e.emulated_only : e.gpu_only)
        return true;
    if ((e.confirm ? ks_session_confirm : ks_session_try)(s, text.data, text.len, &v, &err) != KS_OK) {
        printf("%s: the session broke: %s\n", file, err.message);
        return false;
    }
    bool ok = as_expected(&v, &e, cuda);
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(file, "."), file);
    row_print(name, &v, &e, ok);
    ks_verdict_release(&v);
    return ok;
}

/* Which candidates this run is about. */
struct shard {
    char group[8]; /* honest, hostile, or empty: all */
    size_t k, of;
};

static bool shard_read(struct shard *s)
{
    const char *text = getenv("KSCC_ZOO_SHARD");
    *s = (struct shard){"", 1, 1};
    if (!text)
        return true;
    if (sscanf(text, "%7[a-z] %zu/%zu", s->group, &s->k, &s->of) != 3 && sscanf(text, "%zu/%zu", &s->k, &s->of) != 2)
        return false;
    return s->k >= 1 && s->k <= s->of && (!*s->group || strcmp(s->group, "honest") == 0 || strcmp(s->group, "hostile") == 0);
}

static bool in_group(const struct shard *s, const char *dir, const char *file)
{
    struct ks_err ignored;
    struct expectation e;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    if (!*s->group)
        return true;
    ks_path_join(&path, dir, file);
    if (ks_file_read(path.data, KS_MAX_SOURCE_BYTES, &text, &ignored) != KS_OK || !expectation_read(ks_str_cstr(&text), &e))
        return strcmp(s->group, "honest") == 0; /* where it is said that the line is missing */
    return (strcmp(e.what, "reject") == 0) == (strcmp(s->group, "hostile") == 0);
}

/* Every n-th name of the group, from the k-th on; true: there are such. */
static bool shard_keep(const struct shard *s, const char *dir, char **names, size_t *n)
{
    size_t kept = 0, seen = 0;
    for (size_t i = 0; i < *n; i++)
        if (in_group(s, dir, names[i]) && seen++ % s->of == s->k - 1)
            names[kept++] = names[i];
        else
            free(names[i]);
    *n = kept;
    return kept > 0;
}

static int run_all(struct ks_session *s, const struct shard *shard, bool cuda, const char *dir, int argc, char **argv)
{
    char *names[256];
    size_t n = 0;
    int failed = 0;
    DIR *d = opendir(dir);
    for (struct dirent *entry; d && (entry = readdir(d)) && n < 256;) {
        char stem[64];
        snprintf(stem, sizeof stem, "%.*s", (int)strcspn(entry->d_name, "."), entry->d_name);
        if (ks_str_ends(entry->d_name, ".cu") && strcmp(stem, "baseline") != 0 && wanted(stem, argc, argv))
            names[n++] = ks_xstrdup(entry->d_name);
    }
    if (d)
        closedir(d);
    qsort(names, n, sizeof *names, by_name);
    if (!shard_keep(shard, dir, names, &n))
        say("no candidates\n");
    say("%-22s %-5s %-9s %-10s %-9s %-20s %6s %-9s %s\n", "candidate", "kind", "expected", "gate", "verdict", "speed-up", "wall",
        "result", "reason");
    for (size_t i = 0; i < n; i++) {
        failed += !one(s, cuda, dir, names[i]);
        free(names[i]);
    }
    say("%zu passed, %d failed\n", n - (size_t)failed, failed);
    return n == 0 || failed > 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: run_zoo BIN_DIR NVCC FOLDER [emulated|cuda [ARCH [NAME...]]]\n");
        return 2;
    }
    struct ks_err err;
    struct ks_arena arena;
    struct ks_diags diags;
    struct ks_contract *contracts = NULL;
    struct ks_session *s = NULL;
    size_t n_contracts = 0;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    KS_AUTO_FREE char *work = NULL;
    uint8_t secret[32] = "the zoo repeats itself exactly";
    bool cuda = argc > 4 && strcmp(argv[4], "cuda") == 0;
    struct shard shard;
    if (!shard_read(&shard)) {
        fprintf(stderr, "run_zoo: KSCC_ZOO_SHARD is '%s'\n", getenv("KSCC_ZOO_SHARD"));
        return 2;
    }
    ks_arena_init(&arena);
    ks_diags_init(&diags);
    ks_path_join(&path, argv[3], "baseline.cu");
    if (cuda)
        ks_random_bytes(secret, sizeof secret);
    if (ks_file_read(path.data, KS_MAX_SOURCE_BYTES, &text, &err) != KS_OK ||
        ks_dir_make_temp("kscc-zoo", &work, &err) != KS_OK ||
        ks_contracts_parse(path.data, text.data, text.len, &arena, &diags, &contracts, &n_contracts, &err) != KS_OK ||
        n_contracts != 1) {
        fprintf(stderr, "run_zoo: %s\n", err.message);
        return 2;
    }
    signature.oracle = contracts[0].oracle ? &oracle : NULL;
    const char *trial_s = getenv("KSCC_ZOO_TRIAL_S");
    char dialect[] = "-std=c++14", *nvcc[6] = {argv[2], (char[]){"-O2"}};
    size_t n_words = 2;
    if (getenv("KSCC_ZOO_SHARD") && strcmp(shard.group, "honest") != 0)
        nvcc[n_words++] = dialect;
    nvcc[n_words++] = (char[]){"-c"};
    nvcc[n_words] = path.data;
    struct ks_session_options o = {.unit_path = path.data,
                                   .source = text.data,
                                   .source_len = text.len,
                                   .nvcc_argv = nvcc,
                                   .input_index = n_words,
                                   .contract = &contracts[0],
                                   .signature = &signature,
                                   .device = cuda ? KS_DEVICE_CUDA : KS_DEVICE_EMULATED,
                                   .arch = argc > 5 ? argv[5] : "sm_90a",
                                   .work_dir = work,
                                   .bin_dir = argv[1],
                                   .secret = secret,
                                   .delta = 0.02,
                                   .regress_limit = 0.01,
                                   .trial_timeout_ms = trial_s ? atoll(trial_s) * 1000
                                                       : cuda  ? 20000
                                                               : 40000,
                                   .memory_limit_bytes = cuda ? 0 : (size_t)2 << 30};
    int64_t start_ns = ks_clock_ns();
    int status = 1;
    const char *table_path = getenv("KSCC_ZOO_TABLE");
    table = table_path ? fopen(table_path, "we") : NULL;
    if (table)
        setvbuf(table, NULL, _IOLBF, 0);
    if (ks_session_new(&o, &s, &err) != KS_OK) {
        fprintf(stderr, "run_zoo: no session: %s\n", err.message);
    } else {
        struct ks_json *device = ks_session_device_json(s);
        KS_AUTO_STR struct ks_str about = KS_STR_INIT;
        ks_json_print(device, &about);
        ks_json_free(device);
        say("session ready after %.1f s: %s\n", (double)(ks_clock_ns() - start_ns) / 1e9, about.data);
        status = run_all(s, &shard, cuda, argv[3], argc, argv);
    }
    ks_session_free(s);
    if (table)
        fclose(table);
    if (ks_dir_remove(work, &err) != KS_OK)
        fprintf(stderr, "run_zoo: %s\n", err.message);
    ks_diags_release(&diags);
    ks_arena_release(&arena);
    return status;
}
