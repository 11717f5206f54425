// zoo: reject numerics #27 -- stale output: leaves the buffers as they are
#include <cuda_runtime.h>

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    (void)x, (void)w, (void)y, (void)rows, (void)cols, (void)stream;
}
