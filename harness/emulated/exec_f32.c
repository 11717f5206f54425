#include "harness/emulated/exec_float.h"

/* Single precision.  Round-to-nearest forms are vector loops; directed rounding and saturation go through the slow forms, whose
 * `sub` holds rounding and flags.  Division, square root and reciprocal are correctly rounded in their approximate forms too. */

/* div.approx: a divisor of 2^126 or more gives zero, or NaN for infinite x. */
static inline float quotient_approx(float x, float y)
{
    uint32_t e = emu_bits32(y) >> 23 & 255u;
    float r = x / y;
    return e >= 253 && e < 255 ? 0.0f * x * (y > 0 ? 1.0f : -1.0f) : r;
}

#define F32_BINARY(name, expr)                                                                                                   \
    EMU_BINARY(name, float, float, emu_nan32(expr))                                                                              \
    static inline float name##_ftz1(float x, float y)                                                                            \
    {                                                                                                                            \
        x = emu_ftz(x);                                                                                                          \
        y = emu_ftz(y);                                                                                                          \
        return emu_ftz(emu_nan32(expr));                                                                                         \
    }                                                                                                                            \
    EMU_BINARY(name##_ftz, float, float, name##_ftz1(x, y))
F32_BINARY(add, x + y)
F32_BINARY(sub, x - y)
F32_BINARY(mul, x *y)
F32_BINARY(quot, x / y)
F32_BINARY(quot_approx, quotient_approx(x, y))
F32_BINARY(min, emu_min32(x, y))
F32_BINARY(max, emu_max32(x, y))
EMU_TERNARY(fma_, float, float, emu_nan32(__builtin_fmaf(x, y, z)))
EMU_TERNARY(fma_ftz, float, float, emu_ftz(emu_nan32(__builtin_fmaf(emu_ftz(x), emu_ftz(y), emu_ftz(z)))))

static inline float finish(float r, int sub)
{
    r = emu_nan32(r);
    if (sub & EMU_FTZ)
        r = emu_ftz(r);
    return (sub & EMU_SAT) ? emu_sat(r) : r;
}

#define F32_SLOW(name, n_args, expr)                                                                                             \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        float *d = RF(in->d);                                                                                                    \
        const float *a = RF(in->a), *b = RF(n_args > 1 ? in->b : in->a), *c = RF(n_args > 2 ? in->c : in->a);                    \
        emu_round_set(in->sub);                                                                                                  \
        FOR_LANES(i)                                                                                                             \
        {                                                                                                                        \
            if (!emu_lane(mask, i))                                                                                              \
                continue;                                                                                                        \
            float x = a[i], y = b[i], z = c[i];                                                                                  \
            if (in->sub & EMU_FTZ) {                                                                                             \
                x = emu_ftz(x);                                                                                                  \
                y = emu_ftz(y);                                                                                                  \
                z = emu_ftz(z);                                                                                                  \
            }                                                                                                                    \
            EMU_PIN(x);                                                                                                          \
            EMU_PIN(y);                                                                                                          \
            EMU_PIN(z);                                                                                                          \
            float r = (expr);                                                                                                    \
            EMU_PIN(r);                                                                                                          \
            d[i] = finish(r, in->sub);                                                                                           \
        }                                                                                                                        \
        fesetround(FE_TONEAREST);                                                                                                \
    }
F32_SLOW(add_slow, 2, x + y)
F32_SLOW(sub_slow, 2, x - y)
F32_SLOW(mul_slow, 2, x *y)
F32_SLOW(div_slow, 2, x / y)
F32_SLOW(fma_slow, 3, __builtin_fmaf(x, y, z))
F32_SLOW(rcp_slow, 1, 1.0f / x)
F32_SLOW(sqrt_slow, 1, __builtin_sqrtf(x))

static inline float pick32(float x, float y, int sub, bool max)
{
    if (sub & EMU_FTZ) {
        x = emu_ftz(x);
        y = emu_ftz(y);
    }
    uint32_t sign = (emu_bits32(x) ^ emu_bits32(y)) & 0x80000000u;
    if (sub & (EMU_XORSIGN | EMU_MAGNITUDES)) {
        x = fabsf(x);
        y = fabsf(y);
    }
    float r = max ? emu_max32(x, y) : emu_min32(x, y);
    if ((sub & EMU_NAN) && (x != x || y != y))
        r = emu_f32(0x7fffffffu);
    if ((sub & EMU_XORSIGN) && r == r)
        r = emu_f32(emu_bits32(r) | sign);
    return r;
}
EMU_BINARY(min_slow, float, float, pick32(x, y, in->sub, false))
EMU_BINARY(max_slow, float, float, pick32(x, y, in->sub, true))
EMU_TERNARY(min3_slow, float, float, pick32(pick32(x, y, in->sub, false), z, in->sub, false))
EMU_TERNARY(max3_slow, float, float, pick32(pick32(x, y, in->sub, true), z, in->sub, true))

EMU_UNARY(neg_, float, float, emu_nan32(-x))
EMU_UNARY(abs_, float, float, emu_nan32(__builtin_fabsf(x)))
EMU_UNARY(neg_ftz, float, float, emu_nan32(-emu_ftz(x)))
EMU_UNARY(abs_ftz, float, float, emu_nan32(__builtin_fabsf(emu_ftz(x))))
EMU_BINARY(copysign_, uint32_t, uint32_t, (x & 0x80000000u) | (y & 0x7fffffffu))
EMU_UNARY(sqrt_, float, float, emu_nan32(__builtin_sqrtf(x)))
EMU_UNARY(sqrt_ftz, float, float, emu_nan32(__builtin_sqrtf(emu_ftz(x))))
EMU_UNARY(rcp_, float, float, emu_nan32(1.0f / x))
EMU_UNARY(rcp_ftz, float, float, emu_ftz(emu_nan32(1.0f / emu_ftz(x))))

static void testp(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    const float *a = RF(in->a);
    uint32_t r = 0;
    FOR_LANES(i)
    {
        int c = fpclassify(a[i]);
        bool is[6] = {c != FP_NAN && c != FP_INFINITE, c == FP_INFINITE, c != FP_NAN, c == FP_NAN,
                      c == FP_NORMAL || c == FP_ZERO,  c == FP_SUBNORMAL};
        r |= (uint32_t)is[in->sub] << i;
    }
    emu_set_pred(&RP(in->d), r, mask);
}

/* Packed pairs of sm_100: two f32 in a 64-bit register. */
#define F32X2(name, n_args, expr)                                                                                                \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        uint64_t *d = R64(in->d);                                                                                                \
        const uint64_t *a = R64(in->a), *b = R64(in->b), *c = R64(n_args > 2 ? in->c : in->a);                                   \
        emu_round_set(in->sub);                                                                                                  \
        FOR_LANES(i)                                                                                                             \
        {                                                                                                                        \
            if (!emu_lane(mask, i))                                                                                              \
                continue;                                                                                                        \
            uint64_t r = 0;                                                                                                      \
            for (int h = 0; h < 64; h += 32) {                                                                                   \
                float x = emu_f32((uint32_t)(a[i] >> h)), y = emu_f32((uint32_t)(b[i] >> h)),                                    \
                      z = emu_f32((uint32_t)(c[i] >> h));                                                                        \
                if (in->sub & EMU_FTZ) {                                                                                         \
                    x = emu_ftz(x);                                                                                              \
                    y = emu_ftz(y);                                                                                              \
                    z = emu_ftz(z);                                                                                              \
                }                                                                                                                \
                EMU_PIN(x);                                                                                                      \
                EMU_PIN(y);                                                                                                      \
                EMU_PIN(z);                                                                                                      \
                float q = (expr);                                                                                                \
                EMU_PIN(q);                                                                                                      \
                r |= (uint64_t)emu_bits32(finish(q, in->sub)) << h;                                                              \
            }                                                                                                                    \
            d[i] = r;                                                                                                            \
        }                                                                                                                        \
        fesetround(FE_TONEAREST);                                                                                                \
    }
F32X2(add_x2, 2, x + y)
F32X2(sub_x2, 2, x - y)
F32X2(mul_x2, 2, x *y)
F32X2(fma_x2, 3, __builtin_fmaf(x, y, z))

const struct emu_row ks_emu_rows_f32[] = {{"add.f32", add},
                                          {"add.ftz.f32", add_ftz},
                                          {"sub.f32", sub},
                                          {"sub.ftz.f32", sub_ftz},
                                          {"mul.f32", mul},
                                          {"mul.ftz.f32", mul_ftz},
                                          {"div.f32", quot},
                                          {"div.ftz.f32", quot_ftz},
                                          {"div.approx.f32", quot_approx},
                                          {"div.approx.ftz.f32", quot_approx_ftz},
                                          {"fma.f32", fma_},
                                          {"fma.ftz.f32", fma_ftz},
                                          {"min.f32", min},
                                          {"min.ftz.f32", min_ftz},
                                          {"max.f32", max},
                                          {"max.ftz.f32", max_ftz},
                                          {"add.slow.f32", add_slow},
                                          {"sub.slow.f32", sub_slow},
                                          {"mul.slow.f32", mul_slow},
                                          {"div.slow.f32", div_slow},
                                          {"fma.slow.f32", fma_slow},
                                          {"rcp.slow.f32", rcp_slow},
                                          {"sqrt.slow.f32", sqrt_slow},
                                          {"min.slow.f32", min_slow},
                                          {"max.slow.f32", max_slow},
                                          {"min3.slow.f32", min3_slow},
                                          {"max3.slow.f32", max3_slow},
                                          {"neg.f32", neg_},
                                          {"neg.ftz.f32", neg_ftz},
                                          {"abs.f32", abs_},
                                          {"abs.ftz.f32", abs_ftz},
                                          {"copysign.f32", copysign_},
                                          {"sqrt.f32", sqrt_},
                                          {"sqrt.ftz.f32", sqrt_ftz},
                                          {"rcp.f32", rcp_},
                                          {"rcp.ftz.f32", rcp_ftz},
                                          {"testp.f32", testp},
                                          {"add.f32x2", add_x2},
                                          {"sub.f32x2", sub_x2},
                                          {"mul.f32x2", mul_x2},
                                          {"fma.f32x2", fma_x2},
                                          {NULL, NULL}};
