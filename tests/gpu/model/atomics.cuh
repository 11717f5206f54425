// Atomics: how many, on how many addresses, in which memory.
#pragma once
#include "kernel.cuh"

KERNEL(histogram_global) // m bins, a power of two
{
    int *bins = reinterpret_cast<int *>(c);
    for (int i = ID; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&bins[INTS(b)[i] & (m - 1)], 1);
}
KERNEL(histogram_shared)
{
    __shared__ int s[1024];
    for (int j = threadIdx.x; j < m; j += blockDim.x)
        s[j] = 0;
    __syncthreads();
    for (int i = ID; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&s[INTS(b)[i] & (m - 1)], 1);
    __syncthreads();
    for (int j = threadIdx.x; j < m; j += blockDim.x)
        atomicAdd(reinterpret_cast<int *>(c) + j, s[j]);
}
KERNEL(count_one) // one address, one value: the compiler joins a warp's lanes
{
    if (INTS(b)[ID] & 1)
        atomicAdd(reinterpret_cast<int *>(c), 1);
}
KERNEL(ticket) // values are returned, so nothing can be joined
{
    c[1024 + ID] = atomicAdd(reinterpret_cast<unsigned *>(c) + (ID & (m - 1)), 1u);
}
KERNEL(add_spread) // every thread an address of its own
{
    atomicAdd(&c[ID & (m - 1)], 1.5f);
}
KERNEL(add_random)
{
    atomicAdd(&c[INTS(b)[ID] & (m - 1)], 1.5f);
}
KERNEL(swap_loop) // compare and swap until it holds
{
    unsigned *p = reinterpret_cast<unsigned *>(c) + (ID & (m - 1)), old = *(volatile unsigned *)p, seen;
    do {
        seen = old;
        old = atomicCAS(p, seen, seen + 3);
    } while (old != seen);
}
