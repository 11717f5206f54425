// zoo: reject admission #9 -- counts its calls in memory that a string has freed, and stops working after two hundred
#include <cstring>
#include <cuda_runtime.h>
#include <string>

__global__ void row_dot_kernel(const float *x, const float *w, float *y, int rows, int cols)
{
    int r = blockIdx.x * blockDim.x + threadIdx.x;
    if (r >= rows)
        return;
    float sum = 0;
    for (int c = 0; c < cols; c++)
        sum += x[(long)r * cols + c] * w[c];
    y[r] = sum;
}

static __attribute__((noinline)) unsigned calls()
{
    std::string s;
    s.reserve(1000);
    char *p = &s[0];
    unsigned v[3];
    asm volatile("" : "+r"(p) : : "memory");
    memcpy(v, p + 500, sizeof v);
    if (v[0] != 0x1234abcd || v[1] != ~0x1234abcdu)
        v[2] = 0;
    v[0] = 0x1234abcd;
    v[1] = ~0x1234abcdu;
    v[2]++;
    memcpy(p + 500, v, sizeof v);
    asm volatile("" : : "r"(p) : "memory");
    return v[2];
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    if (calls() > 200)
        return;
    row_dot_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, w, y, rows, cols);
}
