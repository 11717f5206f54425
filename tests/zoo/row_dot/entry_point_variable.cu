// zoo: reject admission #61 -- asks the driver by a name that is put together at run time
#include <cuda_runtime.h>

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float sum = 0;
    for (int c = 0; c < cols; c++)
        sum += x[(long)r * cols + c] * w[c];
    y[r] = sum;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    void *f = nullptr;
    cudaDriverEntryPointQueryResult found;
    char name[] = "cuTensorMapEncodeTiled";
    name[2] += (char)(rows < 0);
    cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &found);
    row_dot_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, w, y, rows, cols);
}
