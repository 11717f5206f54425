#include "harness/emulated/exec.h"

/* Logic, shifts and bit fields. */

#define LOGIC(op, sym)                                                                                                           \
    EMU_BINARY(op##_16, uint16_t, uint16_t, x sym y)                                                                             \
    EMU_BINARY(op##_32, uint32_t, uint32_t, x sym y)                                                                             \
    EMU_BINARY(op##_64, uint64_t, uint64_t, x sym y)                                                                             \
    static void op##_pred(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                          \
    {                                                                                                                            \
        emu_set_pred(&RP(in->d), RP(in->a) sym RP(in->b), mask);                                                                 \
    }
LOGIC(and, &)
LOGIC(or, |)
LOGIC(xor, ^)
EMU_UNARY(not_16, uint16_t, uint16_t, ~x)
EMU_UNARY(not_32, uint32_t, uint32_t, ~x)
EMU_UNARY(not_64, uint64_t, uint64_t, ~x)
static void not_pred(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    emu_set_pred(&RP(in->d), ~RP(in->a), mask);
}
EMU_UNARY(cnot_16, uint16_t, uint16_t, x == 0)
EMU_UNARY(cnot_32, uint32_t, uint32_t, x == 0)
EMU_UNARY(cnot_64, uint64_t, uint64_t, x == 0)

/* Shift amounts are 32-bit and clamp at the width. */
#define SHIFT(name, T, expr)                                                                                                     \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        T *d = emu_at(w, in->d);                                                                                                 \
        const T *a = emu_at(w, in->a);                                                                                           \
        const uint32_t *b = R32(in->b);                                                                                          \
        _Pragma("GCC ivdep") FOR_LANES(i)                                                                                        \
        {                                                                                                                        \
            T x = a[i];                                                                                                          \
            uint32_t y = b[i];                                                                                                   \
            T r = (T)(expr);                                                                                                     \
            d[i] = (mask >> i & 1u) ? r : d[i];                                                                                  \
        }                                                                                                                        \
    }
SHIFT(shl_16, uint16_t, y > 15 ? 0 : (uint32_t)x << (y & 15))
SHIFT(shl_32, uint32_t, y > 31 ? 0 : x << (y & 31))
SHIFT(shl_64, uint64_t, y > 63 ? 0 : x << (y & 63))
SHIFT(shr_u16, uint16_t, y > 15 ? 0 : x >> (y & 15))
SHIFT(shr_u32, uint32_t, y > 31 ? 0 : x >> (y & 31))
SHIFT(shr_u64, uint64_t, y > 63 ? 0 : x >> (y & 63))
SHIFT(shr_s16, int16_t, x >> (y > 15 ? 15 : y))
SHIFT(shr_s32, int32_t, x >> (y > 31 ? 31 : y))
SHIFT(shr_s64, int64_t, x >> (y > 63 ? 63 : y))

static inline uint32_t funnel_l(uint32_t lo, uint32_t hi, uint32_t n)
{
    uint64_t v = (uint64_t)hi << 32 | lo;
    return n >= 32 ? lo : (uint32_t)(v << n >> 32);
}
static inline uint32_t funnel_r(uint32_t lo, uint32_t hi, uint32_t n)
{
    uint64_t v = (uint64_t)hi << 32 | lo;
    return n >= 32 ? hi : (uint32_t)(v >> n);
}
EMU_TERNARY(shf_l_wrap, uint32_t, uint32_t, funnel_l(x, y, z & 31))
EMU_TERNARY(shf_l_clamp, uint32_t, uint32_t, funnel_l(x, y, z))
EMU_TERNARY(shf_r_wrap, uint32_t, uint32_t, funnel_r(x, y, z & 31))
EMU_TERNARY(shf_r_clamp, uint32_t, uint32_t, funnel_r(x, y, z))

EMU_UNARY(popc_32, uint32_t, uint32_t, __builtin_popcount(x))
EMU_UNARY(popc_64, uint32_t, uint64_t, __builtin_popcountll(x))
EMU_UNARY(clz_32, uint32_t, uint32_t, x ? __builtin_clz(x) : 32)
EMU_UNARY(clz_64, uint32_t, uint64_t, x ? __builtin_clzll(x) : 64)
EMU_UNARY(bfind_u32, uint32_t, uint32_t, x ? 31 - __builtin_clz(x) : -1)
EMU_UNARY(bfind_u64, uint32_t, uint64_t, x ? 63 - __builtin_clzll(x) : -1)
EMU_UNARY(bfind_s32, uint32_t, uint32_t,
          (x ^ (uint32_t)((int32_t)x >> 31)) ? 31 - __builtin_clz(x ^ (uint32_t)((int32_t)x >> 31)) : -1)
EMU_UNARY(bfind_s64, uint32_t, uint64_t,
          (x ^ (uint64_t)((int64_t)x >> 63)) ? 63 - __builtin_clzll(x ^ (uint64_t)((int64_t)x >> 63)) : -1)
EMU_UNARY(bfind_sh_u32, uint32_t, uint32_t, x ? __builtin_clz(x) : -1)
EMU_UNARY(bfind_sh_u64, uint32_t, uint64_t, x ? __builtin_clzll(x) : -1)
EMU_UNARY(bfind_sh_s32, uint32_t, uint32_t,
          (x ^ (uint32_t)((int32_t)x >> 31)) ? __builtin_clz(x ^ (uint32_t)((int32_t)x >> 31)) : -1)
EMU_UNARY(bfind_sh_s64, uint32_t, uint64_t,
          (x ^ (uint64_t)((int64_t)x >> 63)) ? __builtin_clzll(x ^ (uint64_t)((int64_t)x >> 63)) : -1)

static inline uint32_t reverse32(uint32_t x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}
EMU_UNARY(brev_32, uint32_t, uint32_t, reverse32(x))
EMU_UNARY(brev_64, uint64_t, uint64_t, (uint64_t)reverse32((uint32_t)x) << 32 | reverse32((uint32_t)(x >> 32)))

/* bfe, bfi: fields past the end read as zero or as the sign.  Of position and length the 32-bit forms take the low 8 bits, the
 * 64-bit forms, which are no machine instructions, all of them. */
static inline uint64_t extract(uint64_t x, uint32_t pos, uint32_t len, uint32_t width, bool is_signed)
{
    pos &= width == 32 ? 0xffu : UINT32_MAX;
    len &= width == 32 ? 0xffu : UINT32_MAX;
    bool negative = false;
    if (is_signed && len > 0) {
        uint64_t last = (uint64_t)pos + len - 1, top = last < width - 1 ? last : width - 1;
        negative = x >> top & 1u;
    }
    uint64_t field = pos < width ? x >> pos : 0;
    uint32_t have = pos < width ? width - pos : 0, take = len < have ? len : have;
    uint64_t keep = take >= 64 ? UINT64_MAX : (1ull << take) - 1;
    field &= keep;
    return negative ? field | ~keep : field;
}
static inline uint64_t insert(uint64_t x, uint64_t y, uint32_t pos, uint32_t len, uint32_t width)
{
    pos &= width == 32 ? 0xffu : UINT32_MAX;
    len &= width == 32 ? 0xffu : UINT32_MAX;
    if (pos >= width)
        return y;
    uint64_t keep = len >= 64 ? UINT64_MAX : (1ull << len) - 1;
    keep <<= pos;
    return (y & ~keep) | (x << pos & keep);
}
#define BFE(name, T, is_signed)                                                                                                  \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        T *d = emu_at(w, in->d);                                                                                                 \
        const T *a = emu_at(w, in->a);                                                                                           \
        const uint32_t *b = R32(in->b), *c = R32(in->c);                                                                         \
        FOR_LANES(i) if (emu_lane(mask, i)) d[i] = (T)extract(a[i], b[i], c[i], sizeof(T) * 8, is_signed);                       \
    }
BFE(bfe_u32, uint32_t, false)
BFE(bfe_s32, uint32_t, true)
BFE(bfe_u64, uint64_t, false)
BFE(bfe_s64, uint64_t, true)
#define BFI(name, T)                                                                                                             \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        T *d = emu_at(w, in->d);                                                                                                 \
        const T *a = emu_at(w, in->a), *b = emu_at(w, in->b);                                                                    \
        const uint32_t *c = R32(in->c), *len = R32(in->ext[0]);                                                                  \
        FOR_LANES(i) if (emu_lane(mask, i)) d[i] = (T)insert(a[i], b[i], c[i], len[i], sizeof(T) * 8);                           \
    }
BFI(bfi_32, uint32_t)
BFI(bfi_64, uint64_t)
static inline uint32_t bmsk(uint32_t pos, uint32_t len, bool wrap)
{
    if (wrap) {
        pos &= 31;
        len &= 31;
    }
    if (pos > 31 || len == 0)
        return 0;
    uint32_t ones = len > 31 ? 0xffffffffu : (1u << len) - 1;
    return ones << pos;
}
EMU_BINARY(bmsk_clamp, uint32_t, uint32_t, bmsk(x, y, false))
EMU_BINARY(bmsk_wrap, uint32_t, uint32_t, bmsk(x, y, true))
static inline uint32_t szext(uint32_t x, uint32_t n, bool is_signed, bool wrap)
{
    if (wrap)
        n &= 31;
    if (n > 31)
        return x;
    if (n == 0)
        return 0;
    uint32_t v = x << (32 - n);
    return is_signed ? (uint32_t)((int32_t)v >> (32 - n)) : v >> (32 - n);
}
EMU_BINARY(szext_clamp_u32, uint32_t, uint32_t, szext(x, y, false, false))
EMU_BINARY(szext_clamp_s32, uint32_t, uint32_t, szext(x, y, true, false))
EMU_BINARY(szext_wrap_u32, uint32_t, uint32_t, szext(x, y, false, true))
EMU_BINARY(szext_wrap_s32, uint32_t, uint32_t, szext(x, y, true, true))

static inline uint32_t permute(uint32_t x, uint32_t y, uint32_t sel)
{
    uint64_t bytes = (uint64_t)y << 32 | x;
    uint32_t r = 0;
    for (int k = 0; k < 4; k++) {
        uint32_t s = sel >> k * 4;
        uint32_t byte = (uint32_t)(bytes >> (s & 7) * 8) & 0xff;
        byte = (s & 8) ? (byte & 0x80 ? 0xff : 0) : byte;
        r |= byte << k * 8;
    }
    return r;
}
/* The named modes as selectors for permute(), by the low two bits of c. */
static inline uint32_t permute_mode(uint32_t x, uint32_t y, uint32_t z, int mode)
{
    static const uint16_t selector[6][4] = {{0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
                                            {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
                                            {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
    return permute(x, y, selector[mode][z & 3]);
}
EMU_TERNARY(prmt, uint32_t, uint32_t, permute(x, y, z))
EMU_TERNARY(prmt_mode, uint32_t, uint32_t, permute_mode(x, y, z, in->sub))

static inline uint32_t lop3(uint32_t x, uint32_t y, uint32_t z, uint32_t lut)
{
    uint32_t r = 0;
    for (uint32_t k = 0; k < 8; k++)
        r |= (lut >> k & 1u) ? ((k & 4) ? x : ~x) & ((k & 2) ? y : ~y) & ((k & 1) ? z : ~z) : 0;
    return r;
}
EMU_TERNARY(lop3_32, uint32_t, uint32_t, lop3(x, y, z, (uint32_t)in->imm))

static inline uint32_t find_nth(uint32_t x, uint32_t base, int32_t offset)
{
    if (base > 31)
        return 0xffffffffu;
    if (offset == 0)
        return x >> base & 1u ? base : 0xffffffffu;
    int step = offset > 0 ? 1 : -1, left = offset > 0 ? offset : -offset;
    for (int32_t i = (int32_t)base; i >= 0 && i < 32; i += step)
        if ((x >> i & 1u) && --left == 0)
            return (uint32_t)i;
    return 0xffffffffu;
}
EMU_TERNARY(fns_32, uint32_t, uint32_t, find_nth(x, y, (int32_t)z))

const struct emu_row ks_emu_rows_bits[] = {{"and.16", and_16},
                                           {"and.32", and_32},
                                           {"and.64", and_64},
                                           {"and.pred", and_pred},
                                           {"or.16", or_16},
                                           {"or.32", or_32},
                                           {"or.64", or_64},
                                           {"or.pred", or_pred},
                                           {"xor.16", xor_16},
                                           {"xor.32", xor_32},
                                           {"xor.64", xor_64},
                                           {"xor.pred", xor_pred},
                                           {"not.16", not_16},
                                           {"not.32", not_32},
                                           {"not.64", not_64},
                                           {"not.pred", not_pred},
                                           {"cnot.16", cnot_16},
                                           {"cnot.32", cnot_32},
                                           {"cnot.64", cnot_64},
                                           {"shl.16", shl_16},
                                           {"shl.32", shl_32},
                                           {"shl.64", shl_64},
                                           {"shr.u16", shr_u16},
                                           {"shr.b16", shr_u16},
                                           {"shr.u32", shr_u32},
                                           {"shr.b32", shr_u32},
                                           {"shr.u64", shr_u64},
                                           {"shr.b64", shr_u64},
                                           {"shr.s16", shr_s16},
                                           {"shr.s32", shr_s32},
                                           {"shr.s64", shr_s64},
                                           {"shf.l.wrap.b32", shf_l_wrap},
                                           {"shf.l.clamp.b32", shf_l_clamp},
                                           {"shf.r.wrap.b32", shf_r_wrap},
                                           {"shf.r.clamp.b32", shf_r_clamp},
                                           {"popc.b32", popc_32},
                                           {"popc.b64", popc_64},
                                           {"clz.b32", clz_32},
                                           {"clz.b64", clz_64},
                                           {"bfind.u32", bfind_u32},
                                           {"bfind.u64", bfind_u64},
                                           {"bfind.s32", bfind_s32},
                                           {"bfind.s64", bfind_s64},
                                           {"bfind.shiftamt.u32", bfind_sh_u32},
                                           {"bfind.shiftamt.u64", bfind_sh_u64},
                                           {"bfind.shiftamt.s32", bfind_sh_s32},
                                           {"bfind.shiftamt.s64", bfind_sh_s64},
                                           {"brev.b32", brev_32},
                                           {"brev.b64", brev_64},
                                           {"bfe.u32", bfe_u32},
                                           {"bfe.s32", bfe_s32},
                                           {"bfe.u64", bfe_u64},
                                           {"bfe.s64", bfe_s64},
                                           {"bfi.b32", bfi_32},
                                           {"bfi.b64", bfi_64},
                                           {"bmsk.clamp.b32", bmsk_clamp},
                                           {"bmsk.wrap.b32", bmsk_wrap},
                                           {"szext.clamp.u32", szext_clamp_u32},
                                           {"szext.clamp.s32", szext_clamp_s32},
                                           {"szext.wrap.u32", szext_wrap_u32},
                                           {"szext.wrap.s32", szext_wrap_s32},
                                           {"prmt.b32", prmt},
                                           {"prmt.mode.b32", prmt_mode},
                                           {"lop3.b32", lop3_32},
                                           {"fns.b32", fns_32},
                                           {NULL, NULL}};
