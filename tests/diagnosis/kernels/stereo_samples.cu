// diagnosis: memory-access
// because: samples of 16 bits are taken apart one at a time: a warp moves 64 bytes with each request
// verified: bytes_per_lane <= 2.1
#include <cuda_runtime.h>
#include <stdint.h>

typedef int16_t sample;

static __global__ void split(const sample *both, sample *left, sample *right, int frames)
{
    auto frame = blockIdx.x * blockDim.x + threadIdx.x;
    if (frame >= frames)
        return;
    const sample l = both[2 * frame], r = both[2 * frame + 1];
    left[frame] = (sample)((l + r) / 2);
    right[frame] = (sample)((l - r) / 2);
}

// kscc: entry mid_and_side
// kscc: dims  frames=1..8000000
// kscc: in    both : int16[frames,2] ~ int(-30000,30000)
// kscc: out   left, right : int16[frames]
// kscc: time  frames=2097152
extern "C" void mid_and_side(const int16_t *both, int16_t *left, int16_t *right, int frames, cudaStream_t stream)
{
    split<<<(frames + 1023) / 1024, 1024, 0, stream>>>(both, left, right, frames);
}
