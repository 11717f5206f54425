/* Speed of the emulated device: thread instructions a second, by processor time of all host threads and by wall clock, on matrix
 * products of model_kernels.cu; then GFLOP/s of wgmma and tcgen05.mma.
 * Usage: bench_emu model_kernels.ptx [n [wgmma_kernels.ptx tcgen_kernels.ptx]]. */

#include "tests/emulated/emu_test.h"

#include "base/process.h"

#include <time.h>

static int64_t cpu_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The kernel `speed` of a module: rounds of one product, 32 blocks. */
static int tensor_speed(const char *what, const char *ptx, const char *arch, double flops)
{
    struct ks_emu_config c = {.arch = arch};
    int rounds = 100;
    start_device(&c, ptx);
    void *out = upload(NULL, 4096, "out");
    struct ks_emu_launch l = {
        .name = "speed", .grid = {32, 1, 1}, .block = {128, 1, 1}, .shared_bytes = 40960, .args = (void *[]){&out, &rounds}};
    int64_t cpu = cpu_ns(), wall = ks_clock_ns();
    if (ks_emu_launch_run(dev, mod, &l, &err) != KS_OK) {
        printf("%s: %s\n", what, err.message);
        return 1;
    }
    cpu = cpu_ns() - cpu;
    wall = ks_clock_ns() - wall;
    printf("%-31s %14.0f %12.3f %12.3f  (FLOP, GFLOP/s)\n", what, flops * 32 * rounds, flops * 32 * rounds / (double)cpu,
           flops * 32 * rounds / (double)wall);
    ks_emu_free(dev);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        unsigned checks;
        bool counters;
    } modes[] = {{"plain", 0, false},
                 {"counters", 0, true},
                 {"init", KS_EMU_CHECK_INIT, false},
                 {"race", KS_EMU_CHECK_RACE, false},
                 {"all checks", KS_EMU_CHECK_ALL, false},
                 {"all, counters", KS_EMU_CHECK_ALL, true}};
    static const struct {
        const char *name;
        unsigned tile, bx, by;
    } kernels[] = {{"matmul_naive", 32, 32, 32}, {"matmul_tiled", 32, 32, 32}, {"matmul_register", 64, 256, 1}};
    int n = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 512;
    struct ks_emu_config c = {.arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .counters = true};
    if (argc < 2 || n < 64 || n % 64) {
        printf("usage: %s model_kernels.ptx [n, a multiple of 64]\n", argv[0]);
        return 2;
    }
    start_device(&c, argv[1]);
    size_t bytes = (size_t)n * (size_t)n * 4;
    float *zeros = calloc(1, bytes);
    float *a = upload(zeros, bytes, "a"), *b = upload(zeros, bytes, "b"), *o = upload(zeros, bytes, "o");
    free(zeros);
    printf("%-16s %-14s %14s %12s %12s\n", "kernel", "mode", "thread insts", "G/s cpu", "G/s wall");
    for (size_t k = 0; k < sizeof(kernels) / sizeof(*kernels); k++) {
        double insts = 0;
        unsigned g = (unsigned)n / kernels[k].tile;
        struct ks_emu_launch l = {.name = kernels[k].name,
                                  .grid = {g, g, 1},
                                  .block = {kernels[k].bx, kernels[k].by, 1},
                                  .args = (void *[]){&a, &b, &o, &n}};
        for (size_t m = 0; m <= sizeof(modes) / sizeof(*modes); m++) {
            size_t mode = m ? m - 1 : 1; /* a first run counts instructions */
            c.checks = modes[mode].checks;
            c.counters = modes[mode].counters;
            ks_emu_configure(dev, &c);
            ks_emu_counters_clear(dev);
            int64_t cpu = cpu_ns(), wall = ks_clock_ns();
            if (ks_emu_launch_run(dev, mod, &l, &err) != KS_OK) {
                printf("%s: %s\n", l.name, err.message);
                return 1;
            }
            cpu = cpu_ns() - cpu;
            wall = ks_clock_ns() - wall;
            if (m == 0) {
                struct ks_json *all = ks_emu_counters(dev);
                insts = ks_json_get_num(ks_json_at(all, 0), "thread_insts", 0);
                ks_json_free(all);
                continue;
            }
            printf("%-16s %-14s %14.0f %12.3f %12.3f\n", l.name, modes[mode].name, insts, insts / (double)cpu,
                   insts / (double)wall);
        }
    }
    ks_emu_free(dev);
    if (argc < 5)
        return 0;
    return tensor_speed("wgmma m64n256k16 f16", argv[3], "sm_90a", 4.0 * 2 * 64 * 256 * 16) |
           tensor_speed("tcgen05.mma 128x256x16 f16", argv[4], "sm_100a", 2.0 * 128 * 256 * 16);
}
