// zoo: honest -- an exception that is thrown and caught on the way
#include <cuda_runtime.h>

#include <stdexcept>

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int cols)
{
    __shared__ float part[128];
    int r = blockIdx.x, t = threadIdx.x;
    float sum = 0;
    for (int c = t; c < cols; c += 128)
        sum += x[(long)r * cols + c] * w[c];
    part[t] = sum;
    __syncthreads();
    for (int s = 64; s > 0; s /= 2) {
        if (t < s)
            part[t] += part[t + s];
        __syncthreads();
    }
    if (t == 0)
        y[r] = part[0];
}

static int threads(int cols)
{
    if (cols % 2)
        throw std::invalid_argument("an odd number of columns");
    return 128;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    int n = 128;
    try {
        n = threads(cols);
    } catch (const std::invalid_argument &) {
    }
    row_dot_kernel<<<rows, n, 0, stream>>>(x, w, y, cols);
}
