// Three launches over one temporary buffer, allocated in every call, with the host waiting at the end.
__global__ void square(const float *x, float *t, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        t[i] = x[i] * x[i];
}

__global__ void shift(const float *x, float *t, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    t[i] = t[i] - x[i];
}

__global__ void difference(const float *t, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n)
        y[i] = t[i + 1] - t[i];
}

cudaError_t chain(const float *x, float *y, int n)
{
    float *t;
    cudaMalloc(&t, n * sizeof(float));
    square<<<(n + 255) / 256, 256>>>(x, t, n);
    shift<<<(n + 127) / 128, 128>>>(x, t, n);
    difference<<<(n + 255) / 256, 256>>>(t, y, n);
    cudaFree(t);
    return cudaDeviceSynchronize();
}
