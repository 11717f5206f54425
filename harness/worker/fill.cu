// kscc_fill: one buffer of a timed call, bit for bit as harness/inputs.c does on the host.  kscc_spin: a delay, or a tenant that keeps
// multiprocessors busy.
#include "harness/inputs_core.h"

extern "C" __global__ void kscc_fill(struct ks_input_gen g, void *data)
{
    for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < g.n_elem; i += (uint64_t)gridDim.x * blockDim.x)
        ks_gen_store(&g, i, data);
}

extern "C" __global__ void __launch_bounds__(1024) kscc_spin(uint64_t ns)
{
    uint64_t start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    while (now - start < ns);
}
