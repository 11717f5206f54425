/* Device management, properties, limits and error texts. */
#include "harness/emulated_rt/rt.h"

#include <stdio.h>
#include <string.h>

cudaError_t cudaGetDeviceCount(int *ret_n)
{
    *ret_n = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *ret_device)
{
    *ret_device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int dev)
{
    return rt_return(dev == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    (void)flags;
    return cudaSuccess;
}

cudaError_t cudaInitDevice(int dev, unsigned device_flags, unsigned flags)
{
    (void)device_flags, (void)flags;
    return cudaSetDevice(dev);
}

cudaError_t cudaDeviceSynchronize(void)
{
    RT_BEGIN;
    rt_spend(emu, RT_API_synchronize, 0, 0);
    rt_order_host_waits_all();
    RT_END(cudaSuccess);
}

cudaError_t cudaDeviceReset(void)
{
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *ret_version)
{
    *ret_version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *ret_version)
{
    *ret_version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int dev)
{
    if (dev != 0)
        return rt_return(cudaErrorInvalidDevice);
    RT_BEGIN;
    rt_spend(emu, RT_API_properties, 0, 0);
    const struct rt_card *c = rt_card();
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", c->name);
    p->totalGlobalMem = c->memory_bytes;
    p->sharedMemPerBlock = 48u << 10;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->memPitch = 0x7fffffff;
    p->maxThreadsPerBlock = 1024;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->totalConstMem = 64u << 10;
    p->major = c->major;
    p->minor = c->minor;
    p->textureAlignment = 512;
    p->texturePitchAlignment = 32;
    p->multiProcessorCount = c->sms;
    p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = 1;
    p->asyncEngineCount = 1;
    p->memoryBusWidth = 5120;
    p->l2CacheSize = c->l2_bytes;
    p->maxThreadsPerMultiProcessor = c->threads_per_sm;
    p->streamPrioritiesSupported = p->globalL1CacheSupported = p->localL1CacheSupported = 1;
    p->sharedMemPerMultiprocessor = c->shared_per_sm;
    p->cooperativeLaunch = p->computePreemptionSupported = p->memoryPoolsSupported = 1;
    p->sharedMemPerBlockOptin = c->shared_optin;
    p->maxBlocksPerMultiProcessor = c->blocks_per_sm;
    p->reservedSharedMemPerBlock = 1024;
    p->clusterLaunch = c->major >= 9;
    RT_END(cudaSuccess);
}

static bool attribute(enum cudaDeviceAttr attr, int *ret)
{
    const struct rt_card *c = rt_card();
    const struct {
        enum cudaDeviceAttr attr;
        int value;
    } table[] = {
        {cudaDevAttrMaxThreadsPerBlock, 1024},
        {cudaDevAttrMaxBlockDimX, 1024},
        {cudaDevAttrMaxBlockDimY, 1024},
        {cudaDevAttrMaxBlockDimZ, 64},
        {cudaDevAttrMaxGridDimX, 0x7fffffff},
        {cudaDevAttrMaxGridDimY, 65535},
        {cudaDevAttrMaxGridDimZ, 65535},
        {cudaDevAttrMaxSharedMemoryPerBlock, 48 << 10},
        {cudaDevAttrTotalConstantMemory, 64 << 10},
        {cudaDevAttrWarpSize, 32},
        {cudaDevAttrMaxRegistersPerBlock, 65536},
        {cudaDevAttrMultiProcessorCount, c->sms},
        {cudaDevAttrClockRate, 1980000},
        {cudaDevAttrMemoryClockRate, 2619000},
        {cudaDevAttrGlobalMemoryBusWidth, 5120},
        {cudaDevAttrL2CacheSize, c->l2_bytes},
        {cudaDevAttrMaxThreadsPerMultiProcessor, c->threads_per_sm},
        {cudaDevAttrUnifiedAddressing, 1},
        {cudaDevAttrComputeCapabilityMajor, c->major},
        {cudaDevAttrComputeCapabilityMinor, c->minor},
        {cudaDevAttrMaxSharedMemoryPerMultiprocessor, (int)c->shared_per_sm},
        {cudaDevAttrMaxRegistersPerMultiprocessor, 65536},
        {cudaDevAttrManagedMemory, 1},
        {cudaDevAttrConcurrentManagedAccess, 1},
        {cudaDevAttrCooperativeLaunch, 1},
        {cudaDevAttrMaxSharedMemoryPerBlockOptin, (int)c->shared_optin},
        {cudaDevAttrReservedSharedMemoryPerBlock, 1024},
        {cudaDevAttrMaxBlocksPerMultiprocessor, c->blocks_per_sm},
        {cudaDevAttrMemoryPoolsSupported, 1},
        {cudaDevAttrConcurrentKernels, 1},
        {cudaDevAttrStreamPrioritiesSupported, 1},
        {cudaDevAttrClusterLaunch, c->major >= 9},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].attr == attr) {
            *ret = table[i].value;
            return true;
        }
    return false;
}

cudaError_t cudaDeviceGetAttribute(int *ret_value, enum cudaDeviceAttr attr, int dev)
{
    if (dev != 0)
        return rt_return(cudaErrorInvalidDevice);
    RT_BEGIN;
    (void)emu;
    if (attribute(attr, ret_value))
        RT_END(cudaSuccess);
    if ((int)attr < 1 || attr >= cudaDevAttrMax)
        RT_END(cudaErrorInvalidValue);
    *ret_value = 0; /* an optional feature that this device lacks */
    RT_END(cudaSuccess);
}

static size_t limits[cudaLimitPersistingL2CacheSize + 1] = {
    [cudaLimitStackSize] = 1024, [cudaLimitPrintfFifoSize] = 1 << 20, [cudaLimitMallocHeapSize] = 8 << 20};

cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    if ((unsigned)limit > cudaLimitPersistingL2CacheSize)
        return rt_return(cudaErrorUnsupportedLimit);
    limits[limit] = value;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *ret_value, enum cudaLimit limit)
{
    if ((unsigned)limit > cudaLimitPersistingL2CacheSize)
        return rt_return(cudaErrorUnsupportedLimit);
    *ret_value = limits[limit];
    return cudaSuccess;
}

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
    (void)config;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *ret_least, int *ret_greatest)
{
    if (ret_least)
        *ret_least = 0;
    if (ret_greatest)
        *ret_greatest = -5;
    return cudaSuccess;
}

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
    return cudaSuccess;
}

cudaError_t cudaDeviceCanAccessPeer(int *ret_can, int dev, int peer)
{
    (void)dev, (void)peer;
    *ret_can = 0;
    return cudaSuccess;
}

cudaError_t cudaProfilerStart(void);
cudaError_t cudaProfilerStop(void);
cudaError_t cudaProfilerStart(void)
{
    return cudaSuccess;
}

cudaError_t cudaProfilerStop(void)
{
    return cudaSuccess;
}

#define ERRORS(X)                                                                                                                \
    X(cudaSuccess, "no error")                                                                                                   \
    X(cudaErrorInvalidValue, "invalid argument")                                                                                 \
    X(cudaErrorMemoryAllocation, "out of memory")                                                                                \
    X(cudaErrorInitializationError, "initialization error")                                                                      \
    X(cudaErrorInvalidConfiguration, "invalid configuration argument")                                                           \
    X(cudaErrorInvalidPitchValue, "invalid pitch argument")                                                                      \
    X(cudaErrorInvalidSymbol, "invalid device symbol")                                                                           \
    X(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy")                                                      \
    X(cudaErrorMissingConfiguration, "__global__ function call is not configured")                                               \
    X(cudaErrorInvalidDeviceFunction, "invalid device function")                                                                 \
    X(cudaErrorNoDevice, "no CUDA-capable device is detected")                                                                   \
    X(cudaErrorInvalidDevice, "invalid device ordinal")                                                                          \
    X(cudaErrorInvalidKernelImage, "device kernel image is invalid")                                                             \
    X(cudaErrorNoKernelImageForDevice, "no kernel image is available for execution on the device")                               \
    X(cudaErrorInvalidPtx, "a PTX JIT compilation failed")                                                                       \
    X(cudaErrorInvalidResourceHandle, "invalid resource handle")                                                                 \
    X(cudaErrorNotReady, "device not ready")                                                                                     \
    X(cudaErrorIllegalAddress, "an illegal memory access was encountered")                                                       \
    X(cudaErrorLaunchTimeout, "the launch timed out and was terminated")                                                         \
    X(cudaErrorHostMemoryNotRegistered, "pointer does not correspond to a registered memory region")                             \
    X(cudaErrorLaunchFailure, "unspecified launch failure")                                                                      \
    X(cudaErrorNotSupported, "operation not supported")                                                                          \
    X(cudaErrorUnsupportedLimit, "limit is not supported on this architecture")                                                  \
    X(cudaErrorUnknown, "unknown error")

static const struct {
    cudaError_t code;
    const char *name, *text;
} errors[] = {
#define X(code, text) {code, #code, text},
    ERRORS(X)
#undef X
};

const char *cudaGetErrorName(cudaError_t e)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == e)
            return errors[i].name;
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t e)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].code == e)
            return errors[i].text;
    return "unrecognized error code";
}
