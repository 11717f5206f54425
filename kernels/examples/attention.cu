// Scaled dot-product attention, forward: o = softmax(q k^T * scale) v, for every batch and head.
// The score matrix lives in memory the caller provides (S x S floats for each batch and head).
//
// kscc: entry attention_forward
// kscc: dims    B=1..8 H=1..32 S=1..4096 D=64|128
// kscc: in      q,k,v  : half[B,H,S,D] ~ normal(0,1)
// kscc: out     o      : half[B,H,S,D]  rtol=2e-3 atol=2e-3
// kscc: scratch scores : float[B,H,S,S]
// kscc: arg     scale = rsqrt(D)
// kscc: time    B=4 H=16 S=1024 D=64 ; B=1 H=16 S=2048 D=128
#include <cuda_fp16.h>
#include <cuda_runtime.h>

// scores[bh, i, j] = scale * dot(q[bh, i, :], k[bh, j, :]), one thread for each (i, j).
__global__ void attention_scores(const half *q, const half *k, float *scores, int S, int D, float scale)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int bh = blockIdx.z;
    if (i >= S || j >= S)
        return;
    const half *q_row = q + ((size_t)bh * S + i) * D;
    const half *k_row = k + ((size_t)bh * S + j) * D;
    float sum = 0.0f;
    for (int d = 0; d < D; d++)
        sum += __half2float(q_row[d]) * __half2float(k_row[d]);
    scores[((size_t)bh * S + i) * S + j] = sum * scale;
}

// Softmax over each row of S scores in place, one block of 256 threads for each row.
__global__ void attention_softmax(float *scores, int S)
{
    __shared__ float partial[256];
    float *row = scores + (size_t)blockIdx.x * S;
    int tid = threadIdx.x;

    float m = -INFINITY;
    for (int j = tid; j < S; j += blockDim.x)
        m = fmaxf(m, row[j]);
    partial[tid] = m;
    __syncthreads();
    for (int half_size = blockDim.x / 2; half_size > 0; half_size /= 2) {
        if (tid < half_size)
            partial[tid] = fmaxf(partial[tid], partial[tid + half_size]);
        __syncthreads();
    }
    float row_max = partial[0];
    __syncthreads();

    float sum = 0.0f;
    for (int j = tid; j < S; j += blockDim.x) {
        float e = expf(row[j] - row_max);
        row[j] = e;
        sum += e;
    }
    partial[tid] = sum;
    __syncthreads();
    for (int half_size = blockDim.x / 2; half_size > 0; half_size /= 2) {
        if (tid < half_size)
            partial[tid] += partial[tid + half_size];
        __syncthreads();
    }
    float row_sum = partial[0];

    for (int j = tid; j < S; j += blockDim.x)
        row[j] = row[j] / row_sum;
}

// o[bh, i, d] = sum over j of scores[bh, i, j] * v[bh, j, d], one thread for each (i, d).
__global__ void attention_values(const float *scores, const half *v, half *o, int S, int D)
{
    int d = blockIdx.x * blockDim.x + threadIdx.x;
    int i = blockIdx.y * blockDim.y + threadIdx.y;
    int bh = blockIdx.z;
    if (i >= S || d >= D)
        return;
    const float *row = scores + ((size_t)bh * S + i) * S;
    const half *v_head = v + (size_t)bh * S * D;
    float sum = 0.0f;
    for (int j = 0; j < S; j++)
        sum += row[j] * __half2float(v_head[(size_t)j * D + d]);
    o[((size_t)bh * S + i) * D + d] = __float2half(sum);
}

extern "C" void attention_forward(const half *q, const half *k, const half *v, half *o, float *scores, int B, int H, int S, int D,
                                  float scale, cudaStream_t stream)
{
    dim3 block(16, 16);
    dim3 grid_scores((S + block.x - 1) / block.x, (S + block.y - 1) / block.y, B * H);
    attention_scores<<<grid_scores, block, 0, stream>>>(q, k, scores, S, D, scale);
    attention_softmax<<<B * H * S, 256, 0, stream>>>(scores, S);
    dim3 grid_values((D + block.x - 1) / block.x, (S + block.y - 1) / block.y, B * H);
    attention_values<<<grid_values, block, 0, stream>>>(scores, v, o, S, D);
}
