/* Device management, properties, limits.  There is one device, number 0. */
#include "harness/emulated_rt/op.h"

#include <stdio.h>
#include <string.h>

#define BUS_ID "0000:01:00.0"

cudaError_t cudaGetDeviceCount(int *ret_n)
{
    if (!ret_n)
        return rt_return(cudaErrorInvalidValue);
    *ret_n = 1;
    return cudaSuccess;
}

cudaError_t cudaGetDevice(int *ret_device)
{
    if (!ret_device)
        return rt_return(cudaErrorInvalidValue);
    *ret_device = 0;
    return cudaSuccess;
}

cudaError_t cudaSetDevice(int dev)
{
    return rt_return(dev == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

static unsigned device_flags;

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
    if (flags & ~(unsigned)cudaDeviceMask || (flags & cudaDeviceScheduleMask) == 3)
        return rt_return(cudaErrorInvalidValue);
    device_flags = flags;
    return cudaSuccess;
}

cudaError_t cudaGetDeviceFlags(unsigned *ret_flags)
{
    if (!ret_flags)
        return rt_return(cudaErrorInvalidValue);
    *ret_flags = device_flags | cudaDeviceMapHost;
    return cudaSuccess;
}

cudaError_t cudaInitDevice(int dev, unsigned flags, unsigned init_flags)
{
    (void)flags, (void)init_flags;
    return cudaSetDevice(dev);
}

cudaError_t cudaSetValidDevices(int *list, int n)
{
    for (int i = 0; i < n; i++)
        if (!list || list[i] != 0)
            return rt_return(list ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    return rt_return(n < 0 || n > 1 ? cudaErrorInvalidValue : cudaSuccess);
}

cudaError_t cudaChooseDevice(int *ret_device, const struct cudaDeviceProp *wanted)
{
    if (!ret_device || !wanted)
        return rt_return(cudaErrorInvalidValue);
    *ret_device = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize(void)
{
    RT_BEGIN;
    cudaError_t e = rt_capture_unsafe();
    rt_spend(emu, RT_API_synchronize, 0, 0);
    rt_order_host_waits_all();
    RT_END(e);
}

/* Memory and modules stay to the end of the process, and so does a fault, after which only a new process helps. */
cudaError_t cudaDeviceReset(void)
{
    rt_lock();
    RT_END(rt_sticky());
}

cudaError_t cudaRuntimeGetVersion(int *ret_version)
{
    if (!ret_version)
        return rt_return(cudaErrorInvalidValue);
    *ret_version = CUDART_VERSION;
    return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int *ret_version)
{
    return cudaRuntimeGetVersion(ret_version);
}

/* False: not an attribute. */
static bool attribute(int attr, int *ret)
{
    const struct ks_emu_card *c = rt_card();
    static const short known[] = {
#define D(attr, value)   cudaDevAttr##attr,
#define E(number, value) number,
#define P(field, attr)
#include "harness/emulated_rt/device_attr.def"
#undef D
#undef E
    };
    const int values[] = {
#define D(attr, value)   value,
#define E(number, value) value,
#include "harness/emulated_rt/device_attr.def"
#undef D
#undef E
#undef P
    };
    *ret = 0; /* an optional feature that this device lacks */
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i] == attr)
            *ret = values[i];
    return attr >= 1 && attr < cudaDevAttrMax;
}

static int value_of(int attr)
{
    int value;
    (void)attribute(attr, &value);
    return value;
}

cudaError_t cudaDeviceGetAttribute(int *ret_value, enum cudaDeviceAttr attr, int dev)
{
    if (dev != 0 || !ret_value)
        return rt_return(dev ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    RT_BEGIN;
    (void)emu;
    RT_END(attribute((int)attr, ret_value) ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int dev)
{
    static const cudaUUID_t uuid = {"kscc emulated 0"};
    if (dev != 0 || !p)
        return rt_return(dev ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    RT_BEGIN;
    rt_spend(emu, RT_API_properties, 0, 0);
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", rt_card()->name);
    p->uuid = uuid;
    p->totalGlobalMem = rt_card()->memory_bytes;
#define D(attr, value)
#define E(number, value)
#define P(field, attr) p->field = (__typeof__(p->field))value_of(cudaDevAttr##attr);
#include "harness/emulated_rt/device_attr.def"
#undef D
#undef E
#undef P
    RT_END(cudaSuccess);
}

cudaError_t cudaDeviceGetPCIBusId(char *ret_id, int len, int dev)
{
    if (dev != 0 || !ret_id || len < (int)sizeof BUS_ID)
        return rt_return(dev ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    snprintf(ret_id, (size_t)len, "%s", BUS_ID);
    return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int *ret_device, const char *id)
{
    if (!ret_device || !id)
        return rt_return(cudaErrorInvalidValue);
    if (strcmp(id, BUS_ID) != 0 && strcmp(id, BUS_ID + 5) != 0)
        return rt_return(cudaErrorInvalidDevice);
    *ret_device = 0;
    return cudaSuccess;
}

static size_t limits[cudaLimitPersistingL2CacheSize + 1] = {
    [cudaLimitStackSize] = 1024, [cudaLimitPrintfFifoSize] = 1 << 20, [cudaLimitMallocHeapSize] = 8 << 20};

/* Device-side stacks, buffers and heaps grow as they are needed: a limit is kept and has no effect. */
cudaError_t cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    if ((unsigned)limit > cudaLimitPersistingL2CacheSize)
        return rt_return(cudaErrorUnsupportedLimit);
    limits[limit] = value;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetLimit(size_t *ret_value, enum cudaLimit limit)
{
    if ((unsigned)limit > cudaLimitPersistingL2CacheSize || !ret_value)
        return rt_return(ret_value ? cudaErrorUnsupportedLimit : cudaErrorInvalidValue);
    *ret_value = limits[limit];
    return cudaSuccess;
}

static enum cudaFuncCache cache_config;
static enum cudaSharedMemConfig shared_config = cudaSharedMemBankSizeFourByte;

cudaError_t cudaDeviceSetCacheConfig(enum cudaFuncCache config)
{
    cache_config = config;
    return rt_return((unsigned)config > cudaFuncCachePreferEqual ? cudaErrorInvalidValue : cudaSuccess);
}

cudaError_t cudaDeviceGetCacheConfig(enum cudaFuncCache *ret_config)
{
    *ret_config = cache_config;
    return cudaSuccess;
}

cudaError_t cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
    return rt_return((unsigned)config > cudaSharedMemBankSizeEightByte ? cudaErrorInvalidValue : cudaSuccess);
}

cudaError_t cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *ret_config)
{
    *ret_config = shared_config;
    return cudaSuccess;
}

cudaError_t cudaCtxResetPersistingL2Cache(void)
{
    return cudaSuccess;
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(enum cudaFlushGPUDirectRDMAWritesTarget target,
                                               enum cudaFlushGPUDirectRDMAWritesScope scope)
{
    (void)target, (void)scope;
    return rt_refuse("cudaDeviceFlushGPUDirectRDMAWrites", "no other device writes into this one's memory");
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t *ret_width, const struct cudaChannelFormatDesc *desc, int dev)
{
    if (dev != 0 || !ret_width || !desc)
        return rt_return(dev ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    *ret_width = (size_t)1 << 28;
    return cudaSuccess;
}

/* ------------------------------------------------------------------------------------------------ peers: there are none */

cudaError_t cudaDeviceCanAccessPeer(int *ret_can, int dev, int peer)
{
    if (dev != 0 || peer != 0 || !ret_can)
        return rt_return(ret_can ? cudaErrorInvalidDevice : cudaErrorInvalidValue);
    *ret_can = 0;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
    return rt_return(flags ? cudaErrorInvalidValue : peer ? cudaErrorInvalidDevice : cudaErrorPeerAccessUnsupported);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
    return rt_return(peer ? cudaErrorInvalidDevice : cudaErrorPeerAccessNotEnabled);
}

cudaError_t cudaDeviceGetP2PAttribute(int *ret_value, enum cudaDeviceP2PAttr attr, int from, int to)
{
    (void)attr, (void)from, (void)to;
    (void)ret_value;
    return rt_return(cudaErrorInvalidDevice); /* the two must differ */
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
