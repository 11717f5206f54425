/* Speed, scaling and memory of the emulated device, as rows for tests/emulated/bench/run.sh: matrix products of
 * model_kernels.cu by thread instructions a second, on one host thread and on all; GFLOP/s of wgmma and tcgen05.mma; how much
 * memory a program takes beyond its own.
 * Usage: bench_emu model_kernels.ptx N [wgmma_kernels.ptx tcgen_kernels.ptx]. */

#include "tests/emulated/emu_test.h"

#include "base/process.h"

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const struct mode {
    const char *name;
    unsigned checks;
    bool counters;
} modes[] = {{"plain", 0, false},
             {"counters", 0, true},
             {"init", KS_EMU_CHECK_INIT, false},
             {"race", KS_EMU_CHECK_RACE, false},
             {"all checks", KS_EMU_CHECK_ALL, false},
             {"all checks, counters", KS_EMU_CHECK_ALL, true}};
#define N_MODES (sizeof(modes) / sizeof(*modes))

static int64_t cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void row(const char *what, const char *kernel, const char *mode, int threads, double cpu, double wall, const char *unit,
                double spread)
{
    printf("%s\t%s\t%s\t%d\t%.4g\t%.4g\t%s\t%.2f\n", what, kernel, mode, threads, cpu, wall, unit, spread);
    (void)fflush(stdout);
}

/* Times one launch; false: said. */
static bool timed(const struct ks_emu_launch *l, double *ret_cpu_ns, double *ret_wall_ns)
{
    int64_t cpu = cpu_ns(), wall = ks_clock_ns();
    if (ks_emu_launch_run(dev, mod, l, &err) != KS_OK) {
        printf("%s: %s\n", l->name, err.message);
        return false;
    }
    *ret_cpu_ns = (double)(cpu_ns() - cpu);
    *ret_wall_ns = (double)(ks_clock_ns() - wall);
    return true;
}

#define ROUNDS 5

/* Median of `n` values, which it sorts, and how far they lie apart in terms of it. */
static double median(double *v, size_t n, double *ret_spread)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && v[k - 1] > v[k]; k--) {
            double swap = v[k];
            v[k] = v[k - 1];
            v[k - 1] = swap;
        }
    *ret_spread = (v[n - 1] - v[0]) / v[n / 2];
    return v[n / 2];
}

/* The kernel `speed` of a module: rounds of one product, 32 blocks. */
static bool tensor_speed(const char *what, const char *ptx, const char *arch, double flops)
{
    struct ks_emu_config c = {.arch = arch};
    int products = 100;
    double cpu[ROUNDS], wall[ROUNDS], spread, spread_cpu;
    start_device(&c, ptx);
    void *out = upload(NULL, 4096, "out");
    struct ks_emu_launch l = {
        .name = "speed", .grid = {32, 1, 1}, .block = {128, 1, 1}, .shared_bytes = 40960, .args = (void *[]){&out, &products}};
    bool ok = true;
    for (int r = 0; ok && r < ROUNDS; r++)
        ok = timed(&l, &cpu[r], &wall[r]);
    double by_cpu = ok ? median(cpu, ROUNDS, &spread_cpu) : 0, by_wall = ok ? median(wall, ROUNDS, &spread) : 0;
    if (ok)
        row("tensor", what, "plain", (int)sysconf(_SC_NPROCESSORS_ONLN), flops * 32 * products / by_cpu,
            flops * 32 * products / by_wall, "GFLOP/s", spread);
    ks_emu_free(dev);
    return ok;
}

/* One product in every mode, on one thread and on all by turns, since the machine's clock changes under them: medians of the
 * rounds, and of each round's ratio. */
static bool product(const char *name, unsigned tile, unsigned bx, unsigned by, int n, void **args)
{
    int all = (int)sysconf(_SC_NPROCESSORS_ONLN);
    double insts = 0, cpu[2][ROUNDS], wall[2][ROUNDS], spread, spread_cpu, steps = (double)n * n * n;
    unsigned g = (unsigned)n / tile;
    struct ks_emu_launch l = {.name = name, .grid = {g, g, 1}, .block = {bx, by, 1}, .args = args};
    struct ks_emu_config c = {.arch = "sm_90a", .counters = true, .n_threads = 1};
    ks_emu_configure(dev, &c);
    ks_emu_counters_clear(dev);
    if (!timed(&l, &cpu[0][0], &wall[0][0]))
        return false;
    struct ks_json *counters = ks_emu_counters(dev);
    insts = ks_json_get_num(ks_json_at(counters, 0), "thread_insts", 0);
    ks_json_free(counters);
    for (size_t m = 0; m < N_MODES; m++) {
        double ratio[2][ROUNDS];
        c.checks = modes[m].checks;
        c.counters = modes[m].counters;
        for (int r = 0; r < ROUNDS; r++) {
            for (int k = 0; k < (all > 1 ? 2 : 1); k++) {
                c.n_threads = k ? all : 1;
                ks_emu_configure(dev, &c);
                if (!timed(&l, &cpu[k][r], &wall[k][r]))
                    return false;
            }
            ratio[0][r] = cpu[0][r] / cpu[1][r];
            ratio[1][r] = wall[0][r] / wall[1][r] / all;
        }
        for (int k = 0; k < (all > 1 ? 2 : 1); k++) {
            double by_cpu = median(cpu[k], ROUNDS, &spread_cpu), by_wall = median(wall[k], ROUNDS, &spread);
            row("speed", name, modes[m].name, k ? all : 1, insts / by_cpu, insts / by_wall, "G thread instructions/s", spread);
            if (!k)
                row("steps", name, modes[m].name, 1, steps / by_cpu, steps / by_wall, "G inner steps/s", spread);
        }
        if (all > 1) {
            double by_cpu = median(ratio[0], ROUNDS, &spread_cpu), by_wall = median(ratio[1], ROUNDS, &spread);
            row("scaling", name, modes[m].name, all, by_cpu, by_wall, "of ideal", spread);
        }
    }
    return true;
}

static const struct workload {
    const char *kernel;
    bool in_place;
} workloads[] = {{"copy_rows", false}, {"copy_strided", false}, {"add_neighbours", true}};

/* Peak memory of a process of its own that works on 128 MiB: above 1 x the program's in terms of the program's. */
static bool memory(const char *ptx, const struct workload *work, const struct mode *mode)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct ks_emu_config c = {.arch = "sm_90a", .checks = mode->checks, .counters = mode->counters};
        int n = work->in_place ? 32 << 20 : 16 << 20;
        size_t before = peak_bytes(), own = (size_t)128 << 20;
        start_device(&c, ptx);
        void *a = ks_emu_malloc(dev, (size_t)n * 4, "a"), *b = work->in_place ? NULL : ks_emu_malloc(dev, (size_t)n * 4, "b");
        if (ks_emu_fill(dev, a, 0, (size_t)n * 4, &err) != KS_OK ||
            launch(work->kernel, (unsigned)n / 256, 256, 0, &a, &b, &n) != KS_OK)
            _exit(1);
        double times = (double)(peak_bytes() - before) / (double)own;
        row("memory", work->kernel, mode->name, (int)sysconf(_SC_NPROCESSORS_ONLN), times, times, "x the program's own", 0);
        _exit(0);
    }
    int status = 1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    if (argc < 3 || n < 64 || n % 64) {
        printf("usage: %s model_kernels.ptx N [wgmma_kernels.ptx tcgen_kernels.ptx], N a multiple of 64\n", argv[0]);
        return 2;
    }
    struct ks_emu_config c = {.arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .counters = true};
    start_device(&c, argv[1]);
    size_t bytes = (size_t)n * (size_t)n * 4;
    float *zeros = ks_xcalloc(1, bytes);
    float *a = upload(zeros, bytes, "a"), *b = upload(zeros, bytes, "b"), *o = upload(zeros, bytes, "o");
    free(zeros);
    void *args[] = {&a, &b, &o, &n};
    bool ok = product("matmul_naive", 32, 32, 32, n, args) && product("matmul_tiled", 32, 32, 32, n, args) &&
              product("matmul_register", 64, 256, 1, n, args);
    ks_emu_free(dev);
    if (argc < 5)
        return !ok;
    ok = ok && tensor_speed("wgmma m64n256k16 f16", argv[3], "sm_90a", 4.0 * 2 * 64 * 256 * 16) &&
         tensor_speed("tcgen05.mma 128x256x16 f16", argv[4], "sm_100a", 2.0 * 128 * 256 * 16);
    for (size_t k = 0; k < sizeof(workloads) / sizeof(*workloads); k++)
        for (size_t m = 0; ok && m < N_MODES; m++)
            ok = memory(argv[1], &workloads[k], &modes[m]);
    return !ok;
}
