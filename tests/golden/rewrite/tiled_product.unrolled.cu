// kscc: entry product
// kscc: dims  m=1..512 n=1..512 k=1..512
// kscc: in    A : float[m,k]
// kscc: in    B : float[k,n]
// kscc: out   C : float[m,n]  rtol=1e-3 atol=1e-3
// kscc: time  m=512 n=512 k=512
#include <cuda_runtime.h>

// The textbook's tiled product.
__global__ void product_kernel(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float As[32][32], Bs[32][32];
    int tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * 32 + ty, col = blockIdx.x * 32 + tx;
    float sum = 0;
    for (int t = 0; t < (k + 31) / 32; ++t) {
        As[ty][tx] = (row < m && t * 32 + tx < k) ? A[row * k + t * 32 + tx] : 0.f;
        Bs[ty][tx] = (t * 32 + ty < k && col < n) ? B[(t * 32 + ty) * n + col] : 0.f;
        __syncthreads();
        #pragma unroll
        for (int p = 0; p < 32; ++p)
            sum += As[ty][p] * Bs[p][tx];
        __syncthreads();
    }
    if (row < m && col < n)
        C[row * n + col] = sum;
}

void product(const float *A, const float *B, float *C, int m, int n, int k, cudaStream_t stream)
{
    dim3 block(32, 32);
    dim3 grid((n + 31) / 32, (m + 31) / 32);
    product_kernel<<<grid, block, 0, stream>>>(A, B, C, m, n, k);
}
