// diagnosis: compute
// because: 8-bit products are made one by one on the integer units
// verified: term:issue+int >= 0.4
#include <cuda_runtime.h>
#include <stdint.h>

#define TM 32
#define TK 64

__global__ void qgemm(const int8_t *A, const int8_t *Bt, int *C, int n, int k)
{
    __shared__ int8_t a[TM][TK + 4], b[TM][TK + 4];
    int tx = threadIdx.x, ty = threadIdx.y, sum[4] = {0, 0, 0, 0};
    for (int k0 = 0; k0 < k; k0 += TK) {
        for (int r = ty; r < TM; r += 8)
            for (int c = tx; c < TK; c += 32) {
                a[r][c] = A[(blockIdx.y * TM + r) * k + k0 + c];
                b[r][c] = Bt[(blockIdx.x * TM + r) * k + k0 + c];
            }
        __syncthreads();
#pragma unroll 16
        for (int kk = 0; kk < TK; kk++) {
            int bv = b[tx][kk];
#pragma unroll
            for (int j = 0; j < 4; j++)
                sum[j] += (int)a[ty + 8 * j][kk] * bv;
        }
        __syncthreads();
    }
    for (int j = 0; j < 4; j++)
        C[(blockIdx.y * TM + ty + 8 * j) * n + blockIdx.x * TM + tx] = sum[j];
}

// kscc: entry int8_gemm
// kscc: dims  m=32..1024%32 n=32..1024%32 k=64..1024%64
// kscc: in    A : int8[m,k] ~ int(-100,100)
// kscc: in    Bt : int8[n,k] ~ int(-100,100)
// kscc: out   C : int32[m,n]
// kscc: time  m=512 n=512 k=512
void int8_gemm(const int8_t *A, const int8_t *Bt, int *C, int m, int n, int k)
{
    qgemm<<<dim3(n / TM, m / TM), dim3(32, 8)>>>(A, Bt, C, n, k);
}
