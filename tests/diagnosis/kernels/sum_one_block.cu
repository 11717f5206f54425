// diagnosis: parallel-decomposition
// because: one block of 256 threads sums four million numbers; 131 of 132 multiprocessors idle
// verified: waves <= 0.05
#include <cuda_runtime.h>

__global__ void sum(const float *x, float *total, int n)
{
    __shared__ float part[8];
    float s = 0.f;
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        s += x[i];
    for (int o = 16; o; o >>= 1)
        s += __shfl_down_sync(0xffffffff, s, o);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = s;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < 8; w++)
            s += part[w];
        *total = s;
    }
}

// kscc: entry sum_one_block
// kscc: dims  n=1..4000000
// kscc: in    x : float[n] ~ uniform(0,1)
// kscc: out   total : float[1]  rtol=1e-3 atol=1e-2
// kscc: time  n=1048576
void sum_one_block(const float *x, float *total, int n)
{
    sum<<<1, 256>>>(x, total, n);
}
