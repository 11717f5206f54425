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
    // A 32 x 32 tile at a time, so that neighbouring lanes both read and write neighbouring elements; the extra
    // column keeps the lanes of a transposed read in different banks.
    __shared__ double tile[32][33];
#pragma unroll
    for (int step = 0; step < 32; step += 8) {
        int y = blockIdx.y * 32 + threadIdx.x;
        int x = blockIdx.x * 32 + threadIdx.y + step;
        if (y < h && x < w)
            tile[threadIdx.y + step][threadIdx.x] = in[(size_t)x * h + y];
    }
    __syncthreads();
#pragma unroll
    for (int step = 0; step < 32; step += 8) {
        int x = blockIdx.x * 32 + threadIdx.x;
        int y = blockIdx.y * 32 + threadIdx.y + step;
        if (x < w && y < h)
            out[(size_t)y * w + x] = scale * tile[threadIdx.x][threadIdx.y + step];
    }
}

void turned_copy(const double *in, double *out, int w, int h, double scale, cudaStream_t stream)
{
    const dim3 threads(32, 8);
    turn<<<dim3((w + 31) / 32, (h + 31) / 32), threads, 0, stream>>>(in, out, w, h, scale);
}
