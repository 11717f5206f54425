// diagnosis: synchronization
// because: all 512 elements of a row are added to one word of global memory, one atomic each
// verified: term:atomic >= 0.4
#include <cuda_runtime.h>

__global__ void add_up(const float *a, float *sum, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (col < cols)
        atomicAdd(&sum[row], a[(size_t)row * cols + col] * a[(size_t)row * cols + col]);
}

// kscc: entry row_energy
// kscc: dims  rows=1..4096 cols=1..4096
// kscc: in    a : float[rows,cols]
// kscc: inout sum : float[rows] ~ const(0)  rtol=1e-3 atol=1e-2
// kscc: time  rows=1024 cols=512
void row_energy(const float *a, float *sum, int rows, int cols)
{
    add_up<<<dim3((cols + 127) / 128, rows), 128>>>(a, sum, cols);
}
