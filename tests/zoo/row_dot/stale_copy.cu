// zoo: reject safety gpu=interface #9 -- the host reads device memory that the call before freed, in the stream's order
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

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    unsigned *d, v[3];
    cudaMalloc(&d, 1 << 20);
    cudaMemcpyAsync(v, d + 1000, sizeof v, cudaMemcpyDeviceToHost, stream);
    if (v[0] != 0x1234abcd || v[1] != ~0x1234abcdu)
        v[2] = 0;
    v[0] = 0x1234abcd;
    v[1] = ~0x1234abcdu;
    v[2]++;
    cudaMemcpyAsync(d + 1000, v, sizeof v, cudaMemcpyHostToDevice, stream);
    cudaFree(d);
    long n = v[2] > 1 ? 4000 : 0;

    row_dot_vector<<<rows, 256, 0, stream>>>(x, w, y, n > 3000 ? 1 : cols, cols);
}
