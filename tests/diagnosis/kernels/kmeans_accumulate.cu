// diagnosis: synchronization
// because: all points add their coordinates to the same sixteen sums in global memory
// verified: term:atomic >= 0.5
#include <cuda_runtime.h>

struct Sums {
    float x, y;
    int count;
};

__global__ void accumulate(const float2 *point, const int *label, Sums *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float2 p = point[i];
    Sums *s = &sum[label[i]];
    atomicAdd(&s->x, p.x);
    atomicAdd(&s->y, p.y);
}

// kscc: entry kmeans_accumulate
// kscc: dims  n=1..1000000
// kscc: in    point : float[n,2] ~ uniform(0,1)
// kscc: in    label : int32[n] ~ int(0,15)
// kscc: inout sum : float[16,3] ~ const(0)  rtol=1e-2 atol=1e-2
// kscc: time  n=524288
void kmeans_accumulate(const float2 *point, const int *label, Sums *sum, int n)
{
    accumulate<<<(n + 255) / 256, 256>>>(point, label, sum, n);
}
