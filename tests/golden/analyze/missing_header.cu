#include "not_there.h"

__global__ void set(float *x)
{
    x[blockIdx.x * NOT_THERE + threadIdx.x] = 1.0f;
}
