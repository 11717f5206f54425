// diagnosis: operator-boundary
// because: 64 products of 32 x 32 matrices are 64 launches of one block each
// verified: launch_overhead_ratio >= 0.3
#include <cuda_runtime.h>

#define N 32

__global__ void small_gemm(const float *a, const float *b, float *c)
{
    __shared__ float sa[N][N], sb[N][N];
    int x = threadIdx.x, y = threadIdx.y;
    sa[y][x] = a[y * N + x];
    sb[y][x] = b[y * N + x];
    __syncthreads();
    float acc = 0.f;
#pragma unroll
    for (int k = 0; k < N; k++)
        acc += sa[y][k] * sb[k][x];
    c[y * N + x] = acc;
}

// kscc: entry gemm_per_item
// kscc: dims  batch=1..128
// kscc: in    a, b : float[batch,32,32]
// kscc: out   c : float[batch,32,32]  rtol=1e-3 atol=1e-3
// kscc: time  batch=64
void gemm_per_item(const float *a, const float *b, float *c, int batch, cudaStream_t stream)
{
    for (int i = 0; i < batch; i++)
        small_gemm<<<1, dim3(N, N), 0, stream>>>(a + i * N * N, b + i * N * N, c + i * N * N);
}
