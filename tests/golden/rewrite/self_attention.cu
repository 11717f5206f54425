// Attention of one sequence with a causal mask, scores in a scratch buffer.
//
// kscc: entry self_attention
// kscc: dims    H=1..8 T=1..512 D=64|96
// kscc: in      q,k,v : half[H,T,D] ~ normal(0,1)
// kscc: scratch s     : float[H,T,T]
// kscc: out     o     : half[H,T,D]  rtol=2e-3 atol=2e-3
// kscc: time    H=8 T=512 D=64
#include <cuda_fp16.h>
#include <math.h>

__global__ void scores_kernel(const half *q, const half *k, float *s, int T, int D)
{
    const int key = blockIdx.x * blockDim.x + threadIdx.x, query = blockIdx.y * blockDim.y + threadIdx.y;
    if (key >= T || query >= T)
        return;
    const half *q_head = q + (size_t)blockIdx.z * T * D, *k_head = k + (size_t)blockIdx.z * T * D;
    float dot = 0.0f;
    for (int d = 0; d < D; d++)
        dot += __half2float(q_head[query * D + d]) * __half2float(k_head[key * D + d]);
    s[(blockIdx.z * T + query) * T + key] = key > query ? -INFINITY : dot * rsqrtf(D);
}

__global__ void softmax_kernel(float *s, int T)
{
    __shared__ float buf[128];
    float *row = s + (size_t)blockIdx.x * T;
    float top = -INFINITY;
    for (int j = threadIdx.x; j < T; j += 128)
        top = fmaxf(row[j], top);
    buf[threadIdx.x] = top;
    __syncthreads();
    for (int h = 64; h > 0; h >>= 1) {
        if (threadIdx.x < h)
            buf[threadIdx.x] = fmaxf(buf[threadIdx.x], buf[threadIdx.x + h]);
        __syncthreads();
    }
    const float most = buf[0];
    __syncthreads();
    float sum = 0.0f;
    for (int j = threadIdx.x; j < T; j += 128) {
        float e = __expf(row[j] - most);
        sum += e;
        row[j] = e;
    }
    buf[threadIdx.x] = sum;
    __syncthreads();
    for (int h = 64; h > 0; h >>= 1) {
        if (threadIdx.x < h)
            buf[threadIdx.x] += buf[threadIdx.x + h];
        __syncthreads();
    }
    const float total = buf[0];
    for (int j = threadIdx.x; j < T; j += 128)
        row[j] /= total;
}

__global__ void values_kernel(const float *s, const half *v, half *o, int T, int D)
{
    const int d = blockIdx.x * blockDim.x + threadIdx.x, query = blockIdx.y * blockDim.y + threadIdx.y;
    if (d < D && query < T) {
        const float *row = s + (size_t)(blockIdx.z * T + query) * T;
        float acc = 0.0f;
        for (int key = 0; key < T; key++)
            acc += row[key] * __half2float(v[((size_t)blockIdx.z * T + key) * D + d]);
        o[((size_t)blockIdx.z * T + query) * D + d] = __float2half(acc);
    }
}

cudaError_t self_attention(const half *q, const half *k, const half *v, float *s, half *o, int H, int T, int D, cudaStream_t stream)
{
    const dim3 threads(16, 8);
    scores_kernel<<<dim3((T + 15) / 16, (T + 7) / 8, H), threads, 0, stream>>>(q, k, s, T, D);
    softmax_kernel<<<H * T, 128, 0, stream>>>(s, T);
    values_kernel<<<dim3((D + 15) / 16, (T + 7) / 8, H), threads, 0, stream>>>(s, v, o, T, D);
    return cudaGetLastError();
}
