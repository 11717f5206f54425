/* Kernels of core_kernels.cu on the emulated device against the same computed here, with every check on: none may be accused. */

#include "tests/emulated/emu_test.h"

#include <math.h>

#define N 1000

static int in_i[N * 16], got_i[N * 16];
static float in_f[N * 16], got_f[N * 16];

#define CMP(name, n, got, want)                                                                                                  \
    do {                                                                                                                         \
        int bad_ = -1;                                                                                                           \
        for (int i = 0; i < (n) && bad_ < 0; i++)                                                                                \
            if (!((got) == (want)))                                                                                              \
                bad_ = i;                                                                                                        \
        int i = bad_ < 0 ? 0 : bad_;                                                                                             \
        (void)i;                                                                                                                 \
        verdict(bad_ < 0, name, "element %d is %g, expected %g", bad_, (double)(got), (double)(want));                           \
    } while (0)
#define OK(name, call) verdict((call) == KS_OK, name, "%s", err.message)

static void test_control(void)
{
    int n = N;
    for (int i = 0; i < N; i++)
        in_i[i] = i * 37 % 977 + 1;
    int *din = upload(in_i, N * 4, "in"), *dout = upload(NULL, N * 4, "out");
    OK("collatz", launch("collatz", 8, 128, 0, &din, &dout, &n));
    download(got_i, dout, N * 4);
    static int want[N];
    for (int i = 0; i < N; i++) {
        unsigned v = (unsigned)in_i[i];
        want[i] = 0;
        while (v > 1) {
            v = v % 2 ? 3 * v + 1 : v / 2;
            want[i]++;
        }
    }
    CMP("collatz", N, got_i[i], want[i]);
    OK("nested", launch("nested", 8, 128, 0, &dout, &n));
    download(got_i, dout, N * 4);
    for (int i = 0; i < N; i++) {
        int s = 0;
        for (int a = 0; a < i % 7; a++) {
            if (a == 3)
                continue;
            for (int b = 0; b < (i ^ a) % 5; b++) {
                if (b * a > 6)
                    break;
                s += a * 10 + b;
            }
        }
        want[i] = s;
    }
    CMP("nested", N, got_i[i], want[i]);
    OK("switches", launch("switches", 8, 128, 0, &din, &dout, &n));
    download(got_i, dout, N * 4);
    for (int i = 0; i < N; i++) {
        int v = in_i[i], t[9] = {11, v * 3, -7, v / 5, v ^ 99, 1, v << 2, 1000 - v, 5};
        want[i] = (v & 15) < 9 ? t[v & 15] : -1;
    }
    CMP("switches", N, got_i[i], want[i]);
    OK("pointers", launch("pointers", 8, 128, 0, &dout, &n));
    download(got_i, dout, N * 4);
    CMP("pointers", N, got_i[i], i % 3 == 0 ? i + 7 : i % 3 == 1 ? i * 7 : i - 7);
    struct {
        int a;
        float f[3];
        double d;
    } p = {5, {1, 2, 3}, 9.5};
    char c = -3;
    short s = 1000;
    unsigned long long big = 77ull << 32 | 5;
    OK("params", launch("params", 8, 128, 0, &dout, &p, &c, &s, &big, &n));
    download(got_i, dout, N * 4);
    CMP("params", N, got_i[i], 5 + i % 3 + 1 + 9 - 3 + 1000 + 77);
    float *fout = upload(NULL, N * 4, "fout");
    OK("calls", launch("calls", 8, 128, 0, &fout, &n));
    download(got_f, fout, N * 4);
    CMP("calls", N, got_f[i], i % 3 == 0 ? i * 2.0f + 2.0f * i - 0.5f * i : (i + 1) * 3.0f + 2.0f * (i + 1) - 0.5f * (i + 1) + 1);
    OK("spaces", launch("spaces", 8, 128, 512, &fout, &n));
    download(got_f, fout, N * 4);
    CMP("spaces", N, got_f[i],
        (i % 2 ? (float)((i / 128 * 128 + (i % 128 + 1) % 64) % 16 + 1) : (float)((i % 128 + 1) % 64)) +
            (float)((i % 8 - i % 128 + 128) % 8) + 40);
    drop(din);
    drop(dout);
    drop(fout);
    int *g = upload(NULL, 24 * 6 * 4 * 4, "grid");
    struct ks_emu_launch l = {.name = "grid3", .grid = {3, 2, 2}, .block = {8, 3, 2}, .args = (void *[]){&g}};
    OK("grid3", ks_emu_launch_run(dev, mod, &l, &err));
    download(got_i, g, 24 * 6 * 4 * 4);
    CMP("grid3", 24 * 6 * 4, got_i[i], i % 24 + 100 * (i / 24 % 6) + 10000 * (i / 144));
    drop(g);
}

static void test_blocks(void)
{
    int n = N;
    float want[8] = {0}, total = 0;
    for (int i = 0; i < N; i++) {
        in_f[i] = (float)(i % 17 - 8);
        want[i / 256] += in_f[i];
        total += in_f[i];
    }
    float *din = upload(in_f, N * 4, "in"), *dout = upload(NULL, 64, "out"), *part = upload(NULL, 64, "partial");
    OK("block_sum", launch("block_sum", 4, 256, 0, &din, &dout, &n));
    download(got_f, dout, 16);
    CMP("block_sum", 4, got_f[i], want[i]);
    OK("last_block", launch("last_block", 8, 128, 0, &din, &part, &dout, &n));
    download(got_f, dout, 4);
    CMP("last_block", 1, got_f[i], total);
    int *iout = upload(NULL, 4096, "iout"), *b = upload(NULL, 4096, "b");
    OK("named_barriers", launch("named_barriers", 2, 128, 0, &iout));
    download(got_i, iout, 1024);
    CMP("named_barriers", 256, got_i[i], i % 128 < 64 ? (63 - i % 128) * 2 : i % 128);
    OK("votes", launch("votes", 1, 256, 0, &iout));
    download(got_i, iout, 1024);
    CMP("votes", 256, got_i[i], 86 * 4 + 3);
    OK("producer_consumer", launch("producer_consumer", 3, 64, 0, &iout));
    download(got_i, iout, 12);
    CMP("producer_consumer", 3, got_i[i], 123);
    OK("grid_sync", launch_as("grid_sync", 8, 64, 0, true, (void *[]){&iout, &b}));
    download(got_i, iout, 2048);
    CMP("grid_sync", 512, got_i[i], 511 - (i + 1) % 512);
    int zero[2] = {0, 0};
    int *lock = upload(zero, 8, "lock"), *counter = lock + 1;
    OK("spin_lock", launch("spin_lock", 4, 64, 0, &lock, &counter));
    download(got_i, lock, 8);
    CMP("spin_lock", 1, got_i[1], 256);
    OK("plain_lock", launch("plain_lock", 4, 64, 0, &lock, &counter));
    download(got_i, lock, 8);
    CMP("plain_lock", 1, got_i[1], 512);
    long long *times = upload(NULL, 512, "times");
    static long long got_l[64];
    OK("clocks", launch("clocks", 1, 64, 0, &times));
    download(got_l, times, 512);
    CMP("clocks", 64, got_l[i], 1);
    drop(din);
    drop(dout);
    drop(part);
    drop(iout);
    drop(b);
    drop(lock);
    drop(times);
}

static void test_warp(void)
{
    int n = 64, *out = upload(NULL, 64 * 12 * 4, "out");
    OK("warp_ops", launch("warp_ops", 1, 64, 0, &out, &n));
    download(got_i, out, 64 * 12 * 4);
    static int w[64][12];
    for (int i = 0; i < 64; i++) {
        int base = i & ~31, lane = i & 31, v[32];
        for (int k = 0; k < 32; k++)
            v[k] = (base + k) * 7 % 31;
        w[i][0] = v[(lane + 3) & 31];
        w[i][1] = lane >= 2 ? v[lane - 2] : v[lane];
        w[i][2] = lane % 8 + 5 < 8 ? v[lane + 5] : v[lane];
        w[i][3] = v[lane ^ 9];
        w[i][8] = -100;
        bool any = false;
        for (int k = 0; k < 32; k++) {
            w[i][4] |= (int)((unsigned)(v[k] > 12) << k);
            any |= v[k] == 30;
            w[i][6] |= (int)((unsigned)(v[k] % 5 == v[lane] % 5) << k);
            w[i][7] += v[k];
            w[i][8] = v[k] - 15 > w[i][8] ? v[k] - 15 : w[i][8];
        }
        w[i][5] = any * 2 + 1;
        w[i][9] = lane < 16 ? v[lane ^ 1] : 255;
        w[i][10] = lane % 3 == 0 ? 11 : -1;
        w[i][11] = v[(lane & ~7) + 2];
    }
    for (int k = 0; k < 12; k++) {
        char name[32];
        (void)snprintf(name, sizeof(name), "warp_ops %d", k);
        CMP(name, 64, got_i[i * 12 + k], w[i][k]);
    }
    drop(out);
}

static void test_atomics(void)
{
    int n = N, init[5] = {0, 0, 0, 0, 0};
    unsigned uinit[5] = {0, 0, 0, 0xffffffffu, 0}, u[5], max = 0, xor = 0;
    int min = 0;
    for (int i = 0; i < N; i++) {
        max = (unsigned)(i * 37 % 1001) > max ? (unsigned)(i * 37 % 1001) : max;
        min = -(i * 13 % 501) < min ? -(i * 13 % 501) : min;
        xor ^= (unsigned)i;
    }
    double zero = 0, d;
    float fzero = 0, f;
    unsigned long long bzero = 0, b;
    int *sum = upload(init, sizeof(init), "sum"), *slots = upload(in_i, N * 4, "slots");
    unsigned *du = upload(uinit, sizeof(uinit), "u");
    float *df = upload(&fzero, 4, "f");
    double *dd = upload(&zero, 8, "d");
    unsigned long long *db = upload(&bzero, 8, "big");
    OK("atomics", launch("atomics", 8, 128, 0, &sum, &du, &df, &dd, &db, &slots, &n));
    download(got_i, sum, sizeof(init));
    download(u, du, sizeof(u));
    download(&f, df, 4);
    download(&d, dd, 8);
    download(&b, db, 8);
    CMP("atomicAdd int", 1, got_i[0], N * (N - 1) / 2);
    CMP("atomicMin", 1, got_i[1], min);
    CMP("atomicAdd return", 1, got_i[2], N);
    CMP("atomicExch", 1, got_i[3], 5);
    CMP("atomicCAS", 1, got_i[4], 2 * N);
    CMP("atomicMax", 1, u[0], max);
    CMP("atomicOr", 1, u[1], 0xffffffffu);
    CMP("atomicXor", 1, u[2], xor);
    CMP("atomicAnd", 1, u[3], 0xffffff00u);
    CMP("atomicInc", 1, u[4], N % 100);
    CMP("atomicAdd float", 1, f, (float)N);
    CMP("atomicAdd double", 1, d, N / 2.0);
    CMP("atomicAdd 64", 1, b, (unsigned long long)(N * (N - 1) / 2) << 20);
    download(got_i, slots, N * 4);
    CMP("slots", N, got_i[i], 1);
    static unsigned char bytes[N];
    static unsigned bins[64], zeros[64], gotb[64];
    for (int i = 0; i < N; i++) {
        bytes[i] = (unsigned char)(i * i % 251);
        bins[bytes[i] & 63]++;
    }
    unsigned char *dbytes = upload(bytes, N, "bytes");
    unsigned *dbins = upload(zeros, sizeof(zeros), "bins");
    OK("histogram", launch("histogram", 3, 128, 0, &dbytes, &dbins, &n));
    download(gotb, dbins, sizeof(gotb));
    CMP("histogram", 64, gotb[i], bins[i]);
    drop(sum);
    drop(slots);
    drop(du);
    drop(df);
    drop(dd);
    drop(db);
    drop(dbytes);
    drop(dbins);
}

/* Rounds to `bits` of mantissa with the exponent range of the format, to nearest even, in exact long-double arithmetic. */
static float round_to(long double v, int bits, int emin, float largest)
{
    if (v == 0 || isnan((double)v) || isinf((double)v))
        return (float)v;
    int e;
    (void)frexpl(v, &e);
    e = e - 1 < emin ? emin : e - 1;
    long double unit = ldexpl(1, e - bits), r = rintl(v / unit) * unit;
    return fabsl(r) > (long double)largest ? (float)copysignl(INFINITY, r) : (float)r;
}
static float h(long double v)
{
    return round_to(v, 10, -14, 65504);
}
static float bf(long double v)
{
    return round_to(v, 7, -126, 3.3895314e38f);
}

static void test_halves(void)
{
    int n = N;
    for (int i = 0; i < N; i++)
        in_f[i] = (float)ldexp((double)((i * 2654435761u) % 8191) - 4095, -12 + i % 9) * 1.001f;
    float *din = upload(in_f, N * 4, "in"), *out = upload(NULL, N * 64, "out");
    OK("halves", launch("halves", 8, 128, 0, &din, &out, &n));
    download(got_f, out, N * 64);
    static const char *const names[16] = {"f32>f16",  "hadd",     "hmul",     "hfma",      "hmax",     "hlt",
                                          "hfma2.lo", "hfma2.hi", "f32>bf16", "bf16 add",  "bf16 mul", "bf16 fma",
                                          "bf16 min", "f16>int",  "int>f16",  "f32>f16 rz"};
    static float w[N][16];
    for (int i = 0; i < N; i++) {
        float a = h(in_f[i]), b = h(in_f[(i + 1) % N]), c = h(in_f[(i + 2) % N]);
        float x = bf(in_f[i]), y = bf(in_f[(i + 1) % N]), z = bf(in_f[(i + 2) % N]);
        float rz = a;
        if (fabsf(a) > fabsf(in_f[i])) { /* toward zero: one step back */
            int e;
            (void)frexpf(a, &e);
            float step = ldexpf(1, (e - 1 < -14 ? -14 : e - 1) - 10);
            rz = copysignf(fabsf(a) - step, a);
            if (frexpf(a, &e) == 0.5f || frexpf(a, &e) == -0.5f)
                rz = copysignf(fabsf(a) - step / 2, a);
        }
        float t[16] = {a,
                       h((long double)a + b),
                       h((long double)a * b),
                       h((long double)a * b + c),
                       a > b ? a : b,
                       a < b,
                       h((long double)a * b + c),
                       h((long double)b * c + a),
                       x,
                       bf((long double)x + y),
                       bf((long double)x * y),
                       bf((long double)x * y + z),
                       x < y ? x : y,
                       rintf(a),
                       h(i * 37),
                       rz};
        memcpy(w[i], t, sizeof(t));
    }
    for (int k = 0; k < 16; k++)
        CMP(names[k], N, got_f[i * 16 + k], w[i][k]);
    drop(din);
    drop(out);
}

static int64_t clamp(double v, double lo, double hi)
{
    return isnan(v) ? 0 : (int64_t)(v < lo ? lo : v > hi ? hi : v);
}

static void test_data(void)
{
    int n = N;
    static float f4[N * 4];
    static unsigned char b4[N * 4];
    static double dd[N];
    for (int i = 0; i < N * 4; i++) {
        f4[i] = (float)i;
        b4[i] = (unsigned char)(i * 7);
    }
    float *din = upload(f4, sizeof(f4), "in4"), *dout = upload(NULL, sizeof(f4), "out4");
    unsigned char *db = upload(b4, sizeof(b4), "bytes");
    int *pairs = upload(NULL, N * 8, "pairs");
    OK("vectors", launch("vectors", 8, 128, 0, &din, &dout, &db, &pairs, &n));
    download(got_f, dout, sizeof(f4));
    download(got_i, pairs, N * 8);
    CMP("float4", N * 4, got_f[i], f4[N * 4 - 1 - i]);
    CMP("uchar4", N, got_i[2 * i], b4[4 * i] + b4[4 * i + 3]);
    CMP("int2", N, got_i[2 * i + 1], b4[4 * i + 1] * b4[4 * i + 2]);
    for (int i = 0; i < N; i++) {
        in_f[i] = i == 0   ? NAN
                  : i == 1 ? 1e20f
                  : i == 2 ? -1e20f
                  : i == 3 ? -0.5f
                           : (float)(i - 500) * 1.37f * (i % 5 ? 1 : 1e4f);
        dd[i] = (double)in_f[i] * 1000.25;
    }
    float *df = upload(in_f, N * 4, "f");
    double *ddd = upload(dd, sizeof(dd), "d");
    static long long got[N * 12];
    long long *o = upload(NULL, sizeof(got), "casts");
    OK("casts", launch("casts", 8, 128, 0, &df, &ddd, &o, &n));
    download(got, o, sizeof(got));
    CMP("int(float)", N, got[i * 12], clamp(truncf(in_f[i]), INT32_MIN, INT32_MAX));
    CMP("unsigned(float)", N, got[i * 12 + 1], clamp(truncf(in_f[i]), 0, UINT32_MAX));
    CMP("rd", N, got[i * 12 + 4], clamp(floorf(in_f[i]), INT32_MIN, INT32_MAX));
    CMP("ru", N, got[i * 12 + 5], clamp(ceilf(in_f[i]), INT32_MIN, INT32_MAX));
    CMP("rn", N, got[i * 12 + 6], clamp(rintf(in_f[i]), INT32_MIN, INT32_MAX));
    CMP("short", N, got[i * 12 + 7], (short)got[i * 12]);
    CMP("uchar", N, got[i * 12 + 8], (unsigned char)got[i * 12]);
    CMP("long(float)", N - 3, got[(i + 3) * 12 + 2], (long long)in_f[i + 3]);
    CMP("long(double)", N - 3, got[(i + 3) * 12 + 3], (long long)dd[i + 3]);
    CMP("long(nan)", 1, got[2], INT64_MIN);
    drop(din);
    drop(dout);
    drop(db);
    drop(pairs);
    drop(df);
    drop(ddd);
    drop(o);
}

static void collect(void *arg, const char *text, size_t len)
{
    ks_str_addn(arg, text, len);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        printf("usage: %s core_kernels.ptx\n", argv[0]);
        return 2;
    }
    KS_AUTO_STR struct ks_str printed = KS_STR_INIT;
    struct ks_emu_config c = {
        .arch = "sm_90a", .checks = KS_EMU_CHECK_ALL, .counters = true, .output = collect, .output_arg = &printed};
    start_device(&c, argv[1]);
    test_control();
    test_blocks();
    test_warp();
    test_atomics();
    test_halves();
    test_data();
    int n = 2;
    OK("prints", launch("prints", 1, 32, 0, &n));
    verdict(ks_streq(ks_str_cstr(&printed),
                     "thread 0 of 32:  0.00 text 0 x% (nil)\nthread 1 of 32:  0.50 text 1099511627776 x% (nil)\n"),
            "printf", "printed \"%s\"", ks_str_cstr(&printed));
    struct ks_json *found = ks_emu_findings(dev);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_json_print_pretty(found, &text);
    verdict(ks_json_len(found) == 0, "no false alarms", "%s", ks_str_cstr(&text));
    ks_json_free(found);
    return finish();
}
