// diagnosis: parallel-decomposition
// because: after a parallel part thread 0 alone walks the block's 256 partial results
// verified: lane_efficiency <= 0.35
#include <cuda_runtime.h>

__global__ void peak_track(const float *wave, float *env)
{
    __shared__ float peak[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    peak[threadIdx.x] = fabsf(wave[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        float held = 0.f;
        for (int k = 0; k < 256; k++) {
            held = fmaxf(peak[k], held * 0.98f);
            peak[k] = held;
        }
    }
    __syncthreads();
    env[i] = peak[threadIdx.x];
}

// kscc: entry leader_thread_merges
// kscc: dims  blocks=1..4096
// kscc: in    wave : float[blocks,256]
// kscc: out   env : float[blocks,256]
// kscc: time  blocks=2112
void leader_thread_merges(const float *wave, float *env, int blocks)
{
    peak_track<<<blocks, 256>>>(wave, env);
}
