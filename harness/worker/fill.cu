// Fills one buffer of a timed call on the device, bit for bit as harness/inputs.c does on the host.
#include "harness/inputs_core.h"

extern "C" __global__ void kscc_fill(struct ks_input_gen g, void *data)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < g.n_elem; i += (uint64_t)gridDim.x * blockDim.x)
        ks_gen_store(&g, i, data);
}
