__global__ void times(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * 3.0f;
}
void scale(const float *x, float *y, int n) { times<<<(n + 255) / 256, 256>>>(x, y, n); }
