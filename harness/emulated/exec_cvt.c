#include "harness/emulated/exec_float.h"
#include "harness/emulated/small_float.h"

/* cvt.  Frequent conversions have their own loops; all others go through cvt_any, lane by lane: read as integer or double, round,
 * clamp, write.  For cvt_any: type = destination, vec = source type, rsize / size = bytes of their registers, sub = rounding and
 * flags, space = rounding to an integer (CVT_I*). */

#define EMU_FINITE EMU_NAN /* of cvt: satfinite */
enum { CVT_NOT_INTEGRAL, CVT_IN, CVT_IZ, CVT_IM, CVT_IP };

EMU_UNARY(zext_16_32, uint32_t, uint16_t, x)
EMU_UNARY(sext_16_32, int32_t, int16_t, x)
EMU_UNARY(zext_16_64, uint64_t, uint16_t, x)
EMU_UNARY(sext_16_64, int64_t, int16_t, x)
EMU_UNARY(zext_32_64, uint64_t, uint32_t, x)
EMU_UNARY(sext_32_64, int64_t, int32_t, x)
EMU_UNARY(trunc_64_32, uint32_t, uint64_t, x)
EMU_UNARY(trunc_32_16, uint16_t, uint32_t, x)
EMU_UNARY(trunc_64_16, uint16_t, uint64_t, x)
EMU_UNARY(f32_s32, float, int32_t, x)
EMU_UNARY(f32_u32, float, uint32_t, x)
EMU_UNARY(f64_s32, double, int32_t, x)
EMU_UNARY(f64_u32, double, uint32_t, x)
EMU_UNARY(f64_f32, double, float, x)
EMU_UNARY(f32_f64, float, double, (float)x) /* a NaN keeps what fits of its payload */
EMU_UNARY(f32_bf16, float, uint16_t, emu_bf16_to_float(x))
EMU_UNARY(bf16_f32, uint16_t, float, emu_float_to_bf16(x))

static inline int32_t to_s32(float x)
{
    float lim = x < -2147483648.0f ? -2147483648.0f : x;
    int32_t r = (int32_t)(lim >= 2147483648.0f || lim != lim ? 0.0f : lim);
    return x >= 2147483648.0f ? INT32_MAX : r;
}
EMU_UNARY(s32_f32_rzi, int32_t, float, to_s32(x))

static void f32_f16(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    float *d = RF(in->d);
    if (mask == EMU_FULL) {
        emu_halves_to_floats(R16(in->a), d);
        FOR_LANES(i) d[i] = emu_nan32(d[i]);
        return;
    }
    _Alignas(64) float r[EMU_LANES];
    emu_halves_to_floats(R16(in->a), r);
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? emu_nan32(r[i]) : d[i];
}
static void f16_f32(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    _Alignas(64) uint16_t r[EMU_LANES];
    uint16_t *d = R16(in->d);
    emu_floats_to_halves(RF(in->a), r);
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? r[i] : d[i];
}
/* cvt.rn.f16x2.f32 d, a, b: a in the upper half. */
static void f16x2_f32(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    _Alignas(64) uint16_t hi[EMU_LANES], lo[EMU_LANES];
    uint32_t *d = R32(in->d);
    emu_floats_to_halves(RF(in->a), hi);
    emu_floats_to_halves(RF(in->b), lo);
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? (uint32_t)hi[i] << 16 | lo[i] : d[i];
}
EMU_BINARY(bf16x2_f32, uint32_t, float, (uint32_t)emu_float_to_bf16(x) << 16 | emu_float_to_bf16(y))

/* ------------------------------------------------------------------------------------------------ the general form */

static bool is_float(enum ptx_type t)
{
    return ks_ptx_type_class(t) == PTX_CLASS_F;
}

static uint64_t read_lane(const void *reg, int bytes, int lane)
{
    switch (bytes) {
    case 2:
        return ((const uint16_t *)reg)[lane];
    case 4:
        return ((const uint32_t *)reg)[lane];
    default:
        return ((const uint64_t *)reg)[lane];
    }
}

static void write_lane(void *reg, int bytes, int lane, uint64_t v)
{
    switch (bytes) {
    case 2:
        ((uint16_t *)reg)[lane] = (uint16_t)v;
        break;
    case 4:
        ((uint32_t *)reg)[lane] = (uint32_t)v;
        break;
    default:
        ((uint64_t *)reg)[lane] = v;
    }
}

static double read_float(uint64_t bits, enum ptx_type t)
{
    switch ((int)t) {
    case PTX_f16:
        return emu_half_to_float((uint16_t)bits);
    case PTX_bf16:
        return emu_bf16_to_float((uint16_t)bits);
    case PTX_f64:
        return emu_f64(bits);
    default:
        return emu_f32((uint32_t)bits);
    }
}

static uint64_t write_float(double v, enum ptx_type t, int sub)
{
    int rnd = sub & EMU_ROUND;
    if (sub & EMU_SAT)
        v = v > 0 ? (v < 1 ? v : 1) : 0;
    if ((sub & EMU_RELU) && v <= 0)
        v = 0;
    switch ((int)t) {
    case PTX_f16:
        return ks_emu_encode(v, EMU_FMT_F16, rnd, sub & EMU_FINITE);
    case PTX_bf16:
        return ks_emu_encode(v, EMU_FMT_BF16, rnd, sub & EMU_FINITE);
    case PTX_tf32:
        return (uint64_t)ks_emu_encode(v, EMU_FMT_TF32, rnd, sub & EMU_FINITE) << 13;
    case PTX_f64:
        return emu_bits64(v);
    default: {
        emu_round_set(rnd);
        EMU_PIN(v);
        float f = (float)v;
        EMU_PIN(f);
        fesetround(FE_TONEAREST);
        f = emu_nan32(f);
        return emu_bits32((sub & EMU_FTZ) ? emu_ftz(f) : f);
    }
    }
}

static double round_integral(double v, int how)
{
    switch (how) {
    case CVT_IN:
        return nearbyint(v);
    case CVT_IZ:
        return trunc(v);
    case CVT_IM:
        return floor(v);
    case CVT_IP:
        return ceil(v);
    default:
        return v;
    }
}

/* Width and signedness of an integer type. */
static uint64_t clamp_to_int(double v, enum ptx_type to, enum ptx_type from)
{
    int bits = (int)ks_ptx_type_bytes(to) * 8;
    bool is_signed = ks_ptx_type_class(to) == PTX_CLASS_S;
    if (v != v)
        return from == PTX_f64 || bits == 64 ? 1ull << (bits - 1) : 0;
    if (is_signed) {
        double top = ldexp(1, bits - 1);
        if (v >= top)
            return (1ull << (bits - 1)) - 1;
        return v <= -top ? ~0ull << (bits - 1) : (uint64_t)(int64_t)v;
    }
    if (v >= ldexp(1, bits))
        return bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    return v <= 0 ? 0 : (uint64_t)v;
}

static int64_t extend(uint64_t v, enum ptx_type t)
{
    int shift = 64 - (int)ks_ptx_type_bytes(t) * 8;
    if (ks_ptx_type_class(t) == PTX_CLASS_S)
        return (int64_t)(v << shift) >> shift;
    return (int64_t)(v << shift >> shift);
}

static uint64_t int_to_float(int64_t v, bool is_unsigned, enum ptx_type to, int sub)
{
    emu_round_set(sub);
    volatile int64_t s = v;
    volatile uint64_t u = (uint64_t)v;
    volatile double d = is_unsigned ? (double)u : (double)s;
    volatile float f = is_unsigned ? (float)u : (float)s;
    fesetround(FE_TONEAREST);
    if (to == PTX_f64)
        return emu_bits64(d);
    if (to == PTX_f32)
        return emu_bits32((sub & EMU_SAT) ? emu_sat(f) : f);
    return write_float(d, to, sub);
}

static uint64_t saturate_int(int64_t v, bool from_unsigned, enum ptx_type to)
{
    int bits = (int)ks_ptx_type_bytes(to) * 8;
    __int128 x = from_unsigned ? (__int128)(uint64_t)v : v;
    bool is_signed = ks_ptx_type_class(to) == PTX_CLASS_S;
    __int128 top = is_signed ? ((__int128)1 << (bits - 1)) - 1 : ((__int128)1 << bits) - 1, low = is_signed ? -top - 1 : 0;
    return (uint64_t)(x > top ? top : x < low ? low : x);
}

/* A NaN keeps what fits of its payload where an f64 is narrowed, and in cvt.rna.tf32; elsewhere it becomes the canonical one. */
static bool nan_passes(uint64_t bits, enum ptx_type from, enum ptx_type to, int sub, uint64_t *ret)
{
    uint64_t sign = bits >> 63, fraction = bits & 0xfffffffffffffu;
    if (from == PTX_f32 && to == PTX_tf32 && (sub & EMU_ROUND) == EMU_RNA && (bits & 0x7fffffffu) != 0x7fffffffu) {
        *ret = bits & 0xffffe000u;
        return true;
    }
    if (from != PTX_f64 || (sub & (EMU_SAT | EMU_RELU)))
        return false;
    if (to == PTX_f32)
        *ret = sign << 31 | 0x7fc00000u | fraction >> 29;
    else if (to == PTX_f16)
        *ret = sign << 15 | 0x7e00u | fraction >> 42;
    else if (to == PTX_bf16)
        *ret = sign << 15 | 0x7fc0u | fraction >> 45;
    else
        return false;
    return true;
}

static void cvt_any(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    void *d = emu_at(w, in->d);
    const void *a = emu_at(w, in->a);
    enum ptx_type to = in->type, from = in->vec;
    bool from_float = is_float(from), to_float = is_float(to);
    FOR_LANES(i)
    {
        if (!emu_lane(mask, i))
            continue;
        uint64_t bits = read_lane(a, in->size, i), r;
        if (from_float) {
            double v = read_float(bits, from);
            if ((in->sub & EMU_FTZ) && from == PTX_f32)
                v = emu_ftz(emu_nan32((float)v));
            if (to_float && v != v && nan_passes(bits, from, to, in->sub, &r)) {
                write_lane(d, in->rsize, i, r);
                continue;
            }
            v = round_integral(v, in->space);
            r = to_float ? write_float(v, to, in->sub) : clamp_to_int(v, to, from);
        } else {
            int64_t v = extend(bits, from);
            bool is_unsigned = ks_ptx_type_class(from) != PTX_CLASS_S;
            if (to_float)
                r = int_to_float(v, is_unsigned, to, in->sub);
            else
                r = (in->sub & EMU_SAT) ? saturate_int(v, is_unsigned, to) : (uint64_t)v;
        }
        if (!to_float)
            r = (uint64_t)extend(r, to);
        write_lane(d, in->rsize, i, r);
    }
}

/* Packed conversions of two or four elements. type = destination, vec = source; sub as above, EMU_SAT meaning satfinite. */
static bool format_of(enum ptx_type t, enum emu_format_id *ret_id, int *ret_bits)
{
    static const struct {
        enum ptx_type type;
        enum emu_format_id id;
        int bits;
    } table[] = {{PTX_f16, EMU_FMT_F16, 16},     {PTX_f16x2, EMU_FMT_F16, 16},  {PTX_bf16, EMU_FMT_BF16, 16},
                 {PTX_bf16x2, EMU_FMT_BF16, 16}, {PTX_e4m3x2, EMU_FMT_E4M3, 8}, {PTX_e5m2x2, EMU_FMT_E5M2, 8},
                 {PTX_e2m1x2, EMU_FMT_E2M1, 4},  {PTX_e2m3x2, EMU_FMT_E2M3, 8}, {PTX_e3m2x2, EMU_FMT_E3M2, 8},
                 {PTX_ue8m0x2, EMU_FMT_UE8M0, 8}};
    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        if (table[i].type == t) {
            *ret_id = table[i].id;
            *ret_bits = table[i].bits;
            return true;
        }
    }
    return false;
}

static void cvt_pair(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    enum emu_format_id to = EMU_FMT_F16, from = EMU_FMT_F16;
    int to_bits = 16, from_bits = 16;
    (void)format_of(in->type, &to, &to_bits);
    bool from_f32 = !format_of(in->vec, &from, &from_bits);
    void *d = emu_at(w, in->d);
    const void *a = emu_at(w, in->a), *b = in->b == EMU_NONE ? NULL : emu_at(w, in->b);
    FOR_LANES(i)
    {
        if (!emu_lane(mask, i))
            continue;
        double v[2];
        if (from_f32) {
            v[1] = ((const float *)a)[i];
            v[0] = ((const float *)b)[i];
        } else {
            uint64_t bits = read_lane(a, in->size, i);
            for (int k = 0; k < 2; k++)
                v[k] = ks_emu_decode((uint32_t)(bits >> k * from_bits) & ((1u << from_bits) - 1), from);
        }
        uint64_t r = 0;
        for (int k = 0; k < 2; k++) {
            if ((in->sub & EMU_RELU) && v[k] <= 0)
                v[k] = 0;
            r |= (uint64_t)ks_emu_encode(v[k], to, in->sub & EMU_ROUND, in->sub & EMU_SAT) << k * to_bits;
        }
        write_lane(d, in->rsize, i, r);
    }
}

/* cvt.pack: a and b saturated to `sub` bits (bit 7: signed), a above b; c, shifted up by both, above them. */
static void cvt_pack(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t *d = R32(in->d), width = in->sub & 0x7fu;
    const int32_t *a = emu_at(w, in->a), *b = emu_at(w, in->b);
    const uint32_t *c = R32(in->c);
    bool is_signed = in->sub & 0x80u;
    int32_t top = is_signed ? (1 << (width - 1)) - 1 : (int32_t)(1u << width) - 1, low = is_signed ? -top - 1 : 0;
    FOR_LANES(i)
    {
        if (!emu_lane(mask, i))
            continue;
        uint32_t x = (uint32_t)(a[i] > top   ? top
                                : a[i] < low ? low
                                             : a[i]),
                 y = (uint32_t)(b[i] > top   ? top
                                : b[i] < low ? low
                                             : b[i]);
        uint32_t ones = (1u << width) - 1;
        d[i] = (width == 16 ? 0 : c[i] << 2 * width) | (x & ones) << width | (y & ones);
    }
}

const struct emu_row ks_emu_rows_cvt[] = {{"zext.16.32", zext_16_32},
                                          {"sext.16.32", sext_16_32},
                                          {"zext.16.64", zext_16_64},
                                          {"sext.16.64", sext_16_64},
                                          {"zext.32.64", zext_32_64},
                                          {"sext.32.64", sext_32_64},
                                          {"trunc.64.32", trunc_64_32},
                                          {"trunc.32.16", trunc_32_16},
                                          {"trunc.64.16", trunc_64_16},
                                          {"cvt.rn.f32.s32", f32_s32},
                                          {"cvt.rn.f32.u32", f32_u32},
                                          {"cvt.rn.f64.s32", f64_s32},
                                          {"cvt.f64.s32", f64_s32},
                                          {"cvt.rn.f64.u32", f64_u32},
                                          {"cvt.f64.f32", f64_f32},
                                          {"cvt.rn.f32.f64", f32_f64},
                                          {"cvt.f32.bf16", f32_bf16},
                                          {"cvt.rn.bf16.f32", bf16_f32},
                                          {"cvt.f32.f16", f32_f16},
                                          {"cvt.rn.f16.f32", f16_f32},
                                          {"cvt.rn.f16x2.f32", f16x2_f32},
                                          {"cvt.rn.bf16x2.f32", bf16x2_f32},
                                          {"cvt.rzi.s32.f32", s32_f32_rzi},
                                          {"cvt.any", cvt_any},
                                          {"cvt.pair", cvt_pair},
                                          {"cvt.pack", cvt_pack},
                                          {NULL, NULL}};
