// diagnosis: compute
// because: double-precision logarithm, exponential and error function for prices stored in single precision
// verified: term:fp64 >= 0.5
#include <cuda_runtime.h>

__global__ void black_scholes(const float *spot, const float *strike, const float *years, float *call, int n, float rate, float vol)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    double S = spot[i], K = strike[i], T = years[i];
    double sq = vol * sqrt(T);
    double d1 = (log(S / K) + (rate + 0.5 * vol * vol) * T) / sq, d2 = d1 - sq;
    double n1 = 0.5 * erfc(-d1 * 0.70710678118654752), n2 = 0.5 * erfc(-d2 * 0.70710678118654752);
    call[i] = (float)(S * n1 - K * exp(-rate * T) * n2);
}

// kscc: entry option_prices
// kscc: dims  n=1..1000000
// kscc: in    spot, strike : float[n] ~ uniform(20,120)
// kscc: in    years : float[n] ~ uniform(0.2,5)
// kscc: out   call : float[n]  rtol=1e-3 atol=1e-3
// kscc: arg   rate = 0.03
// kscc: arg   vol = 0.3
// kscc: time  n=524288
void option_prices(const float *spot, const float *strike, const float *years, float *call, int n, float rate, float vol)
{
    black_scholes<<<(n + 255) / 256, 256>>>(spot, strike, years, call, n, rate, vol);
}
