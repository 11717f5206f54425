// diagnosis: compute
// because: a tiled product of half-precision matrices on the scalar units, one product at a time
// verified: term:issue+fp32+int >= 0.5
#include <cuda_fp16.h>

#define T 32

__global__ void hgemm(const __half *A, const __half *B, float *C, int n)
{
    __shared__ __half a[T][T], b[T][T];
    int x = threadIdx.x, y = threadIdx.y;
    float acc[4] = {};
    for (int k0 = 0; k0 < n; k0 += T) {
#pragma unroll
        for (int j = 0; j < T; j += 8) {
            a[y + j][x] = A[(blockIdx.y * T + y + j) * n + k0 + x];
            b[y + j][x] = B[(k0 + y + j) * n + blockIdx.x * T + x];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < T; k++) {
            float bv = __half2float(b[k][x]);
#pragma unroll
            for (int j = 0; j < 4; j++)
                acc[j] += __half2float(a[y + 8 * j][k]) * bv;
        }
        __syncthreads();
    }
#pragma unroll
    for (int j = 0; j < 4; j++)
        C[(blockIdx.y * T + y + 8 * j) * n + blockIdx.x * T + x] = acc[j];
}

// kscc: entry half_gemm
// kscc: dims  n=32..1024%32
// kscc: in    A, B : half[n,n]
// kscc: out   C : float[n,n]  rtol=1e-2 atol=1e-1
// kscc: time  n=512
void half_gemm(const __half *A, const __half *B, float *C, int n)
{
    hgemm<<<dim3(n / T, n / T), dim3(T, 8)>>>(A, B, C, n);
}
