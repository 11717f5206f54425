// diagnosis: memory-access
// because: rows of a table are looked up by random keys, one float a lane, and each fetches a sector of its own
// verified: sector_efficiency <= 0.5
#include <cuda_runtime.h>

__global__ void gather(const float *table, const int *key, float *out, int size, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = table[(unsigned)key[i] & (size - 1)];
}

// kscc: entry gather_by_key
// kscc: dims  n=1..4000000 size=4096|16384|1048576|4194304
// kscc: in    table : float[size]
// kscc: in    key : int32[n] ~ int(0,2000000000)
// kscc: out   out : float[n]
// kscc: time  n=2097152 size=4194304
void gather_by_key(const float *table, const int *key, float *out, int size, int n)
{
    gather<<<(n + 255) / 256, 256>>>(table, key, out, size, n);
}
