// diagnosis: compute
// because: a typedef makes every intermediate value double although data and result are single precision
// verified: faster_with SINGLE
#include <cuda_runtime.h>

#ifdef SINGLE
typedef float real;
#else
typedef double real;
#endif

__device__ static real lennard_jones(real r2)
{
    const real s = real(1) / r2, s3 = s * s * s;
    return real(24) * s3 * (real(2) * s3 - real(1)) * s;
}

__global__ void morse_and_jones(const float *r, float *force, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        real f = 0;
        for (int shell = 1; shell <= 12; shell++) {
            const real d = r[i] * real(shell);
            f += lennard_jones(d * d) + exp(-d) * (real(1) - exp(-d));
        }
        force[i] = f;
    }
}

// kscc: entry shell_forces
// kscc: dims  n=1..1000000
// kscc: in    r : float[n] ~ uniform(0.8,2)
// kscc: out   force : float[n]  rtol=1e-3 atol=1e-3
// kscc: time  n=131072
void shell_forces(const float *r, float *force, int n)
{
    morse_and_jones<<<(n + 255) / 256, 256>>>(r, force, n);
}
