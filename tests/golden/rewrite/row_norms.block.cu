// Root mean square of each row, and the row divided by it; one thread for each row.
//
// kscc: entry rms_rows
// kscc: dims  rows=1..4096 cols=1..2048
// kscc: in    x : float[rows,cols] ~ normal(0,1)
// kscc: out   y : float[rows,cols]
// kscc: out   norms : float[rows]
// kscc: time  rows=4096 cols=512
#include <cuda_runtime.h>

// Sum of v over the block, in every thread; all threads of the block call it.
static __device__ __forceinline__ float block_sum(float v)
{
    __shared__ float of_warp[32];
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    __syncthreads(); // an earlier call may still be reading
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    v = of_warp[0];
    for (int warp = 1; warp < blockDim.x / 32; warp++)
        v += of_warp[warp];
    return v;
}

// Largest of v over the block, in every thread; all threads of the block call it.
static __device__ __forceinline__ float block_max(float v)
{
    __shared__ float of_warp[32];
    for (int offset = 16; offset > 0; offset /= 2)
        v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, offset));
    __syncthreads(); // an earlier call may still be reading
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = v;
    __syncthreads();
    v = of_warp[0];
    for (int warp = 1; warp < blockDim.x / 32; warp++)
        v = fmaxf(v, of_warp[warp]);
    return v;
}

__global__ void rms_kernel(const float *x, float *y, float *norms, int rows, int cols)
{
    // One block for each row, so that neighbouring threads read neighbouring elements.
    int row = blockIdx.x;
    if (row < rows) {
        const float *in = x + (size_t)row * cols; // this thread's row
        float squares = 0.0f, largest;
        largest = 0.0f;
        for (int c = threadIdx.x; c < cols; c += blockDim.x) {
            float v = in[c];
            squares += v * v;
            if (v > largest)
                largest = v;
        }
        squares = block_sum(squares);
        largest = block_max(largest);
        float norm = sqrtf(squares / cols) + 1e-6f;
        if (threadIdx.x == 0)
            norms[row] = norm + 0.0f * largest;
        for (int c = threadIdx.x; c < cols; c += blockDim.x)
            y[(size_t)row * cols + c] = in[c] / norm;
    }
}

void rms_rows(const float *x, float *y, float *norms, int rows, int cols, cudaStream_t stream)
{
    rms_kernel<<<((rows + 127) / 128) * 128, 128, 0, stream>>>(x, y, norms, rows, cols);
}
