// diagnosis: compute
// because: vectors are turned through polar coordinates: an arc tangent, a root, a sine and a cosine in full precision where two products do
// verified: term:issue+fp32+special+int >= 0.4
#include <cuda_runtime.h>

namespace plane {
struct Polar {
    float r, phi;
};
__device__ Polar to_polar(float2 v)
{
    return {hypotf(v.x, v.y), atan2f(v.y, v.x)};
}
__device__ float2 from_polar(Polar p)
{
    return make_float2(p.r * cosf(p.phi), p.r * sinf(p.phi));
}
}
__global__ void turn_all(float2 *v, float by, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float2 p = v[i];
    for (int k = 0; k < 4; k++) {
        plane::Polar q = plane::to_polar(p);
        q.phi += by;
        p = plane::from_polar(q);
    }
    v[i] = p;
}

// kscc: entry turn_vectors
// kscc: dims  n=1..2000000
// kscc: inout v : float[n,2] ~ normal(0,1) rtol=1e-3 atol=1e-3
// kscc: arg   by = 0.1
// kscc: time  n=524288
void turn_vectors(float2 *v, float by, int n)
{
    turn_all<<<(n + 255) / 256, 256>>>(v, by, n);
}
