// diagnosis: operator-boundary
// because: between two steps the whole state goes to the host and back, though the host does nothing to it
// verified: source
#include <cuda_runtime.h>
#include <vector>

template <typename T> __global__ void relax(T *to, const T *from, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        to[i] = T(0.25) * (from[i ? i - 1 : 0] + from[i + 1 < n ? i + 1 : i]) + T(0.5) * from[i];
}

static void hand_back(std::vector<float> &kept, float *device_to, const float *device_from)
{
    cudaMemcpy(kept.data(), device_from, kept.size() * sizeof(float), cudaMemcpyDeviceToHost);
    cudaMemcpy(device_to, kept.data(), kept.size() * sizeof(float), cudaMemcpyHostToDevice);
}

// kscc: entry staged_relaxation
// kscc: dims  n=2..1000000
// kscc: inout u : float[n]
// kscc: scratch v : float[n]
// kscc: time  n=200000
void staged_relaxation(float *u, float *v, int n)
{
    std::vector<float> kept(n);
    for (int step = 0; step < 8; ++step) {
        relax<float><<<(n + 255) / 256, 256>>>(v, u, n);
        hand_back(kept, u, v);
    }
}
