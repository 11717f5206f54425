// Random numbers by counting, and normal ones from pairs of them.
#ifndef DRAWS_CUH
#define DRAWS_CUH
__device__ __forceinline__ unsigned stir(unsigned v)
{
    v ^= v >> 16;
    v *= 0x7feb352du;
    v ^= v >> 15;
    v *= 0x846ca68bu;
    return v ^ v >> 16;
}
__device__ __forceinline__ float unit(unsigned v) { return (stir(v) >> 8) * (1.f / 16777216.f) + 2.9e-8f; }
__device__ inline float normal_draw(unsigned v)
{
    return sqrtf(-2.f * logf(unit(2u * v))) * cosf(6.2831853f * unit(2u * v + 1u));
}
#endif
