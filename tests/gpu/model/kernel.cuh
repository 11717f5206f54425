// Kernels of the set that the modelled time is held against.  All have one signature, so that a table of launches (set.def) serves a
// real device and the emulated one: a holds floats in [0, 1), b random ints in [0, 2^24), c takes results; n, m, k are sizes.
#pragma once
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>

#define KERNEL(name)                                                                                                             \
    extern "C" __global__ void name(const float *__restrict__ a, const float *__restrict__ b, float *__restrict__ c, int n,      \
                                    int m, int k)
#define ID (blockIdx.x * blockDim.x + threadIdx.x)
#define INTS(p) reinterpret_cast<const int *>(p)
