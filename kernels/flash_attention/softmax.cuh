/* Online softmax over the accumulator fragment of S = Q K^T that a thread holds: two rows, columns in s[4j + 2h + e] (row h).
 *
 * The reference m of a row (base 2, already scaled) is the exact maximum of the first block of keys only.  Later blocks are
 * exponentiated against it without looking for their maximum: where a score exceeds m, P is larger than 1, which costs no
 * precision (floating point) as long as nothing overflows, and the row sum, needed anyway, shows when that comes near.  Only then
 * the scores are computed again (forward.cuh), exponentiated against the block's own maximum, and what was accumulated is
 * rescaled.  So the usual block has neither a search for the maximum nor a rescaling, and its exponentials start at once. */
#pragma once
#include "kernels/ptx/math.cuh"

/* Largest sum of a thread over its part of a row in one block, so of one P: fp16 ends at 65504. */
template <typename T> static __device__ constexpr float FA_LIMIT = 1.0e18f;
template <> __device__ constexpr float FA_LIMIT<__half> = 8192.0f;

struct fa_softmax {
    float minus_m[2]; /* reference, negated; 0 while there was no visible key */
    float l[2];       /* this thread's part of sum 2^(s - m) */
    float limit[2];   /* FA_LIMIT; -1 while there was no visible key: then every block is done carefully */
};

/* Keeps column `column` of row h iff column < limit[h]; columns counted from the start of the block. */
template <int N> static __device__ __forceinline__ void fa_mask(float (&s)[N], const int (&limit)[2])
{
    int lane_column = 2 * (threadIdx.x & 3);
#pragma unroll
    for (int i = 0; i < N; i++) {
        int column = i / 4 * 8 + (i & 1), h = (i >> 1) & 1;
        s[i] = column < limit[h] - lane_column ? s[i] : -INFINITY;
    }
}

/* 2^x on the FMA pipes: 2^(x - n) by a cubic for |x - n| <= 1/2 (relative error 1e-4), n into the exponent. */
static __device__ __forceinline__ float fa_exp2_fma(float x)
{
    x = fminf(fmaxf(x, -126.0f), 126.0f);
    float shifted = x + 12582912.0f; /* 1.5 * 2^23: rounds to an integer in the low bits */
    float f = x - (shifted - 12582912.0f);
    float y = fmaf(f, fmaf(f, fmaf(f, 0.0551716f, 0.2402630f), 0.6931474f), 0.9999997f);
    return __int_as_float(__float_as_int(y) + (__float_as_int(shifted) << 23));
}

/* Largest scaled score of the two rows of the block. */
template <int N> static __device__ __forceinline__ void fa_row_max(const float (&s)[N], float scale, float (&top)[2])
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float a = fmaxf(s[2 * h], s[2 * h + 1]), b = fmaxf(s[2 * h + 4], s[2 * h + 5]);
#pragma unroll
        for (int j = 2; j < N / 4; j += 2) {
            a = fmaxf(a, fmaxf(s[4 * j + 2 * h], s[4 * j + 2 * h + 1]));
            b = fmaxf(b, fmaxf(s[4 * j + 4 + 2 * h], s[4 * j + 4 + 2 * h + 1]));
        }
        a = fmaxf(a, b);
        a = fmaxf(a, __shfl_xor_sync(0xffffffff, a, 1));
        a = fmaxf(a, __shfl_xor_sync(0xffffffff, a, 2));
        top[h] = a * scale;
    }
}

/* s := 2^(s * scale - m) for elements FROM..TO-1, part[e + 2h] += sums of row h.  POLY of every 8 columns take the FMA pipes
 * instead of the special-function unit. */
template <int POLY, int FROM, int TO, int N>
static __device__ __forceinline__ void fa_exponentials(float (&s)[N], float scale, const float (&minus_m)[2], float (&part)[4])
{
#pragma unroll
    for (int i = FROM; i < TO; i++) {
        float t = fmaf(s[i], scale, minus_m[(i >> 1) & 1]);
        s[i] = i / 4 % 8 < POLY ? fa_exp2_fma(t) : ks_exp2(t);
        part[i & 3] += s[i];
    }
}

/* First block of a tile. */
template <typename T, int POLY, int N> static __device__ __forceinline__ void fa_softmax_first(float (&s)[N], float scale, fa_softmax &x)
{
    float top[2];
    fa_row_max(s, scale, top);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        x.minus_m[h] = top[h] == -INFINITY ? 0.0f : -top[h];
        x.limit[h] = top[h] == -INFINITY ? -1.0f : FA_LIMIT<T>;
    }
    float part[4] = {0, 0, 0, 0};
    fa_exponentials<POLY, 0, N>(s, scale, x.minus_m, part);
    x.l[0] = part[0] + part[1];
    x.l[1] = part[2] + part[3];
}

/* Later blocks, after all exponentials.  False, for the whole warp, when they must be done again with fa_softmax_again. */
static __device__ __forceinline__ bool fa_softmax_fits(const float (&part)[4], const fa_softmax &x)
{
    return !__any_sync(0xffffffff, !(part[0] + part[1] <= x.limit[0] && part[2] + part[3] <= x.limit[1]));
}

/* From scores again; what was accumulated before must be multiplied by factor[h]. */
template <typename T, int N>
static __device__ __forceinline__ void fa_softmax_again(float (&s)[N], float scale, fa_softmax &x, float (&part)[4], float (&factor)[2])
{
    float top[2];
    fa_row_max(s, scale, top);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float minus_m = x.limit[h] < 0 ? -top[h] : fminf(x.minus_m[h], -top[h]);
        if (minus_m == INFINITY)
            minus_m = 0.0f;
        else
            x.limit[h] = FA_LIMIT<T>;
        factor[h] = ks_exp2(fminf(minus_m - x.minus_m[h], 0.0f)); /* had there been no key, 0 is multiplied */
        x.l[h] *= factor[h];
        x.minus_m[h] = minus_m;
    }
    part[0] = part[1] = part[2] = part[3] = 0;
    fa_exponentials<0, 0, N>(s, scale, x.minus_m, part);
}

template <int N> static __device__ __forceinline__ void fa_rescale(float (&o)[N], const float (&factor)[2])
{
#pragma unroll
    for (int i = 0; i < N; i++)
        o[i] *= factor[(i >> 1) & 1];
}

/* P as the A operand of the second product. */
template <typename T, int N> static __device__ __forceinline__ void fa_pack(const float (&s)[N], uint32_t (&p)[N / 2])
{
#pragma unroll
    for (int i = 0; i < N / 2; i++)
        p[i] = ks_pack<T>(s[2 * i], s[2 * i + 1]);
}
