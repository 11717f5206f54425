// diagnosis: memory-access
// because: thread t owns words t*32 to t*32+31 of the shared array, so all lanes meet in one bank at every step
// verified: shared_conflicts_per_request >= 4
#include <cuda_runtime.h>

#define CHUNK 32
#define THREADS 128

// Running sums inside chunks of 32 samples.
__global__ void chunk_scan(const float *in, float *out)
{
    __shared__ float buf[THREADS * CHUNK];
    int base = blockIdx.x * THREADS * CHUNK;
    for (int k = 0; k < CHUNK; ++k)
        buf[k * THREADS + threadIdx.x] = in[base + k * THREADS + threadIdx.x];
    __syncthreads();
    float run = 0.f;
    for (int k = 0; k < CHUNK; ++k) {
        run += buf[threadIdx.x * CHUNK + k];
        buf[threadIdx.x * CHUNK + k] = run;
    }
    __syncthreads();
    for (int k = 0; k < CHUNK; ++k)
        out[base + k * THREADS + threadIdx.x] = buf[k * THREADS + threadIdx.x];
}

// kscc: entry column_scan_shared
// kscc: dims  chunks=1..2048
// kscc: in    in : float[chunks,4096]
// kscc: out   out : float[chunks,4096]  rtol=1e-3 atol=1e-3
// kscc: time  chunks=1024
void column_scan_shared(const float *in, float *out, int chunks)
{
    chunk_scan<<<chunks, THREADS>>>(in, out);
}
