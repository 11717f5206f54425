/* Online softmax over the accumulator fragment of S = Q K^T that a thread holds: two rows, columns in d[4j + 2h + e] (row h).
 *
 * The reference m of a row (base 2, already scaled) is not its running maximum but a value at most FA_SLACK below it: as long
 * as no score exceeds m by more, P is up to 2^FA_SLACK instead of 1, nothing overflows, no precision is lost (floating point),
 * and O and l need no rescaling.  After the first blocks almost no block rescales. */
#pragma once
#include "kernels/ptx/math.cuh"

static constexpr float FA_SLACK = 8.0f;

struct fa_softmax {
    float m[2]; /* reference, -inf: no visible key so far */
    float l[2]; /* this thread's part of sum 2^(s - m) */
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
    x = fmaxf(x, -126.0f);
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

/* s := 2^(s * scale - m), l += row sums.  POLY of every 8 columns take the FMA pipes instead of the special-function unit. */
template <int POLY, int N> static __device__ __forceinline__ void fa_exponentials(float (&s)[N], float scale, fa_softmax &x)
{
    float minus_m[2] = {x.m[0] == -INFINITY ? 0.0f : -x.m[0], x.m[1] == -INFINITY ? 0.0f : -x.m[1]};
    float sum[4] = {x.l[0], 0, x.l[1], 0};
#pragma unroll
    for (int i = 0; i < N; i++) {
        float t = fmaf(s[i], scale, minus_m[(i >> 1) & 1]);
        s[i] = i / 4 % 8 < POLY ? fa_exp2_fma(t) : ks_exp2(t);
        sum[i & 3] += s[i];
    }
    x.l[0] = sum[0] + sum[1];
    x.l[1] = sum[2] + sum[3];
}

/* First block of a tile. */
template <int POLY, int N> static __device__ __forceinline__ void fa_softmax_first(float (&s)[N], float scale, fa_softmax &x)
{
    fa_row_max(s, scale, x.m);
    x.l[0] = x.l[1] = 0.0f;
    fa_exponentials<POLY>(s, scale, x);
}

/* Later blocks.  True (for the whole warp) when what was summed before must be multiplied by factor[h]. */
template <int POLY, int N>
static __device__ __forceinline__ bool fa_softmax_next(float (&s)[N], float scale, fa_softmax &x, float (&factor)[2])
{
    float top[2];
    fa_row_max(s, scale, top);
    bool rescale = __any_sync(0xffffffff, top[0] > x.m[0] + FA_SLACK || top[1] > x.m[1] + FA_SLACK);
    if (rescale) {
#pragma unroll
        for (int h = 0; h < 2; h++) {
            float m = fmaxf(x.m[h], top[h]);
            factor[h] = m == -INFINITY ? 1.0f : ks_exp2(x.m[h] - m);
            x.l[h] *= factor[h];
            x.m[h] = m;
        }
    }
    fa_exponentials<POLY>(s, scale, x);
    return rescale;
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
