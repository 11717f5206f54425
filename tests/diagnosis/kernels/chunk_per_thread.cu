// diagnosis: memory-access
// because: each thread takes 32 neighbouring elements of each array, so the lanes of a warp are 128 bytes apart
// verified: sector_efficiency <= 0.4
#include <cuda_runtime.h>

template <typename T, int CHUNK> struct Slice {
    const T *__restrict__ re, *__restrict__ im;
    __device__ T power(int thread, int k) const
    {
        const int i = thread * CHUNK + k;
        return re[i] * re[i] + im[i] * im[i];
    }
};

template <typename T, int CHUNK> __global__ void powers(Slice<T, CHUNK> s, T *__restrict__ out, int chunks)
{
    const int t = threadIdx.x + blockIdx.x * blockDim.x;
    if (t >= chunks)
        return;
    for (int k = 0; k < CHUNK; ++k)
        out[t * CHUNK + k] = s.power(t, k);
}

// kscc: entry power_spectrum
// kscc: dims  chunks=1..100000
// kscc: in    re, im : float[chunks,32]
// kscc: out   p : float[chunks,32]
// kscc: time  chunks=65536
void power_spectrum(const float *re, const float *im, float *p, int chunks)
{
    Slice<float, 32> s{re, im};
    powers<float, 32><<<(chunks + 127) / 128, 128>>>(s, p, chunks);
}
