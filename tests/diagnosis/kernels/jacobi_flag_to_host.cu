// diagnosis: operator-boundary
// because: after every sweep over a small grid the host fetches the largest change to decide whether to go on
// verified: launch_overhead_ratio >= 0.3
#include <cuda_runtime.h>

__global__ void sweep(const float *from, float *to, int *moved, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    float old = from[y * w + x], v = old;
    if (x > 0 && x < w - 1 && y > 0 && y < h - 1)
        v = 0.25f * (from[y * w + x - 1] + from[y * w + x + 1] + from[(y - 1) * w + x] + from[(y + 1) * w + x]);
    to[y * w + x] = v;
    if (fabsf(v - old) > 1e-3f)
        *moved = 1;
}

// kscc: entry jacobi_flag_to_host
// kscc: dims  w=1..512 h=1..512
// kscc: inout a : float[h,w]  rtol=1e-4 atol=1e-4
// kscc: scratch b : float[h,w]
// kscc: scratch moved : int32[1]
// kscc: time  w=256 h=256
void jacobi_flag_to_host(float *a, float *b, int *moved, int w, int h)
{
    dim3 block(32, 8), grid((w + 31) / 32, (h + 7) / 8);
    for (int i = 0; i < 20; i++) {
        int any = 0;
        cudaMemset(moved, 0, sizeof any);
        sweep<<<grid, block>>>(a, b, moved, w, h);
        sweep<<<grid, block>>>(b, a, moved, w, h);
        cudaMemcpy(&any, moved, sizeof any, cudaMemcpyDeviceToHost);
        if (!any)
            break;
    }
}
