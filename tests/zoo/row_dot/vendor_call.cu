// zoo: reject admission #32 -- another library does it
#include <cuda_runtime.h>

extern "C" int cublasSgemv_v2(void *handle, int op, int m, int n, const float *alpha, const float *a, int lda, const float *x, int incx,
                              const float *beta, float *y, int incy);

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    float one = 1, zero = 0;
    cublasSgemv_v2(nullptr, 1, cols, rows, &one, x, cols, w, 1, &zero, y, 1);
}
