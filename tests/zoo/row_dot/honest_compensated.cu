// zoo: honest -- compensated sums
#include <cuda_runtime.h>

__global__ void compensated(const float *x, const float *w, float *y, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float sum = 0, rest = 0;
    for (int c = 0; c < cols; c++) {
        float v = __fmaf_rn(x[(long)r * cols + c], w[c], -rest), next = __fadd_rn(sum, v);
        rest = __fsub_rn(__fsub_rn(next, sum), v);
        sum = next;
    }
    y[r] = sum;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    compensated<<<(rows + 127) / 128, 128, 0, stream>>>(x, w, y, rows, cols);
}
