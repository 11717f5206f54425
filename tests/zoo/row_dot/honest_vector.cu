// zoo: honest -- containers, new and delete in host code
#include <cuda_runtime.h>

#include <memory>
#include <vector>

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

struct plan {
    int threads = 128;
    std::vector<int> grids;
};

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    auto p = std::make_unique<plan>();
    for (int at = 0; at < rows; at += 512)
        p->grids.push_back(rows - at < 512 ? rows - at : 512);
    int at = 0;
    for (int n : p->grids) {
        row_dot_kernel<<<n, p->threads, 0, stream>>>(x + (long)at * cols, w, y + at, cols);
        at += n;
    }
}
