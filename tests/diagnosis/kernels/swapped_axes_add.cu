// diagnosis: memory-access
// because: the thread's x walks down the rows and its y along them, so neighbouring lanes are a row apart
// verified: faster_with STRAIGHT
#include <cuda_runtime.h>

__global__ void add_bias(const float *a, const float *bias, float *out, int rows, int cols)
{
#ifdef STRAIGHT
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
#else
    int row = blockIdx.x * blockDim.x + threadIdx.x, col = blockIdx.y * blockDim.y + threadIdx.y;
#endif
    if (row < rows && col < cols)
        out[row * cols + col] = a[row * cols + col] + bias[col];
}

// kscc: entry add_bias_swapped
// kscc: dims  rows=1..4096 cols=1..4096
// kscc: in    a : float[rows,cols]
// kscc: in    bias : float[cols]
// kscc: out   out : float[rows,cols]
// kscc: time  rows=2048 cols=2048
void add_bias_swapped(const float *a, const float *bias, float *out, int rows, int cols)
{
    dim3 block(16, 16);
    dim3 grid(((rows > cols ? rows : cols) + 15) / 16, ((rows > cols ? rows : cols) + 15) / 16);
    add_bias<<<grid, block>>>(a, bias, out, rows, cols);
}
