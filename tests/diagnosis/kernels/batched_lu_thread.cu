// diagnosis: parallel-decomposition
// because: 96 systems of 48 unknowns are solved by 96 threads, one each
// verified: waves <= 0.05
#include <cuda_runtime.h>

// Element (i,j) of system b lies at (i*n+j)*batch+b: contiguous over systems.
__global__ void lu(float *a, int n, int batch)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= batch)
        return;
    for (int k = 0; k < n; k++) {
        float inv = 1.f / a[(k * n + k) * batch + b];
        for (int i = k + 1; i < n; i++) {
            float f = a[(i * n + k) * batch + b] * inv;
            a[(i * n + k) * batch + b] = f;
            for (int j = k + 1; j < n; j++)
                a[(i * n + j) * batch + b] -= f * a[(k * n + j) * batch + b];
        }
    }
}

// kscc: entry batched_lu
// kscc: dims  n=2..64 batch=1..4096
// kscc: inout a : float[n,n,batch] ~ uniform(1,2)  rtol=1e-1 atol=1
// kscc: time  n=24 batch=96
void batched_lu(float *a, int n, int batch)
{
    lu<<<(batch + 31) / 32, 32>>>(a, n, batch);
}
