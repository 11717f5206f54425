// Two launches over one array; the caller wants the intermediate result as well.
//
// kscc: entry leaky_scale
// kscc: dims  n=1..1000000
// kscc: in    x : half[n]
// kscc: out   pre : half[n]
// kscc: out   y : half[n]
// kscc: arg   slope = 0.1
// kscc: time  n=1000000
#include <cuda_fp16.h>

__global__ void leaky(const half *in, half *out, int count, float slope)
{
	const int i = threadIdx.x + blockDim.x * blockIdx.x;
	if (i >= count)
		return;
	float v = __half2float(in[i]); /* in float */
	out[i] = __float2half(v > 0.0f ? v : slope * v);
}

__global__ void twice(half *out, const half *in, int n)
{
	const int k = threadIdx.x + blockDim.x * blockIdx.x;
	if (k >= n)
		return;
	float v = __half2float(in[k]);
	out[k] = __float2half(v + v);
}

void leaky_scale(const half *x, half *pre, half *y, int n, float slope, cudaStream_t stream)
{
	leaky<<<(n + 127) / 128, 128, 0, stream>>>(x, pre, n, slope);
	twice<<<(n + 127) / 128, 128, 0, stream>>>(y, pre, n); // second step
}
