/* Counters are what arithmetic on paper gives: by kernel, by source line, by cache operator. */

#include "tests/emulated/emu_test.h"

#include <math.h>
#include <stdlib.h>

static struct ks_str source;
static struct ks_json *kernel; /* of the last run */
static const char *kernel_name;

static void run(const char *name, unsigned grid, unsigned block, void **args)
{
    ks_json_free(kernel);
    kernel = NULL;
    kernel_name = name;
    ks_emu_counters_clear(dev);
    verdict(launch_as(name, grid, block, 0, false, args) == KS_OK, name, "%s", err.message);
    struct ks_json *all = ks_emu_counters(dev);
    kernel = ks_json_copy(ks_json_at(all, 0));
    ks_json_free(all);
}
#define RUN(name, grid, block, ...) run(name, grid, block, (void *[]){__VA_ARGS__})

static void is(const char *name, double want)
{
    double got = ks_json_get_num(kernel, name, NAN);
    verdict(got == want, kernel_name, "%s is %g, expected %g", name, got, want);
}

/* The line that carries the mark. */
static const struct ks_json *line_of(const char *mark)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "/*%s*/", mark);
    const char *at = strstr(ks_str_cstr(&source), text);
    int64_t line = 1;
    for (const char *p = ks_str_cstr(&source); at && p < at; p++)
        line += *p == '\n';
    const struct ks_json *lines = ks_json_get(kernel, "lines");
    for (size_t i = 0; i < ks_json_len(lines); i++)
        if (ks_json_get_i64(ks_json_at(lines, i), "line", 0) == line)
            return ks_json_at(lines, i);
    verdict(false, kernel_name, "nothing was counted at the line marked %s", mark);
    return NULL;
}

static void line_is(const char *mark, const char *name, double want)
{
    const struct ks_json *l = line_of(mark);
    double got = l ? ks_json_get_num(l, name, 0) : NAN; /* what did not happen is left out */
    verdict(got == want, kernel_name, "%s at %s is %g, expected %g", name, mark, got, want);
}

static void operator_is(const char *access, const char *name, double requests, double sectors)
{
    const struct ks_json *all = ks_json_get(kernel, "operators"), *o = NULL;
    for (size_t i = 0; i < ks_json_len(all); i++)
        if (ks_streq(ks_json_get_str(ks_json_at(all, i), "access", ""), access) &&
            ks_streq(ks_json_get_str(ks_json_at(all, i), "operator", ""), name))
            o = ks_json_at(all, i);
    verdict(o && ks_json_get_num(o, "requests", 0) == requests && ks_json_get_num(o, "sectors", 0) == sectors, kernel_name,
            "%s.%s: %g requests, %g sectors, expected %g and %g", access, name, o ? ks_json_get_num(o, "requests", 0) : -1,
            o ? ks_json_get_num(o, "sectors", 0) : -1, requests, sectors);
}

static void test_global(float *x, float *y)
{
    RUN("rows", 4, 64, &x, &y);
    is("global_load_requests", 8);
    is("global_load_sectors", 32);
    is("global_load_bytes_requested", 1024);
    is("l2_unique_read_bytes", 1024);
    is("active_lanes_avg", 32);
    line_is("rows load", "global_load_requests", 8);
    line_is("rows load", "global_load_sectors", 32);
    line_is("rows load", "l2_unique_bytes", 1024);
    line_is("rows store", "global_store_requests", 8);
    line_is("rows store", "global_store_bytes", 1024);
    line_is("rows store", "global_load_requests", 0);
    RUN("strided", 4, 64, &x, &y);
    line_is("strided", "global_load_sectors", 256);
    line_is("strided", "l2_unique_bytes", 256 * 32 + 1024); /* read, and written by the same line */
    RUN("table", 16, 64, &x, &y);
    is("global_load_requests", 32);
    is("l2_unique_read_bytes", 128);
    line_is("table load", "l2_unique_bytes", 128);
    RUN("operators", 1, 32, &x, &y);
    operator_is("load", "cg", 1, 4);
    operator_is("load", "cs", 1, 4);
    operator_is("load", "nc", 1, 4);
    operator_is("load", "volatile", 1, 4);
    operator_is("load", "L1::no_allocate", 1, 4);
    operator_is("store", "cs", 1, 4);
    operator_is("store", "wt", 1, 4);
}

static void test_shared(float *y)
{
    RUN("banks", 1, 32, &y);
    is("shared_store_wavefronts", 33);
    is("shared_store_bytes", 256);
    is("shared_conflicts", 62);
    line_is("column", "shared_wavefronts", 32);
    line_is("column", "shared_ideal", 1);
    line_is("row", "shared_wavefronts", 1);
    line_is("read", "shared_wavefronts", 33);
    line_is("read", "shared_requests", 2);
    RUN("waits", 1, 128, &y);
    is("barriers", 8);
    is("barrier_waits", 6);
    line_is("first", "barriers", 4);
    line_is("first", "barrier_waits", 3);
    line_is("second", "barrier_waits", 3);
}

static void test_rest(float *x, float *y)
{
    int n = 5, k = 2;
    RUN("splits", 1, 64, &y, &n);
    is("divergent_branches", 2);
    line_is("split", "divergent_branches", 2);
    RUN("spaces", 1, 32, &x, &y, &k);
    is("local_bytes", 256);
    is("const_bytes", 128);
    line_is("local", "local_bytes", 128);
    verdict(ks_json_get_num(kernel, "param_bytes", 0) == 32 * (8 + 8 + 4), "spaces", "param_bytes is %g",
            ks_json_get_num(kernel, "param_bytes", 0));
    RUN("special", 1, 64, &x, &y);
    verdict(ks_json_get_num(ks_json_get(kernel, "inst_by_class"), "special", 0) == 4, "special", "not 4 special instructions");
    const struct ks_json *l = line_of("ex2");
    verdict(l && ks_json_get_num(ks_json_get(l, "inst_by_class"), "special", 0) == 2, "special", "not 2 at the line of ex2");
    RUN("tensor", 1, 64, &y);
    is("flops_tensor", 8192);
    line_is("mma", "flops_tensor", 8192);
    RUN("fat", 1, 64, &y);
    const struct ks_json *o = ks_json_get(kernel, "occupancy"), *limits = ks_json_get(o, "limits");
    verdict(ks_json_get_num(o, "blocks_per_sm", 0) == 4 && ks_streq(ks_json_get_str(o, "limiter", ""), "shared") &&
                ks_json_get_num(limits, "shared", 0) == 4 && ks_json_get_num(limits, "warps", 0) == 32 &&
                ks_json_get_num(limits, "blocks", 0) == 32,
            "fat", "occupancy is not limited to 4 blocks by shared memory");
}

static void test_atomics(void *h)
{
    RUN("hot", 32, 256, &h); /* 8192 updates, 7168 of them of word 0 */
    is("global_atomic_requests", 256);
    double hottest = ks_json_get_num(kernel, "global_atomic_hottest", 0);
    verdict(hottest >= 7168 && hottest < 7300, "hot", "the busiest sector has %g updates, expected 7168", hottest);
    line_is("hot", "global_atomic_passes", ks_json_get_num(kernel, "global_atomic_passes", 0));
    double hot_ns = ks_emu_modelled_ns(dev);
    RUN("cold", 32, 256, &h); /* 8192 sectors; few of them share a slot of the counter */
    hottest = ks_json_get_num(kernel, "global_atomic_hottest", 0);
    verdict(hottest >= 1 && hottest <= 12, "cold", "the busiest sector has %g updates, expected about 1", hottest);
    verdict(hot_ns > 2 * ks_emu_modelled_ns(dev), "hot", "one busy address is modelled at %g ns, none at %g", hot_ns,
            ks_emu_modelled_ns(dev));
}

/* What a few blocks tell of all: shared bytes once, own bytes of each. */
static void test_sampled(float *x, float *y)
{
    struct ks_emu_config c = {.arch = "sm_90a", .counters = true, .line_bytes = true, .sample_thread_insts = 4000000};
    float *own = x + 4096;
    ks_emu_configure(dev, &c);
    RUN("mixed", 1024, 256, &x, &own, &y);
    double read = ks_json_get_num(kernel, "l2_unique_read_bytes", 0), want = 16384 + 1024 * 4096;
    verdict(ks_json_get_num(kernel, "blocks_run", 0) < 512, "mixed", "was not sampled");
    verdict(fabs(read / want - 1) < 0.1, "mixed", "%g different bytes of about %g", read, want);
    const struct ks_json *l = line_of("own part");
    double at = l ? ks_json_get_num(l, "l2_unique_bytes", 0) : 0;
    verdict(fabs(at / (1024 * 4096) - 1) < 0.1, "mixed", "%g different bytes at its own line", at);
}

static void test_cards(void)
{
    static const char *const known[] = {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_100f", "sm_120a"},
                             *const unknown[] = {"sm_80a", "sm_90f", "sm_91", "sm_9000", "90", "sm_90ab", "sm_"};
    struct ks_emu_card card;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        struct ks_emu *other;
        struct ks_emu_config c = {.arch = known[i]};
        bool ok = ks_emu_card_find(known[i], &card) && strstr(card.name, known[i]) && ks_emu_new(&c, &other, &err) == KS_OK;
        verdict(ok, known[i], "has no card or no model");
        if (ok)
            ks_emu_free(other);
    }
    for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
        verdict(!ks_emu_card_find(unknown[i], &card), unknown[i], "has a card");
}

int main(int argc, char **argv)
{
    struct ks_emu_config c = {.arch = "sm_90a", .counters = true, .line_bytes = true};
    if (argc != 3 || ks_file_read(argv[2], 1u << 20, &source, &err) != KS_OK) {
        printf("usage: %s counter_kernels.ptx counter_kernels.cu\n", argv[0]);
        return 2;
    }
    start_device(&c, argv[1]);
    size_t bytes = (4096 + 1024 * 1024) * sizeof(float);
    float *x = ks_emu_malloc(dev, bytes, "x"), *y = ks_emu_malloc(dev, bytes, "y");
    verdict(ks_emu_fill(dev, x, 0, bytes, &err) == KS_OK, "fill", "%s", err.message);
    test_global(x, y);
    test_shared(y);
    test_rest(x, y);
    test_atomics(y);
    test_sampled(x, y);
    test_cards();
    ks_json_free(kernel);
    ks_str_release(&source);
    return finish();
}
