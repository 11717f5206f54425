// diagnosis: parallel-decomposition
// because: blocks of 33 threads take two warps each, the second with one lane
// verified: lane_efficiency <= 0.6
#include <cuda_runtime.h>

#define NODES 33

// Chebyshev evaluation at 33 nodes of an element.
__global__ void evaluate(const float *coef, float *value, int order)
{
    const float *c = coef + (size_t)blockIdx.x * order;
    float x = cosf(3.14159265f * threadIdx.x / (NODES - 1));
    float b1 = 0.f, b2 = 0.f;
    for (int k = order - 1; k > 0; k--) {
        float b0 = 2.f * x * b1 - b2 + c[k];
        b2 = b1;
        b1 = b0;
    }
    value[blockIdx.x * NODES + threadIdx.x] = x * b1 - b2 + c[0];
}

// kscc: entry chebyshev_elements
// kscc: dims  elements=1..100000 order=2..64
// kscc: in    coef : float[elements,order]
// kscc: out   value : float[elements,33]  rtol=1e-3 atol=1e-3
// kscc: time  elements=32768 order=48
void chebyshev_elements(const float *coef, float *value, int elements, int order)
{
    evaluate<<<elements, NODES>>>(coef, value, order);
}
