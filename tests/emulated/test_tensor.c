/* Tensor-core kernels of tensor_kernels.cu against plain loops. */

#include "tests/emulated/emu_test.h"

#include <math.h>

#define K 64

static uint16_t to_half(float f) /* small integers and halves only: exact */
{
    uint32_t b;
    memcpy(&b, &f, 4);
    if (f == 0)
        return 0;
    return (uint16_t)((b >> 16 & 0x8000) | ((b >> 23 & 255) - 112) << 10 | (b >> 13 & 0x3ff));
}
static float from_half(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 0x3ff;
    float v = e ? ldexpf((float)(m | 0x400), e - 25) : ldexpf((float)m, -24);
    return h & 0x8000 ? -v : v;
}
static uint16_t to_bf16(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    return (uint16_t)(b >> 16);
}

static float value(int i)
{
    return (float)((i * 7919) % 33 - 16) * 0.5f;
}

static void check(const char *name, enum ks_code code, const float *got, const float *want, int n)
{
    verdict(code == KS_OK, name, "%s", err.message);
    int bad = -1;
    for (int i = 0; i < n && bad < 0; i++)
        if (!(fabsf(got[i] - want[i]) <= 1e-4f * (1 + fabsf(want[i]))))
            bad = i;
    verdict(bad < 0, name, "element %d is %g, expected %g", bad, (double)got[bad < 0 ? 0 : bad], (double)want[bad < 0 ? 0 : bad]);
}

static void test_mma(void)
{
    static uint16_t a[16 * K], b[K * 8], abf[16 * K], bbf[K * 8];
    static float want[16 * 8], got[16 * 8];
    for (int i = 0; i < 16 * K; i++) {
        a[i] = to_half(value(i));
        abf[i] = to_bf16(value(i));
    }
    for (int i = 0; i < 8 * K; i++) {
        b[i] = to_half(value(i + 5));
        bbf[i] = to_bf16(value(i + 5));
    }
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++)
            for (int k = 0; k < K; k++)
                want[i * 8 + j] += value(i * K + k) * value(k * 8 + j + 5);
    int k = K;
    void *da = upload(a, sizeof(a), "a"), *db = upload(b, sizeof(b), "b"), *dc = upload(NULL, sizeof(got), "c");
    enum ks_code code = launch("mma_f16", 1, 32, 0, &da, &db, &dc, &k);
    download(got, dc, sizeof(got));
    check("mma f16", code, got, want, 128);
    void *dabf = upload(abf, sizeof(abf), "abf"), *dbbf = upload(bbf, sizeof(bbf), "bbf");
    code = launch("mma_bf16", 1, 32, 0, &dabf, &dbbf, &dc, &k);
    download(got, dc, sizeof(got));
    check("mma bf16", code, got, want, 128);
    static float fa[16 * 8], fb[8 * 8], tw[16 * 8];
    for (int i = 0; i < 128; i++)
        fa[i] = value(i);
    for (int i = 0; i < 64; i++)
        fb[i] = value(i + 3);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++)
            for (int q = 0; q < 8; q++)
                tw[i * 8 + j] += fa[i * 8 + q] * fb[q * 8 + j];
    void *dfa = upload(fa, sizeof(fa), "fa"), *dfb = upload(fb, sizeof(fb), "fb");
    code = launch("mma_tf32", 1, 32, 0, &dfa, &dfb, &dc);
    download(got, dc, sizeof(got));
    check("mma tf32", code, got, tw, 128);
    static signed char sa[16 * 32], sb[8 * 32];
    static int gi[128];
    static float gf[128], wi[128];
    for (int i = 0; i < 512; i++)
        sa[i] = (signed char)(i * 37);
    for (int i = 0; i < 256; i++)
        sb[i] = (signed char)(i * 91 + 5);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 8; j++)
            for (int q = 0; q < 32; q++)
                wi[i * 8 + j] += (float)(sa[i * 32 + q] * sb[j * 32 + q]);
    void *dsa = upload(sa, sizeof(sa), "sa"), *dsb = upload(sb, sizeof(sb), "sb");
    code = launch("mma_s8", 1, 32, 0, &dsa, &dsb, &dc);
    download(gi, dc, sizeof(gi));
    for (int i = 0; i < 128; i++)
        gf[i] = (float)gi[i];
    check("mma s8", code, gf, wi, 128);
}

static void test_wmma(void)
{
    static uint16_t a[16 * K], b[16 * K], gh[256];
    static float want[256], got[256];
    for (int i = 0; i < 16 * K; i++) {
        a[i] = to_half(value(i) * 0.25f);
        b[i] = to_half(value(i + 11) * 0.25f);
    }
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            for (int k = 0; k < K; k++)
                want[i * 16 + j] += 2 * value(i * K + k) * value(j * K + k + 11) / 16;
    int k = K;
    void *da = upload(a, sizeof(a), "a"), *db = upload(b, sizeof(b), "b"), *dc = upload(NULL, sizeof(got), "c");
    enum ks_code code = launch("wmma_f32", 1, 32, 0, &da, &db, &dc, &k);
    download(got, dc, sizeof(got));
    check("wmma f32", code, got, want, 256);
    code = launch("wmma_f16", 1, 32, 0, &da, &db, &dc, &k);
    download(gh, dc, sizeof(gh));
    for (int i = 0; i < 256; i++) {
        got[i] = from_half(gh[i]);
        want[i] = fabsf(got[i] - want[i]) <= 0.01f * (1 + fabsf(want[i])) ? got[i] : want[i]; /* half precision */
    }
    check("wmma f16", code, got, want, 256);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        printf("usage: %s tensor_kernels.ptx\n", argv[0]);
        return 2;
    }
    struct ks_emu_config c = {.arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .counters = true};
    start_device(&c, argv[1]);
    test_mma();
    test_wmma();
    static float in[101], out[128], want[128];
    for (int i = 0; i < 101; i++)
        in[i] = (float)i;
    for (int i = 0; i < 128; i++)
        want[i] = (i / 4 ^ 1) * 4 + i % 4 < 101 ? (float)((i / 4 ^ 1) * 4 + i % 4) : 0;
    int n = 101;
    void *din = upload(in, sizeof(in), "in"), *dout = upload(NULL, sizeof(out), "out");
    enum ks_code code = launch("partial_copy", 1, 32, 0, &din, &dout, &n);
    download(out, dout, sizeof(out));
    check("cp.async of part of a row", code, out, want, 128);
    struct ks_json *found = ks_emu_findings(dev);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_json_print_pretty(found, &text);
    verdict(ks_json_len(found) == 0, "no false alarms", "%s", ks_str_cstr(&text));
    ks_json_free(found);
    return finish();
}
