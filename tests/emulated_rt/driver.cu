// The driver's interface: modules from PTX and fat binaries, launches, memory, virtual memory, entry points, tensor maps, textures.
#include "check.h"

#include <cstdlib>
#include <cuda.h>
#include <cuda_runtime.h>

static const char ptx[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .global .align 4 .u32 bias = 5;\n"
                          ".visible .entry plus(.param .u64 p, .param .u32 v)\n"
                          "{\n .reg .b64 %a<4>; .reg .b32 %r<6>;\n"
                          " ld.param.u64 %a1, [p]; ld.param.u32 %r1, [v]; mov.u32 %r2, %tid.x; mul.wide.u32 %a2, %r2, 4;\n"
                          " add.u64 %a3, %a1, %a2; ld.global.u32 %r3, [bias]; add.u32 %r4, %r1, %r3; st.global.u32 [%a3], %r4; ret;\n}\n";

__global__ void read_texture(cudaTextureObject_t t, float *out)
{
    out[threadIdx.x] = tex2D<float>(t, threadIdx.x + 0.5f, 1.5f);
}

__global__ void write_surface(cudaSurfaceObject_t s)
{
    surf2Dwrite((float)threadIdx.x, s, threadIdx.x * 4, 2);
}

static CUcontext context;

static void modules()
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr p, bias;
    size_t size;
    int n, v = 7, h[32];
    OK(cuModuleLoadData(&m, ptx));
    OK(cuModuleGetFunction(&f, m, "plus"));
    ERR(cuModuleGetFunction(&f, m, "minus"), CUDA_ERROR_NOT_FOUND);
    OK(cuModuleGetFunction(&f, m, "plus"));
    OK(cuModuleGetGlobal(&bias, &size, m, "bias"));
    EQ(size, 4u);
    OK(cuMemAlloc(&p, sizeof h));
    void *args[] = {&p, &v};
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
    OK(cuMemcpyDtoH(h, p, sizeof h));
    EQ(h[31], 12);
    OK(cuMemsetD32(bias, 100, 1));
    struct {
        CUdeviceptr p;
        int v;
    } packed = {p, 1};
    size_t bytes = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    OK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, extra));
    OK(cuMemcpyDtoH(h, p, sizeof h));
    EQ(h[31], 101);
    OK(cuFuncGetAttribute(&n, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    EQ(n, 1024);
    ERR(cuLaunchKernel(f, 1, 1, 1, 4096, 1, 1, 0, NULL, args, NULL), CUDA_ERROR_INVALID_VALUE);
    ERR(cudaGetLastError(), cudaSuccess); // the driver leaves the runtime's last error alone
    CUlibrary l;
    CUkernel k;
    OK(cuLibraryLoadData(&l, ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&k, l, "plus"));
    OK(cudaLaunchKernel((const void *)k, dim3(1), dim3(32), args, 0, 0));
    OK(cuMemcpyDtoH(h, p, sizeof h));
    EQ(h[31], 12);
    OK(cuLibraryUnload(l));
    OK(cuModuleUnload(m));
    ERR(cuModuleUnload(m), CUDA_ERROR_INVALID_HANDLE);
    char log[200] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)sizeof log};
    ERR(cuModuleLoadDataEx(&m, ".version 8.0\n.target sm_90\n.address_size 64\n.entry {", 2, options, values), CUDA_ERROR_INVALID_PTX);
    EQ(log[0] != 0, true);
    ERR(cuModuleLoadData(&m, "\177ELF"), CUDA_ERROR_NO_BINARY_FOR_GPU);
    OK(cuMemFree(p));
    OK(cuCtxSynchronize());
}

static void entry_points()
{
    void *f = NULL;
    cudaDriverEntryPointQueryResult found;
    OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &f, 12000, cudaEnableDefault, &found));
    EQ(found, cudaDriverEntryPointSuccess);
    EQ(f == (void *)cuTensorMapEncodeTiled, true);
    alignas(64) CUtensorMap map;
    cuuint64_t dim[2] = {64, 64}, stride[1] = {128};
    cuuint32_t box[2] = {64, 32}, step[2] = {1, 1};
    void *p;
    OK(cudaMalloc(&p, 64 * 128));
    OK(((decltype(&cuTensorMapEncodeTiled))f)(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, p, dim, stride, box, step,
                                              CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                              CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE));
    box[0] = 300;
    ERR(cuTensorMapEncodeTiled(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, p, dim, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE,
                               CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        CUDA_ERROR_INVALID_VALUE);
    OK(cuGetProcAddress("cuMemAlloc", &f, 13000, 0, NULL));
    EQ(f == (void *)cuMemAlloc, true);
    ERR(cuGetProcAddress("cuNoSuchThing", &f, 13000, 0, NULL), CUDA_ERROR_NOT_FOUND);
    const char *text;
    OK(cuGetErrorName(CUDA_ERROR_NO_BINARY_FOR_GPU, &text));
    EQ(strcmp(text, "CUDA_ERROR_NO_BINARY_FOR_GPU"), 0);
    ERR(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    OK(cudaFree(p));
}

static void textures()
{
    cudaArray_t array;
    cudaChannelFormatDesc desc = cudaCreateChannelDesc<float>();
    float in[4 * 8], out[8], *d;
    for (int i = 0; i < 32; i++)
        in[i] = (float)i;
    OK(cudaMallocArray(&array, &desc, 8, 4, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(array, 0, 0, in, 32, 32, 4, cudaMemcpyHostToDevice));
    cudaResourceDesc r = {};
    r.resType = cudaResourceTypeArray;
    r.res.array.array = array;
    cudaTextureDesc t = {};
    t.addressMode[0] = t.addressMode[1] = cudaAddressModeClamp;
    t.readMode = cudaReadModeElementType;
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    OK(cudaCreateTextureObject(&texture, &r, &t, NULL));
    OK(cudaCreateSurfaceObject(&surface, &r));
    OK(cudaMalloc(&d, sizeof out));
    read_texture<<<1, 8>>>(texture, d);
    OK(cudaMemcpy(out, d, sizeof out, cudaMemcpyDeviceToHost));
    EQ(out[7], 15.0f);
    write_surface<<<1, 8>>>(surface);
    OK(cudaMemcpy2DFromArray(in, 32, array, 0, 0, 32, 4, cudaMemcpyDeviceToHost));
    EQ(in[16 + 7], 7.0f);
    cudaTextureDesc back;
    OK(cudaGetTextureObjectTextureDesc(&back, texture));
    EQ(back.addressMode[0], cudaAddressModeClamp);
    OK(cudaDestroyTextureObject(texture));
    OK(cudaDestroySurfaceObject(surface));
    RT_ERR(cudaDestroySurfaceObject(surface), cudaErrorInvalidValue);
    OK(cudaFreeArray(array));
    OK(cudaFree(d));
}

static void virtual_memory()
{
    CUmemAllocationProp prop = {};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t unit;
    CUdeviceptr p;
    CUmemGenericAllocationHandle a, b;
    CUmemAccessDesc access = {};
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    int v = 0;
    OK(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    OK(cuMemAddressReserve(&p, 2 * unit, 0, 0, 0));
    OK(cuMemCreate(&a, unit, &prop, 0));
    OK(cuMemCreate(&b, unit, &prop, 0));
    OK(cuMemMap(p, unit, 0, a, 0));
    OK(cuMemMap(p + unit, unit, 0, b, 0));
    OK(cuMemSetAccess(p, 2 * unit, &access, 1));
    OK(cuMemsetD32(p + unit - 4, 0x01010101, 2));
    OK(cuMemcpyDtoH(&v, p + unit, 4));
    EQ(v, 0x01010101);
    OK(cuMemUnmap(p, 2 * unit));
    OK(cuMemRelease(a));
    OK(cuMemRelease(b));
    OK(cuMemAddressFree(p, 2 * unit));
    ERR(cuMemCreate(&a, 17, &prop, 0), CUDA_ERROR_INVALID_VALUE);
}

int main()
{
    CUdevice dev;
    int n;
    char name[100];
    CUdeviceptr p;
    ERR(cuMemAlloc(&p, 4), CUDA_ERROR_NOT_INITIALIZED);
    OK(cuInit(0));
    OK(cuDeviceGetCount(&n));
    EQ(n, 1);
    OK(cuDeviceGet(&dev, 0));
    ERR(cuDeviceGet(&dev, 1), CUDA_ERROR_INVALID_DEVICE);
    OK(cuDeviceGetName(name, sizeof name, 0));
    EQ(strstr(name, "emulated H200") != NULL, true);
    OK(cuDeviceGetAttribute(&n, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    EQ(n, 9);
    OK(cuCtxCreate(&context, NULL, 0, 0));
    modules();
    entry_points();
    textures();
    virtual_memory();
    CUcontext now;
    OK(cuCtxGetCurrent(&now));
    EQ(now == context, true);
    OK(cuCtxDestroy(context));
    return check_end();
}
