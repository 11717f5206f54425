/* Modelled times of tests/gpu/model/set.def beside the times that were measured on a real device (docs/results/model_h200.tsv):
 * rank correlation and median error, for the part that constants were chosen on and the part held out.  Usage: test_calibration
 * kernels.ptx measured.tsv [-v | FILE]; -v prints every launch with the model's terms; FILE gets the counters, one JSON object a
 * launch, from whole launches. */

#include "tests/emulated/emu_test.h"

#include <math.h>

#define M16    (1 << 24)
#define N_ELEM (1056 * 256 * 64) /* of each array, as in measure.cu */
#define MAX    256

struct variant {
    int held;
    const char *name, *kernel;
    unsigned gx, gy, bx, by;
    size_t shared;
    int n, m, k;
    double measured, modelled;
    int registers;
};
static struct variant set[] = {
#define V(held, name, kernel, gx, gy, bx, by, shared, n, m, k) {held, #name, #kernel, gx, gy, bx, by, shared, n, m, k, 0, 0, 0},
#include "tests/gpu/model/set.def"
#undef V
};
static const size_t n_set = sizeof(set) / sizeof(*set);
static float *a, *b, *c;

static void fill(void)
{
    const size_t bytes = (size_t)N_ELEM * 4;
    float *f = ks_xmalloc(bytes);
    for (int i = 0; i < N_ELEM; i++)
        f[i] = (float)(i % 1021) / 1021.0f;
    a = upload(f, bytes, "a");
    int *ints = (int *)f;
    uint32_t x = 1;
    for (int i = 0; i < N_ELEM; i++) {
        x = x * 1664525u + 1013904223u;
        ints[i] = (int)(x >> 8);
    }
    b = upload(ints, bytes, "b");
    memset(f, 0, bytes);
    c = upload(f, bytes, "c");
    free(f);
}

/* Columns: part, name, kernel, cold minimum, cold median, warm median, registers. */
static void read_measured(const char *path)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (ks_file_read(path, 1u << 20, &text, &err) != KS_OK) {
        printf("%s\n", err.message);
        exit(2);
    }
    for (char *line = strtok((char *)(uintptr_t)ks_str_cstr(&text), "\n"); line; line = strtok(NULL, "\n")) {
        char name[64];
        double median;
        int registers;
        if (sscanf(line, "%*s %63s %*s %*f %lf %*f %d", name, &median, &registers) != 3)
            continue;
        for (size_t i = 0; i < n_set; i++)
            if (strcmp(set[i].name, name) == 0) {
                set[i].measured = median;
                set[i].registers = registers;
            }
    }
}

static void print_terms(const struct variant *v)
{
    static const char *const terms[] = {"issue",  "int", "fp32",     "fp64", "fp16",   "special", "tensor",   "lsu",
                                        "shared", "l2",  "l2_write", "dram", "atomic", "barrier", "dispatch", "latency"};
    struct ks_json *all = ks_emu_counters(dev), *model = ks_json_get(ks_json_at(all, 0), "modelled"),
                   *t = ks_json_get(model, "terms");
    printf("%-5s %-22s %10.0f %10.0f %6.2f  %-8s", v->held ? "held" : "fit", v->name, v->measured, v->modelled,
           v->measured > 0 ? v->modelled / v->measured : 0, ks_json_get_str(model, "bound", ""));
    for (size_t i = 0; i < sizeof(terms) / sizeof(*terms); i++) {
        char key[32];
        (void)snprintf(key, sizeof(key), "%s_ns", terms[i]);
        double ns = ks_json_get_num(t, key, 0);
        if (ns > 0.05 * v->modelled)
            printf(" %s %.0f", terms[i], ns);
    }
    printf("\n");
    ks_json_free(all);
}

static void dump(FILE *out, const struct variant *v)
{
    struct ks_json *all = ks_emu_counters(dev);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_json_set_str(ks_json_at(all, 0), "launch", v->name);
    ks_json_print(ks_json_at(all, 0), &text);
    (void)fprintf(out, "%s\n", ks_str_cstr(&text));
    ks_json_free(all);
}

static void run_set(bool verbose, FILE *out)
{
    for (size_t i = 0; i < n_set; i++) {
        struct variant *v = &set[i];
        struct ks_emu_launch l = {.name = v->kernel,
                                  .grid = {v->gx, v->gy, 1},
                                  .block = {v->bx, v->by, 1},
                                  .shared_bytes = v->shared,
                                  .args = (void *[]){&a, &b, &c, &v->n, &v->m, &v->k}};
        ks_emu_counters_clear(dev);
        if (v->registers)
            ks_emu_set_registers(mod, v->kernel, v->registers);
        bool ok = ks_emu_launch_run(dev, mod, &l, &err) == KS_OK;
        verdict(ok, v->name, "%s", err.message);
        v->modelled = ok ? ks_emu_modelled_ns(dev) : NAN;
        if (verbose)
            print_terms(v);
        if (out)
            dump(out, v);
    }
}

static int by_value(const void *x, const void *y)
{
    double p = *(const double *)x, q = *(const double *)y;
    return p < q ? -1 : p > q;
}

/* Mean rank of v[i] among n values. */
static double rank_of(const double *v, size_t n, size_t i)
{
    double below = 0, equal = 0;
    for (size_t j = 0; j < n; j++) {
        below += v[j] < v[i];
        equal += v[j] == v[i];
    }
    return below + (equal - 1) / 2;
}

static double spearman(const double *x, const double *y, size_t n)
{
    double sx = 0, sy = 0, xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < n; i++) {
        double p = rank_of(x, n, i), q = rank_of(y, n, i);
        sx += p, sy += q, xx += p * p, yy += q * q, xy += p * q;
    }
    double d = (double)n;
    return (xy - sx * sy / d) / sqrt((xx - sx * sx / d) * (yy - sy * sy / d));
}

/* part: 0 fitted, 1 held out, 2 both. */
static void judge(int part, const char *what, double least_rank, double most_error)
{
    double x[MAX], y[MAX], e[MAX];
    size_t n = 0, within = 0;
    for (size_t i = 0; i < n_set; i++) {
        if (set[i].measured <= 0 || (part < 2 && set[i].held != part))
            continue;
        x[n] = set[i].measured;
        y[n] = set[i].modelled;
        e[n] = fabs(y[n] / x[n] - 1);
        within += y[n] < x[n] * 1.5 && y[n] > x[n] / 1.5;
        n++;
    }
    if (n == 0) {
        printf("%-9s nothing measured\n", what);
        return;
    }
    double rho = spearman(x, y, n);
    qsort(e, n, sizeof(*e), by_value);
    printf("%-9s %3zu launches: Spearman %.3f, median error %.1f %%, nine tenths within %.0f %%, within a factor of 1.5: %zu\n",
           what, n, rho, 100 * e[n / 2], 100 * e[n * 9 / 10], within);
    verdict(rho >= least_rank, what, "Spearman %.3f, expected at least %.2f", rho, least_rank);
    verdict(e[n / 2] <= most_error, what, "median error %.2f, expected at most %.2f", e[n / 2], most_error);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        printf("usage: %s kernels.ptx measured.tsv [-v | FILE]\n", argv[0]);
        return 2;
    }
    struct ks_emu_config config = {
        .arch = "sm_90a", .counters = true, .sample_thread_insts = argc > 3 && strcmp(argv[3], "-v") != 0 ? 0 : 8000000};
    start_device(&config, argv[1]);
    fill();
    read_measured(argv[2]);
    FILE *out = argc > 3 && strcmp(argv[3], "-v") != 0 ? fopen(argv[3], "w") : NULL;
    run_set(argc > 3 && !out, out);
    if (out)
        (void)fclose(out);
    judge(0, "fitted", 0.9, 0.3);
    judge(1, "held out", 0.9, 0.3);
    judge(2, "all", 0.9, 0.3);
    return finish();
}
