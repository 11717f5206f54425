// diagnosis: data-movement
// because: the same columns are fetched again for every entry of the product
// verified: read_amplification >= 20
#include <cuda_runtime.h>

template <typename T>
__global__ void gram(const T *__restrict__ X, T *__restrict__ G, int samples, int features)
{
    const int a = blockIdx.y * blockDim.y + threadIdx.y;
    const int b = blockIdx.x * blockDim.x + threadIdx.x;
    if (a >= features || b >= features)
        return;
    T sum = T(0);
    for (int s = 0; s < samples; ++s)
        sum += X[(size_t)s * features + a] * X[(size_t)s * features + b];
    G[(size_t)a * features + b] = sum / T(samples);
}

// kscc: entry gram_matrix
// kscc: dims  samples=1..4096 features=1..512
// kscc: in    X : float[samples,features]
// kscc: out   G : float[features,features]  rtol=1e-3 atol=1e-3
// kscc: time  samples=1024 features=384
void gram_matrix(const float *X, float *G, int samples, int features)
{
    dim3 t(32, 8);
    gram<float><<<dim3((features + 31) / 32, (features + 7) / 8), t>>>(X, G, samples, features);
}
