// kscc: entry product
// kscc: dims  m=1..512 n=1..512 k=1..512
// kscc: in    A : float[m,k]
// kscc: in    B : float[k,n]
// kscc: out   C : float[m,n]  rtol=1e-3 atol=1e-3
// kscc: time  m=512 n=512 k=512
#include <cuda_runtime.h>

// The textbook's tiled product.
__global__ void __launch_bounds__(256) product_kernel(const float *A, const float *B, float *C, int m, int n, int k)
{
    // One block computes 128 x 64 results, each thread 8 x 4 of them: a value staged in shared memory is read into a
    // register once and used 8 or 4 times.
    __shared__ __align__(16) float a_tile[32][128 + 4];
    __shared__ __align__(16) float b_tile[32][64 + 4];
    const int tid = threadIdx.x;
    const int row0 = blockIdx.y * 128, col0 = blockIdx.x * 64;
    const int my_row = tid / 16 * 8, my_col = tid % 16;
    float acc[8][4] = {};

    for (int t = 0; t < (k + 31) / 32; ++t) {
#pragma unroll
        for (int e = tid; e < 4096; e += 256) {
            int mi = e / 32, ki = e % 32;
            int row = row0 + mi;
            int tx = ki;
            a_tile[ki][mi] = (row < m && t * 32 + tx < k) ? A[row * k + t * 32 + tx] : 0.f;
        }
#pragma unroll
        for (int e = tid; e < 2048; e += 256) {
            int ni = e % 64, ki = e / 64;
            int col = col0 + ni;
            int ty = ki;
            b_tile[ki][ni] = (t * 32 + ty < k && col < n) ? B[(t * 32 + ty) * n + col] : 0.f;
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 32; kk++) {
            float a_frag[8], b_frag[4];
#pragma unroll
            for (int m_2 = 0; m_2 < 8; m_2++)
                a_frag[m_2] = a_tile[kk][my_row + m_2];
#pragma unroll
            for (int n_2 = 0; n_2 < 4; n_2++)
                b_frag[n_2] = b_tile[kk][my_col + 16 * n_2];
#pragma unroll
            for (int m_2 = 0; m_2 < 8; m_2++)
#pragma unroll
                for (int n_2 = 0; n_2 < 4; n_2++)
                    acc[m_2][n_2] += a_frag[m_2] * b_frag[n_2];
        }
        __syncthreads();
    }

#pragma unroll
    for (int m_2 = 0; m_2 < 8; m_2++) {
#pragma unroll
        for (int n_2 = 0; n_2 < 4; n_2++) {
            int row = row0 + my_row + m_2;
            int col = col0 + my_col + 16 * n_2;
            float sum = acc[m_2][n_2];
            if (row < m && col < n)
                C[row * n + col] = sum;
        }
    }
}

void product(const float *A, const float *B, float *C, int m, int n, int k, cudaStream_t stream)
{
    product_kernel<<<dim3((n + 63) / 64, (m + 127) / 128, 1), 256, 0, stream>>>(A, B, C, m, n, k);
}
