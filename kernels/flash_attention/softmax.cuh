/* Online softmax over the accumulator fragment of S = Q K^T that a thread holds: two rows, columns in s[4j + 2h + e] (row h).
 *
 * The reference m of a row (base 2, already scaled) is the exact maximum of the first block of keys only.  Later blocks are
 * exponentiated against it without looking for their maximum: where a score exceeds m, P is larger than 1, which costs no
 * precision (floating point) as long as nothing overflows, and the row sum, needed anyway, shows when that comes near.  Only then
 * the scores are computed again (forward.cuh), exponentiated against the block's own maximum, and what was accumulated is
 * rescaled.  So the usual block has neither a search for the maximum nor a rescaling, and its exponentials start at once.
 *
 * How far that goes (flash_attention.h promises a part of it).  m is rounded to fp32, s * scale - m is not: of a block's own maximum
 * that leaves a number t, |t| <= 2^(e-24) for |m| < 2^(e+1), the same for all scores of the row.  It cancels against l as long as
 * 2^t does not leave what P can hold: with fp16 |t| <= 4, |m| < 2^27; with bf16 |t| <= 32, |m| < 2^30.  From |m| = 2^31 on P of
 * the maximum can be 0 or infinite; a first reference that far below what follows makes NaN when O, infinite, is rescaled by
 * 0.  Subtracting before scaling would cost an instruction a score.
 * P V: up to 4 FA_LIMIT in each row and block, so O stays finite while 4 FA_LIMIT |V| blocks does. */
#pragma once
#include "kernels/ptx/math.cuh"

/* Largest sum of a thread over its part of a row in one block, so of one P: fp16 ends at 65504. */
template <typename T> static __device__ constexpr float FA_LIMIT = 1.0e18f;
template <> __device__ constexpr float FA_LIMIT<__half> = 8192.0f;

struct fa_softmax {
    float minus_m[2]; /* reference, negated; infinite while there was no visible key: then no sum fits */
    float l[2];       /* this thread's part of sum 2^(s - m) */
};

/* What to add to scaled scores; where no key is visible every one is -inf. */
static __device__ __forceinline__ void fa_finite_reference(const fa_softmax &x, float (&minus_m)[2])
{
#pragma unroll
    for (int h = 0; h < 2; h++)
        minus_m[h] = x.minus_m[h] == INFINITY ? 0.0f : x.minus_m[h];
}

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

/* s := 2^(s * scale - m) for elements FROM..TO-1, part[e + 2h] += sums of row h. */
template <int FROM, int TO, int N>
static __device__ __forceinline__ void fa_exponentials(float (&s)[N], float scale, const float (&minus_m)[2], float (&part)[4])
{
#pragma unroll
    for (int i = FROM; i < TO; i++) {
        float t = fmaf(s[i], scale, minus_m[(i >> 1) & 1]);
        s[i] = ks_exp2(t);
        part[i & 3] += s[i];
    }
}

/* p := 2^(s * scale - m) as the A operand of the second product, s untouched; part as above. */
template <typename T, int N>
static __device__ __forceinline__ void fa_exponentials_to(const float (&s)[N], float scale, const float (&minus_m)[2],
                                                          uint32_t (&p)[N / 2], float (&part)[4])
{
#pragma unroll
    for (int i = 0; i < N; i += 2) {
        float e[2];
#pragma unroll
        for (int c = 0; c < 2; c++) {
            float t = fmaf(s[i + c], scale, minus_m[(i >> 1) & 1]);
            e[c] = ks_exp2(t);
            part[(i & 2) + c] += e[c];
        }
        p[i / 2] = ks_pack<T>(e[0], e[1]);
    }
}

/* First block of a tile. */
template <int N> static __device__ __forceinline__ void fa_softmax_first(float (&s)[N], float scale, fa_softmax &x)
{
    float top[2], minus_m[2];
    fa_row_max(s, scale, top);
    x.minus_m[0] = -top[0];
    x.minus_m[1] = -top[1];
    fa_finite_reference(x, minus_m);
    float part[4] = {0, 0, 0, 0};
    fa_exponentials<0, N>(s, scale, minus_m, part);
    x.l[0] = part[0] + part[1];
    x.l[1] = part[2] + part[3];
}

/* Later blocks, after all exponentials.  False, for the whole warp, when they must be done again with fa_softmax_again.
 * together: by the sum of both rows, which is above the limit a little sooner and one comparison less. */
template <typename T> static __device__ __forceinline__ bool fa_softmax_fits(const float (&part)[4], bool together)
{
    if (together)
        return !__any_sync(0xffffffff, !(part[0] + part[1] + (part[2] + part[3]) <= FA_LIMIT<T>));
    return !__any_sync(0xffffffff, !(part[0] + part[1] <= FA_LIMIT<T> && part[2] + part[3] <= FA_LIMIT<T>)); /* NaN does not */
}

/* A new reference from scores; what was accumulated before must be multiplied by factor[h]. */
template <int N>
static __device__ __forceinline__ void fa_new_reference(const float (&s)[N], float scale, fa_softmax &x, float (&factor)[2])
{
    float top[2];
    fa_row_max(s, scale, top);
#pragma unroll
    for (int h = 0; h < 2; h++) {
        float minus_m = fminf(x.minus_m[h], -top[h]);
        factor[h] = ks_exp2(fminf(minus_m - x.minus_m[h], 0.0f)); /* 1 where both are infinite, fminf takes NaN for none */
        x.l[h] *= factor[h];
        x.minus_m[h] = minus_m;
    }
}

/* From scores again. */
template <int N>
static __device__ __forceinline__ void fa_softmax_again(float (&s)[N], float scale, fa_softmax &x, float (&part)[4], float (&factor)[2])
{
    float minus_m[2];
    fa_new_reference(s, scale, x, factor);
    fa_finite_reference(x, minus_m);
    part[0] = part[1] = part[2] = part[3] = 0;
    fa_exponentials<0, N>(s, scale, minus_m, part);
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
