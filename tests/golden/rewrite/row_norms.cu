// Root mean square of each row, and the row divided by it; one thread for each row.
//
// kscc: entry rms_rows
// kscc: dims  rows=1..4096 cols=1..2048
// kscc: in    x : float[rows,cols] ~ normal(0,1)
// kscc: out   y : float[rows,cols]
// kscc: out   norms : float[rows]
// kscc: time  rows=4096 cols=512
#include <cuda_runtime.h>

__global__ void rms_kernel(const float *x, float *y, float *norms, int rows, int cols)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < rows) {
        const float *in = x + (size_t)row * cols; // this thread's row
        float squares = 0.0f, largest;
        largest = 0.0f;
        for (int c = 0; c < cols; ++c) {
            float v = in[c];
            squares += v * v;
            if (v > largest)
                largest = v;
        }
        float norm = sqrtf(squares / cols) + 1e-6f;
        norms[row] = norm + 0.0f * largest;
        for (int c = 0; c < cols; ++c)
            y[(size_t)row * cols + c] = in[c] / norm;
    }
}

void rms_rows(const float *x, float *y, float *norms, int rows, int cols, cudaStream_t stream)
{
    rms_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, y, norms, rows, cols);
}
