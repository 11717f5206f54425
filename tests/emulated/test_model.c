/* Modelled times order variants as real devices do, counters are what arithmetic on paper gives, and nothing depends on host
 * threads. */

#include "tests/emulated/emu_test.h"

#include <math.h>

static double modelled(const char *name, unsigned gx, unsigned gy, unsigned bx, unsigned by, void **args)
{
    struct ks_emu_launch l = {.name = name, .grid = {gx, gy, 1}, .block = {bx, by, 1}, .args = args};
    ks_emu_counters_clear(dev);
    if (ks_emu_launch_run(dev, mod, &l, &err) != KS_OK) {
        verdict(false, name, "%s", err.message);
        return NAN;
    }
    return ks_emu_modelled_ns(dev);
}

static double counter(const char *name)
{
    struct ks_json *all = ks_emu_counters(dev);
    double v = ks_json_get_num(ks_json_at(all, 0), name, NAN);
    ks_json_free(all);
    return v;
}

static void faster(const char *fast, double fast_ns, const char *slow, double slow_ns, double by)
{
    printf("  %-20s %10.0f ns   %-20s %10.0f ns   %.2fx\n", fast, fast_ns, slow, slow_ns, slow_ns / fast_ns);
    verdict(slow_ns >= fast_ns * by, fast, "%s takes %.0f ns, %s %.0f ns: expected at least %.2f times", fast, fast_ns, slow,
            slow_ns, by);
}

#define RUN(name, gx, gy, bx, by, ...) modelled(name, gx, gy, bx, by, (void *[]){__VA_ARGS__})

static void test_order(void)
{
    int n = 1 << 22, n4 = n / 4, m = 512, big = 1024, steps = 256;
    float *a = ks_emu_malloc(dev, (size_t)n * 4, "a"), *b = ks_emu_malloc(dev, (size_t)n * 4, "b"),
          *c = ks_emu_malloc(dev, (size_t)n * 4, "c");
    verdict(ks_emu_fill(dev, a, 0, (size_t)n * 4, &err) == KS_OK && ks_emu_fill(dev, b, 0, (size_t)n * 4, &err) == KS_OK, "fill",
            "%s", err.message);
    double rows = RUN("copy_rows", (unsigned)n / 256, 1, 256, 1, &a, &c, &n),
           strided = RUN("copy_strided", (unsigned)n / 256, 1, 256, 1, &a, &c, &n);
    faster("copy_rows", rows, "copy_strided", strided, 2);
    faster("copy_vector", RUN("copy_vector", (unsigned)n4 / 256, 1, 256, 1, &a, &c, &n4), "copy_rows", rows, 1.005);
    double naive = RUN("matmul_naive", 16, 16, 32, 32, &a, &b, &c, &m),
           tiled = RUN("matmul_tiled", 16, 16, 32, 32, &a, &b, &c, &m);
    double reg = RUN("matmul_register", 8, 8, 256, 1, &a, &b, &c, &m);
    faster("matmul_naive", naive, "matmul_column", RUN("matmul_column", 16, 16, 32, 32, &a, &b, &c, &m), 1.5);
    faster("matmul_tiled", tiled, "matmul_naive", naive, 1.1);
    faster("matmul_register", reg, "matmul_tiled", tiled, 1.1);
    double padded = RUN("transpose_padded", 32, 32, 32, 8, &a, &c, &big);
    double conflict = RUN("transpose_conflict", 32, 32, 32, 8, &a, &c, &big);
    faster("transpose_padded", padded, "transpose_conflict", conflict, 1.1);
    faster("transpose_padded", padded, "transpose_plain", RUN("transpose_plain", 32, 32, 32, 8, &a, &c, &big), 1.2);
    double fused = RUN("chain_fused", (unsigned)n / 256, 1, 256, 1, &a, &c, &n);
    struct ks_emu_launch l = {.grid = {(unsigned)n / 256, 1, 1}, .block = {256, 1, 1}, .args = (void *[]){&a, &c, &n}};
    static const char *const chain[] = {"chain1", "chain2", "chain3"};
    ks_emu_counters_clear(dev);
    for (int k = 0; k < 3; k++) {
        l.name = chain[k];
        verdict(ks_emu_launch_run(dev, mod, &l, &err) == KS_OK, chain[k], "%s", err.message);
    }
    faster("chain_fused", fused, "chain of three", ks_emu_modelled_ns(dev), 2);
    faster("histogram_shared", RUN("histogram_shared", 528, 1, 256, 1, &a, &b, &n), "histogram_global",
           RUN("histogram_global", 528, 1, 256, 1, &a, &b, &n), 1.5);
    double many = RUN("sum_many", 528, 1, 256, 1, &a, &b, &n);
    faster("sum_many", many, "sum_few", RUN("sum_few", 1, 1, 1024, 1, &a, &b, &n), 5);
    faster("sum_many", many, "sum_all_atomic", RUN("sum_all_atomic", 528, 1, 256, 1, &a, &b, &n), 5);
    int *next = malloc((size_t)n * 4);
    for (int i = 0; i < n; i++)
        next[i] = (i + 8192) % n;
    verdict(ks_emu_write(dev, a, next, (size_t)n * 4, &err) == KS_OK, "fill", "%s", err.message);
    free(next);
    faster("independent", RUN("independent", 1, 1, 32, 1, &b, &c, &steps), "chase", RUN("chase", 1, 1, 32, 1, &a, &c, &steps), 2);
    drop(a);
    drop(b);
    drop(c);
}

static void is(const char *name, double want)
{
    double got = counter(name);
    verdict(got == want, name, "is %.0f, expected %.0f", got, want);
}

static void test_counters(void)
{
    int n = 1 << 16, m = 128, big = 256;
    float *a = ks_emu_malloc(dev, (size_t)n * 4, "a"), *c = ks_emu_malloc(dev, (size_t)n * 4, "c");
    (void)RUN("copy_rows", 256, 1, 256, 1, &a, &c, &n);
    is("blocks", 256);
    is("global_load_requests", 2048);
    is("global_load_sectors", 8192);
    is("global_load_bytes_requested", n * 4);
    is("global_store_sectors", 8192);
    is("l2_unique_read_bytes", n * 4);
    is("l2_unique_write_bytes", n * 4);
    is("flops_fp32", n);
    is("divergent_branches", 0);
    (void)RUN("copy_vector", 64, 1, 256, 1, &a, &c, &(int){n / 4});
    is("global_load_requests", 512);
    is("global_load_sectors", 8192);
    (void)RUN("copy_strided", 256, 1, 256, 1, &a, &c, &n);
    is("global_load_sectors", n);
    (void)RUN("matmul_tiled", 4, 4, 32, 32, &a, &a, &c, &m);
    is("barriers", 16 * 32 * 8);
    is("shared_store_wavefronts", 16 * 32 * 4 * 2);
    is("shared_load_requests", 16 * 32 * 4 * 64); /* as PTX has them; ptxas may join some */
    is("shared_conflicts", 0);
    (void)RUN("transpose_conflict", 8, 8, 32, 8, &a, &c, &big);
    is("shared_load_wavefronts", 64 * 8 * 4 * 32);
    is("shared_store_wavefronts", 64 * 8 * 4);
    (void)RUN("transpose_padded", 8, 8, 32, 8, &a, &c, &big);
    is("shared_conflicts", 0);
    drop(a);
    drop(c);
}

/* A sampled launch gives counters near those of a full one. */
static void test_sampling(void)
{
    int m = 512;
    struct ks_emu_config c = {.arch = "sm_90a", .counters = true};
    float *a = ks_emu_malloc(dev, (size_t)m * (size_t)m * 4, "a"), *o = ks_emu_malloc(dev, (size_t)m * (size_t)m * 4, "o");
    double full_ns = RUN("matmul_tiled", 16, 16, 32, 32, &a, &a, &o, &m), full_insts = counter("warp_insts"),
           full_sectors = counter("global_load_sectors");
    c.sample_thread_insts = 20000000;
    ks_emu_configure(dev, &c);
    double ns = RUN("matmul_tiled", 16, 16, 32, 32, &a, &a, &o, &m);
    verdict(counter("blocks") == 256 && counter("blocks_run") < 64, "sampling", "%g of %g blocks run", counter("blocks_run"),
            counter("blocks"));
    verdict(fabs(counter("warp_insts") / full_insts - 1) < 1e-9, "sampled warp_insts", "%g, in full %g", counter("warp_insts"),
            full_insts);
    verdict(fabs(counter("global_load_sectors") / full_sectors - 1) < 1e-9, "sampled sectors", "%g, in full %g",
            counter("global_load_sectors"), full_sectors);
    verdict(fabs(ns / full_ns - 1) < 0.2, "sampled time", "%g ns, in full %g", ns, full_ns);
    c.sample_thread_insts = 0;
    ks_emu_configure(dev, &c);
    drop(a);
    drop(o);
}

/* Everything a run reports, as text. */
static void snapshot(struct ks_str *out, int n_threads, const char *ptx_path)
{
    struct ks_emu_config c = {.arch = "sm_90a",
                              .checks = KS_EMU_CHECK_INIT | KS_EMU_CHECK_SYNC,
                              .counters = true,
                              .line_bytes = true,
                              .n_threads = n_threads};
    int m = 128, n = 128 * 128;
    start_device(&c, ptx_path);
    static float x[128 * 128];
    for (int i = 0; i < n; i++)
        x[i] = (float)(i * 7 % 31);
    float *a = upload(x, sizeof(x), "a"), *o = ks_emu_malloc(dev, sizeof(x), "o"),
          *fresh = ks_emu_malloc(dev, sizeof(x), "fresh");
    (void)!launch("copy_rows", 64, 256, 0, &fresh, &o, &n);
    struct ks_emu_launch l = {
        .name = "matmul_register", .grid = {2, 2, 1}, .block = {256, 1, 1}, .args = (void *[]){&a, &a, &o, &m}};
    (void)!ks_emu_launch_run(dev, mod, &l, &err);
    struct ks_json *f = ks_emu_findings(dev), *k = ks_emu_counters(dev);
    ks_json_print(f, out);
    ks_json_print(k, out);
    ks_json_free(f);
    ks_json_free(k);
    download(x, o, sizeof(x));
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * (i % 17);
    ks_str_addf(out, "%.17g", sum);
    ks_emu_free(dev);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        printf("usage: %s model_kernels.ptx\n", argv[0]);
        return 2;
    }
    KS_AUTO_STR struct ks_str one = KS_STR_INIT;
    KS_AUTO_STR struct ks_str many = KS_STR_INIT;
    snapshot(&one, 1, argv[1]);
    snapshot(&many, 7, argv[1]);
    verdict(ks_streq(ks_str_cstr(&one), ks_str_cstr(&many)) && one.len > 1000, "1 and 7 host threads", "differ:\n%s\n%s",
            ks_str_cstr(&one), ks_str_cstr(&many));
    struct ks_emu_config c = {.arch = "sm_90a", .counters = true};
    start_device(&c, argv[1]);
    test_counters();
    test_sampling();
    test_order();
    return finish();
}
