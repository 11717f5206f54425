// diagnosis: memory-access
// because: a hash sends each lane to a place of its own in a table of a million words
// verified: sector_efficiency <= 0.5
#include <cuda_runtime.h>
#include <stdint.h>

struct Table {
    const uint32_t *slots;
    uint32_t mask;
    __device__ uint32_t find(uint32_t key) const
    {
        uint32_t h = key * 2654435761u;
        h ^= h >> 15;
        return slots[h & mask] ^ slots[(h >> 7) & mask];
    }
};

__global__ void lookup(Table table, const uint32_t *keys, uint32_t *values, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        values[i] = table.find(keys[i]);
}

// kscc: entry hashed_lookup
// kscc: dims  n=1..4000000 slots=1024|1048576
// kscc: in    slot : uint32[slots] ~ int(0,2000000000)
// kscc: in    keys : uint32[n] ~ int(0,2000000000)
// kscc: out   values : uint32[n]
// kscc: time  n=1048576 slots=1048576
void hashed_lookup(const uint32_t *slot, const uint32_t *keys, uint32_t *values, int n, int slots)
{
    lookup<<<(n + 255) / 256, 256>>>(Table{slot, (uint32_t)slots - 1u}, keys, values, n);
}
