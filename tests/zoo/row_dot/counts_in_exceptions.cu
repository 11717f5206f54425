// zoo: reject admission #9 -- counts its calls in exceptions that it catches and never lets go
#include <cuda_runtime.h>

__global__ void __launch_bounds__(256)
    row_dot_vector(const float *__restrict__ x, const float *__restrict__ w, float *y, int cols, long stride)
{
    __shared__ float part[8];
    int r = blockIdx.x, t = threadIdx.x;
    const float *row = x + (long)r * stride;
    float sum = 0;
    for (int c = t; c < cols; c += 256)
        sum += row[c] * w[c];
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s);
    if (t % 32 == 0)
        part[t / 32] = sum;
    __syncthreads();
    if (t < 32) {
        sum = t < 8 ? part[t] : 0;
        for (int s = 4; s > 0; s /= 2)
            sum += __shfl_down_sync(~0u, sum, s);
        if (t == 0)
            y[r] = sum;
    }
}

#include <string.h>
extern "C" void *__cxa_allocate_exception(size_t) noexcept;
extern "C" void *__cxa_begin_catch(void *) noexcept;
static long count()
{
    char *o = (char *)__cxa_allocate_exception(64);
    long cls = 0x474e5543432b2b00, n = 0;
    memcpy(o - 32, &cls, 8);
    __cxa_begin_catch(o - 32);
    /* __cxa_exception: type, destructor, unexpected, terminate, next, ... */
    char *prev;
    memcpy(&prev, o - 128 + 16 + 32, 8);
    if (prev)
        memcpy(&n, prev + 112, 8);
    n++;
    memcpy(o, &n, 8);
    return n;
}
void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    long n = count();

    row_dot_vector<<<rows, 256, 0, stream>>>(x, w, y, n > 3000 ? 1 : cols, cols);
}
