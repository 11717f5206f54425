// diagnosis: synchronization
// because: every element takes a ticket of a queue and publishes it behind a fence with two more atomics on the same line
// verified: term:atomic >= 0.5
#include <cuda_runtime.h>

struct Queue {
    unsigned reserved, published, overflow;
};
__device__ bool push(Queue *q, float *items, unsigned capacity, float v)
{
    unsigned slot = atomicAdd(&q->reserved, 1u);
    if (slot >= capacity) {
        atomicAdd(&q->overflow, 1u);
        return false;
    }
    items[slot] = v;
    __threadfence();
    atomicAdd(&q->published, 1u);
    return true;
}
__global__ void produce(const float *x, Queue *q, float *items, unsigned n)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && x[i] > 0.01f)
        push(q, items, n, x[i]);
}

// kscc: entry produce_all
// kscc: dims  n=1..1000000
// kscc: in    x : float[n] ~ uniform(0,1)
// kscc: inout q : uint32[3] ~ const(0)
// kscc: scratch items : float[n]
// kscc: time  n=131072
void produce_all(const float *x, unsigned *q, float *items, unsigned n)
{
    produce<<<(n + 255) / 256, 256>>>(x, (Queue *)q, items, n);
}
