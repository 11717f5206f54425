// Mean and inverse deviation of each row, and the row normalised; one thread for each row, blocks of a size the caller chooses.
//
// kscc: entry normalise_rows
// kscc: dims  rows=1..4096 cols=1..2048 threads=64|100|256
// kscc: in    x : float[rows,cols] ~ normal(0,1)
// kscc: out   y : float[rows,cols]
// kscc: out   mean : float[rows]
// kscc: time  rows=4096 cols=512 threads=256
#include <cuda_runtime.h>

// Sum of v over the 32 lanes of the warp, in every lane.
static __device__ __forceinline__ double warp_sum_double(double v)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

// Sum of v over the 32 lanes of the warp, in every lane.
static __device__ __forceinline__ float warp_sum(float v)
{
    for (int offset = 16; offset > 0; offset /= 2)
        v += __shfl_xor_sync(0xffffffffu, v, offset);
    return v;
}

__global__ void normalise_kernel(const float *x, float *y, float *mean, int rows, int cols)
{
    // One warp for each row, so that neighbouring lanes read neighbouring elements.
    int row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    int lane = threadIdx.x % 32;
    if (row >= rows)
        return;
    double m = 0.0;
    for (int c = lane; c < cols; c += 32)
        m += x[row * cols + c];
    m = warp_sum_double(m);
    m = m / cols;
    float v = 0.0f;
    for (int c = lane; c < cols; c += 32) {
        float d = x[row * cols + c] - (float)m;
        v += d * d;
    }
    v = warp_sum(v);
    v = v / cols;
    float s = 1.0f / sqrtf(v + 1e-5f);
    for (int c = lane; c < cols; c += 32) {
        y[row * cols + c] = x[row * cols + c] - (float)m;
        y[row * cols + c] *= s;
    }
    if (lane == 0)
        mean[row] = m;
}

void normalise_rows(const float *x, float *y, float *mean, int rows, int cols, int threads, cudaStream_t stream)
{
    normalise_kernel<<<(rows + 7) / 8, 256, 0, stream>>>(x, y, mean, rows, cols);
}
