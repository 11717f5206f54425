// diagnosis: compute
// because: six divisions and remainders by run-time sizes to find each element of a copy
// verified: term:issue+int >= 0.5
#include <cuda_runtime.h>

__global__ void im2col(const float *img, float *col, int c, int h, int w, int kh, int kw, long long total)
{
    for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < total; i += (long long)gridDim.x * blockDim.x) {
        int ow = w - kw + 1, oh = h - kh + 1;
        long long t = i;
        int x = t % ow;
        t /= ow;
        int y = t % oh;
        t /= oh;
        int dx = t % kw;
        t /= kw;
        int dy = t % kh;
        int ch = t / kh % c;
        col[i] = img[((long long)ch * h + y + dy) * w + x + dx];
    }
}

// kscc: entry im2col_unfold
// kscc: dims  c=1..16 h=8..256 w=8..256 kh=1..5 kw=1..5
// kscc: in    img : float[c,h,w]
// kscc: out   col : float[c,kh,kw,h-kh+1,w-kw+1]
// kscc: time  c=8 h=160 w=160 kh=3 kw=3
void im2col_unfold(const float *img, float *col, int c, int h, int w, int kh, int kw)
{
    long long total = (long long)c * kh * kw * (h - kh + 1) * (w - kw + 1);
    im2col<<<2112, 256>>>(img, col, c, h, w, kh, kw, total);
}
