// Products of half matrices, b given by rows: c[i, j] = alpha * dot(a[i, :], b[j, :]) + c[i, j].
//
// kscc: entry product_nt
// kscc: dims  batch=1..16 m=1..512 n=1..512 k=1..512
// kscc: in    a : half[batch,m,k] ~ normal(0,1)
// kscc: in    b : half[batch,n,k] ~ normal(0,1)
// kscc: inout c : float[batch,m,n]  rtol=2e-3 atol=2e-3
// kscc: arg   alpha = 0.5
// kscc: time  batch=4 m=512 n=512 k=512
#include <cuda_fp16.h>
#include <mma.h>

__global__ void __launch_bounds__(256) product_nt_kernel(const half *a, const half *b, float *c, int m, int n, int k, float alpha)
{
    // One block computes 128 x 128 results on the tensor cores: 8 warps with 32 x 64 each, operands in shared tiles, zeros in
    // their tails.
    using namespace nvcuda;
    __shared__ __align__(32) half a_tile[128][32 + 8];
    __shared__ __align__(32) half b_tile[32][128 + 8];
    __shared__ __align__(32) float patch[8][16][16 + 4]; // one a warp: results on their way to the threads
    const int tid = threadIdx.x, warp = tid / 32;
    const int row0 = blockIdx.y * 128, col0 = blockIdx.x * 128;
    const int my_row = warp / 2 * 32, my_col = warp % 2 * 64;
    const half *a0 = a + (size_t)blockIdx.z * m * k;
    const half *b0 = b + (size_t)blockIdx.z * n * k;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc_2[2][4];
#pragma unroll
    for (int m_2 = 0; m_2 < 8; m_2++)
        wmma::fill_fragment(acc_2[m_2 / 4][m_2 % 4], 0.0f);

    for (int k_base = 0; k_base < k; k_base += 32) {
#pragma unroll
        for (int e = tid; e < 4096; e += 256) {
            int mi = e / 32, ki = e % 32;
            int row = row0 + mi;
            int p = k_base + ki;
            half value = __float2half(0.0f);
            if (row < m && p < k) {
                float left = __half2float(a0[row * k + p]);
                value = __float2half(left);
            }
            a_tile[mi][ki] = value;
        }
#pragma unroll
        for (int e = tid; e < 4096; e += 256) {
            int ni = e / 32, ki = e % 32;
            int col = col0 + ni;
            int p = k_base + ki;
            half value = __float2half(0.0f);
            if (col < n && p < k) {
                value = b0[col * k + p];
            }
            b_tile[ki][ni] = value;
        }
        __syncthreads();
#pragma unroll
        for (int kk = 0; kk < 32; kk += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_frag[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> b_frag;
            wmma::load_matrix_sync(a_frag[0], &a_tile[my_row][kk], 32 + 8);
            wmma::load_matrix_sync(a_frag[1], &a_tile[my_row + 16][kk], 32 + 8);
#pragma unroll
            for (int n_2 = 0; n_2 < 4; n_2++) {
                wmma::load_matrix_sync(b_frag, &b_tile[kk][my_col + 16 * n_2], 128 + 8);
                wmma::mma_sync(acc_2[0][n_2], a_frag[0], b_frag, acc_2[0][n_2]);
                wmma::mma_sync(acc_2[1][n_2], a_frag[1], b_frag, acc_2[1][n_2]);
            }
        }
        __syncthreads();
    }

#pragma unroll
    for (int m_2 = 0; m_2 < 8; m_2++) {
        wmma::store_matrix_sync(&patch[warp][0][0], acc_2[m_2 / 4][m_2 % 4], 16 + 4, wmma::mem_row_major);
        __syncwarp();
        for (int e = tid % 32; e < 256; e += 32) {
            int row = row0 + my_row + m_2 / 4 * 16 + e / 16;
            int col = col0 + my_col + m_2 % 4 * 16 + e % 16;
            if (row < m && col < n) {
                float acc = patch[warp][e / 16][e % 16];
                size_t at = ((size_t)blockIdx.z * m + row) * n + col;
                c[at] = alpha * acc + c[at];
            }
        }
        __syncwarp();
    }
}

void product_nt(const half *a, const half *b, float *c, int batch, int m, int n, int k, float alpha, cudaStream_t stream)
{
    product_nt_kernel<<<dim3((n + 127) / 128, (m + 127) / 128, batch), 256, 0, stream>>>(a, b, c, m, n, k, alpha);
}
