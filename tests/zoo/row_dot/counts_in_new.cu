// zoo: honest #9 -- would count its calls in memory from new and on its stack, where nothing of the last call is left
#include <cstring>
#include <cuda_runtime.h>

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

    char *p = (char *)operator new(1000);
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
    operator delete(p);
    return v[2];
}

static __attribute__((noinline)) unsigned more_calls()
{
    unsigned v[3], *p = v;
    asm volatile("" : "+r"(p) : : "memory");
    unsigned n = p[0] == 0x1234abcd && p[1] == ~0x1234abcdu ? p[2] : 0;
    p[0] = 0x1234abcd;
    p[1] = ~0x1234abcdu;
    p[2] = n + 1;
    asm volatile("" : : "r"(p) : "memory");
    return n + 1;
}

void row_dot(const float *x, const float *w, float *y, int rows, int cols, cudaStream_t stream)
{
    if (calls() > 200 || more_calls() > 200)
        return;
    row_dot_kernel<<<(rows + 127) / 128, 128, 0, stream>>>(x, w, y, rows, cols);
}
