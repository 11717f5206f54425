// diagnosis: parallel-decomposition
// because: 140 blocks of which one fits on each of 132 multiprocessors: the last eight run a whole second wave
// verified: waves >= 1.01
#include <cuda_runtime.h>

#define WORDS 40000

// Logistic maps, their table of parameters in shared memory.
__global__ void iterate(const float *rate, float *out, int steps)
{
    extern __shared__ float table[];
    for (int i = threadIdx.x; i < WORDS; i += blockDim.x)
        table[i] = 3.f + 0.9f * rate[i];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = 0.3f + 0.0001f * threadIdx.x;
    for (int s = 0; s < steps; s++)
        v = fminf(fmaxf(table[(i + s * 33) % WORDS] * v * (1.f - v), 0.01f), 0.99f);
    out[i] = v;
}

// kscc: entry logistic_maps
// kscc: dims  blocks=1..1000 steps=1..16
// kscc: in    rate : float[40000] ~ uniform(0,1)
// kscc: out   out : float[blocks,256]  rtol=0.5 atol=0.5
// kscc: time  blocks=140 steps=16
void logistic_maps(const float *rate, float *out, int blocks, int steps)
{
    cudaFuncSetAttribute(iterate, cudaFuncAttributeMaxDynamicSharedMemorySize, WORDS * 4);
    iterate<<<blocks, 256, WORDS * 4>>>(rate, out, steps * 100);
}
