#ifndef KS_HARNESS_INPUTS_CORE_H
#define KS_HARNESS_INPUTS_CORE_H

/* One element of a generated buffer, as a function of (key, element) alone and the same to the bit in C and in CUDA: the parent
 * makes inputs on the host, the worker fills buffers of timed calls on the GPU.  Philox4x32-10 gives 128 bits an element;
 * normal(0,1) is the sum of eight 16-bit uniforms, centred and scaled (Irwin-Hall: variance 1 exactly, tails end at 4.9, kurtosis
 * -0.15), which needs integer arithmetic and one multiplication.  No operation may be contracted or reordered, so every one is
 * spelled out. */

#include <Random123/philox.h>

#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define KS_HD __host__ __device__ static inline
#else
#define KS_HD static inline
#endif
#ifdef __CUDA_ARCH__
#define KS_MUL(a, b) __dmul_rn((a), (b))
#define KS_ADD(a, b) __dadd_rn((a), (b))
#else
#define KS_MUL(a, b) ((a) * (b)) /* compiled with -ffp-contract=off */
#define KS_ADD(a, b) ((a) + (b))
#endif

/* How contents are bent away from what the contract declares; every set stays inside uniform's and int's declared range. */
enum ks_input_set {
    KS_SET_DECLARED,
    KS_SET_X10,
    KS_SET_SHIFTED,
    KS_SET_TINY,
    KS_SET_SPIKES,
    KS_SET_EQUAL_ROWS,
    KS_SET_BITS, /* exact 0 and 1; ends of the range */
    KS_SET_ALL_EQUAL,
    KS_SET_FAR,       /* far outside what a normal distribution gives; for the others like the ends of the range */
    KS_SET_NONFINITE, /* as declared, but for one element in 64 of buffers that may hold them: NaN, infinity, -infinity */
    KS_SET_MINUTE,    /* as declared, but for one element in 8 of a floating type: zeros and subnormals of both signs, as far as
                         uniform's range has them */
    KS_SET_RECORDED,  /* as declared, but for buffers whose contents a program had: those */
    KS_N_SETS
};

struct ks_input_gen {
    uint32_t key[2];
    uint32_t dtype, dist, set; /* enums ks_dtype, ks_dist_kind, ks_input_set */
    uint32_t nonfinite;        /* may hold NaN and infinities */
    double a, b;
    uint64_t n_elem, row_elems;
};

/* Values of enum ks_dist_kind and ks_dtype, which CUDA code does not include; inputs.c asserts that they agree. */
enum { KS_GEN_NORMAL, KS_GEN_UNIFORM, KS_GEN_INT, KS_GEN_CONST };
enum {
    KS_GEN_HALF,
    KS_GEN_BF16,
    KS_GEN_FLOAT,
    KS_GEN_DOUBLE,
    KS_GEN_INT8,
    KS_GEN_UINT8,
    KS_GEN_INT16,
    KS_GEN_UINT16,
    KS_GEN_INT32,
    KS_GEN_UINT32,
    KS_GEN_INT64,
    KS_GEN_UINT64
};

KS_HD uint32_t ks_bits_of_float(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

/* Round to nearest even; infinities and NaN kept. */
KS_HD uint16_t ks_half_of_float(float f)
{
    uint32_t u = ks_bits_of_float(f), sign = u >> 16 & 0x8000u, mag = u & 0x7fffffffu;
    if (mag >= 0x7f800000u)
        return (uint16_t)(sign | 0x7c00u | (mag > 0x7f800000u ? 0x200u : 0u));
    if (mag >= 0x477ff000u) /* rounds past 65504 */
        return (uint16_t)(sign | 0x7c00u);
    if (mag < 0x33000001u) /* at most half of the smallest subnormal */
        return (uint16_t)sign;
    uint32_t exponent = mag >> 23, mantissa = (mag & 0x7fffffu) | 0x800000u;
    uint32_t drop = exponent < 113 ? 126 - exponent : 13; /* bits below the half's last place */
    uint32_t kept = mantissa >> drop, rest = mantissa & ((1u << drop) - 1), tie = 1u << (drop - 1);
    kept += rest > tie || (rest == tie && (kept & 1));
    return (uint16_t)(sign | (exponent < 113 ? kept : kept + ((exponent - 113) << 10)));
}

KS_HD uint16_t ks_bf16_of_float(float f)
{
    uint32_t u = ks_bits_of_float(f);
    if ((u & 0x7fffffffu) > 0x7f800000u)
        return (uint16_t)(u >> 16 | 0x40u);
    return (uint16_t)((u + 0x7fffu + (u >> 16 & 1)) >> 16);
}

KS_HD uint64_t ks_mulhi64(uint64_t a, uint64_t b)
{
    uint64_t al = (uint32_t)a, ah = a >> 32, bl = (uint32_t)b, bh = b >> 32;
    uint64_t mid = ah * bl + (al * bl >> 32), mid2 = al * bh + (uint32_t)mid;
    return ah * bh + (mid >> 32) + (mid2 >> 32);
}

KS_HD double ks_gen_normal(const struct ks_input_gen *g, const uint32_t r[4], uint64_t i)
{
    int32_t sum = -262140;
    for (int k = 0; k < 4; k++)
        sum += (int32_t)(r[k] & 0xffffu) + (int32_t)(r[k] >> 16);
    double z = KS_MUL((double)sum, 1.8688123650118534e-05); /* sqrt(12 / (8 * (2^32 - 1))) */
    double v = KS_ADD(g->a, KS_MUL(g->b, z));
    switch (g->set) {
    case KS_SET_X10:
        return KS_MUL(v, 10.0);
    case KS_SET_SHIFTED:
        return KS_ADD(v, KS_MUL(g->b, 5.0));
    case KS_SET_TINY:
        return KS_MUL(v, 0.00390625);
    case KS_SET_SPIKES:
        return ((uint32_t)(i * 2654435761u) ^ g->key[0]) >> 26 == 0 ? KS_MUL(v, 16.0) : v;
    case KS_SET_BITS:
        return (double)(r[0] >> 7 & 1);
    case KS_SET_FAR:
        return KS_MUL(v, 4096.0);
    }
    return v;
}

KS_HD double ks_gen_uniform(const struct ks_input_gen *g, const uint32_t r[4], uint64_t i)
{
    double u = KS_MUL((double)(r[0] >> 8), 5.9604644775390625e-8), width = KS_ADD(g->b, -g->a);
    switch (g->set) {
    case KS_SET_X10:
        u = KS_ADD(1.0, -KS_MUL(u, 0.0625));
        break;
    case KS_SET_SHIFTED:
        u = KS_ADD(0.5, KS_MUL(u, 0.5));
        break;
    case KS_SET_TINY:
        u = KS_MUL(u, 0.00390625);
        break;
    case KS_SET_SPIKES:
        u = ((uint32_t)(i * 2654435761u) ^ g->key[0]) >> 26 == 0 ? 1.0 : KS_MUL(u, 0.0625);
        break;
    case KS_SET_BITS:
        u = (double)(r[0] >> 7 & 1);
        break;
    }
    return KS_ADD(g->a, KS_MUL(width, u));
}

KS_HD int64_t ks_gen_int(const struct ks_input_gen *g, const uint32_t r[4])
{
    int64_t lo = (int64_t)g->a, hi = (int64_t)g->b;
    if (g->set == KS_SET_BITS)
        return r[0] >> 7 & 1 ? hi : lo;
    uint64_t range = (uint64_t)hi - (uint64_t)lo + 1, bits = (uint64_t)r[1] << 32 | r[0];
    return (int64_t)((uint64_t)lo + (range ? ks_mulhi64(bits, range) : bits));
}

/* NaN, infinity, -infinity by their bits: a conversion would not make the same NaN everywhere.  false: an ordinary element. */
KS_HD int ks_gen_nonfinite(const struct ks_input_gen *g, const uint32_t r[4], uint64_t i, void *data)
{
    if (g->set != KS_SET_NONFINITE || !g->nonfinite || ((uint32_t)(i * 2654435761u) ^ g->key[0]) >> 26 != 0)
        return 0;
    uint32_t kind = r[2] % 3;
    if (g->dtype == KS_GEN_HALF || g->dtype == KS_GEN_BF16) {
        uint32_t inf = g->dtype == KS_GEN_HALF ? 0x7c00u : 0x7f80u, nan = g->dtype == KS_GEN_HALF ? 0x7e00u : 0x7fc0u;
        ((uint16_t *)data)[i] = (uint16_t)(kind == 0 ? nan : kind == 1 ? inf : inf | 0x8000u);
        return 1;
    }
    if (g->dtype == KS_GEN_FLOAT)
        ((uint32_t *)data)[i] = kind == 0 ? 0x7fc00000u : kind == 1 ? 0x7f800000u : 0xff800000u;
    if (g->dtype == KS_GEN_DOUBLE)
        ((uint64_t *)data)[i] = (uint64_t)(kind == 0 ? 0x7ff80000u : kind == 1 ? 0x7ff00000u : 0xfff00000u) << 32;
    return g->dtype == KS_GEN_FLOAT || g->dtype == KS_GEN_DOUBLE;
}

/* Zero, minus zero, a subnormal number, a negative one, by their bits.  false: an ordinary element. */
KS_HD int ks_gen_minute(const struct ks_input_gen *g, const uint32_t r[4], uint64_t i, void *data)
{
    int negative = g->dist == KS_GEN_NORMAL || g->a < 0, positive = g->dist == KS_GEN_NORMAL || (g->a <= 0 && g->b > 0);
    if (g->set != KS_SET_MINUTE || g->dtype > KS_GEN_DOUBLE || (r[2] & 7) != 0)
        return 0;
    if ((g->dist != KS_GEN_NORMAL && g->dist != KS_GEN_UNIFORM) || !(r[2] & 8 ? negative && g->b >= 0 : positive))
        return 0;
    uint64_t bits = r[2] & 16 ? 0 : ((uint64_t)r[1] << 32 | r[3]) | 1, sign = r[2] >> 3 & 1;
    if (g->dtype == KS_GEN_HALF)
        ((uint16_t *)data)[i] = (uint16_t)(sign << 15 | (bits & 0x3ff));
    else if (g->dtype == KS_GEN_BF16)
        ((uint16_t *)data)[i] = (uint16_t)(sign << 15 | (bits & 0x7f));
    else if (g->dtype == KS_GEN_FLOAT)
        ((uint32_t *)data)[i] = (uint32_t)(sign << 31 | (bits & 0x7fffff));
    else
        ((uint64_t *)data)[i] = sign << 63 | (bits & 0xfffffffffffffull);
    return 1;
}

/* Stores element i of the buffer `data`. */
KS_HD void ks_gen_store(const struct ks_input_gen *g, uint64_t i, void *data)
{
    uint64_t at = g->set == KS_SET_ALL_EQUAL ? 0 : g->set == KS_SET_EQUAL_ROWS && g->row_elems ? i % g->row_elems : i;
    philox4x32_ctr_t counter = {{(uint32_t)at, (uint32_t)(at >> 32), 0, 0}};
    philox4x32_key_t key = {{g->key[0], g->key[1]}};
    philox4x32_ctr_t out = philox4x32(counter, key);
    uint32_t r[4] = {out.v[0], out.v[1], out.v[2], out.v[3]};
    double v = g->a;
    int64_t n = (int64_t)g->a;
    if (ks_gen_nonfinite(g, r, i, data) || ks_gen_minute(g, r, i, data))
        return;
    if (g->dist == KS_GEN_INT) {
        n = ks_gen_int(g, r);
        v = (double)n;
    } else if (g->dist != KS_GEN_CONST) {
        v = g->dist == KS_GEN_NORMAL ? ks_gen_normal(g, r, at) : ks_gen_uniform(g, r, at);
        n = (int64_t)v;
    }
    switch (g->dtype) {
    case KS_GEN_HALF:
        ((uint16_t *)data)[i] = ks_half_of_float((float)v);
        break;
    case KS_GEN_BF16:
        ((uint16_t *)data)[i] = ks_bf16_of_float((float)v);
        break;
    case KS_GEN_FLOAT:
        ((float *)data)[i] = (float)v;
        break;
    case KS_GEN_DOUBLE:
        ((double *)data)[i] = v;
        break;
    case KS_GEN_INT8:
    case KS_GEN_UINT8:
        ((uint8_t *)data)[i] = (uint8_t)n;
        break;
    case KS_GEN_INT16:
    case KS_GEN_UINT16:
        ((uint16_t *)data)[i] = (uint16_t)n;
        break;
    case KS_GEN_INT32:
    case KS_GEN_UINT32:
        ((uint32_t *)data)[i] = (uint32_t)n;
        break;
    case KS_GEN_INT64:
    case KS_GEN_UINT64:
        ((uint64_t *)data)[i] = (uint64_t)n;
        break;
    }
}

#endif
