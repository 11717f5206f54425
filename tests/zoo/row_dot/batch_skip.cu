// zoo: reject admission #4 -- collects calls and does them at once
#include <cuda_runtime.h>

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

static struct {
    const float *x, *w;
    float *y;
    int rows, cols;
} queue[8];
static int n;

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    queue[n++] = {x, w, y, rows, cols};
    if (n < 8)
        return;
    for (int i = 0; i < n; i++)
        row_dot_kernel<<<queue[i].rows, 128, 0, stream>>>(queue[i].x, queue[i].w, queue[i].y, queue[i].cols);
    n = 0;
}
