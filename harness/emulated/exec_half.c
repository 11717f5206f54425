#include "harness/emulated/exec_float.h"

/* f16, bf16 and their packed pairs: operands widen to f32 (fma: f64), the result is rounded once.  A packed register of 32 lanes
 * is 64 halves, so the x2 forms run the scalar form's loops twice. */

enum half_op { H_ADD, H_SUB, H_MUL, H_MIN, H_MAX, H_NEG, H_ABS, H_EX2, H_TANH, H_FMA };

static void load(const uint16_t *h, float *f, bool bf)
{
    if (bf)
        FOR_LANES(i) f[i] = emu_bf16_to_float(h[i]);
    else
        emu_halves_to_floats(h, f);
}

static void store(const float *f, uint16_t *h, bool bf)
{
    if (bf)
        FOR_LANES(i) h[i] = emu_float_to_bf16(f[i]);
    else
        emu_floats_to_halves(f, h);
}

/* x * y + z rounded to odd in f64, so that the later rounding to 16 bits is the only one that shows. */
static inline double fma_odd(float x, float y, float z)
{
    double p = (double)x * y, s = p + z;
    double t = s - p, e = (p - (s - t)) + (z - t);
    uint64_t b = emu_bits64(s);
    if (e != 0 && !(b & 1) && s - s == 0) {
        bool away = (e > 0) == (s > 0);
        b = away ? b | 1 : b - 1;
    }
    return emu_f64(b);
}
/* f64 to f32 by rounding to odd. */
static inline float narrow_odd(double v)
{
    float f = (float)v;
    uint32_t b = emu_bits32(f);
    if (f - f == 0 && (double)f != v && !(b & 1u)) {
        bool away = fabs(v) > fabs((double)f);
        b = away ? b | 1u : b - 1u;
    }
    return emu_f32(b);
}

static inline uint16_t flush16(uint16_t h) /* f16 subnormals to zero */
{
    return (h & 0x7c00u) ? h : h & 0x8000u;
}

/* One set of 32 values. */
static void apply(enum half_op op, bool bf, int sub, const uint16_t *ha, const uint16_t *hb, const uint16_t *hc, uint16_t *out)
{
    _Alignas(64) float x[EMU_LANES], y[EMU_LANES], z[EMU_LANES], r[EMU_LANES];
    if (op == H_NEG || op == H_ABS) {
        uint16_t infinity = bf ? 0x7f80u : 0x7c00u;
        FOR_LANES(i)
        {
            uint16_t v = op == H_NEG ? ha[i] ^ 0x8000u : ha[i] & 0x7fffu;
            out[i] = (ha[i] & 0x7fffu) > infinity ? 0x7fffu : v;
        }
        if (sub & EMU_FTZ)
            FOR_LANES(i) out[i] = flush16(out[i]);
        return;
    }
    load(ha, x, bf);
    load(hb, y, bf);
    if ((sub & EMU_FTZ) && bf) /* ex2 only */
        FOR_LANES(i) x[i] = emu_ftz(x[i]);
    if (op == H_FMA)
        load(hc, z, bf);
    if ((sub & EMU_FTZ) && !bf) {
        FOR_LANES(i)
        {
            x[i] = fabsf(x[i]) < 0x1p-14f ? copysignf(0, x[i]) : x[i];
            y[i] = fabsf(y[i]) < 0x1p-14f ? copysignf(0, y[i]) : y[i];
            if (op == H_FMA)
                z[i] = fabsf(z[i]) < 0x1p-14f ? copysignf(0, z[i]) : z[i];
        }
    }
    switch (op) {
    case H_ADD:
        FOR_LANES(i) r[i] = x[i] + y[i];
        break;
    case H_SUB:
        FOR_LANES(i) r[i] = x[i] - y[i];
        break;
    case H_MUL:
        FOR_LANES(i) r[i] = x[i] * y[i];
        break;
    case H_FMA:
        FOR_LANES(i) r[i] = narrow_odd(fma_odd(x[i], y[i], z[i]));
        break;
    case H_MIN:
    case H_MAX:
        FOR_LANES(i)
        {
            float p = (sub & EMU_XORSIGN) ? fabsf(x[i]) : x[i], q = (sub & EMU_XORSIGN) ? fabsf(y[i]) : y[i];
            float v = op == H_MAX ? emu_max32(p, q) : emu_min32(p, q);
            if ((sub & EMU_NAN) && (p != p || q != q))
                v = emu_f32(0x7fffffffu);
            if ((sub & EMU_XORSIGN) && v == v)
                v = emu_f32(emu_bits32(v) | ((emu_bits32(x[i]) ^ emu_bits32(y[i])) & 0x80000000u));
            r[i] = v;
        }
        break;
    case H_EX2:
        FOR_LANES(i) r[i] = (float)exp2((double)x[i]);
        break;
    case H_TANH:
        FOR_LANES(i) r[i] = (float)tanh((double)x[i]);
        break;
    case H_NEG:
    case H_ABS:
        break;
    }
    if (sub & EMU_SAT)
        FOR_LANES(i) r[i] = emu_sat(r[i]);
    if (sub & EMU_RELU)
        FOR_LANES(i) r[i] = r[i] <= 0 ? 0.0f : r[i];
    if ((sub & EMU_FTZ) && bf)
        FOR_LANES(i) r[i] = emu_ftz(r[i]);
    store(r, out, bf);
    if ((sub & EMU_FTZ) && !bf)
        FOR_LANES(i) out[i] = flush16(out[i]);
}

static void run1(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, enum half_op op, bool bf)
{
    _Alignas(64) uint16_t r[EMU_LANES];
    uint16_t *d = R16(in->d);
    const uint16_t *a = R16(in->a);
    apply(op, bf, in->sub, a, in->b == EMU_NONE ? a : R16(in->b), in->c == EMU_NONE ? a : R16(in->c), r);
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? r[i] : d[i];
}

static void run2(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, enum half_op op, bool bf)
{
    _Alignas(64) uint16_t p[3][2][EMU_LANES], r[2][EMU_LANES];
    const uint32_t ref[3] = {in->a, in->b, in->c};
    for (int k = 0; k < 3; k++) {
        const uint32_t *s = R32(ref[k] == EMU_NONE ? in->a : ref[k]);
        FOR_LANES(i)
        {
            p[k][0][i] = (uint16_t)s[i];
            p[k][1][i] = (uint16_t)(s[i] >> 16);
        }
    }
    for (int h = 0; h < 2; h++)
        apply(op, bf, in->sub, p[0][h], p[1][h], p[2][h], r[h]);
    uint32_t *d = R32(in->d);
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? (uint32_t)r[1][i] << 16 | r[0][i] : d[i];
}

#define HALF(name, op)                                                                                                           \
    static void name##_f16(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                         \
    {                                                                                                                            \
        run1(w, in, mask, op, false);                                                                                            \
    }                                                                                                                            \
    static void name##_bf16(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                        \
    {                                                                                                                            \
        run1(w, in, mask, op, true);                                                                                             \
    }                                                                                                                            \
    static void name##_f16x2(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                       \
    {                                                                                                                            \
        run2(w, in, mask, op, false);                                                                                            \
    }                                                                                                                            \
    static void name##_bf16x2(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                      \
    {                                                                                                                            \
        run2(w, in, mask, op, true);                                                                                             \
    }
HALF(add, H_ADD)
HALF(sub, H_SUB)
HALF(mul, H_MUL)
HALF(fma, H_FMA)
HALF(min, H_MIN)
HALF(max, H_MAX)
HALF(neg, H_NEG)
HALF(abs, H_ABS)
HALF(ex2, H_EX2)
HALF(tanh, H_TANH)

/* Comparisons of 16-bit floats are in exec_cmp.c. */
#define ROWS(name)                                                                                                               \
    {#name ".f16", name##_f16}, {#name ".bf16", name##_bf16}, {#name ".f16x2", name##_f16x2},                                    \
    {                                                                                                                            \
#name ".bf16x2", name##_bf16x2                                                                                           \
    }
const struct emu_row ks_emu_rows_half[] = {ROWS(add), ROWS(sub), ROWS(mul), ROWS(fma),  ROWS(min),   ROWS(max),
                                           ROWS(neg), ROWS(abs), ROWS(ex2), ROWS(tanh), {NULL, NULL}};
