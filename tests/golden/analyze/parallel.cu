// One thread a row, a block of 100 threads, a grid of one block.
__global__ void row_norms(const float *x, float *norm, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float s = 0.0f;
    for (int c = 0; c < cols; ++c)
        s += x[(size_t)r * cols + c] * x[(size_t)r * cols + c];
    norm[r] = sqrtf(s);
}

__global__ void largest(const float *norm, float *out, int rows)
{
    float m = 0.0f;
    for (int r = threadIdx.x; r < rows; r += blockDim.x)
        m = fmaxf(m, norm[r]);
    for (int d = 16; d > 0; d /= 2)
        m = fmaxf(m, __shfl_down_sync(0xffffffffu, m, d));
    if (threadIdx.x == 0)
        out[0] = m;
}

void run(const float *x, float *norm, float *out, int rows, int cols)
{
    row_norms<<<(rows + 99) / 100, 100>>>(x, norm, rows, cols);
    largest<<<1, 32>>>(norm, out, rows);
}
