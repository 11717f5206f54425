// diagnosis: compute
// because: the angle's power, sine and cosine are worked out again for each head and each batch
// verified: source
#include <cuda_runtime.h>

__global__ void rope(float2 *x, int seq, int heads, int pairs)
{
    int p = threadIdx.x, head = blockIdx.y, pos = blockIdx.x;
    if (p >= pairs)
        return;
    float theta = pos * powf(10000.f, -(float)p / pairs);
    float c = cosf(theta), s = sinf(theta);
    float2 *v = x + ((size_t)pos * heads + head) * pairs + p;
    *v = make_float2(v->x * c - v->y * s, v->x * s + v->y * c);
}

// kscc: entry rope_rotate
// kscc: dims  seq=1..4096 heads=1..32 pairs=32|64
// kscc: inout x : float[seq,heads,pairs,2]  rtol=1e-2 atol=1e-3
// kscc: time  seq=1024 heads=16 pairs=64
void rope_rotate(float2 *x, int seq, int heads, int pairs)
{
    rope<<<dim3(seq, heads), 64>>>(x, seq, heads, pairs);
}
