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

static void row(const char *what, const char *kernel, const char *mode, int threads, double cpu, double wall, const char *unit)
{
    printf("%s\t%s\t%s\t%d\t%.4g\t%.4g\t%s\n", what, kernel, mode, threads, cpu, wall, unit);
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

/* The kernel `speed` of a module: rounds of one product, 32 blocks. */
static bool tensor_speed(const char *what, const char *ptx, const char *arch, double flops)
{
    struct ks_emu_config c = {.arch = arch};
    int rounds = 100;
    double cpu, wall;
    start_device(&c, ptx);
    void *out = upload(NULL, 4096, "out");
    struct ks_emu_launch l = {
        .name = "speed", .grid = {32, 1, 1}, .block = {128, 1, 1}, .shared_bytes = 40960, .args = (void *[]){&out, &rounds}};
    bool ok = timed(&l, &cpu, &wall);
    if (ok)
        row("tensor", what, "plain", (int)sysconf(_SC_NPROCESSORS_ONLN), flops * 32 * rounds / cpu, flops * 32 * rounds / wall,
            "GFLOP/s");
    ks_emu_free(dev);
    return ok;
}

/* One product in every mode on one thread, then on all threads in the modes that use them. */
static bool product(const char *name, unsigned tile, unsigned bx, unsigned by, int n, void **args)
{
    int all = (int)sysconf(_SC_NPROCESSORS_ONLN);
    double insts = 0, cpu, wall, one_cpu[N_MODES], one_wall[N_MODES];
    unsigned g = (unsigned)n / tile;
    struct ks_emu_launch l = {.name = name, .grid = {g, g, 1}, .block = {bx, by, 1}, .args = args};
    struct ks_emu_config c = {.arch = "sm_90a", .counters = true, .n_threads = 1};
    ks_emu_configure(dev, &c);
    ks_emu_counters_clear(dev);
    if (!timed(&l, &cpu, &wall))
        return false;
    struct ks_json *counters = ks_emu_counters(dev);
    insts = ks_json_get_num(ks_json_at(counters, 0), "thread_insts", 0);
    ks_json_free(counters);
    for (int threads = 1; threads <= all; threads += all > 1 ? all - 1 : 1) {
        for (size_t m = 0; m < N_MODES; m++) {
            c.checks = modes[m].checks;
            c.counters = modes[m].counters;
            c.n_threads = threads;
            ks_emu_configure(dev, &c);
            if (!timed(&l, &cpu, &wall))
                return false;
            row("speed", name, modes[m].name, threads, insts / cpu, insts / wall, "G thread instructions/s");
            if (threads == 1) {
                one_cpu[m] = cpu;
                one_wall[m] = wall;
                double steps = (double)n * n * n;
                row("steps", name, modes[m].name, 1, steps / cpu, steps / wall, "G inner steps/s");
            } else {
                row("scaling", name, modes[m].name, threads, one_cpu[m] / cpu, one_wall[m] / wall / threads, "of ideal");
            }
        }
    }
    return true;
}

static size_t peak_bytes(void)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    const char *at =
        ks_file_read("/proc/self/status", 1u << 20, &text, &err) == KS_OK ? strstr(ks_str_cstr(&text), "VmHWM:") : NULL;
    return at ? strtoul(at + 6, NULL, 10) * 1024 : 0;
}

/* Peak memory of a process of its own that copies 64 MiB: above 1 x the program's in terms of the program's.  Host threads do not
 * matter. */
static bool memory(const char *ptx, const struct mode *mode)
{
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct ks_emu_config c = {.arch = "sm_90a", .checks = mode->checks, .counters = mode->counters};
        int n = 16 << 20;
        size_t before = peak_bytes(), own = 2 * (size_t)n * 4;
        start_device(&c, ptx);
        void *a = ks_emu_malloc(dev, (size_t)n * 4, "a"), *b = ks_emu_malloc(dev, (size_t)n * 4, "b");
        if (ks_emu_fill(dev, a, 0, (size_t)n * 4, &err) != KS_OK ||
            launch("copy_rows", (unsigned)n / 256, 256, 0, &a, &b, &n) != KS_OK)
            _exit(1);
        double times = (double)(peak_bytes() - before) / (double)own;
        row("memory", "copy_rows", mode->name, (int)sysconf(_SC_NPROCESSORS_ONLN), times, times, "x the program's own");
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
    for (size_t m = 0; ok && m < N_MODES; m++)
        ok = memory(argv[1], &modes[m]);
    return !ok;
}
