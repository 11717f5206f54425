// diagnosis: compilation
// because: the innermost step is a virtual call on an object made in the kernel's own loop, so nothing of it is inlined
// verified: source
#include <cuda_runtime.h>

struct Shape {
    __device__ virtual float field(float x) const = 0;
};
struct Ball : Shape {
    float r;
    __device__ explicit Ball(float r_) : r(r_) {}
    __device__ float field(float x) const override { return x * x - r * r; }
};
struct Slab : Shape {
    float w;
    __device__ explicit Slab(float w_) : w(w_) {}
    __device__ float field(float x) const override { return fabsf(x) - w; }
};
__device__ __noinline__ float sum_of(const Shape *const *shapes, int count, float x)
{
    float s = 0.0f;
    for (int step = 0; step < 32; step++)
        for (int k = 0; k < count; k++)
            s += shapes[k]->field(x + 0.01f * step);
    return s;
}
__global__ void fields(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    Ball ball(0.5f);
    Slab slab(0.25f);
    const Shape *shapes[2] = {i & 1 ? (const Shape *)&ball : &slab, &ball};
    y[i] = sum_of(shapes, 2, x[i]);
}

// kscc: entry all_fields
// kscc: dims  n=1..1000000
// kscc: in    x : float[n]
// kscc: out   y : float[n] rtol=1e-4 atol=1e-3
// kscc: time  n=131072
void all_fields(const float *x, float *y, int n)
{
    fields<<<(n + 127) / 128, 128>>>(x, y, n);
}
