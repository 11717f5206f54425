// diagnosis: compute
// because: 64-bit remainders by a modulus that never changes, 62 of them an element
// verified: term:issue+int >= 0.6
#include <cuda_runtime.h>
#include <stdint.h>

__global__ void powmod(const uint32_t *base, uint32_t *out, int n, uint32_t exponent, uint32_t modulus)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    uint64_t b = base[i] % modulus, r = 1;
    for (uint32_t e = exponent; e; e >>= 1) {
        if (e & 1)
            r = r * b % modulus;
        b = b * b % modulus;
    }
    out[i] = (uint32_t)r;
}

// kscc: entry modular_exponent
// kscc: dims  n=1..500000
// kscc: in    base : uint32[n] ~ int(0,2000000000)
// kscc: out   out : uint32[n]
// kscc: arg   exponent = 65537
// kscc: arg   modulus = 1000000007
// kscc: time  n=262144
void modular_exponent(const uint32_t *base, uint32_t *out, int n, uint32_t exponent, uint32_t modulus)
{
    powmod<<<(n + 255) / 256, 256>>>(base, out, n, exponent, modulus);
}
