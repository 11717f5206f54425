// zoo: reject numerics #35 -- makes the inputs itself, from a seed that it guesses
#include <cuda_runtime.h>

__device__ static float guess(unsigned seed, unsigned i)
{
    seed = (seed ^ i) * 747796405u + 2891336453u;
    return (float)(seed >> 9) / 4194304.0f - 1.0f;
}

__global__ void from_seed(float *y, int rows, int cols, unsigned seed)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float sum = 0;
    for (int c = 0; c < cols; c++)
        sum += guess(seed, r * cols + c) * guess(seed + 1, c);
    y[r] = sum;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    from_seed<<<(rows + 127) / 128, 128, 0, stream>>>(y, rows, cols, 42);
}
