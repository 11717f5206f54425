// diagnosis: operator-boundary
// because: a formula of five operations is five passes over the array, a functor and a launch each
// verified: entry_bytes_ratio >= 3
#include <cuda_runtime.h>

struct Shift { float by; __device__ float operator()(float v) const { return v + by; } };
struct Scale { float by; __device__ float operator()(float v) const { return v * by; } };
struct Clip { float lo, hi; __device__ float operator()(float v) const { return fminf(fmaxf(v, lo), hi); } };
struct Square { __device__ float operator()(float v) const { return v * v; } };

template <class F> __global__ void each(float *v, size_t n, F f)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x)
        v[i] = f(v[i]);
}

template <class F> static void apply(float *v, size_t n, F f) { each<<<(unsigned)((n + 511) / 512), 512>>>(v, n, f); }

// kscc: entry functor_chain
// kscc: dims  n=1..8000000
// kscc: inout v : float[n]
// kscc: time  n=2097152
void functor_chain(float *v, int n)
{
    apply(v, n, Shift{0.5f});
    apply(v, n, Scale{1.5f});
    apply(v, n, Clip{-2.f, 2.f});
    apply(v, n, Square{});
    apply(v, n, Shift{-1.f});
}
