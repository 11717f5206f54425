/* Kernels of async_kernels.cu: mbarrier, bulk and tensor copies, clusters.  Right ones give the right answer under several
 * schedules and no finding; every wrong one gives its finding, and under late completion the wrong answer where it has one. */

#include "harness/emulated/tensor_map.h"
#include "tests/emulated/emu_test.h"

static struct ks_emu_config config = {.arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .n_threads = 1};
static uint64_t seed;

static int count_kind(const char *kind)
{
    struct ks_json *all = ks_emu_findings(dev);
    int n = 0;
    for (size_t i = 0; i < ks_json_len(all); i++)
        n += !kind || ks_streq(ks_json_get_str(ks_json_at(all, i), "kind", ""), kind);
    ks_json_free(all);
    return n;
}

static void print_findings(void)
{
    struct ks_json *all = ks_emu_findings(dev);
    for (size_t i = 0; i < ks_json_len(all); i++)
        printf("    %s line %.0f: %s\n", ks_json_get_str(ks_json_at(all, i), "kind", ""),
               ks_json_get_num(ks_json_at(all, i), "line", 0), ks_json_get_str(ks_json_at(all, i), "text", ""));
    ks_json_free(all);
}

static enum ks_code run(const char *name, const unsigned grid[3], unsigned block, size_t shared, const unsigned cluster[3],
                        void **args)
{
    struct ks_emu_launch l = {.name = name, .block = {block, 1, 1}, .shared_bytes = shared, .args = args};
    memcpy(l.grid, grid, sizeof(l.grid));
    if (cluster)
        memcpy(l.cluster, cluster, sizeof(l.cluster));
    err = (struct ks_err){0};
    ks_emu_findings_clear(dev);
    config.seed = seed;
    ks_emu_configure(dev, &config);
    return ks_emu_launch_run(dev, mod, &l, &err);
}
#define RUN(name, grid, block, shared, cluster, ...)                                                                             \
    run(name, (const unsigned[3]){grid, 1, 1}, block, shared, cluster ? (const unsigned[3]){cluster, 1, 1} : NULL,               \
        (void *[]){__VA_ARGS__})

/* The launch worked and nothing was found. */
static void clean(const char *name, enum ks_code code)
{
    int n = count_kind(NULL);
    verdict(code == KS_OK, name, "seed %llu: %s", (unsigned long long)seed, err.message);
    verdict(n == 0, name, "seed %llu: %d findings", (unsigned long long)seed, n);
    if (n)
        print_findings();
}

/* ------------------------------------------------------------------------------------------------ barriers, linear copies */

static int ints[1024], host[4096];

static void test_mbarrier(void)
{
    int rounds = 9, bad = 0;
    int *out = upload(NULL, sizeof(host), "out"), *in = upload(ints, sizeof(ints), "in");
    clean("ring", RUN("ring", 1, 64, 0, 0, &out, &rounds));
    download(host, out, 128);
    for (int i = 0; i < 32; i++)
        bad += host[i] != 3600 + 9 * (31 - i);
    verdict(bad == 0, "ring", "%d wrong", bad);
    clean("states", RUN("states", 1, 64, 0, 0, &out));
    download(host, out, 260);
    verdict(host[0] == 1 && host[32] == 64 && host[63] == 2 && host[64] == 7, "states", "%d %d %d %d", host[0], host[32],
            host[63], host[64]);
    clean("transactions", RUN("transactions", 1, 64, 0, 0, &out));
    clean("cp_async_arrive", RUN("cp_async_arrive", 1, 32, 0, 0, &in, &out));
    download(host, out, 512);
    bad = 0;
    for (int i = 0; i < 128; i++)
        bad += host[i] != ints[i ^ 5];
    verdict(bad == 0, "cp_async_arrive", "%d wrong", bad);
    drop(out);
    drop(in);
}

static void test_bulk(void)
{
    int bytes = 1024, bad = 0;
    int *out = upload(NULL, sizeof(host), "out"), *in = upload(ints, sizeof(ints), "in");
    clean("bulk_round", RUN("bulk_round", 1, 64, 1024, 0, &in, &out, &bytes));
    download(host, out, 1024);
    for (int i = 0; i < 256; i++)
        bad += host[i] != ints[i] + 1;
    verdict(bad == 0, "bulk_round", "%d wrong", bad);
    float f[32];
    unsigned u[32];
    for (int i = 0; i < 32; i++) {
        f[i] = 1;
        u[i] = 3;
    }
    float *df = upload(f, sizeof(f), "f");
    unsigned *du = upload(u, sizeof(u), "u");
    clean("bulk_reduce", RUN("bulk_reduce", 1, 32, 0, 0, &df, &du));
    download(f, df, sizeof(f));
    download(u, du, sizeof(u));
    bad = 0;
    for (unsigned i = 0; i < 32; i++)
        bad += f[i] != 1 + 0.5f * (float)i || u[i] != (i * 3 % 7 > 3 ? i * 3 % 7 : 3);
    verdict(bad == 0, "bulk_reduce", "%d wrong", bad);
    drop(out);
    drop(in);
    drop(df);
    drop(du);
}

/* ------------------------------------------------------------------------------------------------ tensor maps */

struct tensor_case {
    const char *name;
    uint32_t type, each, rank;
    uint64_t dim[5], stride[4];
    uint32_t box[5], step[5];
    uint32_t swizzle, nan;
    int at[5];
};

/* Where 16-byte piece (8 with the flip) of the box lies: the bits of its address within the swizzle's pattern, from the
 * documentation's tables. */
static uint32_t place(const struct tensor_case *c, uint32_t a)
{
    uint32_t row = a / 128;
    switch (c->swizzle) {
    case KS_EMU_SWIZZLE_32B:
        return a ^ (row & 1) << 4;
    case KS_EMU_SWIZZLE_64B:
        return a ^ (row & 3) << 4;
    case KS_EMU_SWIZZLE_128B:
        return a ^ (row & 7) << 4;
    case KS_EMU_SWIZZLE_128B_ATOM_32B:
        return a ^ (row & 3) << 5;
    case KS_EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B:
        return a ^ (row & 3) << 5 ^ (row & 1) << 3;
    case KS_EMU_SWIZZLE_128B_ATOM_64B:
        return a ^ (row & 1) << 6;
    default:
        return a;
    }
}

static void test_tensor_load(const struct tensor_case *c)
{
    static uint8_t data[65536], want[65536], got[65536];
    struct ks_emu_tensor_map map __attribute__((aligned(64)));
    bool nibbles = c->type == KS_EMU_MAP_16U4_ALIGN8B; /* counted in pairs below */
    uint32_t n[5] = {1, 1, 1, 1, 1}, total = c->each;
    uint64_t stride[5] = {c->each};
    for (uint32_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)(i * 37 + i / 256 * 11 + 1);
    uint8_t *in = upload(data, sizeof(data), "tensor"), *out = upload(NULL, sizeof(got), "box");
    for (uint32_t i = 0; i < c->rank; i++) {
        n[i] = i ? (c->box[i] + c->step[i] - 1) / c->step[i] : c->box[0] / (nibbles ? 2 : 1);
        total *= n[i];
        if (i)
            stride[i] = c->stride[i - 1];
    }
    enum ks_code code =
        ks_emu_tensor_map_encode(&map, c->type, c->rank, in, c->dim, c->stride, c->box, c->step, 0, c->swizzle, 0, c->nan, &err);
    verdict(code == KS_OK, c->name, "encode: %s", err.message);
    int bytes = (int)total, rank = (int)c->rank, at[5];
    memcpy(at, c->at, sizeof(at));
    clean(c->name, RUN("tensor_load", 1, 128, total, 0, &map, &out, &bytes, &rank, &at[0], &at[1], &at[2], &at[3], &at[4]));
    download(got, out, total);
    for (uint32_t e = 0; e < total / c->each; e++) {
        uint32_t rest = e;
        uint64_t off = 0;
        bool inside = true;
        for (uint32_t i = 0; i < c->rank; i++) {
            int64_t half = nibbles && i == 0 ? 2 : 1;
            int64_t x = (int64_t)c->at[i] / half + (int64_t)(rest % n[i]) * (i ? c->step[i] : 1);
            rest /= n[i];
            inside = inside && x >= 0 && x < (int64_t)c->dim[i] / half;
            off += (uint64_t)x * stride[i];
        }
        for (uint32_t b = 0; b < c->each; b++)
            want[place(c, e * c->each + b)] = inside ? data[off + b] : !c->nan ? 0 : b % 2 ? 0x7f : 0xf7;
    }
    uint32_t bad = 0;
    while (bad < total && got[bad] == want[bad])
        bad++;
    verdict(bad == total, c->name, "byte %u of %u is %u, expected %u", bad, total, got[bad < total ? bad : 0],
            want[bad < total ? bad : 0]);
    drop(in);
    drop(out);
}

static const struct tensor_case cases[] = {
    {"1d", KS_EMU_MAP_U8, 1, 1, {200}, {0}, {64}, {1}, 0, 0, {144}},
    {"2d", KS_EMU_MAP_F16, 2, 2, {64, 50}, {128}, {64, 16}, {1, 1}, KS_EMU_SWIZZLE_128B, 0, {0, 10}},
    {"2d 64B", KS_EMU_MAP_F16, 2, 2, {64, 50}, {128}, {32, 16}, {1, 1}, KS_EMU_SWIZZLE_64B, 0, {8, 40}},
    {"2d 32B", KS_EMU_MAP_F32, 4, 2, {40, 50}, {160}, {8, 32}, {1, 1}, KS_EMU_SWIZZLE_32B, 0, {-4, -5}},
    {"2d atom 32B", KS_EMU_MAP_F32, 4, 2, {40, 50}, {160}, {32, 16}, {1, 1}, KS_EMU_SWIZZLE_128B_ATOM_32B, 0, {4, 1}},
    {"2d flip", KS_EMU_MAP_U64, 8, 2, {20, 50}, {160}, {16, 16}, {1, 1}, KS_EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B, 0, {2, 1}},
    {"2d atom 64B", KS_EMU_MAP_F32, 4, 2, {40, 50}, {160}, {32, 16}, {1, 1}, KS_EMU_SWIZZLE_128B_ATOM_64B, 0, {0, 44}},
    {"2d none", KS_EMU_MAP_S32, 4, 2, {40, 50}, {160}, {40, 9}, {1, 1}, 0, 0, {12, 45}},
    {"2d nan", KS_EMU_MAP_BF16, 2, 2, {33, 5}, {80}, {40, 8}, {1, 1}, 0, 1, {8, -2}},
    {"2d outside", KS_EMU_MAP_U16, 2, 2, {32, 5}, {64}, {32, 4}, {1, 1}, 0, 0, {1000, -70}},
    {"3d", KS_EMU_MAP_F16, 2, 3, {16, 6, 7}, {32, 192}, {16, 4, 3}, {1, 1, 1}, KS_EMU_SWIZZLE_32B, 0, {0, 3, 5}},
    {"3d steps", KS_EMU_MAP_F32, 4, 3, {16, 20, 20}, {64, 1280}, {16, 8, 9}, {1, 2, 3}, 0, 0, {0, 1, -2}},
    {"4d", KS_EMU_MAP_F16, 2, 4, {32, 5, 4, 3}, {64, 320, 1280}, {32, 3, 2, 2}, {1, 1, 1, 1}, 0, 0, {0, 3, 3, 1}},
    {"5d", KS_EMU_MAP_U8, 1, 5, {32, 3, 4, 3, 2}, {32, 96, 384, 1152}, {32, 2, 2, 2, 2}, {1, 1, 1, 1, 1}, 0, 0, {0, 1, 2, 1, 0}},
    {"nibbles", KS_EMU_MAP_16U4_ALIGN8B, 1, 2, {64, 16}, {32}, {64, 8}, {1, 1}, 0, 0, {32, 2}},
};

/* Rows of 18 elements: the piece of 16 bytes with the last two of them is written as a whole. */
static void test_tensor_store(void)
{
    struct ks_emu_tensor_map map __attribute__((aligned(64)));
    static int before[20 * 24];
    for (int i = 0; i < 20 * 24; i++)
        before[i] = 1000;
    for (int add = 0; add < 2; add++) {
        int *t = upload(before, sizeof(before), "tensor"), bytes = 512, x = 16, y = 20, bad = 0;
        enum ks_code code = ks_emu_tensor_map_encode(&map, KS_EMU_MAP_S32, 2, t, (uint64_t[]){18, 24}, (uint64_t[]){80},
                                                     (uint32_t[]){16, 8}, (uint32_t[]){1, 1}, 0, 0, 0, 0, &err);
        verdict(code == KS_OK, "tensor_store", "encode: %s", err.message);
        clean("tensor_store", RUN("tensor_store", 1, 128, 512, 0, &map, &bytes, &x, &y, &add));
        download(host, t, sizeof(before));
        for (int r = 0; r < 24; r++)
            for (int c = 0; c < 20; c++) {
                bool in = r - y >= 0 && r - y < 8 && c >= x;
                bad += host[r * 20 + c] != (in ? (r - y) * 16 + c - x + (add ? 1000 : 0) : 1000);
            }
        verdict(bad == 0, add ? "tensor_store add" : "tensor_store", "%d wrong", bad);
        drop(t);
    }
}

static void test_encode(void)
{
    struct ks_emu_tensor_map m __attribute__((aligned(64)));
    uint64_t dim[2] = {64, 64}, stride[1] = {128};
    uint32_t box[2] = {64, 8}, one[2] = {1, 1};
    void *base = upload(NULL, 8192, "t");
#define REFUSED(code, what, type, rank, b, d, s, bx, st, il, sw, oob)                                                            \
    verdict(ks_emu_tensor_map_encode(&m, type, rank, b, d, s, bx, st, il, sw, 0, oob, &err) == (code), "encode", "%s", what)
    REFUSED(KS_OK, "plain", 6, 2, base, dim, stride, box, one, 0, 3, 0);
    REFUSED(KS_ERR_RANGE, "address", 6, 2, (char *)base + 8, dim, stride, box, one, 0, 3, 0);
    REFUSED(KS_ERR_RANGE, "rank", 6, 6, base, dim, stride, box, one, 0, 3, 0);
    REFUSED(KS_ERR_RANGE, "stride", 6, 2, base, dim, ((uint64_t[]){120}), box, one, 0, 3, 0);
    REFUSED(KS_ERR_RANGE, "box over 256", 6, 2, base, dim, stride, ((uint32_t[]){64, 257}), one, 0, 3, 0);
    REFUSED(KS_ERR_RANGE, "row over the swizzle", 6, 2, base, dim, stride, ((uint32_t[]){72, 8}), one, 0, 3, 0);
    REFUSED(KS_ERR_RANGE, "row no multiple of 16", 6, 2, base, dim, stride, ((uint32_t[]){12, 8}), one, 0, 0, 0);
    REFUSED(KS_ERR_RANGE, "element stride", 6, 2, base, dim, stride, box, ((uint32_t[]){1, 9}), 0, 3, 0);
    REFUSED(KS_ERR_RANGE, "NaN of integers", 0, 2, base, dim, stride, box, one, 0, 3, 1);
    REFUSED(KS_ERR_RANGE, "empty dimension", 6, 2, base, ((uint64_t[]){64, 0}), stride, box, one, 0, 3, 0);
    REFUSED(KS_ERR_UNSUPPORTED, "interleave", 6, 2, base, dim, stride, box, one, 1, 0, 0);
    drop(base);
}

/* ------------------------------------------------------------------------------------------------ clusters */

static void test_cluster(void)
{
    int *out = upload(NULL, sizeof(host), "out"), bad = 0;
    struct ks_emu_tensor_map map __attribute__((aligned(64)));
    int *in = upload(ints, sizeof(ints), "in");
    unsigned grid[3] = {6, 4, 1}, cluster[3] = {3, 2, 1};
    clean("cluster_registers", run("cluster_registers", grid, 32, 0, cluster, (void *[]){&out}));
    download(host, out, 24 * 40);
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 6; x++) {
            const int want[10] = {y % 2 * 3 + x % 3, 6, x % 3, y % 2, 3, 2, x / 3, y / 2, 2, 1};
            bad += memcmp(&host[(y * 6 + x) * 10], want, sizeof(want)) != 0;
        }
    verdict(bad == 0, "cluster_registers", "%d blocks wrong", bad);
    clean("dsmem", RUN("dsmem", 8, 32, 0, 4, &out));
    download(host, out, 8 * 256);
    bad = 0;
    for (int b = 0; b < 8; b++)
        for (int i = 0; i < 32; i++)
            bad += host[b * 64 + i] != (b % 4 + 1) % 4 * 1000 + i || host[b * 64 + 32 + i] != (b % 4 + 2) % 4 * 1000 + i;
    verdict(bad == 0, "dsmem", "%d wrong", bad);
    clean("remote_arrive", RUN("remote_arrive", 4, 32, 0, 4, &out));
    download(host, out, 128);
    verdict(host[0] == 6 && host[31] == 6, "remote_arrive", "%d", host[0]);
    enum ks_code code = ks_emu_tensor_map_encode(&map, KS_EMU_MAP_S32, 2, in, (uint64_t[]){32, 16}, (uint64_t[]){128},
                                                 (uint32_t[]){32, 1}, (uint32_t[]){1, 1}, 0, 0, 0, 0, &err);
    verdict(code == KS_OK, "multicast", "encode: %s", err.message);
    clean("multicast", RUN("multicast", 4, 32, 0, 4, &map, &out));
    download(host, out, 512);
    bad = 0;
    for (int i = 0; i < 128; i++)
        bad += host[i] != ints[32 + i % 32] + i / 32;
    verdict(bad == 0, "multicast", "%d wrong", bad);
    clean("remote_store", RUN("remote_store", 2, 32, 0, 2, &out));
    download(host, out, 512);
    bad = 0;
    for (int i = 0; i < 128; i++)
        bad += host[i] != (i % 2 ? i % 64 / 2 : (1 - i / 64) * 100 + i % 64 / 2);
    verdict(bad == 0, "remote_store", "%d wrong", bad);
    clean("leader_address", RUN("leader_address", 4, 32, 0, 4, &out));
    download(host, out, 512);
    verdict(host[0] == 5 && host[32] == 5 && host[64] == 25 && host[96] == 25, "leader_address", "%d %d %d %d", host[0], host[32],
            host[64], host[96]);
    clean("fixed_cluster", RUN("_Z13fixed_clusterPj", 4, 32, 0, 0, &out));
    download(host, out, 16);
    verdict(host[0] == 0 && host[1] == 1 && host[2] == 0 && host[3] == 1, "fixed_cluster", "%d %d %d %d", host[0], host[1],
            host[2], host[3]);
    verdict(RUN("_Z13fixed_clusterPj", 3, 32, 0, 0, &out) == KS_ERR_RANGE, "cluster", "a grid of 3 in clusters of 2");
    verdict(RUN("dsmem", 4, 32, 0, 4, &out) == KS_OK && RUN("dsmem", 32, 32, 0, 32, &out) == KS_ERR_RANGE, "cluster",
            "a cluster of 32 blocks");
    drop(out);
    drop(in);
}

/* ------------------------------------------------------------------------------------------------ mistakes */

static void expect(const char *name, enum ks_code code, enum ks_code want, const char *kind, const char *text)
{
    verdict(code == want, name, "gave %s, expected %s: %s", ks_code_name(code), ks_code_name(want), err.message);
    verdict(count_kind(kind) > 0, name, "no finding '%s'", kind);
    if (count_kind(kind) == 0)
        print_findings();
    struct ks_json *all = ks_emu_findings(dev);
    bool found = !text;
    for (size_t i = 0; i < ks_json_len(all); i++)
        found |= text && strstr(ks_json_get_str(ks_json_at(all, i), "text", ""), text);
    ks_json_free(all);
    verdict(found, name, "no finding says '%s'", text ? text : "");
    if (!found)
        print_findings();
}

static void test_mistakes(void)
{
    int *out = upload(NULL, sizeof(host), "out"), *in = upload(ints, 256, "in"), few = 252, many = 260;
    struct ks_emu_tensor_map junk = {0};
    void *map = upload(&junk, sizeof(junk), "map");
    expect("bad_no_wait", RUN("bad_no_wait", 1, 32, 0, 0, &in, &out), KS_OK, "async-pending", "copy");
    download(host, out, 128);
    verdict(host[3] == -1, "bad_no_wait", "the data came early: %d", host[3]);
    expect("bad_parity", RUN("bad_parity", 1, 32, 0, 0, &in, &out), KS_OK, "async-pending", NULL);
    download(host, out, 128);
    verdict(host[3] == -1, "bad_parity", "the data came early: %d", host[3]);
    expect("bad_expect few", RUN("bad_expect", 1, 32, 0, 0, &in, &out, &few), KS_ERR_TIMEOUT, "deadlock", "-4 bytes");
    expect("bad_expect many", RUN("bad_expect", 1, 32, 0, 0, &in, &out, &many), KS_ERR_TIMEOUT, "deadlock",
           "phase 0 lacks 0 of 1 arrivals and 4 bytes");
    expect("bad_no_fence", RUN("bad_no_fence", 1, 32, 0, 0, &out), KS_OK, "proxy-fence", NULL);
    (void)RUN("bad_no_read_wait", 1, 32, 0, 0, &out);
    download(host, out, 256);
    verdict(host[5] == 105, "bad_no_read_wait", "the first copy read in time: %d", host[5]);
    expect("bad_unwaited", RUN("bad_unwaited", 1, 32, 0, 0, &out), KS_OK, "async-unwaited", NULL);
    expect("bad_load_unwaited", RUN("bad_load_unwaited", 1, 32, 0, 0, &in), KS_OK, "async-unwaited", "exited");
    expect("bad_over_arrival", RUN("bad_over_arrival", 1, 32, 0, 0, &out), KS_ERR_DEVICE, "mbarrier-count", NULL);
    expect("bad_uninitialised", RUN("bad_uninitialised", 1, 32, 0, 0, &out), KS_ERR_DEVICE, "mbarrier-init", NULL);
    expect("bad_twice", RUN("bad_twice", 1, 32, 0, 0, &out), KS_OK, "mbarrier-init", "in use");
    expect("bad_access", RUN("bad_access", 1, 32, 0, 0, &out), KS_OK, "mbarrier-access", NULL);
    expect("bad_deadlock", RUN("bad_deadlock", 1, 32, 0, 0, &out), KS_ERR_TIMEOUT, "deadlock",
           "parity 0 (phase 0 lacks 1 of 32 arrivals and 0 bytes)");
    expect("bad_poll", RUN("bad_poll", 1, 32, 0, 0, &out), KS_ERR_TIMEOUT, "deadlock", "mbarrier");
    expect("bad_map", RUN("bad_map", 1, 32, 0, 0, &map, &out), KS_ERR_DEVICE, "tensor-map", NULL);
    struct ks_emu_tensor_map row __attribute__((aligned(64)));
    int store = 1, load = 0, odd = 1, before = -4;
    verdict(ks_emu_tensor_map_encode(&row, KS_EMU_MAP_S32, 1, in, (uint64_t[]){64}, NULL, (uint32_t[]){64}, (uint32_t[]){1}, 0, 0,
                                     0, 0, &err) == KS_OK,
            "bad_coordinate", "encode: %s", err.message);
    expect("bad_coordinate", RUN("bad_coordinate", 1, 32, 0, 0, &row, &load, &odd), KS_ERR_DEVICE, "tensor-coordinate",
           "byte 4 of a row");
    expect("bad_coordinate", RUN("bad_coordinate", 1, 32, 0, 0, &row, &store, &odd), KS_ERR_DEVICE, "tensor-coordinate",
           "byte 4 of a row");
    expect("bad_coordinate", RUN("bad_coordinate", 1, 32, 0, 0, &row, &store, &before), KS_ERR_DEVICE, "tensor-coordinate",
           "-4 of dimension 0");
    expect("bad_alignment", RUN("bad_alignment", 1, 32, 0, 0, &in, &out), KS_ERR_DEVICE, "misaligned", NULL);
    expect("bad_global", RUN("bad_global", 1, 32, 0, 0, &in, &out), KS_ERR_DEVICE, "out-of-bounds", "past the end");
    expect("bad_cluster_arrive", RUN("bad_cluster_arrive", 2, 32, 0, 2, &out), KS_ERR_DEVICE, "cluster-barrier", NULL);
    expect("bad_cluster_wait", RUN("bad_cluster_wait", 2, 32, 0, 2, &out), KS_ERR_TIMEOUT, "deadlock", "block rank 1 warp 0");
    expect("bad_multicast", RUN("bad_multicast", 4, 32, 0, 4, &in, &out), KS_ERR_DEVICE, "multicast-mask", NULL);
    expect("bad_registers", RUN("bad_registers", 1, 512, 0, 0, &out), KS_OK, "register-count", NULL);
    expect("bad_cluster_exit", RUN("bad_cluster_exit", 2, 32, 0, 2, &out), KS_OK, "cluster-exited", NULL);
    drop(out);
    drop(in);
    drop(map);
}

int main(int argc, char **argv)
{
    static const uint64_t seeds[] = {0, 1, 2, 3, 4, 5};
    if (argc < 2)
        return 2;
    start_device(&config, argv[1]);
    for (int i = 0; i < 1024; i++)
        ints[i] = i * 7 + 3;
    test_encode();
    for (size_t s = 0; s < sizeof(seeds) / sizeof(*seeds); s++) {
        seed = seeds[s];
        test_mbarrier();
        test_bulk();
        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
            test_tensor_load(&cases[i]);
        test_tensor_store();
        test_cluster();
    }
    seed = 0;
    test_mistakes();
    return finish();
}
