// zoo: honest -- the last steps round towards zero, each less exact than the original's, but the sum is a tree
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
            part[t] = s < 4 ? __fadd_rz(part[t], part[t + s]) : part[t] + part[t + s];
        __syncthreads();
    }
    if (t == 0)
        y[r] = part[0];
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    row_dot_kernel<<<rows, 128, 0, stream>>>(x, w, y, cols);
}

void row_dot_exact(const double *x, const double *w, double *y, int rows, int cols)
{
    for (long r = 0; r < rows; r++) {
        y[r] = 0;
        for (long c = 0; c < cols; c++)
            y[r] += x[r * cols + c] * w[c];
    }
}
