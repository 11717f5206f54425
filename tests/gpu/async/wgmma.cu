/* wgmma on a GPU and on the emulated device, the same PTX: wgmma OUT.  Kernels: tests/emulated/wgmma_kernels.cu and the ones here.
 * Contents: `small` are whole numbers whose sums every order of accumulation gives exactly; `wide` differ in size, so that only
 * their distance is fixed; `odd` have infinities, NaNs, zeros of both signs and subnormal numbers. */
#include "tests/emulated/wgmma_kernels.cu"
#include "tests/gpu/async/record.cuh"

#include <initializer_list>

enum type { F16, BF16, TF32, E4M3, E5M2, S8, U8 };
enum data { SMALL, WIDE, ODD };
static const char *const data_name[] = {"small", "wide", "odd"};

static unsigned size_of(type t)
{
    return t == F16 || t == BF16 ? 2 : t == TF32 ? 4 : 1;
}
static uint32_t encode(float f, type t)
{
    __half h = __float2half(f);
    __nv_bfloat16 b = __float2bfloat16(f);
    __nv_fp8_e4m3 x(f);
    __nv_fp8_e5m2 y(f);
    uint32_t u = 0;
    switch (t) {
    case F16: memcpy(&u, &h, 2); return u;
    case BF16: memcpy(&u, &b, 2); return u;
    case TF32: return bits_of(f);
    case E4M3: memcpy(&u, &x, 1); return u;
    case E5M2: memcpy(&u, &y, 1); return u;
    case S8:
    case U8: return (uint32_t)(int)f & 0xff;
    }
    return 0;
}
static uint32_t element(type t, data d)
{
    static const float odd[] = {0.0f, -0.0f, 1e-6f, -1e-6f, 5e-8f, INFINITY, -INFINITY, NAN};
    uint32_t r = noise();
    if (t == S8 || t == U8)
        return d == SMALL ? (t == U8 ? r % 9 : (r % 9 - 4) & 0xff) : r & 0xff;
    if (d == SMALL)
        return encode((float)(int)(r % 9) - 4, t);
    if (d == ODD && r % 64 == 0)
        return encode(odd[noise() % 8], t);
    float f = ((float)(noise() % 2001) - 1000) / 500;
    return encode(d == ODD ? f : ldexpf(f, (int)(r % 7) - 3), t);
}
static void fill_bytes(uint8_t *to, int bytes, type t, data d)
{
    for (int i = 0; i < bytes; i += (int)size_of(t)) {
        uint32_t u = element(t, d);
        memcpy(to + i, &u, size_of(t));
    }
}

/* The kinds that wgmma_kernels.cu lacks. */
SS(f16_bneg, float, "f", "k16", "f32.f16.f16", ", 1, -1, 0, 0")
SS(f16_both, float, "f", "k16", "f32.f16.f16", ", -1, -1, 0, 0")
SS(bf16_minus, float, "f", "k16", "f32.bf16.bf16", ", -1, 1, 0, 0")
SS(tf32_minus, float, "f", "k8", "f32.tf32.tf32", ", 1, -1")
SS(e4m3, float, "f", "k32", "f32.e4m3.e4m3", ", 1, 1")
SS(e5m2, float, "f", "k32", "f32.e5m2.e5m2", ", 1, 1")
SS(e5m2_e4m3, float, "f", "k32", "f32.e5m2.e4m3", ", -1, 1")
SS(s8, int, "r", "k32", "s32.s8.s8", "")
SS(u8, int, "r", "k32", "s32.u8.u8", "")
SS(u8_s8, int, "r", "k32", "s32.u8.s8", "")
SS(s8_sat, int, "r", "k32.satfinite", "s32.s8.s8", "")
SS(u8_sat, int, "r", "k32.satfinite", "s32.u8.u8", "")
SS(s8_u8_sat, int, "r", "k32.satfinite", "s32.s8.u8", "")
RS(f16, float, "f", "k16", "f32.f16.f16", ", 1, 1, 0")
RS(f16_minus, float, "f", "k16", "f32.f16.f16", ", -1, 1, 0")
RS(e4m3, float, "f", "k32", "f32.e4m3.e4m3", ", 1, 1")
RS(e4m3_e5m2, float, "f", "k32", "f32.e4m3.e5m2", ", 1, 1")
RS(e5m2_e4m3, float, "f", "k32", "f32.e5m2.e4m3", ", 1, 1")
RS(u8, int, "r", "k32", "s32.u8.u8", "")
RS(s8_u8, int, "r", "k32", "s32.s8.u8", "")
RS(u8_s8, int, "r", "k32", "s32.u8.s8", "")

/* Results of 16 bits. */
#define HALF(name, k, types, tail)                                                                                               \
    K half_##name(const uint8_t *a, const uint8_t *b, uint32_t *out, int sw, int keep)                                           \
    {                                                                                                                            \
        tiles t = fill(a, b, 16, 32, sw, false, false);                                                                          \
        uint32_t d[4];                                                                                                           \
        for (int i = 0; i < 4; i++)                                                                                              \
            d[i] = out[threadIdx.x * 4 + i];                                                                                     \
        ks_wgmma_fence();                                                                                                        \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %6, 0;\nwgmma.mma_async.sync.aligned.m64n16" k ".f16." types              \
                     " {%0, %1, %2, %3}, %4, %5, p, 1, 1" tail ";\n}"                                                            \
                     : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                                            \
                     : "l"(k_descriptor(sw, t.a)), "l"(k_descriptor(sw, t.b)), "r"(keep));                                       \
        ks_wgmma_commit();                                                                                                       \
        ks_wgmma_wait<0>();                                                                                                      \
        for (int i = 0; i < 4; i++)                                                                                              \
            out[threadIdx.x * 4 + i] = d[i];                                                                                     \
    }
HALF(f16, "k16", "f16.f16", ", 0, 0")
HALF(e4m3, "k32", "e4m3.e4m3", "")
HALF(e5m2_e4m3, "k32", "e5m2.e4m3", "")

/* The other columns: N = 8, 24 and 40 have no wrapper. */
#define NARROW(n, r, list, outs, x, y)                                                                                           \
    K narrow_##n(const uint8_t *a, const uint8_t *b, float *out)                                                                 \
    {                                                                                                                            \
        tiles t = fill(a, b, n, 32, 0, false, false);                                                                            \
        float d[r];                                                                                                              \
        for (int i = 0; i < r; i++)                                                                                              \
            d[i] = 0;                                                                                                            \
        ks_wgmma_pin(d);                                                                                                         \
        ks_wgmma_fence();                                                                                                        \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16 {" list "}, " x ", " y ", 1, 1, 1, 0, 0;"           \
                     : outs                                                                                                      \
                     : "l"(k_descriptor(0, t.a)), "l"(k_descriptor(0, t.b)));                                                    \
        ks_wgmma_commit();                                                                                                       \
        ks_wgmma_wait<0>();                                                                                                      \
        put(out, d, n);                                                                                                          \
    }
#define D4(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define D12(d)   D4(d, 0), D4(d, 4), D4(d, 8)
#define D20(d)   D12(d), D4(d, 12), D4(d, 16)
NARROW(8, 4, "%0, %1, %2, %3", D4(d, 0), "%4", "%5")
NARROW(24, 12, "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11", D12(d), "%12", "%13")
NARROW(40, 20, "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19", D20(d), "%20", "%21")

/* Every wrapper of kernels/ptx/wgmma.cuh.  how: 0 both operands in shared memory, K = 64, 128-byte swizzle; 1 A in registers; 2 and
 * B N-major, K = 16. */
template <typename T, int N, int HOW> static __global__ void width(const uint8_t *a, const uint8_t *b, float *out)
{
    tiles t = HOW == 2 ? fill(a, b, N, 32, 1, false, true) : fill(a, b, N, 128, 1, false, false);
    float d[N / 2];
    uint32_t r[4][4];
#pragma unroll
    for (int i = 0; i < N / 2; i++)
        d[i] = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        fragment(HOW == 2 ? a : a + 32 * i, r[i], HOW == 2 ? 32 : 128);
    ks_wgmma_pin(d);
    ks_wgmma_fence();
    if (HOW == 2)
        ks_wgmma<T, N>::rs_t(d, r[0], mn_descriptor(1, t.b), 1);
#pragma unroll
    for (int i = 0; HOW < 2 && i < 4; i++)
        if (HOW == 0)
            ks_wgmma<T, N>::ss(d, k_descriptor(1, t.a) + 2 * i, k_descriptor(1, t.b) + 2 * i, 1);
        else
            ks_wgmma<T, N>::rs(d, r[i], k_descriptor(1, t.b) + 2 * i, 1);
    ks_wgmma_commit();
    ks_wgmma_wait<0>();
    ks_wgmma_pin(d);
    put(out, d, N);
}

/* Where pieces lie.  sw 0: leading and stride offsets as given; sw 1: tiles that start `off` bytes behind a multiple of 1024, the
 * pattern with them, which the descriptor's base offset says. */
K placed(const uint8_t *a, const uint8_t *b, float *out, int sw, int lbo, int sbo, int off)
{
    uint8_t *sa = shared + off, *sb = shared + 20480 + off;
    for (int i = threadIdx.x; i < 64 * 32; i += blockDim.x) {
        uint32_t r = i / 32, c = i % 32;
        sa[sw ? swizzled(1, r / 8 * sbo + r % 8 * 128 + c) : r / 8 * sbo + c / 16 * lbo + r % 8 * 16 + c % 16] = a[i];
        if (r < 16)
            sb[sw ? swizzled(1, r / 8 * sbo + r % 8 * 128 + c) : r / 8 * sbo + c / 16 * lbo + r % 8 * 16 + c % 16] = b[i];
    }
    fence_async();
    __syncthreads();
    float d[8] = {};
    uint64_t base = sw ? (uint64_t)(off / 128 & 7) << 49 : 0;
    uint64_t da = descriptor(sw, ks_shared_address(sa), lbo, sbo) | base, db = descriptor(sw, ks_shared_address(sb), lbo, sbo) | base;
    ks_wgmma_fence();
    MMA16("k16", "f32.f16.f16", "f", ", 1, 1, 0, 0", d, da, db, 0);
    ks_wgmma_commit();
    ks_wgmma_wait<0>();
    put(out, d, 16);
}

struct kind {
    const char *name;
    const void *kernel;
    type a, b;
    bool is_int;
};
#define SS_(n, a, b, i) {"ss_" #n, (const void *)ss_##n, a, b, i}
#define RS_(n, a, b, i) {"rs_" #n, (const void *)rs_##n, a, b, i}
#define HALF_(n, a, b) {"half_" #n, (const void *)half_##n, a, b, false}
static const kind ss[] = {
    SS_(f16, F16, F16, 0), SS_(f16_minus, F16, F16, 0), SS_(f16_bneg, F16, F16, 0), SS_(f16_both, F16, F16, 0), SS_(bf16, BF16, BF16, 0),
    SS_(bf16_minus, BF16, BF16, 0), SS_(tf32, TF32, TF32, 0), SS_(tf32_minus, TF32, TF32, 0), SS_(e4m3, E4M3, E4M3, 0),
    SS_(e4m3_e5m2, E4M3, E5M2, 0), SS_(e5m2_e4m3, E5M2, E4M3, 0), SS_(e5m2, E5M2, E5M2, 0), SS_(s8, S8, S8, 1), SS_(s8_u8, S8, U8, 1),
    SS_(u8_s8, U8, S8, 1), SS_(u8, U8, U8, 1), SS_(s8_sat, S8, S8, 1), SS_(u8_sat, U8, U8, 1), SS_(s8_u8_sat, S8, U8, 1),
    SS_(u8_s8_sat, U8, S8, 1)};
static const kind rs[] = {RS_(f16, F16, F16, 0), RS_(f16_minus, F16, F16, 0), RS_(bf16, BF16, BF16, 0), RS_(tf32, TF32, TF32, 0),
                          RS_(e4m3, E4M3, E4M3, 0), RS_(e4m3_e5m2, E4M3, E5M2, 0), RS_(e5m2_e4m3, E5M2, E4M3, 0),
                          RS_(e5m2, E5M2, E5M2, 0), RS_(s8, S8, S8, 1), RS_(u8, U8, U8, 1), RS_(s8_u8, S8, U8, 1), RS_(u8_s8, U8, S8, 1)};
static const kind halves[] = {HALF_(f16, F16, F16), HALF_(e4m3, E4M3, E4M3), HALF_(e5m2_e4m3, E5M2, E4M3)};

static uint8_t a[64 * 128], b[256 * 128];
static uint32_t before[64 * 256];

/* What the ISA fixes: everything about whole numbers and what has one answer (infinities, NaN), else the distance. */
static const char *fixed(const kind &k, data d, bool is_half)
{
    bool fp8 = k.a == E4M3 || k.a == E5M2;
    return k.is_int || d == SMALL ? "exact" : is_half ? "half-2e-3" : fp8 ? "near-2e-3" : "near-4e-6";
}
static void run(const char *name, const char *how, const void *kernel, int lines_b, int bytes, size_t words,
                std::initializer_list<int> more)
{
    void *da = device_bytes(a, 64 * bytes), *db = device_bytes(b, lines_b * bytes), *dd = device_bytes(before, words * 4);
    void *args[8] = {&da, &db, &dd};
    int n = 3;
    for (const int &x : more)
        args[n++] = (void *)&x;
    launch(kernel, 1, 128, 8192 + 32768, 1, args);
    record(name, how, dd, words * 4);
    cudaFree(da), cudaFree(db), cudaFree(dd);
}
static void fill_before(const kind &k, data d, bool is_half, int keep)
{
    for (int i = 0; i < 64 * 16; i++) {
        uint32_t near_end = noise() & 1 ? 0x7fffff00u : 0x80000100u; /* so that sums saturate, or wrap */
        float f = (float)(int)(noise() % 513) - 256;
        before[i] = k.is_int ? (d == WIDE ? near_end : noise()) : !keep ? 0x7fc00000u : bits_of(d == WIDE ? f / 7 : f);
        if (is_half)
            before[i] = keep ? encode(f / (d == WIDE ? 7 : 1), F16) | encode(-f, F16) << 16 : 0x7e007e00u;
    }
}

template <typename T, int N> static void widths(const char *type_name, type t)
{
    static const char *const hows[] = {"ss", "rs", "rs_t"};
    const void *kernels[] = {(const void *)width<T, N, 0>, (const void *)width<T, N, 1>, (const void *)width<T, N, 2>};
    for (int how = 0; how < 3; how++) {
        char name[64];
        snprintf(name, sizeof name, "width_%s_%s_n%d", hows[how], type_name, N);
        fill_bytes(a, sizeof a, t, SMALL), fill_bytes(b, sizeof b, t, SMALL);
        run(name, "exact", kernels[how], N, how == 2 ? 32 : 128, 64 * N, {});
    }
}
template <int N> static void both_widths(void)
{
    widths<__half, N>("f16", F16);
    widths<__nv_bfloat16, N>("bf16", BF16);
}

static void kinds(void)
{
    char name[96];
    for (const kind &k : ss)
        for (int sw = 0; sw < 4; sw++)
            for (int keep = 0; keep < 2; keep++)
                for (int d = SMALL; d <= (k.is_int ? WIDE : ODD); d++) {
                    snprintf(name, sizeof name, "%s_sw%d_keep%d_%s", k.name, sw, keep, data_name[d]);
                    fill_bytes(a, sizeof a, k.a, (data)d), fill_bytes(b, sizeof b, k.b, (data)d), fill_before(k, (data)d, false, keep);
                    run(name, fixed(k, (data)d, false), k.kernel, 16, sw == 0 ? 32 : sw == 1 ? 128 : sw == 2 ? 64 : 32, 64 * 16,
                        {sw, keep});
                }
    for (const kind &k : halves)
        for (int keep = 0; keep < 2; keep++)
            for (int d = SMALL; d <= ODD; d++) {
                int sw = keep ? 3 : 0;
                snprintf(name, sizeof name, "%s_keep%d_%s", k.name, keep, data_name[d]);
                fill_bytes(a, sizeof a, k.a, (data)d), fill_bytes(b, sizeof b, k.b, (data)d), fill_before(k, (data)d, true, keep);
                run(name, fixed(k, (data)d, true), k.kernel, 16, 32, 64 * 8, {sw, keep});
            }
    for (const kind &k : rs)
        for (int d = SMALL; d <= (k.is_int ? WIDE : ODD); d++) {
            snprintf(name, sizeof name, "%s_%s", k.name, data_name[d]);
            fill_bytes(a, sizeof a, k.a, (data)d), fill_bytes(b, sizeof b, k.b, (data)d);
            run(name, fixed(k, (data)d, false), k.kernel, 16, 32, 64 * 16, {});
        }
}

static void layouts(void)
{
    static const struct {
        const char *name;
        const void *kernel;
    } trans[] = {{"trans_a", (const void *)trans_a}, {"trans_b", (const void *)trans_b}, {"trans_both", (const void *)trans_both}};
    static const int placements[][4] = {{0, 128, 256, 0},   {0, 1024, 128, 0},  {0, 128, 512, 0},   {0, 2048, 256, 16},
                                        {0, 4096, 128, 48}, {1, 16, 1024, 0},   {1, 16, 2048, 0},   {1, 16, 1024, 128},
                                        {1, 16, 1024, 256}, {1, 16, 1024, 384}, {1, 16, 1024, 512}, {1, 16, 1024, 896}};
    char name[96];
    for (int i = 0; i < 3; i++)
        for (int sw = 0; sw < 4; sw++) {
            snprintf(name, sizeof name, "%s_sw%d", trans[i].name, sw);
            fill_bytes(a, sizeof a, F16, SMALL), fill_bytes(b, sizeof b, F16, SMALL);
            run(name, "exact", trans[i].kernel, 64, 32, 64 * 64, {sw});
        }
    for (auto &p : placements) {
        int sw = p[0], lbo = p[1], sbo = p[2], off = p[3];
        snprintf(name, sizeof name, "placed_sw%d_lbo%d_sbo%d_at%d", sw, lbo, sbo, off);
        fill_bytes(a, sizeof a, F16, SMALL), fill_bytes(b, sizeof b, F16, SMALL);
        run(name, "exact", (const void *)placed, 16, 32, 64 * 16, {sw, lbo, sbo, off});
    }
    both_widths<64>(), both_widths<80>(), both_widths<96>(), both_widths<112>(), both_widths<128>();
    both_widths<144>(), both_widths<160>(), both_widths<176>(), both_widths<192>(), both_widths<256>();
    static const struct {
        const void *kernel;
        int n;
    } narrow[] = {{(const void *)narrow_8, 8}, {(const void *)narrow_24, 24}, {(const void *)narrow_40, 40}};
    for (auto &n : narrow) {
        snprintf(name, sizeof name, "width_ss_f16_n%d", n.n);
        run(name, "exact", n.kernel, n.n, 32, 64 * n.n, {});
    }
    run("groups", "exact", (const void *)good_wait_one, 16, 32, 64 * 16, {});
    run("collective", "exact", (const void *)collective, 16, 32, 64 * 16, {});
}

int main(int argc, char **argv)
{
    if (!open_results(argc, argv))
        return 2;
    kinds();
    layouts();
    return close_results();
}
