// The whole set in one module: PTX for the emulated device.
#include "atomics.cuh"
#include "compute.cuh"
#include "held.cuh"
#include "matmul.cuh"
#include "memory.cuh"
#include "reduce.cuh"
