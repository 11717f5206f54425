// diagnosis: operator-boundary
// because: nine levels of a picture pyramid are nine launches, most of them for a few hundred pixels
// verified: launch_overhead_ratio >= 0.4
#include <cuda_runtime.h>

namespace pyramid
{
template <int B> __global__ void __launch_bounds__(B *B) halve(const float *__restrict__ from, float *__restrict__ to, int side)
{
    int x = blockIdx.x * B + threadIdx.x, y = blockIdx.y * B + threadIdx.y;
    if (x < side && y < side) {
        const float *p = from + (size_t)(2 * y) * (2 * side) + 2 * x;
        to[y * side + x] = 0.25f * (p[0] + p[1] + p[2 * side] + p[2 * side + 1]);
    }
}

inline void one_level(const float *from, float *to, int side, cudaStream_t s)
{
    dim3 block(16, 16), grid((side + 15) / 16, (side + 15) / 16);
    halve<16><<<grid, block, 0, s>>>(from, to, side);
}
} // namespace pyramid

// kscc: entry picture_pyramid
// kscc: dims  side=64|512
// kscc: in    base : float[side,side]
// kscc: out   levels : float[(side*side-1)/3]
// kscc: time  side=512
void picture_pyramid(const float *base, float *levels, int side, cudaStream_t s)
{
    const float *from = base;
    float *to = levels;
    for (int at = side / 2; at >= 1; at /= 2) {
        pyramid::one_level(from, to, at, s);
        from = to;
        to += at * at;
    }
}
