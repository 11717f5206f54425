/* Each kernel of check_kernels.cu gives exactly the finding it was written for; the good ones give none, under several schedules.
 */

#include "tests/emulated/findings_test.h"

#include <sys/wait.h>
#include <unistd.h>

static float ones[1024];

static void *fresh(size_t bytes)
{
    return upload(NULL, bytes, "fresh");
}

static void test_undefined(void)
{
    float *o = upload(ones, 4096, "o");
    int n = 3, k = 4, tile = 40;
    void *f = fresh(256);
    expect("bad_undef_branch", launch("bad_undef_branch", 1, 64, 0, &f, &o), KS_OK, "uninitialised", "if (v > 0)", "fresh");
    expect("bad_undef_address", launch("bad_undef_address", 1, 64, 0, &f, &o), KS_OK, "uninitialised", "fresh[threadIdx.x] & 63",
           "fresh");
    expect("bad_undef_sum", launch("bad_undef_sum", 1, 64, 0, &f, &o), KS_OK, "uninitialised", "o[threadIdx.x] = v", "fresh");
    expect("bad_undef_atomic", launch("bad_undef_atomic", 1, 64, 0, &f, &o), KS_OK, "uninitialised", "atomicAdd", "fresh");
    expect("bad_undef_shared_copy", launch("bad_undef_shared_copy", 1, 64, 0, &o), KS_OK, "uninitialised", "o[threadIdx.x] = v",
           NULL);
    expect("bad_undef_through_shared", launch("bad_undef_through_shared", 1, 64, 0, &f, &o), KS_OK, "uninitialised",
           "s[63 - threadIdx.x] + 1", NULL);
    expect("bad_undef_register", launch("bad_undef_register", 1, 64, 0, &o), KS_OK, "uninitialised", "o[threadIdx.x] = x", NULL);
    expect("bad_undef_local", launch("bad_undef_local", 1, 32, 0, &o, &k), KS_OK, "uninitialised", NULL, NULL);
    k = 16;
    expect("bad_undef_local", launch("bad_undef_local", 1, 32, 0, &o, &k), KS_OK, NULL, NULL, NULL);
    expect("good_undef_register", launch("good_undef_register", 1, 64, 0, &o), KS_OK, NULL, NULL, NULL);
    expect("good_undef_unused", launch("good_undef_unused", 1, 64, 0, &f, &o, &n), KS_OK, NULL, NULL, NULL);
    verdict(ks_emu_write(dev, f, ones, 160, &err) == KS_OK, "fill", "%s", err.message);
    expect("good_undef_tile", launch("good_undef_tile", 1, 64, 0, &f, &o, &tile), KS_OK, NULL, NULL, NULL);
    tile = 41;
    expect("good_undef_tile", launch("good_undef_tile", 1, 64, 0, &f, &o, &tile), KS_OK, "uninitialised", "* 2", NULL);
    drop(f);
    drop(o);
}

/* Pairs {char, three bytes of nobody, int}. */
static void test_copies(void)
{
    char *pairs = fresh(256), *copy = fresh(256);
    unsigned *words = fresh(128), *o = upload(ones, 256, "o");
    int at[2];
    for (int i = 0; i < 32; i++) {
        verdict(ks_emu_write(dev, pairs + 8 * i, "x", 1, &err) == KS_OK &&
                    ks_emu_write(dev, pairs + 8 * i + 4, &i, 4, &err) == KS_OK,
                "fill", "%s", err.message);
        verdict(ks_emu_write(dev, (char *)(words + i), "xyz", 1, &err) == KS_OK, "fill", "%s", err.message);
    }
    expect("undef_copy", launch("undef_copy", 1, 32, 0, &pairs, &copy), KS_OK, NULL, NULL, NULL);
    expect("good_undef_fields", launch("good_undef_fields", 1, 32, 0, &copy, &o), KS_OK, NULL, NULL, NULL);
    expect("good_undef_masked", launch("good_undef_masked", 1, 32, 0, &words, &o), KS_OK, NULL, NULL, NULL);
    for (int i = 0; i < 32; i++)
        verdict(ks_emu_write(dev, (char *)(words + i) + 2, "xy", 2, &err) == KS_OK, "fill", "%s", err.message);
    expect("good_undef_shifted", launch("good_undef_shifted", 1, 32, 0, &words, &o), KS_OK, NULL, NULL, NULL);
    /* the host reads the fields: nothing; the whole: what lies between them came along */
    (void)launch("undef_copy", 1, 32, 0, &pairs, &copy);
    for (int i = 0; i < 32; i++) {
        download(at, copy + 8 * i, 1);
        download(at, copy + 8 * i + 4, 4);
        verdict(at[0] == i, "a field", "%d", at[0]);
    }
    expect("undef_copy", KS_OK, KS_OK, NULL, NULL, NULL);
    (void)launch("undef_copy", 1, 32, 0, &pairs, &copy);
    download(at, copy + 64, 8);
    expect("undef_copy", KS_OK, KS_OK, "uninitialised", "o[threadIdx.x] = pairs", "fresh");
    drop(pairs);
    drop(copy);
    drop(words);
    drop(o);
}

static void test_barriers(void)
{
    float *a = upload(ones, 4096, "a"), *o = upload(ones, 4096, "o");
    int id = 20;
    expect("bad_arrive_early", launch("bad_arrive_early", 1, 64, 0, &o), KS_OK, "shared-race", NULL, NULL);
    expect("good_arrive", launch("good_arrive", 1, 64, 0, &o), KS_OK, NULL, NULL, NULL);
    expect("bad_named_pair", launch("bad_named_pair", 1, 128, 0, &o), KS_OK, "shared-race", NULL, NULL);
    expect("good_named_pair", launch("good_named_pair", 1, 128, 0, &o), KS_OK, NULL, NULL, NULL);
    /* whoever comes first decides whether that ends well */
    enum ks_code code = launch("bad_barrier_count", 1, 64, 0, &o);
    expect("bad_barrier_count", code, code, "barrier-count", NULL, NULL);
    expect("bad_barrier_id", launch("bad_barrier_id", 1, 64, 0, &o, &id), KS_ERR_DEVICE, "bad-barrier", "bar.sync", NULL);
    expect("bad_leak", launch("bad_leak", 1, 32, 0, &a, &o), KS_OK, "async-unwaited", NULL, NULL);
    drop(a);
    drop(o);
}

static void test_scopes(void)
{
    int zero[256] = {0};
    int *data = upload(zero, 256, "data"), *flag = upload(zero, 4, "flag"), *o = upload(zero, 1024, "o");
    expect("bad_fence_scope", launch("bad_fence_scope", 2, 32, 0, &data, &flag, &o), KS_OK, "global-race", NULL, "data");
    verdict(ks_emu_fill(dev, flag, 0, 4, &err) == KS_OK, "fill", "%s", err.message);
    expect("good_fence_scope", launch("good_fence_scope", 2, 32, 0, &data, &flag, &o), KS_OK, NULL, NULL, NULL);
    verdict(ks_emu_fill(dev, flag, 0, 4, &err) == KS_OK, "fill", "%s", err.message);
    expect("bad_no_fence", launch("bad_no_fence", 2, 32, 0, &data, &flag, &o), KS_OK, "global-race", NULL, "data");
    static const char *const taken[] = {"good_taken_over", "bad_taken_over"};
    for (int k = 0; k < 2; k++) {
        verdict(ks_emu_fill(dev, flag, 0, 4, &err) == KS_OK && ks_emu_fill(dev, data, 0, 256, &err) == KS_OK, "fill", "%s",
                err.message);
        expect(taken[k], launch(taken[k], 2, 32, 0, &data, &flag, &o), KS_OK, k ? "global-race" : NULL, NULL, k ? "data" : NULL);
    }
    expect("bad_atomic_scope", launch("bad_atomic_scope", 2, 32, 0, &o), KS_OK, "global-race", "atomicAdd_block", "o");
    expect("good_atomic_scope", launch("good_atomic_scope", 2, 32, 0, &o), KS_OK, NULL, NULL, NULL);
    drop(data);
    drop(flag);
    drop(o);
}

static void test_waiting(void)
{
    int zero[64] = {0}, n = 200000;
    int *flags = upload(zero, 64, "flags"), *o = upload(zero, 256, "o");
    float *a = upload(ones, 1024, "a"), *r = upload(ones, 1024, "r");
    expect("bad_spin_pair", launch("bad_spin_pair", 2, 32, 0, &flags), KS_ERR_TIMEOUT, "deadlock", NULL, NULL);
    verdict(strstr(err.message, "poll in line") != NULL, "bad_spin_pair", "%s", err.message);
    expect("bad_spin_barrier", launch("bad_spin_barrier", 1, 64, 0, &flags, &o), KS_ERR_TIMEOUT, "deadlock", NULL, NULL);
    verdict(strstr(err.message, "poll in line") && strstr(err.message, "wait at a barrier"), "bad_spin_barrier", "%s",
            err.message);
    expect("good_spin_pair", launch("good_spin_pair", 2, 32, 0, &flags), KS_OK, NULL, NULL, NULL);
    verdict(ks_emu_fill(dev, flags, 0, 64, &err) == KS_OK, "fill", "%s", err.message);
    expect("good_spin_lock", launch("good_spin_lock", 3, 64, 0, &flags, &o), KS_OK, NULL, NULL, NULL);
    int count;
    download(&count, o, 4);
    verdict(count == 192, "good_spin_lock", "%d of 192 threads counted", count);
    verdict(ks_emu_fill(dev, flags, 0, 64, &err) == KS_OK, "fill", "%s", err.message);
    expect("good_slow_producer", launch("good_slow_producer", 2, 64, 0, &flags, &o, &n), KS_OK, NULL, NULL, NULL);
    expect("good_grid_sync", launch_as("good_grid_sync", 4, 64, 0, true, (void *[]){&a, &r}), KS_OK, NULL, NULL, NULL);
    expect("bad_grid_sync", launch_as("bad_grid_sync", 4, 64, 0, true, (void *[]){&a, &r}), KS_OK, "global-race", NULL, "a");
    drop(flags);
    drop(o);
    drop(a);
    drop(r);
}

static void test_memory(void)
{
    float *a = upload(ones, 256, "a"), *o = upload(ones, 256, "o"), *null = NULL;
    void *fixed;
    size_t bytes;
    verdict(ks_emu_module_symbol(mod, "fixed", &fixed, &bytes), "fixed", "is no symbol");
    expect("write_to", launch("write_to", 1, 4, 0, &fixed), KS_ERR_DEVICE, "read-only", "p[threadIdx.x] = 1", NULL);
    ks_emu_declare_input(dev, a, true);
    expect("write_to", launch("write_to", 1, 32, 0, &a), KS_OK, "undeclared-write", "p[threadIdx.x] = 1", "a");
    expect("write_to", launch("write_to", 1, 32, 0, &o), KS_OK, NULL, NULL, NULL);
    ks_emu_declare_input(dev, a, false);
    expect("write_to", launch("write_to", 1, 32, 0, &a), KS_OK, NULL, NULL, NULL);
    expect("bad_free", launch("bad_free", 1, 1, 0, &a), KS_OK, NULL, NULL, NULL); /* a is an allocation, though the host's */
    expect("bad_free", launch("bad_free", 1, 1, 0, &a), KS_ERR_DEVICE, "bad-free", NULL, NULL);
    uint64_t nothing = 12345;
    for (unsigned k = 0; k < 3; k++)
        expect("bad_branch", launch("bad_branch", 1, 1, 0, &o, &k), k < 2 ? KS_OK : KS_ERR_DEVICE, k < 2 ? NULL : "bad-branch",
               NULL, NULL);
    expect("bad_texture", launch("bad_texture", 1, 32, 0, &nothing, &o), KS_ERR_DEVICE, "bad-texture", "tex1Dfetch", NULL);
    expect("bad_call", launch("bad_call", 1, 1, 0, &null, &o), KS_ERR_DEVICE, "bad-call", "f(o)", NULL);
    drop(o);
}

/* Every byte of every pattern has its owner, in the records of all blocks (two of them) and in each block's own (sixteen). */
static void test_patterns(unsigned grid)
{
    static const int bytes[] = {128, 256, 512, 128, 512, 128, 64, 32}, width[] = {4, 4, 4, 4, 4, 4, 2, 1};
    char *p = upload(NULL, 8192, "p"), *out = upload(NULL, 8192, "out");
    verdict(ks_emu_fill(dev, p, 0, 8192, &err) == KS_OK, "fill", "%s", err.message);
    for (int kind = 0; kind < 8; kind++) {
        for (int mode = 0; mode < 4; mode++) {
            int store = mode & 1, probe = mode >> 1, w = width[kind];
            for (int at = -4; at < bytes[kind]; at += w) {
                int word = at / 4, place = at < 0 ? -1 : at + (kind == 5 ? 4 : 0);
                int owner = kind == 1                ? word / 2
                            : kind == 2 || kind == 4 ? word / 4
                            : kind == 3              ? word ^ 1
                            : kind == 6              ? at / 2
                            : kind == 7              ? at
                                                     : word;
                enum ks_code code = launch("meet", grid, 32, 0, &p, &out, &kind, &store, &place, &w, &probe);
                struct ks_json *all = ks_emu_findings(dev), *f = ks_json_at(all, 0);
                char want[32];
                (void)snprintf(want, sizeof(want), "+0x%x", (unsigned)place);
                bool race = at >= 0 && (store || probe);
                bool ok = race ? ks_json_len(all) == 1 && ks_streq(ks_json_get_str(f, "kind", ""), "global-race") &&
                                     ks_streq(ks_json_get_str(f, "address", ""), want) &&
                                     (int)ks_json_num(ks_json_at(ks_json_get(ks_json_get(f, "other"), "thread"), 0), -1) == owner
                               : ks_json_len(all) == 0;
                KS_AUTO_STR struct ks_str text = KS_STR_INIT;
                ks_json_print(all, &text);
                verdict(code == KS_OK && ok, "meet", "kind %d store %d probe %d at %d, owner %d: %s", kind, store, probe, place,
                        owner, ks_str_cstr(&text));
                ks_json_free(all);
                ks_emu_findings_clear(dev);
            }
        }
    }
    drop(p);
    drop(out);
}

static void test_halves(void)
{
    short *h = upload(ones, 256, "h");
    for (int apart = 0; apart < 2; apart++) {
        expect("bad_halves", launch("bad_halves", 1, 64, 0, &h, &apart), KS_OK, "global-race", NULL, "h");
        expect("good_halves", launch("good_halves", 1, 64, 0, &h, &apart), KS_OK, NULL, NULL, NULL);
    }
    drop(h);
}

/* Races between blocks are found, and told in the same words, whatever the number of host threads. */
static void test_crowd(const char *ptx)
{
    static const struct {
        int findings;
        const char *access, *other;
        int count, block, other_block; /* of the first; count 0: as it comes */
    } want[] = {{1, "store", "store", 63 * 4, 1, 0},
                {1, "load", "store", 4, 9, 5},
                {1, "store", "load", 4, 9, 5},
                {1, "load", "atomic", 4, 9, 5},
                {0},
                {0},
                {1, "store", "store", 1, 9, 5},
                {0},
                {1, "store", "store", 0, 5, 5},
                {1, "atomic", "store", 4, 9, 5}};
    static int zeros[64 * 128];
    struct ks_str first[10] = {0};
    for (int threads = 1; threads <= 5; threads += 2) {
        struct ks_emu_config c = {.arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .n_threads = threads};
        start_device(&c, ptx);
        int *a = upload(zeros, 1024, "a"), *own = upload(zeros, sizeof(zeros), "own");
        short *h = upload(zeros, 1024, "h");
        for (int kind = 0; kind < 10; kind++) {
            char name[32];
            (void)snprintf(name, sizeof(name), "crowd %d, %d threads", kind, threads);
            enum ks_code code = launch("crowd", 64, 128, 0, &a, &h, &own, &kind);
            struct ks_json *all = ks_emu_findings(dev), *f = ks_json_at(all, 0), *other = ks_json_get(f, "other");
            KS_AUTO_STR struct ks_str text = KS_STR_INIT;
            ks_json_print(all, &text);
            verdict(code == KS_OK && (int)ks_json_len(all) == want[kind].findings, name, "%s", ks_str_cstr(&text));
            if (want[kind].findings && f)
                verdict(ks_streq(ks_json_get_str(f, "kind", ""), "global-race") &&
                            ks_streq(ks_json_get_str(f, "access", ""), want[kind].access) &&
                            ks_streq(ks_json_get_str(other, "access", ""), want[kind].other) &&
                            (!want[kind].count || ks_json_get_i64(f, "count", 0) == want[kind].count) &&
                            (int)ks_json_num(ks_json_at(ks_json_get(f, "block"), 0), -1) == want[kind].block &&
                            (int)ks_json_num(ks_json_at(ks_json_get(other, "block"), 0), -1) == want[kind].other_block,
                        name, "%s", ks_str_cstr(&text));
            if (threads == 1)
                ks_str_add(&first[kind], ks_str_cstr(&text));
            verdict(ks_streq(ks_str_cstr(&first[kind]), ks_str_cstr(&text)), name, "%s instead of %s", ks_str_cstr(&text),
                    ks_str_cstr(&first[kind]));
            ks_json_free(all);
            ks_emu_findings_clear(dev);
        }
        ks_emu_free(dev);
    }
    for (int kind = 0; kind < 10; kind++)
        ks_str_release(&first[kind]);
}

/* All checks take three bytes a byte at most, however memory is walked; the program itself 1.3 x its own. */
static void test_size(const char *ptx)
{
    int n = 2 << 20;
    size_t own = 2 * (size_t)n * 4;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        struct ks_emu_config c = {.arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .n_threads = 2};
        size_t before = peak_bytes();
        start_device(&c, ptx);
        int *in = upload(NULL, own / 2, "in"), *out = upload(NULL, own / 2, "out");
        if (ks_emu_fill(dev, in, 0, own / 2, &err) != KS_OK ||
            launch("scatter", (unsigned)n / 256, 256, 0, &in, &out, &n) != KS_OK)
            _exit(2);
        double times = (double)(peak_bytes() - before) / (double)own;
        printf("all checks, scattered words: %.2f x the program's own memory\n", times);
        (void)fflush(stdout);
        _exit(!(times <= 4.3));
    }
    int status = 1;
    verdict(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0, "scatter", "too much memory, or status %d", status);
}

int main(int argc, char **argv)
{
    if (argc != 3 || !read_source(argv[2])) {
        printf("usage: %s check_kernels.ptx check_kernels.cu\n", argv[0]);
        return 2;
    }
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct ks_emu_config c = {.arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .max_warp_insts = 20000000, .seed = seed * 7919};
        start_device(&c, argv[1]);
        test_undefined();
        test_copies();
        test_barriers();
        test_scopes();
        test_waiting();
        test_memory();
        test_patterns(seed & 1 ? 16 : 2);
        test_halves();
        ks_emu_free(dev);
    }
    test_crowd(argv[1]);
#ifndef __SANITIZE_ADDRESS__ /* which has a shadow of its own */
    test_size(argv[1]);
#endif
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed > 99 ? 99 : n_failed;
}
