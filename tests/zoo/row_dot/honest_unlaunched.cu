// zoo: honest -- a kernel of internal linkage that nobody launches
#include <cuda_runtime.h>

static __global__ void fill_kernel(float *y, float value, int rows)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r < rows)
        y[r] = value;
}

namespace {
template <int N> __global__ void scale_kernel(float *y)
{
    y[threadIdx.x] *= N;
}
template __global__ void scale_kernel<3>(float *);
} // namespace

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

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    row_dot_kernel<<<rows, 128, 0, stream>>>(x, w, y, cols);
}
