// Moves points along x.
//
// kscc: entry shift
// kscc: dims  n=1..1048576
// kscc: inout p : float[n,4] ~ normal(0,1)
// kscc: in    d : float[n] ~ normal(0,1)
// kscc: time  n=1048576
#include <cuda_runtime.h>

struct point {
    float x, y, z, w;
};

__global__ void shift_kernel(point *p, const float *d, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        // The structure passes through registers as a whole, 16 bytes a request (single members where p is not aligned).
        bool in_vectors = reinterpret_cast<size_t>(p) % 16 == 0;
        point own;
        if (in_vectors) {
            float4 quad_a = reinterpret_cast<const float4 *>(p + i)[0];
            own.x = quad_a.x;
            own.y = quad_a.y;
            own.z = quad_a.z;
            own.w = quad_a.w;
        } else {
            own = p[i];
        }
        own.x += d[i] * own.w; // the weight scales the step
        own.y = own.x - own.z;
        if (in_vectors) {
            reinterpret_cast<float4 *>(p + i)[0] = make_float4(own.x, own.y, own.z, own.w);
        } else {
            p[i] = own;
        }
    }
}

void shift(point *p, const float *d, int n, cudaStream_t stream)
{
    shift_kernel<<<(n + 255) / 256, 256, 0, stream>>>(p, d, n);
}
