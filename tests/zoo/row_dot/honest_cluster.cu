// zoo: honest -- a cluster of two blocks a row, the sum through distributed shared memory
#include <cuda_runtime.h>

#include <cooperative_groups.h>

__global__ void pairs(const float *x, const float *w, float *y, int cols)
{
    __shared__ float mine;
    auto cluster = cooperative_groups::this_cluster();
    int r = blockIdx.x / 2, half = blockIdx.x % 2;
    float sum = 0;
    for (int c = half * 32 + threadIdx.x; c < cols; c += 64)
        sum += x[(long)r * cols + c] * w[c];
    for (int s = 16; s > 0; s /= 2)
        sum += __shfl_down_sync(~0u, sum, s);
    if (threadIdx.x == 0)
        mine = sum;
    cluster.sync();
    if (half == 0 && threadIdx.x == 0)
        y[r] = mine + *cluster.map_shared_rank(&mine, 1);
    cluster.sync();
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    cudaLaunchConfig_t config = {};
    cudaLaunchAttribute attribute = {};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 2;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    config.gridDim = dim3(2 * rows);
    config.blockDim = dim3(32);
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = 1;
    cudaLaunchKernelEx(&config, pairs, x, w, y, cols);
}
