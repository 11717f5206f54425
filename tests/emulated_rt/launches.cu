// Every way to launch, function attributes, occupancy, symbols, __managed__, device properties, error rules.
#include "check.h"

#include <cooperative_groups.h>
#include <cuda_runtime.h>

struct three {
    int a;
    double b;
    char c;
};
__constant__ int factor = 3;
__device__ int total;
__device__ three record;
__managed__ int shared_number = 40;

__global__ void add(int *p, int v)
{
    p[threadIdx.x + blockIdx.x * blockDim.x] += v * factor;
}

__global__ void with_struct(three t, int *out)
{
    extern __shared__ int room[];
    room[threadIdx.x] = t.a + (int)t.b + t.c;
    __syncthreads();
    out[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
    if (threadIdx.x == 0)
        total += 7, shared_number += 2;
}

__global__ void __launch_bounds__(128) bounded(int *p)
{
    p[threadIdx.x] = 1;
}

__global__ void grid_wide(int *p)
{
    atomicAdd(p, 1);
    cooperative_groups::this_grid().sync();
    if (threadIdx.x == 0)
        atomicAdd(p + 1, p[0] == (int)(gridDim.x * blockDim.x));
}

__global__ void big_shared(int *p)
{
    __shared__ int a[9000];
    a[threadIdx.x] = threadIdx.x;
    __syncthreads();
    p[threadIdx.x] = a[threadIdx.x ^ 1];
}

static void forms()
{
    int *p, h[64];
    OK(cudaMalloc(&p, sizeof h));
    OK(cudaMemset(p, 0, sizeof h));
    add<<<2, 32>>>(p, 1);
    int v = 2;
    void *args[] = {&p, &v};
    OK(cudaLaunchKernel((const void *)add, dim3(2), dim3(32), args, 0, 0));
    OK(cudaLaunchKernel(add, dim3(2), dim3(32), args, 0, cudaStreamPerThread));
    cudaLaunchConfig_t c = {};
    c.gridDim = dim3(2), c.blockDim = dim3(32);
    cudaLaunchAttribute a[2] = {};
    a[0].id = cudaLaunchAttributeClusterDimension;
    a[0].val.clusterDim.x = a[0].val.clusterDim.y = a[0].val.clusterDim.z = 1;
    a[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a[1].val.programmaticStreamSerializationAllowed = 1;
    c.attrs = a, c.numAttrs = 2;
    OK(cudaLaunchKernelEx(&c, add, p, 4));
    OK(cudaLaunchKernelExC(&c, (const void *)add, args));
    cudaFunction_t f;
    OK(cudaGetFuncBySymbol(&f, (const void *)add));
    OK(cudaLaunchKernel((const void *)f, dim3(2), dim3(32), args, 0, 0));
    OK(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost));
    EQ(h[0], 3 * (1 + 2 + 2 + 4 + 2 + 2));
    EQ(h[63], h[0]);
    OK(cudaMemset(p, 0, sizeof h));
    void *one[] = {&p};
    OK(cudaLaunchCooperativeKernel((const void *)grid_wide, dim3(4), dim3(64), one, 0, 0));
    OK(cudaMemcpy(h, p, 8, cudaMemcpyDeviceToHost));
    EQ(h[0], 256);
    EQ(h[1], 4);
    RT_ERR(cudaLaunchCooperativeKernel((const void *)grid_wide, dim3(1 << 20), dim3(64), one, 0, 0),
           cudaErrorCooperativeLaunchTooLarge);
    OK(cudaFree(p));
}

static void symbols()
{
    int *p, h[32], n = 5;
    three t = {1, 2.5, 3};
    OK(cudaMalloc(&p, sizeof h));
    with_struct<<<1, 32, 32 * sizeof(int)>>>(t, p);
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost));
    EQ(h[31], 6);
    EQ(shared_number, 42);
    OK(cudaMemcpyFromSymbol(&n, total, sizeof n));
    EQ(n, 7);
    OK(cudaMemcpyToSymbol(factor, &n, sizeof n));
    OK(cudaMemset(p, 0, sizeof h));
    add<<<1, 32>>>(p, 1);
    OK(cudaMemcpy(h, p, sizeof h, cudaMemcpyDefault));
    EQ(h[5], 7);
    void *address;
    size_t size;
    OK(cudaGetSymbolAddress(&address, record));
    OK(cudaGetSymbolSize(&size, record));
    EQ(size, sizeof(three));
    OK(cudaMemcpy(address, &t, sizeof t, cudaMemcpyHostToDevice));
    double b = 0;
    OK(cudaMemcpyFromSymbol(&b, record, sizeof b, offsetof(three, b)));
    EQ(b, 2.5);
    RT_ERR(cudaMemcpyToSymbol(factor, &n, 8), cudaErrorInvalidValue);
    RT_ERR(cudaGetSymbolSize(&size, (const void *)&n), cudaErrorInvalidSymbol);
    OK(cudaFree(p));
}

static void attributes()
{
    cudaFuncAttributes a;
    OK(cudaFuncGetAttributes(&a, bounded));
    EQ(a.maxThreadsPerBlock, 128);
    OK(cudaFuncGetAttributes(&a, big_shared));
    EQ(a.sharedSizeBytes, 36000u);
    EQ(a.binaryVersion, 90);
    OK(cudaFuncSetAttribute(with_struct, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    OK(cudaFuncGetAttributes(&a, with_struct));
    EQ(a.maxDynamicSharedSizeBytes, 100 << 10);
    RT_ERR(cudaFuncSetAttribute(with_struct, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20), cudaErrorInvalidValue);
    int blocks = 0, grid = 0, block = 0;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, big_shared, 256, 0));
    EQ(blocks, 6);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded));
    EQ(block, 128);
    EQ(grid, 16 * 132);
    const char *name;
    OK(cudaFuncGetName(&name, (const void *)bounded));
    EQ(strcmp(name, "_Z7boundedPi"), 0);
    size_t offset, size;
    OK(cudaFuncGetParamInfo((const void *)with_struct, 1, &offset, &size));
    EQ(offset, sizeof(three));
    EQ(size, 8u);
    cudaDeviceProp d;
    int value;
    OK(cudaGetDeviceProperties(&d, 0));
    EQ(d.major, 9);
    EQ(d.multiProcessorCount, 132);
    EQ(d.maxTexture2D[1], 65536);
    OK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    EQ(value, 232448);
    RT_ERR(cudaGetDeviceProperties(&d, 1), cudaErrorInvalidDevice);
    RT_ERR(cudaDeviceGetAttribute(&value, (cudaDeviceAttr)0, 0), cudaErrorInvalidValue);
}

static void refusals()
{
    int *p;
    OK(cudaMalloc(&p, 4096));
    add<<<0, 32>>>(p, 1);
    ERR(cudaPeekAtLastError(), cudaErrorInvalidConfiguration);
    ERR(cudaGetLastError(), cudaErrorInvalidConfiguration);
    ERR(cudaGetLastError(), cudaSuccess);
    add<<<1, 2048>>>(p, 1);
    ERR(cudaGetLastError(), cudaErrorInvalidConfiguration);
    bounded<<<1, 256>>>(p);
    ERR(cudaGetLastError(), cudaErrorLaunchOutOfResources);
    add<<<1, 32, 50 << 10>>>(p, 1);
    ERR(cudaGetLastError(), cudaErrorInvalidValue);
    add<<<dim3(1, 70000), 32>>>(p, 1);
    ERR(cudaGetLastError(), cudaErrorInvalidConfiguration);
    add<<<1, 32, 0, (cudaStream_t)0x1234560>>>(p, 1);
    ERR(cudaGetLastError(), cudaErrorInvalidResourceHandle);
    void *args[] = {&p};
    RT_ERR(cudaLaunchKernel((const void *)&failed, dim3(1), dim3(1), args, 0, 0), cudaErrorInvalidDeviceFunction);
    add<<<1, 32>>>(p, 1);
    OK(cudaGetLastError());
    OK(cudaDeviceSynchronize());
    EQ(strcmp(cudaGetErrorName(cudaErrorLaunchOutOfResources), "cudaErrorLaunchOutOfResources"), 0);
    EQ(strcmp(cudaGetErrorString(cudaErrorLaunchOutOfResources), "too many resources requested for launch"), 0);
    EQ(strcmp(cudaGetErrorString((cudaError_t)4321), "unrecognized error code"), 0);
    cudaIpcMemHandle_t ipc;
    RT_ERR(cudaIpcGetMemHandle(&ipc, p), cudaErrorNotSupported);
    OK(cudaFree(p));
}

int main()
{
    forms();
    symbols();
    attributes();
    refusals();
    return check_end();
}
