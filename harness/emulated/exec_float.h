#ifndef KS_HARNESS_EMULATED_EXEC_FLOAT_H
#define KS_HARNESS_EMULATED_EXEC_FLOAT_H

/* Scalar pieces of floating-point semantics, written without branches where they run in vectorised loops.  Results that are NaN
 * become PTX's canonical NaN (0x7fffffff for f32, 0x7fff for the 16-bit types). */

#include "harness/emulated/exec.h"

#include <fenv.h>
#include <math.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

/* sub of the slow forms: rounding mode, then flags. */
#define EMU_RN         0
#define EMU_RZ         1
#define EMU_RM         2
#define EMU_RP         3
#define EMU_RNA        4 /* nearest, ties away; cvt to tf32 only */
#define EMU_ROUND      7
#define EMU_MAGNITUDES 1 /* min and max, which do not round: of the operands' magnitudes */
#define EMU_FTZ        8
#define EMU_SAT        16
#define EMU_NAN        32
#define EMU_XORSIGN    64
#define EMU_RELU       128

static inline float emu_ftz(float x)
{
    uint32_t b = emu_bits32(x);
    return emu_f32((b & 0x7f800000u) ? b : b & 0x80000000u);
}
static inline float emu_nan32(float x)
{
    return x != x ? emu_f32(0x7fffffffu) : x;
}
static inline float emu_sat(float x) /* NaN becomes 0 */
{
    float r = x > 0.0f ? x : 0.0f;
    return r < 1.0f ? r : 1.0f;
}
static inline float emu_min32(float x, float y)
{
    float r = x < y ? x : y;
    r = x == y ? emu_f32(emu_bits32(x) | emu_bits32(y)) : r;
    r = x != x ? y : r;
    r = y != y ? x : r;
    return emu_nan32(r);
}
static inline float emu_max32(float x, float y)
{
    float r = x > y ? x : y;
    r = x == y ? emu_f32(emu_bits32(x) & emu_bits32(y)) : r;
    r = x != x ? y : r;
    r = y != y ? x : r;
    return emu_nan32(r);
}

/* Host rounding for the slow forms. */
static inline void emu_round_set(int sub)
{
    static const int mode[8] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD,  FE_UPWARD,
                                FE_TONEAREST, FE_TONEAREST,  FE_TONEAREST, FE_TONEAREST};
    fesetround(mode[sub & EMU_ROUND]);
}
/* Keeps the compiler from moving arithmetic across a change of rounding mode. */
#define EMU_PIN(x) __asm__ volatile("" : "+m"(x))

static inline float emu_half_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h >> 10 & 31u, m = h & 0x3ffu;
    if (e == 31)
        return emu_f32(sign | 0x7f800000u | m << 13);
    if (e == 0)
        return emu_f32(sign | emu_bits32((float)m * 0x1p-24f));
    return emu_f32(sign | (e + 112) << 23 | m << 13);
}
/* Round to nearest even; overflow to infinity. */
static inline uint16_t emu_float_to_half(float f)
{
    uint32_t b = emu_bits32(f), sign = b >> 16 & 0x8000u, a = b & 0x7fffffffu;
    if (a > 0x7f800000u)
        return 0x7fff;
    if (a >= 0x47800000u)
        return (uint16_t)(sign | 0x7c00u);
    if (a < 0x38800000u) { /* subnormal half: let the float adder round */
        float r = emu_f32(a) + 0.5f;
        return (uint16_t)(sign | (emu_bits32(r) - 0x3f000000u));
    }
    a += 0xfffu + (a >> 13 & 1u);
    return (uint16_t)(sign | (a - 0x38000000u) >> 13);
}
static inline float emu_bf16_to_float(uint16_t h)
{
    return emu_f32((uint32_t)h << 16);
}
static inline uint16_t emu_float_to_bf16(float f)
{
    uint32_t b = emu_bits32(f);
    uint32_t r = (b + 0x7fffu + (b >> 16 & 1u)) >> 16;
    return (uint16_t)((b & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : r);
}

static inline void emu_halves_to_floats(const uint16_t *h, float *f)
{
#if defined(__F16C__)
    for (int i = 0; i < EMU_LANES; i += 8)
        _mm256_storeu_ps(f + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(h + i))));
#else
    FOR_LANES(i) f[i] = emu_half_to_float(h[i]);
#endif
}
static inline void emu_floats_to_halves(const float *f, uint16_t *h)
{
#if defined(__F16C__)
    for (int i = 0; i < EMU_LANES; i += 8)
        _mm_storeu_si128((__m128i *)(h + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(f + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    FOR_LANES(i) h[i] = (h[i] & 0x7fffu) > 0x7c00u ? 0x7fffu : h[i];
#else
    FOR_LANES(i) h[i] = emu_float_to_half(f[i]);
#endif
}

#endif
