#ifndef VOTES_CUH
#define VOTES_CUH
// The nearest so far of one centre: distance in the upper half, who it is in the lower.
__device__ inline void offer(unsigned long long *best, float distance, unsigned who)
{
    atomicMin(best, (unsigned long long)__float_as_uint(distance) << 32 | who);
}
#endif
