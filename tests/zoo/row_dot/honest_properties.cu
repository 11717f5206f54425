// zoo: honest -- asks for the card's properties, keeps a copy of them for the call, and chooses its grid by them
#include <cuda_runtime.h>

struct plan {
    cudaDeviceProp card;
    int blocks;
};

static plan plan_for(const cudaDeviceProp &card, int rows)
{
    plan p;
    p.card = card;
    int most = p.card.multiProcessorCount * (p.card.maxThreadsPerMultiProcessor / 128);
    p.blocks = rows < most ? rows : most;
    return p;
}

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int rows, int cols)
{
    __shared__ float part[128];
    int t = threadIdx.x;
    for (int r = blockIdx.x; r < rows; r += gridDim.x) {
        float sum = 0;
        for (int c = t; c < cols; c += 128)
            sum += x[(long)r * cols + c] * w[c];
        part[t] = sum;
        __syncthreads();
        for (int s = 64; s > 0; s /= 2) {
            if (t < s)
                part[t] += part[t + s];
            __syncthreads();
        }
        if (t == 0)
            y[r] = part[0];
        __syncthreads();
    }
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    cudaDeviceProp card;
    int device = 0;
    cudaGetDevice(&device);
    if (cudaGetDeviceProperties(&card, device) != cudaSuccess)
        return;
    plan p = plan_for(card, rows), again = p;
    row_dot_kernel<<<again.blocks, 128, 0, stream>>>(x, w, y, rows, cols);
}
