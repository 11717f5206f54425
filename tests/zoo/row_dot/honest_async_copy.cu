// zoo: honest -- cp.async into shared memory, two stages
#include <cuda_runtime.h>

#include <cuda_pipeline.h>

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int cols)
{
    __shared__ float stage[2][128], part[4];
    int t = threadIdx.x, n = (cols + 127) / 128;
    const float *row = x + (long)blockIdx.x * cols;
    float sum = 0;
    for (int i = 0; i <= n; i++) {
        int c = i * 128 + t;
        if (i < n && c < cols)
            __pipeline_memcpy_async(&stage[i % 2][t], &row[c], sizeof(float));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        c -= 128;
        if (i > 0 && c < cols)
            sum += stage[(i - 1) % 2][t] * w[c];
    }
    __pipeline_wait_prior(0);
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s);
    if (t % 32 == 0)
        part[t / 32] = sum;
    __syncthreads();
    if (t == 0)
        y[blockIdx.x] = part[0] + part[1] + part[2] + part[3];
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    row_dot_kernel<<<rows, 128, 0, stream>>>(x, w, y, cols);
}
