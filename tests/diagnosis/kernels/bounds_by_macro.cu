// diagnosis: compilation
// because: bounds hidden in a macro ask for two blocks of 1,024 threads, 32 registers each, of code that keeps 48 sums
// verified: spill_bytes >= 1
#include <cuda_runtime.h>

#define KERNEL(name) __global__ void __launch_bounds__(1024, 2) name

template <int N> __device__ __forceinline__ void accumulate(float (&sum)[N], float v)
{
    float p = v;
#pragma unroll
    for (int i = 0; i < N; i++) {
        sum[i] += p;
        p = p * v + 0.01f * i;
    }
}

// 48 moments of each column of a matrix of `rows` rows.
KERNEL(moments)(const float *x, float *m, int rows, int cols)
{
    int c = blockIdx.x * blockDim.x + threadIdx.x;
    if (c >= cols)
        return;
    float sum[48] = {};
    for (int r = 0; r < rows; r++)
        accumulate<48>(sum, x[(size_t)r * cols + c]);
    for (int i = 0; i < 48; i++)
        m[(size_t)i * cols + c] = sum[i];
}

// kscc: entry column_moments
// kscc: dims  rows=1..512 cols=1..100000
// kscc: in    x : float[rows,cols] ~ uniform(-0.5,0.5)
// kscc: out   m : float[48,cols]
// kscc: time  rows=48 cols=40000
void column_moments(const float *x, float *m, int rows, int cols)
{
    moments<<<(cols + 255) / 256, 256>>>(x, m, rows, cols);
}
