// A program for program mode on a card: a plain transpose does most of its work.  transposed [ROWS COLS [SEED]]
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void transpose(const float *in, float *out, int rows, int cols)
{
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols)
        out[col * rows + row] = in[row * cols + col];
}
__global__ void add_one(float *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] += 1;
}

int main(int argc, char **argv)
{
    int rows = argc > 2 ? atoi(argv[1]) : 2048, cols = argc > 2 ? atoi(argv[2]) : 2048, seed = argc > 3 ? atoi(argv[3]) : 1, n = rows * cols;
    std::vector<float> h(n), back(n);
    for (int i = 0; i < n; i++)
        h[i] = (float)((i * 2654435761u + seed * 40503u) % 1000) / 8;
    float *a, *b;
    cudaMalloc(&a, (size_t)n * 4);
    cudaMalloc(&b, (size_t)n * 4);
    cudaMemcpy(a, h.data(), (size_t)n * 4, cudaMemcpyHostToDevice);
    cudaEvent_t begin, end;
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
    cudaEventRecord(begin);
    for (int i = 0; i < 20; i++)
        transpose<<<dim3((cols + 15) / 16, (rows + 15) / 16), dim3(16, 16)>>>(a, b, rows, cols);
    add_one<<<(n + 255) / 256, 256>>>(b, n);
    cudaEventRecord(end);
    if (cudaMemcpy(back.data(), b, (size_t)n * 4, cudaMemcpyDeviceToHost) != cudaSuccess)
        return 3;
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += back[i] * (i % 7);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    printf("%d x %d: checksum %.6e\nelapsed %.3f ms\n", rows, cols, sum, ms);
    return 0;
}
