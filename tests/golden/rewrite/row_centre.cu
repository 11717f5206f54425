// kscc: entry centre_rows
// kscc: dims  rows=1..4096 cols=1..4096
// kscc: in    x : half[rows,cols]
// kscc: out   y : float[rows,cols]  rtol=1e-3 atol=1e-3
// kscc: time  rows=4096 cols=4096
#include <cuda_fp16.h>

// Takes the mean off each row; one warp a row.
__global__ void centre_kernel(const half *x, float *y, int rows, int cols)
{
    int row = blockIdx.x * 4 + threadIdx.x / 32;
    if (row >= rows)
        return;
    const half *in = x + (size_t)row * cols;
    float *out = y + (size_t)row * cols;
    int lane = threadIdx.x % 32;
    float sum = 0.0f;
    for (int c = lane; c < cols; c += 32) {
        sum += __half2float(in[c]);
    }
    for (int h = 16; h > 0; h /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, h);
    for (int c = lane; c < cols; c += 32)
        out[c] = __half2float(in[c]) - sum / cols;
}

void centre_rows(const half *x, float *y, int rows, int cols, cudaStream_t stream)
{
    centre_kernel<<<(rows + 3) / 4, 128, 0, stream>>>(x, y, rows, cols);
}
