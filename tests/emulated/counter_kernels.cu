// Kernels whose counts follow from arithmetic on paper (test_counters.c).  A line with a mark such as /*load*/ is looked up by it.
#include <cstdint>

// One warp's 128 bytes a request, 4 sectors.
extern "C" __global__ void rows(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i]; /*rows load*/
    y[i] = v + 1;   /*rows store*/
}

// Every lane in a line of its own: 32 sectors a request.
extern "C" __global__ void strided(const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i * 32]; /*strided*/
}

// All read one table of 128 bytes: many requests, 128 different bytes.
extern "C" __global__ void table(const float *x, float *y)
{
    float v = x[threadIdx.x & 31]; /*table load*/
    y[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

extern "C" __global__ void operators(const float *x, float *y)
{
    int i = threadIdx.x;
    float a = __ldcg(x + i), b = __ldcs(x + i), c = __ldg(x + i), d = *(volatile const float *)(x + i), e;
    asm volatile("ld.global.L1::no_allocate.f32 %0, [%1];" : "=f"(e) : "l"(x + i));
    __stcs(y + i, a + b);
    __stwt(y + i + 32, c + d + e);
}

// 32 lanes in one bank, then in 32 banks, then all at one word.
extern "C" __global__ void banks(float *y)
{
    __shared__ float s[1024];
    s[threadIdx.x * 32] = 1; /*column*/
    s[threadIdx.x] = 2;      /*row*/
    __syncwarp();
    y[threadIdx.x] = s[0] + s[threadIdx.x * 32]; /*read*/
}

// Four warps, three of which wait for the last at each of two barriers.
extern "C" __global__ void waits(float *y)
{
    __shared__ float s[128];
    s[threadIdx.x] = (float)threadIdx.x;
    __syncthreads(); /*first*/
    float v = s[127 - threadIdx.x];
    __syncthreads(); /*second*/
    y[threadIdx.x] = v;
}

// One branch that splits each warp in half, one that splits none.
extern "C" __global__ void splits(int *y, int n)
{
    int v = (int)threadIdx.x;
    if (threadIdx.x & 1) /*split*/
        asm volatile("mul.lo.s32 %0, %0, 3;" : "+r"(v));
    else
        asm volatile("add.s32 %0, %0, 5;" : "+r"(v));
    if (n > 100)
        asm volatile("xor.b32 %0, %0, 1;" : "+r"(v));
    y[threadIdx.x] = v;
}

// 7 eighths of all updates go to one word.
extern "C" __global__ void hot(unsigned *h)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned at = i % 8 ? 0 : 8 + i % 4096;
    atomicExch(&h[at], i); /*hot*/
}

// Every update at a sector of its own.
extern "C" __global__ void cold(unsigned *h)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    atomicExch(&h[i * 8], i);
}

__constant__ float factors[64];
extern "C" __global__ void spaces(const float *x, float *y, int k)
{
    volatile float own[4];
    own[k & 3] = x[threadIdx.x]; /*local*/
    y[threadIdx.x] = own[(k + 1) & 3] + factors[k & 63];
}

extern "C" __global__ void special(const float *x, float *y)
{
    float v = x[threadIdx.x], r;
    asm volatile("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v)); /*ex2*/
    asm volatile("sin.approx.ftz.f32 %0, %0;" : "+f"(r));
    y[threadIdx.x] = r;
}

// One m16n8k16 of f16: 4096 operations.
extern "C" __global__ void tensor(float *y)
{
    uint32_t a = 0x3c003c00, b = 0x3c003c00;
    float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%4,%4}, {%5,%5}, {%0,%1,%2,%3};" : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "r"(a), "r"(b)); /*mma*/
    y[threadIdx.x] = d0 + d1 + d2 + d3;
}

// 48 KiB of shared memory a block: four fit an SM that has 228.
extern "C" __global__ void fat(float *y)
{
    __shared__ float s[12288];
    s[threadIdx.x] = 1;
    __syncthreads();
    y[threadIdx.x] = s[threadIdx.x ^ 1];
}

// A table that all blocks read whole, of which few blocks run when sampled; each block also has 4 KiB of its own.
extern "C" __global__ void mixed(const float *all, const float *own, float *y)
{
    float v = 0;
    for (int r = 0; r < 16; r++)
        for (int i = threadIdx.x; i < 4096; i += 256)
            v += all[i]; /*shared by all*/
    for (int r = 0; r < 4; r++)
        v += own[blockIdx.x * 1024 + r * 256 + threadIdx.x]; /*own part*/
    y[blockIdx.x * 256 + threadIdx.x] = v;
}
