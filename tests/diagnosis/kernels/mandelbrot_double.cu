// diagnosis: compute
// because: the orbit is iterated in double precision though a picture of this size resolves single precision
// verified: term:fp64+issue >= 0.5
#include <cuda_runtime.h>

__global__ void escape(const float *re, const float *im, int *out, int n, int max_iter)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double cr = re[i], ci = im[i], zr = 0, zi = 0;
    int inside = 0;
    for (int k = 0; k < max_iter; k++) {
        double t = zr * zr - zi * zi + cr;
        zi = 2 * zr * zi + ci;
        zr = t;
        inside += zr * zr + zi * zi < 4.0;
        zr = fmin(fmax(zr, -4.0), 4.0);
        zi = fmin(fmax(zi, -4.0), 4.0);
    }
    out[i] = inside;
}

// kscc: entry escape_times
// kscc: dims  n=1..1000000 max_iter=1..200
// kscc: in    re, im : float[n] ~ uniform(-1,1)
// kscc: out   out : int32[n]
// kscc: time  n=262144 max_iter=64
void escape_times(const float *re, const float *im, int *out, int n, int max_iter)
{
    escape<<<(n + 127) / 128, 128>>>(re, im, out, n, max_iter);
}
