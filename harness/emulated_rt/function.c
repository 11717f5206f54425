/* What is known and set about kernels: attributes, parameters, occupancy. */
#include "harness/emulated_rt/op.h"

#include <string.h>

cudaError_t rt_function_set(const void *function, enum cudaFuncAttribute attr, int value)
{
    struct rt_kernel *k;
    struct ks_emu_func_info info;
    cudaError_t e = rt_kernel_info(function, &k, &info);
    if (e != cudaSuccess)
        return e;
    switch ((int)attr) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
        if (value < 0 || (size_t)value + info.static_shared_bytes > rt_card()->shared_optin)
            return cudaErrorInvalidValue;
        k->dynamic_shared_limit = (size_t)value;
        k->limit_set = true;
        return cudaSuccess;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
        if (value < -1 || value > 100)
            return cudaErrorInvalidValue;
        k->preferred_carveout = value;
        return cudaSuccess;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
        k->non_portable_cluster = value != 0;
        k->cluster_set = true;
        return cudaSuccess;
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
        if (value < 0)
            return cudaErrorInvalidValue;
        k->required_cluster[(int)attr - cudaFuncAttributeRequiredClusterWidth] = value;
        return cudaSuccess;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attr, int value)
{
    RT_BEGIN;
    rt_spend(emu, RT_API_function_attribute, 0, 0);
    RT_END(rt_function_set(function, attr, value));
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, enum cudaFuncAttribute attr, int value, int dev)
{
    return dev == 0 ? cudaFuncSetAttribute((const void *)kernel, attr, value) : rt_return(cudaErrorInvalidDevice);
}

cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config)
{
    rt_lock();
    struct rt_kernel *k = rt_kernel_find(function);
    RT_END(!k                                            ? cudaErrorInvalidDeviceFunction
           : (unsigned)config > cudaFuncCachePreferEqual ? cudaErrorInvalidValue
                                                         : cudaSuccess);
}

cudaError_t cudaFuncSetSharedMemConfig(const void *function, enum cudaSharedMemConfig config)
{
    rt_lock();
    struct rt_kernel *k = rt_kernel_find(function);
    RT_END(!k                                                  ? cudaErrorInvalidDeviceFunction
           : (unsigned)config > cudaSharedMemBankSizeEightByte ? cudaErrorInvalidValue
                                                               : cudaSuccess);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *function)
{
    RT_BEGIN;
    rt_spend(emu, RT_API_function_attribute, 0, 0);
    struct rt_kernel *k;
    struct ks_emu_func_info info;
    cudaError_t e = rt_kernel_info(function, &k, &info);
    if (e != cudaSuccess || !attr)
        RT_END(e != cudaSuccess ? e : cudaErrorInvalidValue);
    memset(attr, 0, sizeof *attr);
    attr->sharedSizeBytes = info.static_shared_bytes;
    attr->localSizeBytes = info.local_bytes;
    attr->maxThreadsPerBlock = info.max_threads_per_block;
    attr->numRegs = info.registers_estimate;
    attr->ptxVersion = attr->binaryVersion = rt_card()->major * 10 + rt_card()->minor;
    attr->maxDynamicSharedSizeBytes = (int)k->dynamic_shared_limit;
    attr->preferredShmemCarveout = k->preferred_carveout;
    attr->requiredClusterWidth = k->required_cluster[0];
    attr->requiredClusterHeight = k->required_cluster[1];
    attr->requiredClusterDepth = k->required_cluster[2];
    attr->nonPortableClusterSizeAllowed = k->non_portable_cluster;
    RT_END(cudaSuccess);
}

cudaError_t cudaFuncGetName(const char **ret_name, const void *function)
{
    rt_lock();
    struct rt_kernel *k = rt_kernel_find(function);
    if (k && ret_name)
        *ret_name = k->name;
    RT_END(!k ? cudaErrorInvalidDeviceFunction : ret_name ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaFuncGetParamInfo(const void *function, size_t i, size_t *ret_offset, size_t *ret_size)
{
    RT_BEGIN;
    (void)emu;
    struct rt_kernel *k;
    struct ks_emu_func_info info;
    cudaError_t e = rt_kernel_info(function, &k, &info);
    if (e != cudaSuccess || i >= info.n_params || !ret_offset)
        RT_END(e != cudaSuccess ? e : cudaErrorInvalidValue);
    *ret_offset = info.param_offset[i];
    if (ret_size)
        *ret_size = info.param_size[i];
    RT_END(cudaSuccess);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *ret_function, const void *symbol)
{
    rt_lock();
    struct rt_kernel *k = rt_kernel_find(symbol);
    if (k)
        *ret_function = (cudaFunction_t)(void *)k;
    RT_END(k ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaGetKernel(cudaKernel_t *ret_kernel, const void *entry)
{
    return cudaGetFuncBySymbol((cudaFunction_t *)(void *)ret_kernel, entry);
}

/* Resident blocks a multiprocessor holds: the least that threads, registers (granted in units of 256 a warp), shared memory and
 * the block limit allow. */
int rt_blocks_per_sm(const struct ks_emu_func_info *info, int block_size, size_t dynamic_shared)
{
    const struct ks_emu_card *c = rt_card();
    if (block_size < 1 || block_size > info->max_threads_per_block)
        return 0;
    int warps = (block_size + 31) / 32;
    int n = c->threads_per_sm / 32 / warps;
    int registers = info->registers_estimate > 0 ? info->registers_estimate : 32;
    int warp_registers = (registers * 32 + 255) / 256 * 256;
    int by_registers = 65536 / warp_registers / warps;
    n = by_registers < n ? by_registers : n;
    size_t shared = (info->static_shared_bytes + dynamic_shared + 1024 + 127) / 128 * 128;
    int by_shared = (int)(c->shared_per_sm / shared);
    n = by_shared < n ? by_shared : n;
    return n < c->blocks_per_sm ? n : c->blocks_per_sm;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_blocks, const void *function, int block_size,
                                                                   size_t dynamic_shared, unsigned flags)
{
    if (!ret_blocks || block_size <= 0 || flags > cudaOccupancyDisableCachingOverride)
        return rt_return(cudaErrorInvalidValue);
    RT_BEGIN;
    rt_spend(emu, RT_API_occupancy, 0, 0);
    struct rt_kernel *k;
    struct ks_emu_func_info info;
    cudaError_t e = rt_kernel_info(function, &k, &info);
    if (e == cudaSuccess)
        *ret_blocks = rt_blocks_per_sm(&info, block_size, dynamic_shared);
    RT_END(e);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, const void *function, int block_size,
                                                          size_t dynamic_shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret_blocks, function, block_size, dynamic_shared, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *ret_bytes, const void *function, int n_blocks, int block_size)
{
    RT_BEGIN;
    (void)emu;
    struct rt_kernel *k;
    struct ks_emu_func_info info;
    cudaError_t e = rt_kernel_info(function, &k, &info);
    if (e == cudaSuccess && (n_blocks < 1 || block_size < 1 || !ret_bytes))
        e = cudaErrorInvalidValue;
    if (e == cudaSuccess) {
        size_t each = rt_card()->shared_per_sm / (size_t)n_blocks, fixed = info.static_shared_bytes + 1024;
        each = each > fixed ? each - fixed : 0;
        *ret_bytes = each < rt_card()->shared_optin ? each : rt_card()->shared_optin;
    }
    RT_END(e);
}

/* Clusters stay within a group of SMs; how many groups a card has is not documented, so all SMs count as one. */
static cudaError_t clusters(const void *function, const cudaLaunchConfig_t *config, int *ret_size, int *ret_n)
{
    struct rt_kernel *k;
    struct ks_emu_func_info info;
    cudaError_t e = rt_kernel_info(function, &k, &info);
    if (e != cudaSuccess || !config || rt_card()->major < 9)
        return e != cudaSuccess ? e : config ? cudaErrorNotSupported : cudaErrorInvalidValue;
    int size = 1;
    for (unsigned i = 0; i < config->numAttrs; i++)
        if (config->attrs[i].id == cudaLaunchAttributeClusterDimension)
            size =
                (int)(config->attrs[i].val.clusterDim.x * config->attrs[i].val.clusterDim.y * config->attrs[i].val.clusterDim.z);
    int threads = (int)(config->blockDim.x * config->blockDim.y * config->blockDim.z);
    int blocks = rt_blocks_per_sm(&info, threads, config->dynamicSmemBytes) * rt_card()->sms;
    if (size < 1)
        return cudaErrorInvalidClusterSize;
    *ret_n = blocks / size;
    *ret_size = blocks ? k->non_portable_cluster ? 16 : 8 : 0;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *ret_size, const void *function, const cudaLaunchConfig_t *config)
{
    int n;
    RT_BEGIN;
    rt_spend(emu, RT_API_occupancy, 0, 0);
    RT_END(clusters(function, config, ret_size, &n));
}

cudaError_t cudaOccupancyMaxActiveClusters(int *ret_n, const void *function, const cudaLaunchConfig_t *config)
{
    int size;
    RT_BEGIN;
    rt_spend(emu, RT_API_occupancy, 0, 0);
    RT_END(clusters(function, config, &size, ret_n));
}
