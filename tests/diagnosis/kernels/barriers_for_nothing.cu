// diagnosis: synchronization
// because: two barriers a step guard a shared slot that only its own thread ever touches
// verified: faster_with FREE
#include <cuda_runtime.h>

#ifdef FREE
#define wait()
#else
#define wait() __syncthreads()
#endif

// The answer of a first-order filter to a step, for many channels, the state kept in shared memory.
__global__ void smooth(const float *x, float *y, int steps, int channels)
{
    __shared__ float state[256];
    int c = blockIdx.x * 256 + threadIdx.x;
    float v = c < channels ? x[c] : 0.f;
    state[threadIdx.x] = 0.f;
    for (int s = 0; s < steps; s++) {
        wait();
        state[threadIdx.x] = 0.9f * state[threadIdx.x] + v;
        wait();
    }
    if (c < channels)
        y[c] = state[threadIdx.x];
}

// kscc: entry smooth_channels
// kscc: dims  steps=1..1024 channels=1..100000
// kscc: in    x : float[channels]
// kscc: out   y : float[channels]  rtol=1e-3 atol=1e-4
// kscc: time  steps=256 channels=65536
void smooth_channels(const float *x, float *y, int steps, int channels)
{
    smooth<<<(channels + 255) / 256, 256>>>(x, y, steps, channels);
}
