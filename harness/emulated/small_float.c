#include "harness/emulated/small_float.h"

#include <math.h>
#include <string.h>

const struct emu_format ks_emu_formats[] = {
    [EMU_FMT_F16] = {5, 10, 15, true, true, 0x7fff, 0x7bff},     [EMU_FMT_BF16] = {8, 7, 127, true, true, 0x7fff, 0x7f7f},
    [EMU_FMT_TF32] = {8, 10, 127, true, true, 0x3ffff, 0x3fbff}, [EMU_FMT_E4M3] = {4, 3, 7, false, true, 0x7f, 0x7e},
    [EMU_FMT_E5M2] = {5, 2, 15, true, true, 0x7f, 0x7b},         [EMU_FMT_E2M1] = {2, 1, 1, false, false, 0x7, 0x7},
    [EMU_FMT_E2M3] = {2, 3, 1, false, false, 0x1f, 0x1f},        [EMU_FMT_E3M2] = {3, 2, 3, false, false, 0x1f, 0x1f},
    [EMU_FMT_UE8M0] = {8, 0, 127, false, true, 0xff, 0xfe},
};

/* ue8m0 holds 2^(bits-127) only; no sign, no zero. */
static uint32_t encode_ue8m0(double v, int rnd)
{
    if (isnan(v))
        return 0xff;
    v = fabs(v);
    int e;
    double m = frexp(v, &e); /* v = m * 2^e, m in [0.5, 1) */
    if (v == 0)
        return 0;
    if (isinf(v))
        return 0xfe;
    int stored = e - 1 + 127;
    if (m > 0.5 && rnd == 3)
        stored++;
    return stored < 0 ? 0 : stored > 0xfe ? 0xfe : (uint32_t)stored;
}

uint32_t ks_emu_encode(double v, enum emu_format_id id, int rnd, bool satfinite)
{
    const struct emu_format *f = &ks_emu_formats[id];
    if (id == EMU_FMT_UE8M0)
        return encode_ue8m0(v, rnd);
    uint32_t sign = signbit(v) ? 1u << (f->exponent_bits + f->mantissa_bits) : 0;
    uint32_t infinity = ((1u << f->exponent_bits) - 1) << f->mantissa_bits;
    if (isnan(v))
        return f->has_nan ? f->nan : f->largest;
    if (isinf(v))
        return sign | (satfinite || !f->has_inf ? (f->has_inf || satfinite || !f->has_nan ? f->largest : f->nan) : infinity);
    double a = fabs(v);
    if (a == 0)
        return sign;
    int e;
    (void)frexp(a, &e);
    e -= 1; /* a = 1.m * 2^e */
    int emin = 1 - f->bias;
    if (e < emin)
        e = emin;
    double scaled = ldexp(a, f->mantissa_bits - e), whole = floor(scaled), rest = scaled - whole;
    uint64_t units = (uint64_t)whole;
    bool up = false;
    switch (rnd) {
    case 0:
        up = rest > 0.5 || (rest == 0.5 && (units & 1));
        break;
    case 2:
        up = sign && rest > 0;
        break;
    case 3:
        up = !sign && rest > 0;
        break;
    case 4:
        up = rest >= 0.5;
        break;
    default:
        break;
    }
    units += up;
    /* units counts from 2^mantissa_bits for normal numbers; a carry out moves into the exponent by itself */
    uint64_t bits = units + ((uint64_t)(e + f->bias - 1) << f->mantissa_bits);
    if (bits > f->largest) {
        bool to_largest = satfinite || rnd == 1 || (rnd == 2 && !sign) || (rnd == 3 && sign);
        return sign | (to_largest || (!f->has_inf && !f->has_nan) ? f->largest : f->has_inf ? infinity : f->nan);
    }
    return sign | (uint32_t)bits;
}

double ks_emu_decode(uint32_t bits, enum emu_format_id id)
{
    const struct emu_format *f = &ks_emu_formats[id];
    if (id == EMU_FMT_UE8M0)
        return bits == 0xff ? NAN : ldexp(1.0, (int)bits - 127);
    uint32_t magnitude = bits & ((1u << (f->exponent_bits + f->mantissa_bits)) - 1);
    uint32_t e = magnitude >> f->mantissa_bits, m = magnitude & ((1u << f->mantissa_bits) - 1);
    double sign = bits >> (f->exponent_bits + f->mantissa_bits) & 1u ? -1.0 : 1.0;
    if (f->has_inf && e == (1u << f->exponent_bits) - 1)
        return m ? NAN : sign * INFINITY;
    if (!f->has_inf && f->has_nan && magnitude == f->nan)
        return NAN;
    if (e == 0)
        return sign * ldexp(m, 1 - f->bias - f->mantissa_bits);
    return sign * ldexp((double)(m | 1u << f->mantissa_bits), (int)e - f->bias - f->mantissa_bits);
}
