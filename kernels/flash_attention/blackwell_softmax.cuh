/* A softmax warpgroup: S of one row block after the other becomes P.  A thread has a row.  Barriers: blackwell.cuh.
 *
 * The reference m of a row is the largest scaled score so far, but moves only when that exceeds it by more than FB_SLACK: until
 * then P may be as large as 2^FB_SLACK, which costs no precision, and O need not be rescaled.  The row sum is kept here, in fp32.
 *
 * MUFU makes 16 exponentials a clock and multiprocessor; while the tensor cores take 4 D / 512 clocks a row of 128 scores for
 * both products, MUFU takes 8: at head_dim 128 they are even, at 64 MUFU takes twice as long.  So some of the exponentials are
 * computed on the FMA pipes: 2^x = 2^n 2^f, n the nearest integer to x, 2^f by the polynomial of degree 3 whose relative error on
 * |f| <= 1/2 is smallest (7.5e-5, a third of half a unit in the last place of fp16), n added to the exponent. */
#pragma once
#include "kernels/flash_attention/blackwell_layout.cuh"
#include "kernels/ptx/math.cuh"
#include "kernels/ptx/packed.cuh"
#include "kernels/ptx/tcgen05.cuh"

static constexpr float FB_SLACK = 8.0f;

/* 2^x of two numbers; below -126 it stays 2^-126, and NaN becomes as large as can be.  Not for masked scores. */
static __device__ __forceinline__ float2 fb_soft_exp2(float2 x)
{
    const float2 shift = {12582912.0f, 12582912.0f}; /* 1.5 * 2^23: the sum's low bits are the integer */
    x = make_float2(ks_max_nan(x.x, -126.0f), ks_max_nan(x.y, -126.0f));
    float2 n = ks_add2(x, shift), f = ks_add2(x, ks_fma2(n, make_float2(-1, -1), shift));
    float2 y = ks_fma2(f, make_float2(0.0551716685f, 0.0551716685f), make_float2(0.242611125f, 0.242611125f));
    y = ks_fma2(y, f, make_float2(0.693260968f, 0.693260968f));
    y = ks_fma2(y, f, make_float2(0.999928057f, 0.999928057f));
    return make_float2(__int_as_float(__float_as_int(y.x) + (__float_as_int(n.x) << 23)),
                       __int_as_float(__float_as_int(y.y) + (__float_as_int(n.y) << 23)));
}

template <class C> struct fb_softmax {
    using T = typename C::T;
    static constexpr int N = C::BLOCK_N;
    const fa_params &params;
    const fb_shared<C> &sh;
    const int w;          /* row block of the tile */
    const uint32_t lanes; /* this warp's quarter of tensor memory */
    uint32_t units = 0, tiles = 0;
    float m, l; /* reference, scaled, base 2; sum 2^(s - m) */

    __device__ __forceinline__ fb_softmax(const fa_params &params_, const fb_shared<C> &sh_, uint32_t tmem, int w_)
        : params(params_), sh(sh_), w(w_), lanes(tmem + ((threadIdx.x / 32 % 4 * 32) << 16))
    {
    }
    static __device__ __forceinline__ int row()
    {
        return threadIdx.x & 127;
    }
    /* What every lane of this warp did is there for whom waits. */
    static __device__ __forceinline__ void arrive(uint32_t bar)
    {
        __syncwarp();
        if ((threadIdx.x & 31) == 0)
            ks_mbarrier_arrive(bar);
    }

    /* Exponentials of columns FROM to FROM + 31, packed, to tensor memory. */
    template <int FROM, bool MASKED>
    __device__ __forceinline__ void quarter(float (&s)[N], float2 scale, float2 minus_m, float2 (&sum)[2], uint32_t to)
    {
        uint32_t p[16];
#pragma unroll
        for (int i = 0; i < 32; i += 2) {
            float2 x = ks_fma2(make_float2(s[FROM + i], s[FROM + i + 1]), scale, minus_m), e;
            if (!MASKED && i % 16 < C::SOFT)
                e = fb_soft_exp2(x);
            else
                e = make_float2(ks_exp2(x.x), ks_exp2(x.y));
            sum[i / 2 % 2] = ks_add2(sum[i / 2 % 2], e);
            p[i / 2] = ks_pack<T>(e.x, e.y);
        }
        ks_tmem_store_x16(to + FROM / 2, p);
    }

    template <bool MASKED> __device__ __forceinline__ void unit(bool first, int limit)
    {
        fb_unit<C> u(w, units++);
        uint32_t at = lanes + u.place * N;
        float s[N];
        ks_mbarrier_wait(sh.s_full(u.place), u.parity);
        ks_tmem_after_sync();
#pragma unroll
        for (int i = 0; i < N; i += 32)
            ks_tmem_load_x32(s + i, at + i);
        ks_tmem_wait_load();
        ks_tmem_pin(s);
        if (MASKED) {
#pragma unroll
            for (int i = 0; i < N; i++)
                s[i] = i < limit ? s[i] : -INFINITY;
        }
        float top[4] = {s[0], s[1], s[2], s[3]};
#pragma unroll
        for (int i = 4; i < N; i++)
            top[i % 4] = fmaxf(top[i % 4], s[i]);
        top[0] = fmaxf(fmaxf(top[0], top[1]), fmaxf(top[2], top[3])) * params.scale_log2;
        float factor = 1;
        if (!(top[0] <= m + FB_SLACK)) { /* or m is -inf: what was summed up so far is 0 */
            factor = m == -INFINITY ? 1 : ks_exp2(m - top[0]);
            m = top[0];
            l *= factor;
        }
        if (!first) {
            asm volatile("st.shared.f32 [%0], %1;" ::"r"(sh.factor(u.place) + 4 * row()), "f"(factor) : "memory");
            arrive(sh.f_full(u.place));
        }
        float finite = m == -INFINITY ? 0 : -m;
        float2 scale = {params.scale_log2, params.scale_log2}, minus_m = {finite, finite}, sum[2] = {{0, 0}, {0, 0}};
        quarter<0, MASKED>(s, scale, minus_m, sum, at);
        quarter<32, MASKED>(s, scale, minus_m, sum, at);
        quarter<64, MASKED>(s, scale, minus_m, sum, at);
        quarter<96, MASKED>(s, scale, minus_m, sum, at);
        ks_tmem_wait_store();
        ks_tmem_before_sync();
        arrive(sh.p_full(u.place));
        sum[0] = ks_add2(sum[0], sum[1]);
        l += sum[0].x + sum[0].y;
    }

    __device__ __forceinline__ void run()
    {
        fa_feed<C, true> feed(sh.work(), sh.t_full(0), sh.t_empty(0));
        for (;;) {
            fa_work<C> work = feed.next();
            fa_tile tile = work.tile();
            if (tile.blocks == 0)
                break;
            fa_rows rows = work.rows(w);
            feed.release(work);
            if (rows.blocks == 0)
                continue;
            m = -INFINITY;
            l = 0;
            int own = rows.row + row() + 1 + params.shape.seqlen_k - params.shape.seqlen_q, n = rows.blocks - 1;
            int keys = C::CAUSAL ? min(params.shape.seqlen_k, own) : params.shape.seqlen_k;
#pragma unroll 1
            for (; n >= rows.mask_from; n--)
                unit<true>(n == rows.blocks - 1, keys - n * N);
#pragma unroll 1
            for (; n >= 0; n--)
                unit<false>(n == rows.blocks - 1, 0);
            finish(rows, tile.batch);
        }
    }

    /* LSE, and 1 / l for who writes O. */
    __device__ __forceinline__ void finish(const fa_rows &rows, int batch)
    {
        int i = rows.row + row();
        if (params.lse && i < params.shape.seqlen_q)
            params.lse[((int64_t)batch * params.shape.heads_q + rows.head) * params.shape.seqlen_q + i] =
                l == 0 ? -INFINITY : logf(l) + 0.693147180559945f * m;
        float inverse = l > 0 ? 1.0f / l : l == 0 ? 0.0f : l;
        ks_mbarrier_wait(sh.l_empty(w), tiles++ & 1 ^ 1);
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(sh.inverse(w) + 4 * row()), "f"(inverse) : "memory");
        arrive(sh.l_full(w));
    }
};
