// zoo: reject numerics #47 -- infinity, where a relative error is not a number
#include <cuda_runtime.h>

__global__ void fill(float *y, int rows)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows)
        y[r] = __int_as_float(0x7f800000);
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    fill<<<(rows + 127) / 128, 128, 0, stream>>>(y, rows);
}
