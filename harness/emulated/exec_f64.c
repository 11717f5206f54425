#include "harness/emulated/exec_float.h"

/* Double precision. */

static inline double min64(double x, double y)
{
    double r = x < y ? x : y;
    r = x == y ? emu_f64(emu_bits64(x) | emu_bits64(y)) : r;
    r = x != x ? y : r;
    return y != y ? x : r;
}
static inline double max64(double x, double y)
{
    double r = x > y ? x : y;
    r = x == y ? emu_f64(emu_bits64(x) & emu_bits64(y)) : r;
    r = x != x ? y : r;
    return y != y ? x : r;
}
EMU_BINARY(add, double, double, x + y)
EMU_BINARY(sub, double, double, x - y)
EMU_BINARY(mul, double, double, x *y)
EMU_BINARY(quot, double, double, x / y)
EMU_TERNARY(fma_, double, double, __builtin_fma(x, y, z))
EMU_BINARY(min, double, double, min64(x, y))
EMU_BINARY(max, double, double, max64(x, y))
EMU_UNARY(neg_, double, double, x != x ? x : -x) /* a NaN passes as it is */
EMU_UNARY(abs_, uint64_t, uint64_t, x & ~(1ull << 63))
EMU_BINARY(copysign_, uint64_t, uint64_t, (x & 1ull << 63) | (y & ~(1ull << 63)))
EMU_UNARY(sqrt_, double, double, __builtin_sqrt(x))
EMU_UNARY(rcp_, double, double, 1.0 / x)
/* .approx.ftz.f64 works on the upper 32 bits only: 20 bits of mantissa, the low word is zero, subnormals are flushed. */
static inline double upper(double x)
{
    uint64_t b = emu_bits64(x);
    return emu_f64((b >> 52 & 0x7ffu) ? b & 0xffffffff00000000ull : b & 1ull << 63);
}
EMU_UNARY(rcp_approx, double, double, upper(1.0 / upper(x)))
EMU_UNARY(rsqrt_approx, double, double, upper(1.0 / __builtin_sqrt(upper(x))))
EMU_UNARY(rsqrt_, double, double, 1.0 / __builtin_sqrt(x))

#define F64_SLOW(name, n_args, expr)                                                                                             \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        double *d = RD(in->d);                                                                                                   \
        const double *a = RD(in->a), *b = RD(n_args > 1 ? in->b : in->a), *c = RD(n_args > 2 ? in->c : in->a);                   \
        emu_round_set(in->sub);                                                                                                  \
        FOR_LANES(i)                                                                                                             \
        {                                                                                                                        \
            if (!emu_lane(mask, i))                                                                                              \
                continue;                                                                                                        \
            double x = a[i], y = b[i], z = c[i];                                                                                 \
            EMU_PIN(x);                                                                                                          \
            EMU_PIN(y);                                                                                                          \
            EMU_PIN(z);                                                                                                          \
            double r = (expr);                                                                                                   \
            EMU_PIN(r);                                                                                                          \
            d[i] = r;                                                                                                            \
        }                                                                                                                        \
        fesetround(FE_TONEAREST);                                                                                                \
    }
F64_SLOW(add_slow, 2, x + y)
F64_SLOW(sub_slow, 2, x - y)
F64_SLOW(mul_slow, 2, x *y)
F64_SLOW(div_slow, 2, x / y)
F64_SLOW(fma_slow, 3, __builtin_fma(x, y, z))
F64_SLOW(rcp_slow, 1, 1.0 / x)
F64_SLOW(sqrt_slow, 1, __builtin_sqrt(x))

static void testp(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    const double *a = RD(in->a);
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

const struct emu_row ks_emu_rows_f64[] = {{"add.f64", add},
                                          {"sub.f64", sub},
                                          {"mul.f64", mul},
                                          {"div.f64", quot},
                                          {"fma.f64", fma_},
                                          {"min.f64", min},
                                          {"max.f64", max},
                                          {"neg.f64", neg_},
                                          {"abs.f64", abs_},
                                          {"copysign.f64", copysign_},
                                          {"sqrt.f64", sqrt_},
                                          {"rcp.f64", rcp_},
                                          {"rcp.approx.f64", rcp_approx},
                                          {"rsqrt.approx.f64", rsqrt_},
                                          {"rsqrt.approx.ftz.f64", rsqrt_approx},
                                          {"add.slow.f64", add_slow},
                                          {"sub.slow.f64", sub_slow},
                                          {"mul.slow.f64", mul_slow},
                                          {"div.slow.f64", div_slow},
                                          {"fma.slow.f64", fma_slow},
                                          {"rcp.slow.f64", rcp_slow},
                                          {"sqrt.slow.f64", sqrt_slow},
                                          {"testp.f64", testp},
                                          {NULL, NULL}};
