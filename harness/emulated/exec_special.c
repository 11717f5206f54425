#include "harness/emulated/exec_float.h"

/* Approximate functions.  The hardware uses tables; here each is computed in double precision and rounded once, which is within
 * the error the PTX ISA documents for it.  ex2 and lg2 are polynomials so that they vectorise. */

static inline double exp2_poly(double f) /* |f| <= 0.5 */
{
    double t = f * 0.693147180559945309417;
    double r = 1.0 / 39916800.0;
    r = r * t + 1.0 / 3628800.0;
    r = r * t + 1.0 / 362880.0;
    r = r * t + 1.0 / 40320.0;
    r = r * t + 1.0 / 5040.0;
    r = r * t + 1.0 / 720.0;
    r = r * t + 1.0 / 120.0;
    r = r * t + 1.0 / 24.0;
    r = r * t + 1.0 / 6.0;
    r = r * t + 0.5;
    r = r * t + 1.0;
    return r * t + 1.0;
}

static inline float ex2(float x)
{
    double v = x;
    v = v > 300.0 ? 300.0 : v;
    v = v < -300.0 ? -300.0 : v;
    double shifted = v + 6755399441055744.0; /* 1.5 * 2^52: the low bits are round(v) */
    double n = shifted - 6755399441055744.0;
    double scale = emu_f64((emu_bits64(shifted) + 1023) << 52);
    float r = (float)(exp2_poly(v - n) * scale);
    return x != x ? emu_f32(0x7fffffffu) : r;
}

static inline float lg2(float x)
{
    uint64_t b = emu_bits64((double)x);
    uint64_t top = b - 0x3fe6a09e667f3bcdull; /* so that the mantissa lies in [sqrt(1/2), sqrt(2)) */
    int64_t e = (int64_t)top >> 52;
    double m = emu_f64(b - ((uint64_t)e << 52));
    double s = (m - 1.0) / (m + 1.0), q = s * s;
    double r = 1.0 / 19.0;
    r = r * q + 1.0 / 17.0;
    r = r * q + 1.0 / 15.0;
    r = r * q + 1.0 / 13.0;
    r = r * q + 1.0 / 11.0;
    r = r * q + 1.0 / 9.0;
    r = r * q + 1.0 / 7.0;
    r = r * q + 1.0 / 5.0;
    r = r * q + 1.0 / 3.0;
    r = r * q + 1.0;
    float v = (float)((double)(int32_t)e + s * r * 2.8853900817779268147);
    v = x == 0.0f ? -__builtin_inff() : v;
    v = x == __builtin_inff() ? x : v;
    return x < 0.0f || x != x ? emu_f32(0x7fffffffu) : v;
}

static inline float rsqrt1(float x)
{
    return emu_nan32((float)(1.0 / __builtin_sqrt((double)x)));
}

EMU_UNARY(ex2_, float, float, ex2(x))
EMU_UNARY(ex2_ftz, float, float, emu_ftz(ex2(emu_ftz(x))))
EMU_UNARY(lg2_, float, float, lg2(x))
EMU_UNARY(lg2_ftz, float, float, lg2(emu_ftz(x)))
EMU_UNARY(rsqrt_, float, float, rsqrt1(x))
EMU_UNARY(rsqrt_ftz, float, float, rsqrt1(emu_ftz(x)))

#define LIBM(name, expr)                                                                                                         \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        float *d = RF(in->d);                                                                                                    \
        const float *a = RF(in->a);                                                                                              \
        FOR_LANES(i)                                                                                                             \
        {                                                                                                                        \
            if (!emu_lane(mask, i))                                                                                              \
                continue;                                                                                                        \
            float x = (in->sub & EMU_FTZ) ? emu_ftz(a[i]) : a[i];                                                                \
            float r = emu_nan32((float)(expr));                                                                                  \
            d[i] = (in->sub & EMU_FTZ) ? emu_ftz(r) : r;                                                                         \
        }                                                                                                                        \
    }
LIBM(sin_, sin((double)x))
LIBM(cos_, cos((double)x))
LIBM(tanh_, tanh((double)x))

const struct emu_row ks_emu_rows_special[] = {{"ex2.approx.f32", ex2_},     {"ex2.approx.ftz.f32", ex2_ftz},
                                              {"lg2.approx.f32", lg2_},     {"lg2.approx.ftz.f32", lg2_ftz},
                                              {"rsqrt.approx.f32", rsqrt_}, {"rsqrt.approx.ftz.f32", rsqrt_ftz},
                                              {"sin.approx.f32", sin_},     {"cos.approx.f32", cos_},
                                              {"tanh.approx.f32", tanh_},   {NULL, NULL}};
