/* Kernels of wgmma_kernels.cu against products in double precision. */

#include "tests/emulated/emu_test.h"
#include "tests/emulated/matrix.h"

#include <math.h>

static struct ks_emu_config config = {.arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .n_threads = 1};
static uint8_t a[64 * 128], b[256 * 128];
static float got[64 * 256], before[64 * 256];
static double av[64][128], bv[256][128]; /* values, by k */

static enum ks_code run(const char *name, unsigned threads, void **args)
{
    struct ks_emu_launch l = {
        .name = name, .grid = {1, 1, 1}, .block = {threads, 1, 1}, .shared_bytes = 8192 + 32768, .args = args};
    err = (struct ks_err){0};
    ks_emu_findings_clear(dev);
    return ks_emu_launch_run(dev, mod, &l, &err);
}

static bool right(uint32_t n, uint32_t k, bool is_int, double keep, double sign, double tolerance, int *ret_at)
{
    for (uint32_t r = 0; r < 64; r++)
        for (uint32_t c = 0; c < n; c++) {
            int32_t i;
            memcpy(&i, &before[r * n + c], 4);
            double sum = keep * (is_int ? i : (double)before[r * n + c]), size = fabs(sum);
            for (uint32_t q = 0; q < k; q++) {
                if (is_int && q % 32 == 0) /* every instruction saturates */
                    sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
                sum += sign * av[r][q] * bv[c][q];
                size += fabs(av[r][q] * bv[c][q]);
            }
            memcpy(&i, &got[r * n + c], 4);
            double g = is_int ? i : (double)got[r * n + c];
            if (is_int)
                sum = sum > INT32_MAX ? INT32_MAX : sum < INT32_MIN ? INT32_MIN : sum;
            *ret_at = (int)(r * n + c);
            if (!(fabs(g - sum) <= tolerance * (size + 1e-3)))
                return false;
        }
    return true;
}

struct ss {
    const char *name;
    enum ptx_type a, b;
    bool is_int, sat;
    double sign;
};
static const struct ss kinds[] = {
    {"ss_f16", PTX_f16, PTX_f16, false, false, 1},         {"ss_bf16", PTX_bf16, PTX_bf16, false, false, 1},
    {"ss_f16_minus", PTX_f16, PTX_f16, false, false, -1},  {"ss_tf32", PTX_tf32, PTX_tf32, false, false, 1},
    {"ss_e4m3_e5m2", PTX_e4m3, PTX_e5m2, false, false, 1}, {"ss_s8_u8", PTX_s8, PTX_u8, true, false, 1},
    {"ss_u8_s8_sat", PTX_u8, PTX_s8, true, true, 1},
};

static void test_ss(const struct ss *s, int sw, int keep)
{
    uint32_t bytes = sw == 0 ? 32 : sw == 1 ? 128 : sw == 2 ? 64 : 32, k = bytes / size_of(s->a);
    int at = 0;
    make(a, av, 64, k, s->a, false, 1);
    make(b, bv, 16, k, s->b, false, 2);
    for (int i = 0; i < 64 * 16; i++) {
        int32_t v = s->sat ? (i & 1 ? INT32_MAX - 100 : INT32_MIN + 100) : i - 500;
        if (s->is_int)
            memcpy(&before[i], &v, 4);
        else
            before[i] = (float)v;
    }
    void *da = upload(a, 64 * bytes, "a"), *db = upload(b, 16 * bytes, "b"), *dd = upload(before, 64 * 16 * 4, "d");
    enum ks_code code = run(s->name, 128, (void *[]){&da, &db, &dd, &sw, &keep});
    download(got, dd, 64 * 16 * 4);
    bool ok = right(16, k, s->is_int, keep, s->sign, s->is_int ? 0 : 1e-6, &at);
    verdict(code == KS_OK && ok && !found(NULL), s->name, "swizzle %d keep %d: element %d is %g, %s", sw, keep, at,
            (double)got[at], err.message);
    show();
    drop(da);
    drop(db);
    drop(dd);
}

static void test_trans(const char *name, bool ta, bool tb, int sw)
{
    int at = 0;
    make(a, av, 64, 16, PTX_f16, ta, 3);
    make(b, bv, 64, 16, PTX_f16, tb, 4);
    memset(before, 0, sizeof(before));
    void *da = upload(a, 64 * 32, "a"), *db = upload(b, 64 * 32, "b"), *dd = upload(before, 64 * 64 * 4, "d");
    enum ks_code code = run(name, 128, (void *[]){&da, &db, &dd, &sw});
    download(got, dd, 64 * 64 * 4);
    bool ok = right(64, 16, false, 0, 1, 1e-6, &at);
    verdict(code == KS_OK && ok && !found(NULL), name, "swizzle %d: element %d is %g, %s", sw, at, (double)got[at], err.message);
    show();
    drop(da);
    drop(db);
    drop(dd);
}

/* Kernels of (a, b, d) with K = 32 bytes; kind NULL: right and clean. */
static void test_plain(const char *name, enum ptx_type t, uint32_t n, uint32_t k, unsigned threads, enum ks_code want,
                       const char *kind, bool wrong)
{
    int at = 0;
    uint32_t bytes = k * size_of(t);
    make(a, av, 64, k, t, false, 5);
    make(b, bv, n, k, t, false, 6);
    memset(before, 0, sizeof(before));
    void *da = upload(a, 64 * bytes, "a"), *db = upload(b, n * bytes, "b"), *dd = upload(before, 64 * n * 4, "d");
    enum ks_code code = run(name, threads, (void *[]){&da, &db, &dd});
    download(got, dd, 64 * n * 4);
    verdict(code == want, name, "gave %s, expected %s: %s", ks_code_name(code), ks_code_name(want), err.message);
    if (kind)
        verdict(found(kind), name, "no finding '%s'", kind);
    else
        verdict(!found(NULL), name, "findings");
    if (kind ? !found(kind) : found(NULL))
        show();
    if (want == KS_OK && !kind) {
        bool ok = right(n, k, ks_ptx_type_class(t) != PTX_CLASS_F && size_of(t) == 1 && t != PTX_e5m2, 0, 1, 1e-6, &at);
        verdict(ok != wrong, name, "element %d is %g", at, (double)got[at]);
    }
    drop(da);
    drop(db);
    drop(dd);
}

static void test_half(void)
{
    uint16_t h[64 * 16], want[64 * 16];
    int sw = 0, keep = 1, bad = -1;
    make(a, av, 64, 16, PTX_f16, false, 7);
    make(b, bv, 16, 16, PTX_f16, false, 8);
    for (int i = 0; i < 64 * 16; i++) {
        h[i] = (uint16_t)ks_emu_encode((i % 37 - 18) / 4.0, EMU_FMT_F16, 0, false);
        double sum = ks_emu_decode(h[i], EMU_FMT_F16);
        for (int q = 0; q < 16; q++)
            sum += av[i / 16][q] * bv[i % 16][q];
        want[i] = (uint16_t)ks_emu_encode(sum, EMU_FMT_F16, 0, false);
    }
    void *da = upload(a, 64 * 32, "a"), *db = upload(b, 16 * 32, "b"), *dd = upload(h, sizeof(h), "d");
    enum ks_code code = run("ss_half", 128, (void *[]){&da, &db, &dd, &sw, &keep});
    download(h, dd, sizeof(h));
    for (int i = 0; i < 64 * 16 && bad < 0; i++)
        if (h[i] != want[i])
            bad = i;
    verdict(code == KS_OK && bad < 0 && !found(NULL), "ss_half", "element %d is 0x%04x, expected 0x%04x, %s", bad,
            h[bad < 0 ? 0 : bad], want[bad < 0 ? 0 : bad], err.message);
    show();
    drop(da);
    drop(db);
    drop(dd);
}

/* Ones added to a power of two tell the sums apart: d + k products of 1. */
static void test_sums(void)
{
    static const struct {
        const char *name;
        uint8_t one[2];
        uint32_t k;
        float d;
        float want[3]; /* by enum ks_emu_sums */
    } rows[] = {
        /* one by one each is lost; a place of 2^25 + 25 binary places is 1, one of 2^26 is 2 */
        {"ss_f16", {0x00, 0x3c}, 16, 0x1p25f, {0x1p25f, 0x1p25f + 16, 0x1p25f + 16}},
        {"ss_f16", {0x00, 0x3c}, 16, 0x1p26f, {0x1p26f, 0x1p26f, 0x1p26f + 16}},
        {"ss_bf16", {0x80, 0x3f}, 16, 0x1p25f, {0x1p25f, 0x1p25f + 16, 0x1p25f + 16}},
        /* fp8: 13 places */
        {"ss_e4m3_e5m2", {0, 0}, 32, 0x1p13f, {0x1p13f + 32, 0x1p13f + 32, 0x1p13f + 32}},
        {"ss_e4m3_e5m2", {0, 0}, 32, 0x1p14f, {0x1p14f + 32, 0x1p14f, 0x1p14f + 32}},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        for (int sums = 0; sums < 3; sums++) {
            bool fp8 = rows[i].k == 32;
            struct ks_emu_config c = config;
            int sw = 3, keep = 1;
            for (int j = 0; j < 64 * 32; j++) {
                a[j] = fp8 ? 0x38 : rows[i].one[j & 1];
                b[j] = fp8 ? 0x3c : rows[i].one[j & 1];
            }
            for (int j = 0; j < 64 * 16; j++)
                before[j] = rows[i].d;
            c.sums = (enum ks_emu_sums)sums;
            ks_emu_configure(dev, &c);
            void *da = upload(a, 64 * 32, "a"), *db = upload(b, 16 * 32, "b"), *dd = upload(before, 64 * 16 * 4, "d");
            enum ks_code code = run(rows[i].name, 128, (void *[]){&da, &db, &dd, &sw, &keep});
            download(got, dd, 64 * 16 * 4);
            int bad = 0;
            for (int j = 0; j < 64 * 16; j++)
                bad += got[j] != rows[i].want[sums];
            verdict(code == KS_OK && bad == 0, rows[i].name, "sums %d of %g: %g, expected %g, %d wrong, %s", sums,
                    (double)rows[i].d, (double)got[0], (double)rows[i].want[sums], bad, err.message);
            drop(da);
            drop(db);
            drop(dd);
        }
    }
    ks_emu_configure(dev, &config);
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    start_device(&config, argv[1]);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        for (int sw = 0; sw < 4; sw++)
            for (int keep = 0; keep < 2; keep++)
                test_ss(&kinds[i], sw, keep);
    for (int sw = 0; sw < 4; sw++)
        test_trans("trans_b", false, true, sw); /* A needs 32 bytes of K: no wider swizzle than that */
    for (int sw = 0; sw < 4; sw++)
        test_trans("trans_both", true, true, sw);
    test_trans("trans_a", true, false, 0);
    test_trans("trans_a", true, false, 3);
    test_sums();
    test_half();
    test_plain("rs_bf16", PTX_bf16, 16, 16, 128, KS_OK, NULL, false);
    test_plain("rs_tf32", PTX_tf32, 16, 8, 128, KS_OK, NULL, false);
    test_plain("rs_e5m2", PTX_e5m2, 16, 32, 128, KS_OK, NULL, false);
    test_plain("rs_s8", PTX_s8, 16, 32, 128, KS_OK, NULL, false);
    test_plain("wide", PTX_f16, 256, 64, 128, KS_OK, NULL, false);
    test_plain("collective", PTX_f16, 16, 16, 128, KS_OK, NULL, false);
    test_plain("fresh", PTX_f16, 16, 16, 128, KS_OK, NULL, false);
    test_plain("good_wait_one", PTX_f16, 16, 16, 128, KS_OK, NULL, false);
    test_plain("bad_no_wait", PTX_f16, 16, 16, 128, KS_OK, "wgmma-pending", false);
    test_plain("bad_wait_one", PTX_f16, 16, 16, 128, KS_OK, "wgmma-pending", false);
    test_plain("bad_no_fence", PTX_f16, 16, 16, 128, KS_OK, "wgmma-fence", false);
    test_plain("bad_early_fence", PTX_f16, 16, 16, 128, KS_OK, "wgmma-fence", false);
    test_plain("bad_overwrite", PTX_f16, 16, 16, 128, KS_OK, "wgmma-overwrite", false);
    test_plain("bad_register", PTX_f16, 16, 16, 128, KS_OK, "wgmma-pending", false);
    test_plain("bad_no_proxy_fence", PTX_f16, 16, 16, 128, KS_OK, "proxy-fence", false);
    test_plain("bad_swizzle", PTX_f16, 16, 16, 128, KS_OK, NULL, true);
    test_plain("bad_warpgroup", PTX_f16, 16, 16, 64, KS_ERR_DEVICE, "warpgroup", false);
    test_plain("bad_three_warps", PTX_f16, 16, 16, 128, KS_ERR_TIMEOUT, "deadlock", false);
    return finish();
}
