/* Launches, occupancy and lookup by name through the driver's interface. */
#include "harness/emulated_rt/driver.h"
#include "harness/emulated_rt/graph_params.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

CUresult drv_launch(const CUlaunchConfig *c, const void *function, void **args, void **extra)
{
    if (!c || (args && extra))
        return CUDA_ERROR_INVALID_VALUE;
    KS_AUTO_FREE void **unpacked = NULL;
    cudaError_t e = cudaSuccess;
    if (extra) {
        rt_lock();
        struct rt_kernel *k = rt_kernel_find(function);
        e = k ? rt_args_unpack(k, extra, &unpacked) : cudaErrorInvalidResourceHandle;
        rt_unlock();
        args = unpacked;
    }
    cudaLaunchConfig_t config = {.gridDim = {c->gridDimX, c->gridDimY, c->gridDimZ},
                                 .blockDim = {c->blockDimX, c->blockDimY, c->blockDimZ},
                                 .dynamicSmemBytes = c->sharedMemBytes,
                                 .stream = c->hStream,
                                 .attrs = (cudaLaunchAttribute *)(void *)c->attrs,
                                 .numAttrs = c->numAttrs};
    return (CUresult)(e == cudaSuccess ? cudaLaunchKernelExC(&config, function, args) : e);
}

CUresult CUDAAPI cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                                unsigned shared, CUstream stream, void **args, void **extra)
{
    CUlaunchConfig c = {.gridDimX = gx,
                        .gridDimY = gy,
                        .gridDimZ = gz,
                        .blockDimX = bx,
                        .blockDimY = by,
                        .blockDimZ = bz,
                        .sharedMemBytes = shared,
                        .hStream = stream};
    DRV_CALL(true, drv_launch(&c, f, args, extra));
}

CUresult CUDAAPI cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                           unsigned bz, unsigned shared, CUstream stream, void **args)
{
    DRV_CALL(true, cudaLaunchCooperativeKernel(f, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, args, shared, stream));
}

extern __typeof__(cuLaunchKernel) cuLaunchKernel_ptsz __attribute__((alias("cuLaunchKernel")));
extern __typeof__(cuLaunchCooperativeKernel) cuLaunchCooperativeKernel_ptsz __attribute__((alias("cuLaunchCooperativeKernel")));

/* The block size with the most resident threads, the largest of equals. */
CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(int *ret_grid, int *ret_block, CUfunction f,
                                                           CUoccupancyB2DSize shared_of, size_t shared, int limit, unsigned flags)
{
    struct cudaFuncAttributes a;
    int sms, best = 0;
    cudaError_t e = cudaFuncGetAttributes(&a, f);
    if (e == cudaSuccess)
        e = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0);
    int most = e == cudaSuccess ? a.maxThreadsPerBlock : 0;
    most = limit > 0 && limit < most ? limit : most;
    for (int block = (most + 31) / 32 * 32; block > 0 && e == cudaSuccess; block -= 32) {
        int size = block < most ? block : most, n;
        e = cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&n, f, size, shared_of ? shared_of(size) : shared, flags);
        if (e == cudaSuccess && n * size > best) {
            best = n * size;
            *ret_block = size;
            *ret_grid = n * sms;
        }
    }
    DRV_CALL(true, e);
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int *ret_grid, int *ret_block, CUfunction f, CUoccupancyB2DSize shared_of,
                                                  size_t shared, int limit)
{
    return cuOccupancyMaxPotentialBlockSizeWithFlags(ret_grid, ret_block, f, shared_of, shared, limit, 0);
}

static cudaLaunchConfig_t config_of(const CUlaunchConfig *c)
{
    return (cudaLaunchConfig_t){.gridDim = {c->gridDimX, c->gridDimY, c->gridDimZ},
                                .blockDim = {c->blockDimX, c->blockDimY, c->blockDimZ},
                                .dynamicSmemBytes = c->sharedMemBytes,
                                .attrs = (cudaLaunchAttribute *)(void *)c->attrs,
                                .numAttrs = c->numAttrs};
}

CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int *ret, CUfunction f, const CUlaunchConfig *c)
{
    cudaLaunchConfig_t config = config_of(c);
    DRV_CALL(true, cudaOccupancyMaxPotentialClusterSize(ret, f, &config));
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int *ret, CUfunction f, const CUlaunchConfig *c)
{
    cudaLaunchConfig_t config = config_of(c);
    DRV_CALL(true, cudaOccupancyMaxActiveClusters(ret, f, &config));
}

/* ------------------------------------------------------------------------------------------------ functions by name */

/* The newest form that the version knows: a name stands for its _v2, _v3, ... as cuda.h's macros say. */
static const struct {
    const char *name, *newest;
} versions[] = {
#define V(name, newest) {#name, #newest},
#include "harness/emulated_rt/driver_versions.def"
#undef V
};

static void *find(const char *name, bool per_thread)
{
    char text[128];
    const char *newest = name;
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        if (strcmp(versions[i].name, name) == 0)
            newest = versions[i].newest;
    void *self = dlopen("libcudart.so.13", RTLD_NOLOAD | RTLD_LAZY), *p = NULL;
    if (per_thread) {
        snprintf(text, sizeof text, "%s_ptsz", newest);
        p = dlsym(self, text);
        if (!p) {
            snprintf(text, sizeof text, "%s_ptds", newest);
            p = dlsym(self, text);
        }
    }
    return p ? p : dlsym(self, newest);
}

CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **ret, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult *ret_status)
{
    (void)version;
    if (!symbol || !ret)
        return CUDA_ERROR_INVALID_VALUE;
    *ret = strncmp(symbol, "cu", 2) == 0 && strncmp(symbol, "cuda", 4) != 0 && strlen(symbol) < 100
               ? find(symbol, flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
               : NULL;
    if (ret_status)
        *ret_status = *ret ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *ret || ret_status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **ret, unsigned version, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *ret_status)
{
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (rt_per_thread_default && !(flags & cudaEnableLegacyStream))
        flags |= cudaEnablePerThreadDefaultStream;
    CUresult r = cuGetProcAddress_v2(symbol, ret, (int)version, flags, &status);
    if (ret_status)
        *ret_status = status == CU_GET_PROC_ADDRESS_SUCCESS ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return rt_return((cudaError_t)r);
}

cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **ret, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *ret_status);
cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **ret, unsigned long long flags,
                                    enum cudaDriverEntryPointQueryResult *ret_status)
{
    return cudaGetDriverEntryPointByVersion(symbol, ret, CUDART_VERSION, flags, ret_status);
}
