// zoo: honest -- the product as a function object
#include <cuda_runtime.h>

struct product {
    __device__ float operator()(float a, float b) const { return a * b; }
};

template <typename F>
__global__ void row_dot_kernel(const float *x, const float *w, float *y, int cols, F f)
{
    __shared__ float part[128];
    int r = blockIdx.x, t = threadIdx.x;
    float sum = 0;
    for (int c = t; c < cols; c += 128)
        sum += f(x[(long)r * cols + c], w[c]);
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
    row_dot_kernel<<<rows, 128, 0, stream>>>(x, w, y, cols, product{});
}
