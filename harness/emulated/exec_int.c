#include "harness/emulated/exec.h"

/* Integer arithmetic.  Inactive lanes hold leftovers, so divisions guard their divisor in every lane; x / 0 and x % 0
 * give all ones, as hardware does. */

static inline int32_t add_sat32(int32_t x, int32_t y)
{
    int64_t s = (int64_t)x + y;
    return (int32_t)(s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s);
}
static inline int32_t sub_sat32(int32_t x, int32_t y)
{
    int64_t s = (int64_t)x - y;
    return (int32_t)(s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s);
}
static inline int32_t clamp32(int64_t s)
{
    return (int32_t)(s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s);
}
static inline uint64_t mulhi_u64(uint64_t x, uint64_t y)
{
    return (uint64_t)((unsigned __int128)x * y >> 64);
}
static inline int64_t mulhi_s64(int64_t x, int64_t y)
{
    return (int64_t)((__int128)x * y >> 64);
}
static inline uint32_t mul24(uint32_t x, uint32_t y)
{
    return (x & 0xffffffu) * (y & 0xffffffu);
}

EMU_BINARY(add_16, uint16_t, uint16_t, x + y)
EMU_BINARY(add_32, uint32_t, uint32_t, x + y)
EMU_BINARY(add_64, uint64_t, uint64_t, x + y)
EMU_BINARY(sub_16, uint16_t, uint16_t, x - y)
EMU_BINARY(sub_32, uint32_t, uint32_t, x - y)
EMU_BINARY(sub_64, uint64_t, uint64_t, x - y)
EMU_BINARY(add_sat_s32, int32_t, int32_t, add_sat32(x, y))
EMU_BINARY(sub_sat_s32, int32_t, int32_t, sub_sat32(x, y))
EMU_BINARY(add_16x2, uint32_t, uint32_t, ((x + y) & 0xffffu) | ((x & 0xffff0000u) + (y & 0xffff0000u)))
EMU_BINARY(mul_lo_16, uint16_t, uint16_t, (uint32_t)x *y)
EMU_BINARY(mul_lo_32, uint32_t, uint32_t, x *y)
EMU_BINARY(mul_lo_64, uint64_t, uint64_t, x *y)
EMU_BINARY(mul_hi_u16, uint16_t, uint16_t, (uint32_t)x *y >> 16)
EMU_BINARY(mul_hi_s16, int16_t, int16_t, (int32_t)x *y >> 16)
EMU_BINARY(mul_hi_u32, uint32_t, uint32_t, (uint64_t)x *y >> 32)
EMU_BINARY(mul_hi_s32, int32_t, int32_t, (int64_t)x *y >> 32)
EMU_BINARY(mul_hi_u64, uint64_t, uint64_t, mulhi_u64(x, y))
EMU_BINARY(mul_hi_s64, int64_t, int64_t, mulhi_s64(x, y))
EMU_BINARY(mul_wide_u16, uint32_t, uint16_t, (uint32_t)x *y)
EMU_BINARY(mul_wide_s16, int32_t, int16_t, (int32_t)x *y)
EMU_BINARY(mul_wide_u32, uint64_t, uint32_t, (uint64_t)x *y)
EMU_BINARY(mul_wide_s32, int64_t, int32_t, (int64_t)x *y)
EMU_BINARY(mul24_lo_u32, uint32_t, uint32_t, mul24(x, y))
EMU_BINARY(mul24_lo_s32, int32_t, int32_t,
           (int32_t)((int64_t)((int32_t)((uint32_t)x << 8) >> 8) * ((int32_t)((uint32_t)y << 8) >> 8)))
/* The upper 32 of 48 bits. */
static inline uint32_t mul24_hi_u(uint32_t x, uint32_t y)
{
    return (uint32_t)((uint64_t)(x & 0xffffffu) * (y & 0xffffffu) >> 16);
}
static inline int64_t mul24_hi_s(int32_t x, int32_t y)
{
    return (int64_t)((int32_t)((uint32_t)x << 8) >> 8) * ((int32_t)((uint32_t)y << 8) >> 8) >> 16;
}
EMU_BINARY(mul24_hi_u32, uint32_t, uint32_t, mul24_hi_u(x, y))
EMU_BINARY(mul24_hi_s32, int32_t, int32_t, mul24_hi_s(x, y))
EMU_TERNARY(mad24_hi_u32, uint32_t, uint32_t, mul24_hi_u(x, y) + z)
EMU_TERNARY(mad24_hi_s32, int32_t, int32_t, (uint32_t)mul24_hi_s(x, y) + (uint32_t)z)
EMU_TERNARY(mad24_hi_sat_s32, int32_t, int32_t, clamp32((int64_t)(int32_t)mul24_hi_s(x, y) + z))
EMU_TERNARY(mad_lo_16, uint16_t, uint16_t, (uint32_t)x *y + z)
EMU_TERNARY(mad_lo_32, uint32_t, uint32_t, x *y + z)
EMU_TERNARY(mad_lo_64, uint64_t, uint64_t, x *y + z)
EMU_TERNARY(mad_hi_u16, uint16_t, uint16_t, ((uint32_t)x * y >> 16) + z)
EMU_TERNARY(mad_hi_s16, int16_t, int16_t, ((int32_t)x * y >> 16) + z)
EMU_TERNARY(mad_hi_sat_s32, int32_t, int32_t, clamp32(((int64_t)x * y >> 32) + z))
EMU_TERNARY(mad_hi_u32, uint32_t, uint32_t, ((uint64_t)x * y >> 32) + z)
EMU_TERNARY(mad_hi_s32, int32_t, int32_t, (uint32_t)((int64_t)x *y >> 32) + (uint32_t)z)
EMU_TERNARY(mad_hi_u64, uint64_t, uint64_t, mulhi_u64(x, y) + z)
EMU_TERNARY(mad_hi_s64, int64_t, int64_t, (uint64_t)mulhi_s64(x, y) + (uint64_t)z)
EMU_TERNARY2(mad_wide_u16, uint32_t, uint16_t, uint32_t, (uint32_t)x *y + z)
EMU_TERNARY2(mad_wide_s16, int32_t, int16_t, int32_t, (uint32_t)((int32_t)x *y) + (uint32_t)z)
EMU_TERNARY2(mad_wide_u32, uint64_t, uint32_t, uint64_t, (uint64_t)x *y + z)
EMU_TERNARY2(mad_wide_s32, int64_t, int32_t, int64_t, (uint64_t)((int64_t)x *y) + (uint64_t)z)
EMU_TERNARY(mad24_lo_u32, uint32_t, uint32_t, mul24(x, y) + z)
EMU_TERNARY(mad24_lo_s32, int32_t, int32_t,
            (uint32_t)((int64_t)((int32_t)((uint32_t)x << 8) >> 8) * ((int32_t)((uint32_t)y << 8) >> 8)) + (uint32_t)z)
EMU_TERNARY(sad_u32, uint32_t, uint32_t, (x > y ? x - y : y - x) + z)
EMU_TERNARY(sad_s32, int32_t, int32_t, (x > y ? (uint32_t)x - (uint32_t)y : (uint32_t)y - (uint32_t)x) + (uint32_t)z)

EMU_TERNARY(sad_u16, uint16_t, uint16_t, (x > y ? x - y : y - x) + z)
EMU_TERNARY(sad_s16, int16_t, int16_t, (x > y ? x - y : y - x) + z)
EMU_TERNARY(sad_u64, uint64_t, uint64_t, (x > y ? x - y : y - x) + z)
EMU_TERNARY(sad_s64, int64_t, int64_t, (x > y ? (uint64_t)x - (uint64_t)y : (uint64_t)y - (uint64_t)x) + (uint64_t)z)

EMU_BINARY(div_u16, uint16_t, uint16_t, y ? x / y : 0xffff)
EMU_BINARY(div_s16, int16_t, int16_t, y ? x / y : -1)
EMU_BINARY(div_u32, uint32_t, uint32_t, y ? x / y : 0xffffffffu)
EMU_BINARY(div_s32, int32_t, int32_t, y == 0 ? -1 : y == -1 ? (int32_t)(0u - (uint32_t)x) : x / y)
EMU_BINARY(div_u64, uint64_t, uint64_t, y ? x / y : UINT64_MAX)
EMU_BINARY(div_s64, int64_t, int64_t, y == 0 ? -1 : y == -1 ? (int64_t)(0u - (uint64_t)x) : x / y)
EMU_BINARY(rem_u16, uint16_t, uint16_t, y ? x % y : 0xffff)
EMU_BINARY(rem_s16, int16_t, int16_t, y ? x % y : -1)
EMU_BINARY(rem_u32, uint32_t, uint32_t, y ? x % y : 0xffffffffu)
EMU_BINARY(rem_s32, int32_t, int32_t, y == 0 ? -1 : y == -1 ? 0 : x % y)
EMU_BINARY(rem_u64, uint64_t, uint64_t, y ? x % y : UINT64_MAX)
EMU_BINARY(rem_s64, int64_t, int64_t, y == 0 ? -1 : y == -1 ? 0 : x % y)

EMU_UNARY(neg_16, uint16_t, uint16_t, 0 - x)
EMU_UNARY(neg_32, uint32_t, uint32_t, 0 - x)
EMU_UNARY(neg_64, uint64_t, uint64_t, 0 - x)
EMU_UNARY(abs_s16, int16_t, int16_t, x < 0 ? -x : x)
EMU_UNARY(abs_s32, int32_t, int32_t, x < 0 ? (int32_t)(0u - (uint32_t)x) : x)
EMU_UNARY(abs_s64, int64_t, int64_t, x < 0 ? (int64_t)(0u - (uint64_t)x) : x)
#define MIN_MAX(T, name)                                                                                                         \
    EMU_BINARY(min_##name, T, T, x < y ? x : y)                                                                                  \
    EMU_BINARY(max_##name, T, T, x > y ? x : y)
MIN_MAX(uint16_t, u16)
MIN_MAX(int16_t, s16)
MIN_MAX(uint32_t, u32)
MIN_MAX(int32_t, s32)
MIN_MAX(uint64_t, u64)
MIN_MAX(int64_t, s64)
EMU_BINARY(min_relu_s32, int32_t, int32_t, (x < y ? x : y) > 0 ? (x < y ? x : y) : 0)
EMU_BINARY(max_relu_s32, int32_t, int32_t, (x > y ? x : y) > 0 ? (x > y ? x : y) : 0)

static inline uint32_t pick2(uint32_t x, uint32_t y, bool is_signed, bool max)
{
    uint32_t r = 0;
    for (int h = 0; h < 32; h += 16) {
        int32_t p = is_signed ? (int16_t)(x >> h) : (uint16_t)(x >> h), q = is_signed ? (int16_t)(y >> h) : (uint16_t)(y >> h);
        r |= (uint32_t)(uint16_t)(max == (p > q) ? p : q) << h;
    }
    return r;
}
EMU_BINARY(min_u16x2, uint32_t, uint32_t, pick2(x, y, false, false))
EMU_BINARY(max_u16x2, uint32_t, uint32_t, pick2(x, y, false, true))
EMU_BINARY(min_s16x2, uint32_t, uint32_t, pick2(x, y, true, false))
EMU_BINARY(max_s16x2, uint32_t, uint32_t, pick2(x, y, true, true))
static inline uint32_t relu2(uint32_t x) /* negative halves become zero */
{
    return x & ~((x >> 15 & 0x10001u) * 0xffffu);
}
EMU_BINARY(min_relu_s16x2, uint32_t, uint32_t, relu2(pick2(x, y, true, false)))
EMU_BINARY(max_relu_s16x2, uint32_t, uint32_t, relu2(pick2(x, y, true, true)))

/* Carry chains: the flag of each lane is a bit of w->cc.  sub: bit 0 takes the carry in, bit 1 sets it. */
#define CARRY(name, T, W, first, second)                                                                                         \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        T *d = emu_at(w, in->d);                                                                                                 \
        const T *a = emu_at(w, in->a), *b = emu_at(w, in->b);                                                                    \
        uint32_t out = 0;                                                                                                        \
        FOR_LANES(i)                                                                                                             \
        {                                                                                                                        \
            if (!emu_lane(mask, i))                                                                                              \
                continue;                                                                                                        \
            W carry = (in->sub & 1) ? (w->cc >> i & 1u) : 0;                                                                     \
            W r = (W)a[i] first(W) b[i] second carry;                                                                            \
            d[i] = (T)r;                                                                                                         \
            out |= (uint32_t)(r >> (sizeof(T) * 8) & 1u) << i;                                                                   \
        }                                                                                                                        \
        if (in->sub & 2)                                                                                                         \
            emu_set_pred(&w->cc, out, mask);                                                                                     \
    }
CARRY(addc_32, uint32_t, uint64_t, +, +)
CARRY(addc_64, uint64_t, unsigned __int128, +, +)
CARRY(subc_32, uint32_t, uint64_t, -, -)
CARRY(subc_64, uint64_t, unsigned __int128, -, -)

#define MAD_CARRY(name, T, P, part)                                                                                              \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        T *d = emu_at(w, in->d);                                                                                                 \
        const T *a = emu_at(w, in->a), *b = emu_at(w, in->b), *c = emu_at(w, in->c);                                             \
        uint32_t out = 0;                                                                                                        \
        FOR_LANES(i)                                                                                                             \
        {                                                                                                                        \
            if (!emu_lane(mask, i))                                                                                              \
                continue;                                                                                                        \
            T x = a[i], y = b[i];                                                                                                \
            T piece = (T)(part);                                                                                                 \
            P r = (P)piece + (P)c[i] + ((in->sub & 1) ? (w->cc >> i & 1u) : 0);                                                  \
            d[i] = (T)r;                                                                                                         \
            out |= (uint32_t)(r >> (sizeof(T) * 8) & 1u) << i;                                                                   \
        }                                                                                                                        \
        if (in->sub & 2)                                                                                                         \
            emu_set_pred(&w->cc, out, mask);                                                                                     \
    }
MAD_CARRY(madc_lo_32, uint32_t, uint64_t, x *y)
MAD_CARRY(madc_hi_u32, uint32_t, uint64_t, (uint64_t)x *y >> 32)
MAD_CARRY(madc_hi_s32, uint32_t, uint64_t, (uint64_t)((int64_t)(int32_t)x *(int32_t)y) >> 32)
MAD_CARRY(madc_lo_64, uint64_t, unsigned __int128, x *y)
MAD_CARRY(madc_hi_u64, uint64_t, unsigned __int128, mulhi_u64(x, y))
MAD_CARRY(madc_hi_s64, uint64_t, unsigned __int128, (uint64_t)mulhi_s64((int64_t)x, (int64_t)y))

static inline int32_t dp4(uint32_t x, uint32_t y, int32_t z, bool sx, bool sy)
{
    int32_t s = z;
    for (int k = 0; k < 32; k += 8) {
        int32_t p = sx ? (int8_t)(x >> k) : (uint8_t)(x >> k), q = sy ? (int8_t)(y >> k) : (uint8_t)(y >> k);
        s = (int32_t)((uint32_t)s + (uint32_t)(p * q));
    }
    return s;
}
static inline int32_t dp2(uint32_t x, uint32_t y, int32_t z, bool sx, bool sy, int shift)
{
    int32_t s = z;
    for (int k = 0; k < 2; k++) {
        int32_t p = sx ? (int16_t)(x >> k * 16) : (uint16_t)(x >> k * 16);
        int32_t q = sy ? (int8_t)(y >> (k * 8 + shift)) : (uint8_t)(y >> (k * 8 + shift));
        s = (int32_t)((uint32_t)s + (uint32_t)(p * q));
    }
    return s;
}
EMU_TERNARY(dp4a_uu, uint32_t, uint32_t, dp4(x, y, (int32_t)z, false, false))
EMU_TERNARY(dp4a_us, uint32_t, uint32_t, dp4(x, y, (int32_t)z, false, true))
EMU_TERNARY(dp4a_su, uint32_t, uint32_t, dp4(x, y, (int32_t)z, true, false))
EMU_TERNARY(dp4a_ss, uint32_t, uint32_t, dp4(x, y, (int32_t)z, true, true))
EMU_TERNARY(dp2a_uu, uint32_t, uint32_t, dp2(x, y, (int32_t)z, false, false, in->sub))
EMU_TERNARY(dp2a_us, uint32_t, uint32_t, dp2(x, y, (int32_t)z, false, true, in->sub))
EMU_TERNARY(dp2a_su, uint32_t, uint32_t, dp2(x, y, (int32_t)z, true, false, in->sub))
EMU_TERNARY(dp2a_ss, uint32_t, uint32_t, dp2(x, y, (int32_t)z, true, true, in->sub))

const struct emu_row ks_emu_rows_int[] = {{"add.16", add_16},
                                          {"add.32", add_32},
                                          {"add.64", add_64},
                                          {"sub.16", sub_16},
                                          {"sub.32", sub_32},
                                          {"sub.64", sub_64},
                                          {"add.sat.s32", add_sat_s32},
                                          {"sub.sat.s32", sub_sat_s32},
                                          {"add.u16x2", add_16x2},
                                          {"add.s16x2", add_16x2},
                                          {"mul.lo.16", mul_lo_16},
                                          {"mul.lo.32", mul_lo_32},
                                          {"mul.lo.64", mul_lo_64},
                                          {"mul.hi.u16", mul_hi_u16},
                                          {"mul.hi.s16", mul_hi_s16},
                                          {"mul.hi.u32", mul_hi_u32},
                                          {"mul.hi.s32", mul_hi_s32},
                                          {"mul.hi.u64", mul_hi_u64},
                                          {"mul.hi.s64", mul_hi_s64},
                                          {"mul.wide.u16", mul_wide_u16},
                                          {"mul.wide.s16", mul_wide_s16},
                                          {"mul.wide.u32", mul_wide_u32},
                                          {"mul.wide.s32", mul_wide_s32},
                                          {"mul24.lo.u32", mul24_lo_u32},
                                          {"mul24.lo.s32", mul24_lo_s32},
                                          {"mad24.lo.u32", mad24_lo_u32},
                                          {"mad24.lo.s32", mad24_lo_s32},
                                          {"mad.lo.16", mad_lo_16},
                                          {"mad.lo.32", mad_lo_32},
                                          {"mad.lo.64", mad_lo_64},
                                          {"mad.hi.u16", mad_hi_u16},
                                          {"mad.hi.s16", mad_hi_s16},
                                          {"mad.hi.sat.s32", mad_hi_sat_s32},
                                          {"mul24.hi.u32", mul24_hi_u32},
                                          {"mul24.hi.s32", mul24_hi_s32},
                                          {"mad24.hi.u32", mad24_hi_u32},
                                          {"mad24.hi.s32", mad24_hi_s32},
                                          {"mad24.hi.sat.s32", mad24_hi_sat_s32},
                                          {"sad.u16", sad_u16},
                                          {"sad.s16", sad_s16},
                                          {"sad.u64", sad_u64},
                                          {"sad.s64", sad_s64},
                                          {"min.relu.s16x2", min_relu_s16x2},
                                          {"max.relu.s16x2", max_relu_s16x2},
                                          {"mad.hi.u32", mad_hi_u32},
                                          {"mad.hi.s32", mad_hi_s32},
                                          {"mad.hi.u64", mad_hi_u64},
                                          {"mad.hi.s64", mad_hi_s64},
                                          {"mad.wide.u16", mad_wide_u16},
                                          {"mad.wide.s16", mad_wide_s16},
                                          {"mad.wide.u32", mad_wide_u32},
                                          {"mad.wide.s32", mad_wide_s32},
                                          {"sad.u32", sad_u32},
                                          {"sad.s32", sad_s32},
                                          {"div.u16", div_u16},
                                          {"div.s16", div_s16},
                                          {"div.u32", div_u32},
                                          {"div.s32", div_s32},
                                          {"div.u64", div_u64},
                                          {"div.s64", div_s64},
                                          {"rem.u16", rem_u16},
                                          {"rem.s16", rem_s16},
                                          {"rem.u32", rem_u32},
                                          {"rem.s32", rem_s32},
                                          {"rem.u64", rem_u64},
                                          {"rem.s64", rem_s64},
                                          {"neg.s16", neg_16},
                                          {"neg.s32", neg_32},
                                          {"neg.s64", neg_64},
                                          {"abs.s16", abs_s16},
                                          {"abs.s32", abs_s32},
                                          {"abs.s64", abs_s64},
                                          {"min.u16", min_u16},
                                          {"max.u16", max_u16},
                                          {"min.s16", min_s16},
                                          {"max.s16", max_s16},
                                          {"min.u32", min_u32},
                                          {"max.u32", max_u32},
                                          {"min.s32", min_s32},
                                          {"max.s32", max_s32},
                                          {"min.u64", min_u64},
                                          {"max.u64", max_u64},
                                          {"min.s64", min_s64},
                                          {"max.s64", max_s64},
                                          {"min.relu.s32", min_relu_s32},
                                          {"max.relu.s32", max_relu_s32},
                                          {"min.u16x2", min_u16x2},
                                          {"max.u16x2", max_u16x2},
                                          {"min.s16x2", min_s16x2},
                                          {"max.s16x2", max_s16x2},
                                          {"addc.32", addc_32},
                                          {"addc.64", addc_64},
                                          {"subc.32", subc_32},
                                          {"subc.64", subc_64},
                                          {"madc.lo.32", madc_lo_32},
                                          {"madc.hi.u32", madc_hi_u32},
                                          {"madc.hi.s32", madc_hi_s32},
                                          {"madc.lo.64", madc_lo_64},
                                          {"madc.hi.u64", madc_hi_u64},
                                          {"madc.hi.s64", madc_hi_s64},
                                          {"dp4a.u32.u32", dp4a_uu},
                                          {"dp4a.u32.s32", dp4a_us},
                                          {"dp4a.s32.u32", dp4a_su},
                                          {"dp4a.s32.s32", dp4a_ss},
                                          {"dp2a.u32.u32", dp2a_uu},
                                          {"dp2a.u32.s32", dp2a_us},
                                          {"dp2a.s32.u32", dp2a_su},
                                          {"dp2a.s32.s32", dp2a_ss},
                                          {NULL, NULL}};
