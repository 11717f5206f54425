// diagnosis: parallel-decomposition
// because: 24 blocks, one for each block of columns of a triangle, and the last has 24 times the work of the first; most multiprocessors have none
// verified: waves <= 0.05
#include <cuda_runtime.h>

__global__ void below_diagonal(const float *a, float *sums, int n)
{
    int column = blockIdx.x * 128 + threadIdx.x;
    if (column >= n)
        return;
    float s = 0.0f;
    for (int row = 0; row < column; row++)
        s += a[(size_t)row * n + column];
    sums[column] = s;
}

// kscc: entry triangle_sums
// kscc: dims  n=128..4096
// kscc: in    a : float[n,n]
// kscc: out   sums : float[n] rtol=1e-3 atol=1e-2
// kscc: time  n=3072
void triangle_sums(const float *a, float *sums, int n)
{
    below_diagonal<<<(n + 127) / 128, 128>>>(a, sums, n);
}
