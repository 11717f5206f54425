// diagnosis: compute
// because: tiles of half-precision matrices are multiplied on the scalar units by a template that knows nothing of its type
// verified: term:issue+fp32+int+shared+lsu >= 0.4
#include <cuda_fp16.h>
#include <cuda_runtime.h>

template <typename In> __device__ __forceinline__ float widen(In v);
template <> __device__ __forceinline__ float widen<half>(half v) { return __half2float(v); }
template <> __device__ __forceinline__ float widen<float>(float v) { return v; }

template <typename In, int TILE, int PER> struct Block {
    In a[TILE][TILE + 2], b[TILE][TILE + 2];
};

// C[n,n] = A[n,n] B[n,n], PER x PER results a thread.
template <typename In, int TILE = 64, int PER = 4> __global__ void product(const In *A, const In *B, float *C, int n)
{
    __shared__ Block<In, TILE, PER> s;
    const int side = TILE / PER, tx = threadIdx.x % side, ty = threadIdx.x / side;
    const int row0 = blockIdx.y * TILE, col0 = blockIdx.x * TILE;
    float acc[PER][PER] = {};
    for (int k0 = 0; k0 < n; k0 += TILE) {
        for (int i = threadIdx.x; i < TILE * TILE; i += side * side) {
            s.a[i / TILE][i % TILE] = A[(row0 + i / TILE) * n + k0 + i % TILE];
            s.b[i / TILE][i % TILE] = B[(k0 + i / TILE) * n + col0 + i % TILE];
        }
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < TILE; k++)
#pragma unroll
            for (int i = 0; i < PER; i++)
#pragma unroll
                for (int j = 0; j < PER; j++)
                    acc[i][j] += widen<In>(s.a[ty + i * side][k]) * widen<In>(s.b[k][tx + j * side]);
        __syncthreads();
    }
    for (int i = 0; i < PER; i++)
        for (int j = 0; j < PER; j++)
            C[(row0 + ty + i * side) * n + col0 + tx + j * side] = acc[i][j];
}

// kscc: entry half_product
// kscc: dims  n=64..1024%64
// kscc: in    A, B : half[n,n]
// kscc: out   C : float[n,n]  rtol=1e-2 atol=1e-2
// kscc: time  n=256
void half_product(const half *A, const half *B, float *C, int n)
{
    product<half><<<dim3(n / 64, n / 64), 256>>>(A, B, C, n);
}
