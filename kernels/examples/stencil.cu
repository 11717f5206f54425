// Explicit heat diffusion on a 2-D grid: `steps` sweeps of a 5-point stencil; the border cells keep their values.
// The sweeps go back and forth between `out` and a second grid that the caller provides.
//
// kscc: entry heat_diffuse
// kscc: dims    height=1..8192 width=1..8192 steps=1..8
// kscc: in      in  : float[height,width] ~ normal(0,1)
// kscc: scratch tmp : float[height,width]
// kscc: out     out : float[height,width]  rtol=1e-4 atol=1e-5
// kscc: arg     kappa = 0.2
// kscc: time    height=8192 width=8192 steps=2 ; height=4096 width=4096 steps=5
#include <cuda_runtime.h>

__global__ void heat_step(const float *in, float *out, int height, int width, float kappa)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height)
        return;
    int i = y * width + x;
    float centre = in[i];
    if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
        out[i] = centre;
        return;
    }
    out[i] = centre + kappa * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width] - 4.0f * centre);
}

cudaError_t heat_diffuse(const float *in, float *out, float *tmp, int height, int width, int steps, float kappa, cudaStream_t stream)
{
    dim3 block(16, 16);
    dim3 grid((width + block.x - 1) / block.x, (height + block.y - 1) / block.y);
    const float *src = in;
    float *dst = steps % 2 == 1 ? out : tmp;
    for (int s = 0; s < steps; s++) {
        heat_step<<<grid, block, 0, stream>>>(src, dst, height, width, kappa);
        src = dst;
        dst = dst == out ? tmp : out;
    }
    return cudaGetLastError();
}
