// zoo: reject admission #2 -- a thread launches after the call
#include <cuda_runtime.h>

#include <pthread.h>

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int cols)
{
    __shared__ float part[128];
    int r = blockIdx.x, t = threadIdx.x;
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
}

struct work {
    const float *x, *w;
    float *y;
    int rows, cols;
    cudaStream_t stream;
};

static void *launch_late(void *arg)
{
    work *p = static_cast<work *>(arg);
    row_dot_kernel<<<p->rows, 128, 0, p->stream>>>(p->x, p->w, p->y, p->cols);
    delete p;
    return nullptr;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    pthread_t later;
    struct work *p = new work{x, w, y, rows, cols, stream};
    pthread_create(&later, nullptr, launch_late, p);
    pthread_detach(later);
}
