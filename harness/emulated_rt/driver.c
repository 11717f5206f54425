/* The driver's interface: initialisation, devices, contexts, errors, and the functions that are the runtime's (driver.def). */
#include "harness/emulated_rt/driver.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

#define MAX_CONTEXTS 64 /* on a thread's stack */

/* One device, so contexts are names: what they own is the device's. */
struct CUctx_st {
    unsigned flags, references, version;
};

static bool initialised;
static struct CUctx_st primary;
static __thread CUcontext stack[MAX_CONTEXTS];
static __thread int depth;

static CUcontext current(void)
{
    if (depth > 0)
        return stack[depth - 1];
    return kscc_emu_device() ? &primary : NULL; /* the runtime was used before and made its context current */
}

CUresult drv_begin(struct drv_guard *g, bool needs_context)
{
    g->last = rt_last_error_exchange(cudaSuccess);
    if (!initialised && !kscc_emu_device())
        return CUDA_ERROR_NOT_INITIALIZED;
    return needs_context && !current() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

CUresult drv_end(struct drv_guard *g, CUresult r)
{
    (void)rt_last_error_exchange(g->last);
    return r == (CUresult)cudaErrorInvalidConfiguration       ? CUDA_ERROR_INVALID_VALUE
           : r == (CUresult)cudaErrorInvalidDeviceFunction    ? CUDA_ERROR_INVALID_HANDLE
           : r == (CUresult)cudaErrorInvalidMemcpyDirection   ? CUDA_ERROR_INVALID_VALUE
           : r == (CUresult)cudaErrorInvalidPitchValue        ? CUDA_ERROR_INVALID_VALUE
           : r == (CUresult)cudaErrorInvalidSymbol            ? CUDA_ERROR_NOT_FOUND
           : r == (CUresult)cudaErrorInvalidChannelDescriptor ? CUDA_ERROR_INVALID_VALUE
                                                              : r;
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* the interface has them, so we do */
#define N(name, params, call)                                                                                                    \
    CUresult CUDAAPI name params                                                                                                 \
    {                                                                                                                            \
        DRV_CALL(false, call);                                                                                                   \
    }
/* The forms for per-thread default streams (_ptsz, and _ptds of calls that wait) do the same: work is complete when a call
 * returns, whichever stream it is on. */
#define ALIAS(name, suffix) extern __typeof__(name) name##suffix __attribute__((alias(#name)));
#define D(name, params, call)                                                                                                    \
    CUresult CUDAAPI name params                                                                                                 \
    {                                                                                                                            \
        DRV_CALL(true, call);                                                                                                    \
    }                                                                                                                            \
    ALIAS(name, _ptsz)                                                                                                           \
    ALIAS(name, _ptds)
#include "harness/emulated_rt/driver.def"
#undef N
#undef D

CUresult CUDAAPI cuInit(unsigned flags)
{
    if (flags)
        return CUDA_ERROR_INVALID_VALUE;
    rt_lock();
    initialised = rt_emu() != NULL;
    rt_unlock();
    return initialised ? CUDA_SUCCESS : (CUresult)rt_sticky();
}

CUresult CUDAAPI cuGetErrorName(CUresult error, const char **ret_name)
{
    *ret_name = rt_error_driver_name((int)error);
    return *ret_name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult CUDAAPI cuGetErrorString(CUresult error, const char **ret_text)
{
    *ret_text = rt_error_driver_name((int)error) ? cudaGetErrorString((cudaError_t)error) : NULL;
    return *ret_text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ------------------------------------------------------------------------------------------------ devices */

CUresult CUDAAPI cuDeviceGet(CUdevice *ret_device, int i)
{
    if (ret_device)
        *ret_device = 0;
    DRV_CALL(false, !ret_device ? cudaErrorInvalidValue : i ? cudaErrorInvalidDevice : cudaSuccess);
}

static cudaError_t properties(CUdevice dev, struct cudaDeviceProp *p)
{
    return dev == 0 ? cudaGetDeviceProperties(p, 0) : cudaErrorInvalidDevice;
}

CUresult CUDAAPI cuDeviceGetName(char *ret_name, int len, CUdevice dev)
{
    struct cudaDeviceProp p = {.name = ""};
    if (!ret_name || len < 1)
        return CUDA_ERROR_INVALID_VALUE;
    struct drv_guard g;
    CUresult r = drv_begin(&g, false);
    if (r == CUDA_SUCCESS)
        r = (CUresult)properties(dev, &p);
    snprintf(ret_name, (size_t)len, "%s", p.name);
    return drv_end(&g, r);
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t *ret_bytes, CUdevice dev)
{
    struct cudaDeviceProp p = {.totalGlobalMem = 0};
    struct drv_guard g;
    CUresult r = drv_begin(&g, false);
    if (r == CUDA_SUCCESS)
        r = (CUresult)properties(dev, &p);
    *ret_bytes = p.totalGlobalMem;
    return drv_end(&g, r);
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid *ret_uuid, CUdevice dev)
{
    struct cudaDeviceProp p = {.name = ""};
    struct drv_guard g;
    CUresult r = drv_begin(&g, false);
    if (r == CUDA_SUCCESS)
        r = (CUresult)properties(dev, &p);
    memcpy(ret_uuid, &p.uuid, sizeof *ret_uuid);
    return drv_end(&g, r);
}

CUresult CUDAAPI cuDeviceComputeCapability(int *ret_major, int *ret_minor, CUdevice dev)
{
    DRV_CALL(false, cudaDeviceGetAttribute(ret_major, cudaDevAttrComputeCapabilityMajor, dev) |
                        cudaDeviceGetAttribute(ret_minor, cudaDevAttrComputeCapabilityMinor, dev));
}

/* ------------------------------------------------------------------------------------------------ contexts */

static cudaError_t push(CUcontext c)
{
    if (depth == MAX_CONTEXTS)
        return cudaErrorInvalidValue;
    stack[depth++] = c;
    return cudaSuccess;
}

static cudaError_t create(CUcontext *ret, unsigned flags, CUdevice dev)
{
    if (dev != 0 || !ret)
        return dev ? cudaErrorInvalidDevice : cudaErrorInvalidValue;
    struct CUctx_st *c = ks_xcalloc(1, sizeof *c);
    c->flags = flags;
    c->references = 1;
    *ret = c;
    return push(c);
}

CUresult CUDAAPI cuCtxCreate_v2(CUcontext *ret, unsigned flags, CUdevice dev)
{
    DRV_CALL(false, create(ret, flags, dev));
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext *ret, CUctxCreateParams *params, unsigned flags, CUdevice dev)
{
    (void)params;
    DRV_CALL(false, create(ret, flags, dev));
}

static cudaError_t destroy(CUcontext c)
{
    if (!c || c == &primary)
        return cudaErrorDeviceUninitialized;
    for (int i = depth; i > 0; i--)
        if (stack[i - 1] == c) {
            memmove(&stack[i - 1], &stack[i], (size_t)(depth - i) * sizeof *stack);
            depth--;
        }
    free(c);
    return cudaSuccess;
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext c)
{
    DRV_CALL(false, destroy(c));
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext c)
{
    DRV_CALL(false, c ? push(c) : cudaErrorDeviceUninitialized);
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext *ret)
{
    CUcontext top = current();
    depth -= depth > 0;
    if (ret)
        *ret = top;
    DRV_CALL(false, top ? cudaSuccess : cudaErrorDeviceUninitialized);
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext c)
{
    depth -= depth > 0;
    DRV_CALL(false, c ? push(c) : cudaSuccess);
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext *ret)
{
    *ret = current();
    DRV_CALL(false, cudaSuccess);
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice *ret)
{
    *ret = 0;
    DRV_CALL(true, cudaSuccess);
}

CUresult CUDAAPI cuCtxGetFlags(unsigned *ret)
{
    *ret = current() ? current()->flags : 0;
    DRV_CALL(true, cudaSuccess);
}

CUresult CUDAAPI cuCtxGetId(CUcontext c, unsigned long long *ret)
{
    *ret = (unsigned long long)(uintptr_t)(c ? c : current());
    DRV_CALL(true, cudaSuccess);
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext c, unsigned *ret)
{
    *ret = 3020;
    DRV_CALL(true, c || current() ? cudaSuccess : cudaErrorDeviceUninitialized);
}

CUresult CUDAAPI cuStreamGetCtx(CUstream stream, CUcontext *ret)
{
    *ret = current();
    DRV_CALL(true, stream == NULL || *ret ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *ret, CUdevice dev)
{
    *ret = &primary;
    primary.references += dev == 0;
    DRV_CALL(false, dev ? cudaErrorInvalidDevice : cudaSuccess);
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    bool held = dev == 0 && primary.references > 0;
    primary.references -= held;
    DRV_CALL(false, dev ? cudaErrorInvalidDevice : held ? cudaSuccess : cudaErrorDeviceUninitialized);
}

CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    DRV_CALL(false, dev ? cudaErrorInvalidDevice : cudaSuccess);
}

CUresult CUDAAPI cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *ret_flags, int *ret_active)
{
    *ret_flags = primary.flags;
    *ret_active = primary.references > 0 || (kscc_emu_device() && depth == 0);
    DRV_CALL(false, dev ? cudaErrorInvalidDevice : cudaSuccess);
}

CUresult CUDAAPI cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned flags)
{
    primary.flags = flags;
    DRV_CALL(false, dev ? cudaErrorInvalidDevice : cudaSuccess);
}

/* Older forms with the same parameters; cuda.h's macros turn their names into the newer ones. */
#undef cuDeviceGetUuid
#undef cuEventElapsedTime
extern __typeof__(cuDeviceGetUuid_v2) cuDeviceGetUuid __attribute__((alias("cuDeviceGetUuid_v2")));
extern __typeof__(cuEventElapsedTime_v2) cuEventElapsedTime __attribute__((alias("cuEventElapsedTime_v2")));
