// diagnosis: memory-access
// because: one thread reads a whole 8 x 8 matrix, and its neighbour starts 256 bytes further
// verified: sector_efficiency <= 0.4
#include <cuda_runtime.h>

__global__ void matvec8(const double *m, const double *v, double *out, int batch)
{
    int b = blockDim.x * blockIdx.x + threadIdx.x;
    if (b >= batch)
        return;
    const double *a = m + b * 64;
    for (int i = 0; i < 8; i++) {
        double acc = 0;
        for (int j = 0; j < 8; j++)
            acc += a[i * 8 + j] * v[b * 8 + j];
        out[b * 8 + i] = acc;
    }
}

// kscc: entry batched_matvec8
// kscc: dims  batch=1..200000
// kscc: in    m : double[batch,8,8]
// kscc: in    v : double[batch,8]
// kscc: out   out : double[batch,8]
// kscc: time  batch=65536
void batched_matvec8(const double *m, const double *v, double *out, int batch)
{
    matvec8<<<(batch + 127) / 128, 128>>>(m, v, out, batch);
}
