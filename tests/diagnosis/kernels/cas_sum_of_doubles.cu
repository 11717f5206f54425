// diagnosis: synchronization
// because: sums of doubles are kept with a compare-and-swap loop on eight words that all threads want at once
// verified: source
#include <cuda_runtime.h>

__device__ void add_by_cas(double *to, double v)
{
    unsigned long long *word = (unsigned long long *)to, seen = *word, want;
    do {
        want = seen;
        seen = atomicCAS(word, want, (unsigned long long)__double_as_longlong(v + __longlong_as_double((long long)want)));
    } while (seen != want);
}
__global__ void totals(const double *x, double *sum, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        add_by_cas(sum + (i & 7), x[i]);
}

// kscc: entry eight_totals
// kscc: dims  n=8..1000000
// kscc: in    x : double[n] ~ uniform(0,1)
// kscc: inout sum : double[8] ~ const(0) rtol=1e-6 atol=1e-6
// kscc: time  n=16384
void eight_totals(const double *x, double *sum, int n)
{
    totals<<<(n + 127) / 128, 128>>>(x, sum, n);
}
