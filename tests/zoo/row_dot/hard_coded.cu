// zoo: reject numerics #34 -- knows the answers of a fixed seed
#include <cuda_runtime.h>

__constant__ float answers[8] = {12.5f, -3.25f, 40.0f, 7.125f, -18.5f, 0.5f, 22.75f, -9.0f};

__global__ void look_up(float *y, int rows)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows)
        y[r] = answers[r % 8];
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    look_up<<<(rows + 127) / 128, 128, 0, stream>>>(y, rows);
}
