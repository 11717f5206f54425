// diagnosis: parallel-decomposition
// because: one lane in eight holds a live cell and works through its neighbourhood while the other seven wait
// verified: lane_efficiency <= 0.4
#include <cuda_runtime.h>

__global__ void grow(const float *field, float *next, int n, int steps)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float v = field[i];
    if (i % 8 == 0) {
        for (int s = 0; s < steps; s++)
            v = v * 0.99f + 0.01f * v * (1.f - v * v);
    }
    next[i] = v;
}

// kscc: entry sparse_lanes_update
// kscc: dims  n=1..2000000 steps=1..200
// kscc: in    field : float[n] ~ uniform(0,1)
// kscc: out   next : float[n]
// kscc: time  n=524288 steps=160
void sparse_lanes_update(const float *field, float *next, int n, int steps)
{
    grow<<<(n + 255) / 256, 256>>>(field, next, n, steps);
}
