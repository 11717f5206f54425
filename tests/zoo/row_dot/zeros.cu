// zoo: reject numerics #41 -- constant output
#include <cuda_runtime.h>

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    (void)x, (void)w, (void)cols;
    cudaMemsetAsync(y, 0, rows * sizeof(float), stream);
}
