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

struct __align__(16) half_x8 {
	half v[8];
};

__global__ void leaky(const half *in, half *out, int count, float slope)
{
	// 8 neighbouring elements a thread, in 16-byte moves where all pointers are aligned for them.
	const bool vectors = ((size_t)in | (size_t)out) % 16 == 0;
	const int i8 = (threadIdx.x + blockDim.x * blockIdx.x) * 8;
	if (vectors && i8 + 7 < count) {
		const half_x8 in_8 = *reinterpret_cast<const half_x8 *>(in + i8);
		half_x8 out_8;
#pragma unroll
		for (int lane = 0; lane < 8; lane++) {
			float v = __half2float(in_8.v[lane]);
			out_8.v[lane] = __float2half(v > 0.0f ? v : slope * v);
		}
		*reinterpret_cast<half_x8 *>(out + i8) = out_8;
	} else {
		for (int i = i8; i < i8 + 8 && i < count; i++) {
			float v = __half2float(in[i]);
			out[i] = __float2half(v > 0.0f ? v : slope * v);
		}
	}
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
	leaky<<<(((n + 127) / 128) + 7) / 8, 128, 0, stream>>>(x, pre, n, slope);
	twice<<<(n + 127) / 128, 128, 0, stream>>>(y, pre, n); // second step
}
