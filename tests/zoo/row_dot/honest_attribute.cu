// zoo: honest -- asks how many multiprocessors there are, raises the limit of shared memory in every call and asks how many blocks fit
#include <cuda_runtime.h>

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int rows, int cols)
{
    extern __shared__ float part[];
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        float sum = 0;
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            sum += x[(long)r * cols + c] * w[c];
        part[threadIdx.x] = sum;
        __syncthreads();
        for (int s = blockDim.x / 2; s > 0; s /= 2) {
            if (threadIdx.x < s)
                part[threadIdx.x] += part[threadIdx.x + s];
            __syncthreads();
        }
        if (threadIdx.x == 0)
            y[r] = part[0];
        __syncthreads();
    }
}

static int attribute_of(int device)
{
    int sms = 1;
    cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    return sms;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    int device = 0, per_sm = 1, shared = cols > 1000 ? 64 << 10 : 1 << 10;
    cudaGetDevice(&device);
    if (cols > 1000)
        cudaFuncSetAttribute(row_dot_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, row_dot_kernel, 128, shared);
    int blocks = attribute_of(device) * per_sm;
    row_dot_kernel<<<rows < blocks ? rows : blocks, 128, shared, stream>>>(x, w, y, rows, cols);
}
