/* The plain kernel: any strides, any alignment, any scale.  One warp a query row; lane i holds columns i, i + 32, ... */
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

struct fa_plain_params {
    const void *q, *k, *v;
    void *o;
    float *lse;
    int64_t q_batch, q_row, q_head, k_batch, k_row, k_head, v_batch, v_row, v_head, o_batch, o_row, o_head;
    int seqlen_q, seqlen_k, heads_q, group_heads, causal;
    int64_t rows; /* batch * heads_q * seqlen_q */
    float scale;
};

static __device__ __forceinline__ float fa_to_float(__nv_bfloat16 x)
{
    return __bfloat162float(x);
}
static __device__ __forceinline__ float fa_to_float(__half x)
{
    return __half2float(x);
}

template <typename T, int D> __global__ void __launch_bounds__(128) fa_plain(const fa_plain_params p)
{
    int lane = threadIdx.x & 31;
    int64_t index = (int64_t)blockIdx.x * 4 + threadIdx.x / 32;
    if (index >= p.rows)
        return;
    int row = index % p.seqlen_q, head = index / p.seqlen_q % p.heads_q;
    int64_t batch = index / p.seqlen_q / p.heads_q;
    const T *q = (const T *)p.q + batch * p.q_batch + head * p.q_head + row * p.q_row;
    const T *k = (const T *)p.k + batch * p.k_batch + head / p.group_heads * p.k_head;
    const T *v = (const T *)p.v + batch * p.v_batch + head / p.group_heads * p.v_head;
    T *o = (T *)p.o + batch * p.o_batch + head * p.o_head + row * p.o_row;
    float x[D / 32], acc[D / 32] = {}, m = -INFINITY, l = 0;
    for (int i = 0; i < D / 32; i++)
        x[i] = fa_to_float(q[32 * i + lane]) * p.scale;
    int keys = p.causal ? min(p.seqlen_k, max(0, row + 1 + p.seqlen_k - p.seqlen_q)) : p.seqlen_k;
    for (int j = 0; j < keys; j++) {
        float s = 0;
        for (int i = 0; i < D / 32; i++)
            s = fmaf(x[i], fa_to_float(k[j * p.k_row + 32 * i + lane]), s);
        for (int d = 16; d > 0; d /= 2)
            s += __shfl_xor_sync(0xffffffff, s, d);
        float top = fmaxf(m, s), old = top == -INFINITY ? 1 : expf(m - top), e = top == -INFINITY ? 0 : expf(s - top);
        l = l * old + e;
        m = top;
        for (int i = 0; i < D / 32; i++)
            acc[i] = acc[i] * old + e * fa_to_float(v[j * p.v_row + 32 * i + lane]);
    }
    for (int i = 0; i < D / 32; i++)
        o[32 * i + lane] = (T)(l == 0 ? 0.0f : acc[i] / l);
    if (p.lse && lane == 0)
        p.lse[index] = l == 0 ? -INFINITY : m + logf(l);
}
