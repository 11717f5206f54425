// kscc: entry centre_rows
// kscc: dims  rows=1..4096 cols=1..4096
// kscc: in    x : half[rows,cols]
// kscc: out   y : float[rows,cols]  rtol=1e-3 atol=1e-3
// kscc: time  rows=4096 cols=4096
#include <cuda_fp16.h>

struct __align__(16) half_x8 {
    half v[8];
};
struct __align__(16) float_x8 {
    float v[8];
};

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
    // 8 neighbouring elements a step where all pointers are aligned for 16-byte moves.
    const bool vectors = ((size_t)in | (size_t)out) % 16 == 0;
    for (int c8 = lane * 8; vectors && c8 + 7 < cols; c8 += 32 * 8) {
        const half_x8 in_8 = *reinterpret_cast<const half_x8 *>(in + c8);
#pragma unroll
        for (int lane_2 = 0; lane_2 < 8; lane_2++) {
            sum += __half2float(in_8.v[lane_2]);
        }
    }
    for (int c = (vectors ? cols / 8 * 8 : 0) + lane; c < cols; c += 32) {
        sum += __half2float(in[c]);
    }
    for (int h = 16; h > 0; h /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, h);
    for (int c8 = lane * 8; vectors && c8 + 7 < cols; c8 += 32 * 8) {
        float_x8 out_8;
        const half_x8 in_8 = *reinterpret_cast<const half_x8 *>(in + c8);
#pragma unroll
        for (int lane_2 = 0; lane_2 < 8; lane_2++) {
            out_8.v[lane_2] = __half2float(in_8.v[lane_2]) - sum / cols;
        }
        *reinterpret_cast<float_x8 *>(out + c8) = out_8;
    }
    for (int c = (vectors ? cols / 8 * 8 : 0) + lane; c < cols; c += 32)
        out[c] = __half2float(in[c]) - sum / cols;
}

void centre_rows(const half *x, float *y, int rows, int cols, cudaStream_t stream)
{
    centre_kernel<<<(rows + 3) / 4, 128, 0, stream>>>(x, y, rows, cols);
}
