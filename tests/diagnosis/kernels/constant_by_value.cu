// diagnosis: memory-access
// because: bytes of data index a table in constant memory, whose lanes are served one different address after the other
// verified: source
#include <cuda_runtime.h>
#include <stdint.h>

__constant__ float curve[256];

__global__ void through_curve(const uint8_t *__restrict__ in, float *__restrict__ out, int n)
{
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
    if (i + 3 >= n)
        return;
    const uchar4 v = *(const uchar4 *)(in + i);
    *(float4 *)(out + i) = make_float4(curve[v.x], curve[v.y], curve[v.z], curve[v.w]);
}

// kscc: entry tone_table
// kscc: dims  k=1..1000000 n=4*k
// kscc: in    table : float[256]
// kscc: in    in : uint8[n] ~ int(0,255)
// kscc: out   out : float[n]
// kscc: time  k=262144
void tone_table(const float *table, const uint8_t *in, float *out, int n, cudaStream_t s)
{
    cudaMemcpyToSymbolAsync(curve, table, sizeof curve, 0, cudaMemcpyDeviceToDevice, s);
    through_curve<<<(n / 4 + 255) / 256, 256, 0, s>>>(in, out, n);
}
