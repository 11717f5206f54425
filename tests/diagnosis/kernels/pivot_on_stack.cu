// diagnosis: compilation
// because: rows are exchanged by run-time index, which puts the 6 x 6 matrix of each thread on its stack
// verified: local_bytes_ratio >= 0.5
#include <cuda_runtime.h>

#define D 6

// Determinants of small matrices, stored entry-major.
__global__ void determinant(const float *m, float *det, int count)
{
    int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (b >= count)
        return;
    float a[D][D];
    for (int i = 0; i < D; i++)
        for (int j = 0; j < D; j++)
            a[i][j] = m[(i * D + j) * count + b];
    float d = 1.f;
    for (int k = 0; k < D; k++) {
        int p = k;
        for (int i = k + 1; i < D; i++)
            if (fabsf(a[i][k]) > fabsf(a[p][k]))
                p = i;
        if (p != k)
            d = -d;
        for (int j = 0; j < D; j++) {
            float t = a[k][j];
            a[k][j] = a[p][j];
            a[p][j] = t;
        }
        d *= a[k][k];
        for (int i = k + 1; i < D; i++) {
            float f = a[i][k] / a[k][k];
            for (int j = k; j < D; j++)
                a[i][j] -= f * a[k][j];
        }
    }
    det[b] = d;
}

// kscc: entry pivot_on_stack
// kscc: dims  count=1..200000
// kscc: in    m : float[36,count]
// kscc: out   det : float[count]  rtol=1e-2 atol=1e-2
// kscc: time  count=131072
void pivot_on_stack(const float *m, float *det, int count)
{
    determinant<<<(count + 127) / 128, 128>>>(m, det, count);
}
