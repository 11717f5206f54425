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

__global__ void product_nt_kernel(const half *a, const half *b, float *c, int m, int n, int k, float alpha)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    const half *a0 = a + (size_t)blockIdx.z * m * k;
    const half *b0 = b + (size_t)blockIdx.z * n * k;
    if (row < m && col < n) {
        float acc = 0.0f;
        for (int p = 0; p < k; ++p) {
            float left = __half2float(a0[row * k + p]);
            acc = fmaf(left, __half2float(b0[col * k + p]), acc);
        }
        size_t at = ((size_t)blockIdx.z * m + row) * n + col;
        c[at] = alpha * acc + c[at]; // beta is one
    }
}

void product_nt(const half *a, const half *b, float *c, int batch, int m, int n, int k, float alpha, cudaStream_t stream)
{
    const dim3 threads(32, 8);
    product_nt_kernel<<<dim3((n + 31) / 32, (m + 7) / 8, batch), threads, 0, stream>>>(a, b, c, m, n, k, alpha);
}
