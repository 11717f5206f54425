// diagnosis: compute
// because: bfloat16 tiles are multiplied one product at a time where the tensor cores take this type
// verified: term:issue+fp32+int+shared+lsu >= 0.4
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#define T 32

__global__ void product(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int n, int k)
{
    __shared__ __nv_bfloat16 s[T][T], t[T][T];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * T + x, row = blockIdx.y * T + y;
    float sum = 0.f;
    for (int at = 0; at < k; at += T) {
        s[y][x] = a[(size_t)row * k + at + x];
        t[y][x] = b[(size_t)(at + y) * n + col];
        __syncthreads();
        for (int i = 0; i < T; i++)
            sum += __bfloat162float(s[y][i]) * __bfloat162float(t[i][x]);
        __syncthreads();
    }
    c[(size_t)row * n + col] = sum;
}

// kscc: entry bf16_scores
// kscc: dims  p=1..32 q=1..32 r=1..32 m=32*p n=32*q k=32*r
// kscc: in    a : bf16[m,k]
// kscc: in    b : bf16[k,n]
// kscc: out   c : float[m,n]  rtol=1e-2 atol=1e-1
// kscc: time  p=16 q=16 r=16
void bf16_scores(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *c, int m, int n, int k)
{
    product<<<dim3(n / T, m / T), dim3(T, T)>>>(a, b, c, n, k);
}
