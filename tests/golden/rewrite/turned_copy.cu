// out[y, x] = scale * in[x, y]: the reads are the strided side.
//
// kscc: entry turned_copy
// kscc: dims  w=1..4096 h=1..4096
// kscc: in    in  : double[w,h] ~ normal(0,1)
// kscc: out   out : double[h,w]
// kscc: arg   scale = 2
// kscc: time  w=4096 h=4096
#include <cuda_runtime.h>

__global__ void turn(const double *in, double *out, int w, int h, double scale)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x;
    int y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    out[(size_t)y * w + x] = scale * in[(size_t)x * h + y];
}

void turned_copy(const double *in, double *out, int w, int h, double scale, cudaStream_t stream)
{
    const dim3 threads(32, 8);
    turn<<<dim3((w + 31) / 32, (h + 7) / 8), threads, 0, stream>>>(in, out, w, h, scale);
}
