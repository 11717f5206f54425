// zoo: reject numerics #42 -- a copy of an input
#include <cuda_runtime.h>

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    (void)w, (void)cols;
    cudaMemcpyAsync(y, x, rows * sizeof(float), cudaMemcpyDeviceToDevice, stream);
}
