/* Kernels of tcgen_kernels.cu: products against double precision, the layouts of tensor memory, pairs, mistakes. */

#include "tests/emulated/emu_test.h"
#include "tests/emulated/matrix.h"

#include <math.h>

static struct ks_emu_config config = {.arch = "sm_100a", .checks = KS_EMU_CHECK_ALL, .n_threads = 1};
static uint8_t a[256 * 32], b[256 * 32];
static uint32_t before[256 * 256], got[256 * 256];
static double av[256][128], bv[256][128];
static int seed;

static enum ks_code run(const char *name, unsigned blocks, void **args)
{
    struct ks_emu_launch l = {
        .name = name, .grid = {blocks, 1, 1}, .block = {128, 1, 1}, .shared_bytes = 16384 + 16384, .args = args};
    l.cluster[0] = blocks > 1 ? blocks : 0;
    err = (struct ks_err){0};
    config.seed = (uint64_t)seed;
    ks_emu_configure(dev, &config);
    ks_emu_findings_clear(dev);
    return ks_emu_launch_run(dev, mod, &l, &err);
}

static uint32_t descriptor(uint32_t d, uint32_t ta, uint32_t tb, uint32_t m, uint32_t n, uint32_t flags)
{
    return d << 4 | ta << 7 | tb << 10 | n / 8 << 17 | m / 16 << 24 | flags;
}

static double read_cell(uint32_t v, enum ptx_type t)
{
    float f;
    memcpy(&f, &v, 4);
    return t == PTX_f16 ? ks_emu_decode(v & 0xffff, EMU_FMT_F16) : t == PTX_s32 ? (int32_t)v : (double)f;
}
static uint32_t write_cell(int v, enum ptx_type t)
{
    float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, 4);
    return t == PTX_f16 ? ks_emu_encode(v, EMU_FMT_F16, 0, false) : t == PTX_s32 ? (uint32_t)v : u;
}

struct kind {
    const char *name;
    int kind;
    enum ptx_type a, b, d;
    uint32_t code_a, code_b, code_d;
};
static const struct kind kinds[] = {
    {"f16", 0, PTX_f16, PTX_f16, PTX_f32, 0, 0, 1},         {"bf16", 0, PTX_bf16, PTX_bf16, PTX_f32, 1, 1, 1},
    {"f16 f16", 0, PTX_f16, PTX_f16, PTX_f16, 0, 0, 0},     {"tf32", 1, PTX_tf32, PTX_tf32, PTX_f32, 2, 2, 1},
    {"e4m3 e5m2", 2, PTX_e4m3, PTX_e5m2, PTX_f32, 0, 1, 1}, {"e2m1 e4m3", 2, PTX_e2m1, PTX_e4m3, PTX_f32, 5, 0, 1},
    {"e3m2 e2m1", 2, PTX_e3m2, PTX_e2m1, PTX_f32, 4, 5, 1}, {"s8 u8", 3, PTX_s8, PTX_u8, PTX_s32, 1, 0, 2},
};

/* Packs 16 elements of 4 or 6 bits to the front of each 16 bytes. */
static void pack(uint8_t *m, uint32_t rows, uint32_t bits)
{
    for (uint32_t piece = 0; piece < rows * 2; piece++) {
        uint8_t out[16] = {0}, *in = m + piece * 16;
        for (uint32_t i = 0; i < 16 * bits; i++)
            out[i / 8] |= (uint8_t)((in[i / bits] >> i % bits & 1) << i % 8);
        memcpy(in, out, 16);
    }
}
static uint32_t packed_bits(enum ptx_type t)
{
    return t == PTX_e2m1 ? 4 : t == PTX_e3m2 ? 6 : 0;
}

static void fill(const struct kind *k, uint32_t m, uint32_t n, bool ta, bool tb)
{
    uint32_t elements = 32 / size_of(k->a);
    make(a, av, m, elements, k->a, ta, 11);
    make(b, bv, n, elements, k->b, tb, 12);
    if (packed_bits(k->a))
        pack(a, m, packed_bits(k->a));
    if (packed_bits(k->b))
        pack(b, n, packed_bits(k->b));
}

/* What row r, column c should be, from what was there. */
static bool right(const struct kind *k, uint32_t r, uint32_t c, uint32_t old, uint32_t new, int keep, double sign)
{
    double sum = keep ? read_cell(old, k->d) : 0, size = fabs(sum) + 1e-3;
    for (uint32_t q = 0; q < 32 / size_of(k->a); q++) {
        sum += sign * av[r][q] * bv[c][q];
        size += fabs(av[r][q] * bv[c][q]);
    }
    return fabs(read_cell(new, k->d) - sum) <= size * (k->d == PTX_f16 ? 1e-3 : k->d == PTX_s32 ? 0 : 1e-6);
}

static void test_product(const struct kind *k, uint32_t m, uint32_t n, int sw, uint32_t flags, int keep)
{
    uint32_t idesc = descriptor(k->code_d, k->code_a, k->code_b, m, n, flags), bad = 0;
    int im = (int)m, in = (int)n, kind = k->kind;
    fill(k, m, n, flags >> 15 & 1, flags >> 16 & 1);
    for (uint32_t i = 0; i < 128 * n; i++)
        before[i] = write_cell((int)(i % 61) - 30, k->d);
    void *da = upload(a, m * 32, "a"), *db = upload(b, n * 32, "b"), *dd = upload(before, 128 * n * 4, "d");
    enum ks_code code = run("product", 1, (void *[]){&da, &db, &dd, &im, &in, &kind, &idesc, &sw, &keep});
    download(got, dd, 128 * n * 4);
    for (uint32_t r = 0; r < m; r++) {
        uint32_t lane = m == 64 ? r / 16 * 32 + r % 16 : r;
        for (uint32_t c = 0; c < n; c++)
            bad += !right(k, r, c, before[lane * n + c], got[lane * n + c], keep, flags >> 13 & 1 ? -1 : 1);
    }
    verdict(code == KS_OK && bad == 0 && !found(NULL), k->name, "M %u N %u swizzle %d flags 0x%x keep %d: %u wrong, %s", m, n, sw,
            flags, keep, bad, err.message);
    show();
    drop(da);
    drop(db);
    drop(dd);
}

static void test_from_tmem(void)
{
    const struct kind *k = &kinds[0];
    uint32_t idesc = descriptor(1, 0, 0, 128, 16, 0), off = 0x00010002, bad = 0;
    int n = 16;
    fill(k, 128, 16, false, false);
    for (uint32_t i = 0; i < 128 * 16; i++)
        before[i] = write_cell(3, PTX_f32);
    void *da = upload(a, 128 * 32, "a"), *db = upload(b, 16 * 32, "b"), *dd = upload(before, 128 * 64, "d");
    enum ks_code code = run("from_tmem", 1, (void *[]){&da, &db, &dd, &n, &idesc, &off});
    download(got, dd, 128 * 64);
    for (uint32_t i = 0; i < 128 * 16; i++) {
        double sum = 3;
        for (int q = 0; q < 16; q++)
            sum += 2 * av[i / 16][q] * bv[i % 16][q];
        if (off >> i / 16 % 32 & 1)
            sum = 3;
        bad += !(fabs(read_cell(got[i], PTX_f32) - sum) <= 1e-4);
    }
    verdict(code == KS_OK && bad == 0 && !found(NULL), "from_tmem", "%u wrong, %s", bad, err.message);
    show();
    drop(da);
    drop(db);
    drop(dd);
}

static void test_upper_half(void)
{
    const struct kind *k = &kinds[0];
    uint32_t idesc = descriptor(1, 0, 0, 64, 8, 0), bad = 0;
    fill(k, 64, 16, false, false);
    void *da = upload(a, 64 * 32, "a"), *db = upload(b, 16 * 32, "b"), *dd = upload(NULL, 128 * 8 * 4, "d");
    enum ks_code code = run("upper_half", 1, (void *[]){&da, &db, &dd, &idesc});
    download(got, dd, 128 * 8 * 4);
    for (uint32_t lane = 0; lane < 128; lane++)
        for (uint32_t c = 0; c < 8; c++) {
            uint32_t r = lane / 32 * 16 + lane % 16;
            bad += !right(k, r, lane % 32 < 16 ? c : 8 + c, 0, got[lane * 8 + c], 0, 1);
        }
    verdict(code == KS_OK && bad == 0 && !found(NULL), "upper_half", "%u wrong, %s", bad, err.message);
    show();
    drop(da);
    drop(db);
    drop(dd);
}

static void test_shapes(void)
{
    uint32_t bad = 0, base;
    void *out = upload(NULL, 128 * 128, "out");
    enum ks_code code = run("shapes", 1, (void *[]){&out});
    download(got, out, 128 * 128);
    for (uint32_t t = 0; t < 128; t++) {
        uint32_t l = t % 32, g = l / 4, q = l % 4;
        const uint32_t *o = got + t * 32;
        base = t / 32 * 32;
#define CELL(lane, col) ((base + (lane)) * 1000 + (col))
        for (uint32_t i = 0; i < 4; i++)
            bad += o[i] != CELL(g + 8 * (l & 1), 2 * i + (l >> 1 & 1));
        for (uint32_t i = 0; i < 4; i++)
            bad += o[4 + i] != CELL(16 + g + 8 * (i & 1), i / 2 * 4 + q);
        for (uint32_t i = 0; i < 8; i++)
            bad += o[8 + i] != CELL(g + 8 * (i >> 1 & 1), 4 + i / 4 * 8 + 2 * q + (i & 1));
        for (uint32_t i = 0; i < 2; i++) {
            bad += o[16 + i] != CELL(l % 16, i + l / 16 * 8);
            bad += o[18 + i] != ((CELL(l, 2 * i) & 0xffff) | CELL(l, 2 * i + 1) << 16);
        }
        for (uint32_t c = 0; c < 8; c++) { /* stored by 16x256b: registers 1, 2, 3, thread */
            uint32_t want = l >= 16 ? CELL(l, c) : l < 8 ? 1 + (c & 1) : c & 1 ? base + (l - 8) * 4 + c / 2 : 3;
            bad += o[20 + c] != want;
        }
    }
    verdict(code == KS_OK && bad == 0 && !found(NULL), "shapes", "%u wrong, %s", bad, err.message);
    show();
    drop(out);
}

static void test_copies(void)
{
    uint32_t bad = 0, words[128][8];
    for (uint32_t i = 0; i < 128 * 8; i++)
        words[i / 8][i % 8] = i * 2654435761u;
    void *in = upload(words, sizeof(words), "in"), *out = upload(NULL, 128 * 128, "out");
    enum ks_code code = run("copies", 1, (void *[]){&in, &out});
    download(got, out, 128 * 128);
    for (uint32_t l = 0; l < 128; l++)
        for (uint32_t c = 0; c < 8; c++) {
            const uint32_t *o = got + l * 32;
            bad += o[c] != words[l][c] || o[24 + c] != words[l < 31 ? l + 1 : l][c];
            bad += c < 4 && (o[8 + c] != words[l][c] || o[12 + c] != words[l % 32][c] || o[16 + c] != words[l % 64][c] ||
                             o[20 + c] != words[l / 64 * 32 + l % 32][c]);
        }
    verdict(code == KS_OK && bad == 0 && !found(NULL), "copies", "%u wrong, %s", bad, err.message);
    show();
    drop(in);
    drop(out);
}

static void test_pair(uint32_t m, uint32_t n)
{
    const struct kind *k = &kinds[0];
    uint32_t idesc = descriptor(1, 0, 0, m, n, 0), bad = 0;
    int im = (int)m, in = (int)n, width = m == 128 ? in / 2 : in;
    fill(k, m, n, false, false);
    void *da = upload(a, m * 32, "a"), *db = upload(b, n * 32, "b"), *dd = upload(NULL, 256 * (size_t)width * 4, "d");
    enum ks_code code = run("pair", 2, (void *[]){&da, &db, &dd, &im, &in, &idesc, &width});
    download(got, dd, 256 * (size_t)width * 4);
    for (uint32_t r = 0; r < m; r++)
        for (uint32_t c = 0; c < n; c++) {
            uint32_t lane = m == 256 ? r : r / 64 * 128 + r % 64 + (c >= n / 2 ? 64 : 0);
            bad += !right(k, r, c, 0, got[lane * (uint32_t)width + c % (uint32_t)width], 0, 1);
        }
    verdict(code == KS_OK && bad == 0 && !found(NULL), "pair", "M %u N %u: %u wrong, %s", m, n, bad, err.message);
    show();
    drop(da);
    drop(db);
    drop(dd);
}

static void expect(const char *name, bool operands, enum ks_code want, const char *kind)
{
    const struct kind *k = &kinds[0];
    fill(k, 128, 8, false, false);
    void *da = upload(a, 128 * 32, "a"), *db = upload(b, 8 * 32, "b"), *dd = upload(NULL, 128 * 32, "d");
    enum ks_code code = operands ? run(name, 1, (void *[]){&da, &db, &dd}) : run(name, 1, (void *[]){&dd});
    verdict(code == want && found(kind), name, "gave %s, expected %s and '%s': %s", ks_code_name(code), ks_code_name(want), kind,
            err.message);
    if (!found(kind))
        show();
    download(got, dd, 128 * 32);
    drop(da);
    drop(db);
    drop(dd);
}

static void test_mistakes(void)
{
    expect("bad_no_wait", true, KS_OK, "tcgen05-pending");
    verdict(got[5] == 0x40400000, "bad_no_wait", "the product came early: 0x%x", got[5]);
    expect("bad_no_wait_ld", false, KS_OK, "tcgen05-pending");
    expect("bad_no_wait_st", false, KS_OK, "tcgen05-pending");
    expect("bad_unwritten", false, KS_OK, "uninitialised");
    expect("bad_lanes", false, KS_ERR_DEVICE, "tensor-lanes");
    expect("bad_columns", false, KS_ERR_DEVICE, "tensor-memory");
    expect("bad_after_dealloc", false, KS_ERR_DEVICE, "tensor-memory");
    expect("bad_leak", false, KS_OK, "tensor-memory-leak");
    expect("bad_dealloc", false, KS_ERR_DEVICE, "tensor-memory");
    expect("bad_permit", false, KS_ERR_DEVICE, "tensor-memory");
    expect("bad_size", false, KS_ERR_DEVICE, "tensor-memory");
    expect("bad_descriptor", true, KS_ERR_DEVICE, "tensor-descriptor");
    expect("bad_no_proxy_fence", true, KS_OK, "proxy-fence");
    expect("bad_overwrite", true, KS_OK, "tcgen05-overwrite");
    uint32_t zero = 0;
    for (uint32_t i = 0; i < 128 * 8; i++)
        zero += got[i] == 0;
    verdict(zero == 128 * 8, "bad_overwrite", "the product read B in time");
}

/* 16 products of 1 added to a power of two, by each of enum ks_emu_sums: a place of 2^26 + 25 binary places is 2. */
static void test_sums(void)
{
    static const double want[3] = {0x1p26, 0x1p26, 0x1p26 + 16};
    uint32_t idesc = descriptor(1, 0, 0, 128, 32, 0);
    int m = 128, n = 32, kind = 0, sw = 0, keep = 1;
    for (int i = 0; i < 128 * 32; i += 2) {
        a[i] = b[i] = 0;
        a[i + 1] = b[i + 1] = 0x3c;
    }
    for (uint32_t i = 0; i < 128 * 32; i++)
        before[i] = write_cell(0x1p26, PTX_f32);
    for (int sums = 0; sums < 3; sums++) {
        uint32_t bad = 0;
        config.sums = (enum ks_emu_sums)sums;
        void *da = upload(a, 128 * 32, "a"), *db = upload(b, 32 * 32, "b"), *dd = upload(before, 128 * 32 * 4, "d");
        enum ks_code code = run("product", 1, (void *[]){&da, &db, &dd, &m, &n, &kind, &idesc, &sw, &keep});
        download(got, dd, 128 * 32 * 4);
        for (uint32_t i = 0; i < 128 * 32; i++)
            bad += read_cell(got[i], PTX_f32) != want[sums];
        verdict(code == KS_OK && bad == 0, "sums", "%d: %u wrong, %g, %s", sums, bad, read_cell(got[0], PTX_f32), err.message);
        drop(da);
        drop(db);
        drop(dd);
    }
    config.sums = KS_EMU_SUMS_DEFAULT;
}

int main(int argc, char **argv)
{
    static const uint32_t both[4] = {0, 1u << 15, 1u << 16, 3u << 15};
    if (argc < 2)
        return 2;
    start_device(&config, argv[1]);
    for (seed = 0; seed < 4; seed++) {
        for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++)
            for (int keep = 0; keep < 2; keep++) {
                test_product(&kinds[k], 128, 32, 0, 0, keep);
                test_product(&kinds[k], 64, 24, 6, 0, keep);
            }
        test_product(&kinds[0], 128, 256, 6, 0, 1);
        test_product(&kinds[0], 128, 64, 0, 1u << 13, 1);
        for (int t = 1; t < 4; t++)
            for (int sw = 0; sw < 8; sw += 2)
                if (t == 3 || sw == 0 || sw == 6) /* K-major lines have 32 bytes here */
                    test_product(&kinds[0], 128, 64, sw, both[t], 0);
        test_from_tmem();
        test_shapes();
        test_upper_half();
        test_copies();
        test_pair(256, 64);
        test_pair(128, 32);
        void *out = upload(NULL, 8, "out");
        verdict(run("take_turns", 1, (void *[]){&out}) == KS_OK && !found(NULL), "take_turns", "%s", err.message);
        show();
        drop(out);
    }
    seed = 0;
    test_sums();
    test_mistakes();
    return finish();
}
