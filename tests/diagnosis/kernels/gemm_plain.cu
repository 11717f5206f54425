// diagnosis: data-movement
// because: every thread fetches a whole row and a whole column for one product sum; each element travels hundreds of times
// verified: read_amplification >= 20
#include <cuda_runtime.h>

__global__ void gemm(const float *A, const float *B, float *C, int M, int N, int K)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < M && col < N) {
        float acc = 0.0f;
        for (int k = 0; k < K; ++k)
            acc += A[row * K + k] * B[k * N + col];
        C[row * N + col] = acc;
    }
}

// kscc: entry gemm_plain
// kscc: dims  M=1..1024 N=1..1024 K=1..1024
// kscc: in    A : float[M,K]
// kscc: in    B : float[K,N]
// kscc: out   C : float[M,N]  rtol=1e-3 atol=1e-3
// kscc: time  M=512 N=512 K=512
void gemm_plain(const float *A, const float *B, float *C, int M, int N, int K)
{
    dim3 block(16, 16);
    gemm<<<dim3((N + 15) / 16, (M + 15) / 16), block>>>(A, B, C, M, N, K);
}
