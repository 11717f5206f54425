// diagnosis: data-movement
// because: the same thread writes the four gates to global memory and reads them back one loop later
// verified: global_bytes_ratio >= 1.6
#include <cuda_runtime.h>

__device__ __forceinline__ float sigm(float v) { return 1.f / (1.f + __expf(-v)); }

// LSTM cell after the matrix products.
__global__ void lstm_cell(const float *pre, float *gates, float *cell, float *hidden, int units)
{
    int u = blockIdx.x * blockDim.x + threadIdx.x;
    if (u >= units)
        return;
    for (int g = 0; g < 4; g++)
        gates[g * units + u] = g == 2 ? tanhf(pre[g * units + u]) : sigm(pre[g * units + u]);
    float c = 0.f;
    for (int g = 0; g < 4; g++) {
        float v = gates[g * units + u];
        c = g == 0 ? v * cell[u] : g == 1 ? c + v * gates[2 * units + u] : c;
        if (g == 3)
            hidden[u] = v * c;
    }
    cell[u] = c;
}

// kscc: entry gate_scratch
// kscc: dims  units=1..2000000
// kscc: in    pre : float[4,units]
// kscc: scratch gates : float[4,units]
// kscc: inout cell : float[units]
// kscc: out   hidden : float[units]  rtol=1e-3 atol=1e-3
// kscc: time  units=1048576
void gate_scratch(const float *pre, float *gates, float *cell, float *hidden, int units)
{
    lstm_cell<<<(units + 255) / 256, 256>>>(pre, gates, cell, hidden, units);
}
