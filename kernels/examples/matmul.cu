// Matrix product in single precision, row-major: c[M, N] = a[M, K] * b[K, N].
// Each block computes one TILE x TILE tile of c and walks along K with both operand tiles in shared memory.
//
// kscc: entry matmul
// kscc: dims  M=1..8192 N=1..8192 K=1..4096
// kscc: in    a : float[M,K] ~ uniform(-1,1)
// kscc: in    b : float[K,N] ~ uniform(-1,1)
// kscc: out   c : float[M,N]  rtol=1e-3 atol=1e-2
// kscc: time  M=2048 N=2048 K=2048 ; M=4096 N=1024 K=1024
#include <cuda_runtime.h>

#define TILE 16

__global__ void matmul_kernel(const float *a, const float *b, float *c, int M, int N, int K)
{
    __shared__ float a_tile[TILE][TILE];
    __shared__ float b_tile[TILE][TILE];
    int row = blockIdx.y * TILE + threadIdx.y;
    int col = blockIdx.x * TILE + threadIdx.x;

    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += TILE) {
        int a_col = k0 + threadIdx.x;
        int b_row = k0 + threadIdx.y;
        a_tile[threadIdx.y][threadIdx.x] = row < M && a_col < K ? a[row * K + a_col] : 0.0f;
        b_tile[threadIdx.y][threadIdx.x] = b_row < K && col < N ? b[b_row * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; k++)
            sum += a_tile[threadIdx.y][k] * b_tile[k][threadIdx.x];
        __syncthreads();
    }
    if (row < M && col < N)
        c[row * N + col] = sum;
}

extern "C" cudaError_t matmul(const float *a, const float *b, float *c, int M, int N, int K, cudaStream_t stream)
{
    dim3 block(TILE, TILE);
    dim3 grid((N + TILE - 1) / TILE, (M + TILE - 1) / TILE);
    matmul_kernel<<<grid, block, 0, stream>>>(a, b, c, M, N, K);
    return cudaGetLastError();
}
