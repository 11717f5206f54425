/* Launches: the triple-chevron stack, launch by stub address or kernel handle, function attributes, occupancy. */
#include "harness/emulated_rt/rt.h"

#include <string.h>

struct call_config {
    dim3 grid, block;
    size_t shared;
    void *stream;
};
#define CONFIG_DEPTH 16 /* nesting of <<<>>> in argument expressions */
static __thread struct call_config configs[CONFIG_DEPTH];
static __thread int n_configs;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *ret_kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream);

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
    if (n_configs == CONFIG_DEPTH)
        return 1;
    configs[n_configs++] = (struct call_config){grid, block, shared, stream};
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (n_configs == 0)
        return rt_return(cudaErrorMissingConfiguration);
    const struct call_config *c = &configs[--n_configs];
    *grid = c->grid;
    *block = c->block;
    *shared = c->shared;
    *(void **)stream = c->stream;
    return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t *ret_kernel, const void *host)
{
    rt_lock();
    struct rt_kernel *k = rt_kernel_find(host);
    rt_unlock();
    if (!k)
        return rt_return(cudaErrorInvalidDeviceFunction);
    *ret_kernel = (cudaKernel_t)(void *)k;
    return cudaSuccess;
}

bool rt_stream_valid(cudaStream_t stream);

static cudaError_t launch(const void *function, dim3 grid, dim3 block, dim3 cluster, void **args, size_t shared,
                          cudaStream_t stream, bool cooperative)
{
    RT_BEGIN;
    struct rt_kernel *k = rt_kernel_find(function);
    if (!k)
        RT_END(cudaErrorInvalidDeviceFunction);
    if (!rt_stream_valid(stream))
        RT_END(cudaErrorInvalidResourceHandle);
    struct ks_emu_module *m;
    cudaError_t e = rt_kernel_module(k, &m);
    if (e != cudaSuccess)
        RT_END(e);
    if (shared > k->dynamic_shared_limit)
        RT_END(cudaErrorInvalidValue);
    struct ks_emu_launch l = {.name = k->name,
                              .grid = {grid.x, grid.y, grid.z},
                              .block = {block.x, block.y, block.z},
                              .cluster = {cluster.x, cluster.y, cluster.z},
                              .shared_bytes = shared,
                              .args = args,
                              .cooperative = cooperative};
    struct ks_err err;
    rt_count_launch();
    rt_order_op(stream, k->name);
    enum ks_code code = ks_emu_launch_run(emu, m, &l, &err);
    e = rt_from_code(code, &err);
    /* As on a GPU, a fault inside the kernel shows at the next synchronisation. */
    RT_END(code == KS_ERR_DEVICE || code == KS_ERR_TIMEOUT ? cudaSuccess : e);
}

static const dim3 no_cluster = {1, 1, 1};

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    return launch((const void *)kernel, grid, block, no_cluster, args, shared, stream, false);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    return launch((const void *)kernel, grid, block, no_cluster, args, shared, stream ? stream : cudaStreamPerThread, false);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    return launch(function, grid, block, no_cluster, args, shared, stream, false);
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
                                        cudaStream_t stream)
{
    return launch(function, grid, block, no_cluster, args, shared, stream, true);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **args)
{
    if (!config)
        return rt_return(cudaErrorInvalidValue);
    dim3 cluster = no_cluster;
    bool cooperative = false;
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const cudaLaunchAttribute *a = &config->attrs[i];
        if (a->id == cudaLaunchAttributeClusterDimension)
            cluster = (dim3){a->val.clusterDim.x, a->val.clusterDim.y, a->val.clusterDim.z};
        else if (a->id == cudaLaunchAttributeCooperative)
            cooperative = a->val.cooperative != 0;
    }
    return launch(function, config->gridDim, config->blockDim, cluster, args, config->dynamicSmemBytes, config->stream,
                  cooperative);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *data)
{
    if (!rt_stream_valid(stream))
        return rt_return(cudaErrorInvalidResourceHandle);
    fn(data);
    return cudaSuccess;
}

cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags)
{
    if (flags != 0 || !rt_stream_valid(stream))
        return rt_return(cudaErrorInvalidValue);
    callback(stream, rt_sticky(), data);
    return cudaSuccess;
}

static cudaError_t func_info(const void *function, struct rt_kernel **ret_kernel, struct ks_emu_func_info *ret_info)
{
    struct rt_kernel *k = rt_kernel_find(function);
    if (!k)
        return cudaErrorInvalidDeviceFunction;
    struct ks_emu_module *m;
    cudaError_t e = rt_kernel_module(k, &m);
    if (e != cudaSuccess)
        return e;
    struct ks_err err;
    if (ks_emu_func(m, k->name, ret_info, &err) != KS_OK)
        return cudaErrorInvalidDeviceFunction;
    *ret_kernel = k;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attr, int value)
{
    RT_BEGIN;
    rt_spend(emu, RT_API_function_attribute, 0, 0);
    struct rt_kernel *k;
    struct ks_emu_func_info info;
    cudaError_t e = func_info(function, &k, &info);
    if (e != cudaSuccess)
        RT_END(e);
    if (attr == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        if (value < 0 || (size_t)value + info.static_shared_bytes > rt_card()->shared_optin)
            RT_END(cudaErrorInvalidValue);
        k->dynamic_shared_limit = (size_t)value;
    } else if (attr == cudaFuncAttributePreferredSharedMemoryCarveout) {
        k->preferred_carveout = value;
    } else if (attr < cudaFuncAttributeMaxDynamicSharedMemorySize || attr >= cudaFuncAttributeMax) {
        RT_END(cudaErrorInvalidValue);
    }
    RT_END(cudaSuccess);
}

cudaError_t cudaFuncSetCacheConfig(const void *function, enum cudaFuncCache config)
{
    (void)config;
    rt_lock();
    struct rt_kernel *k = rt_kernel_find(function);
    RT_END(k ? cudaSuccess : cudaErrorInvalidDeviceFunction);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *function)
{
    RT_BEGIN;
    rt_spend(emu, RT_API_function_attribute, 0, 0);
    struct rt_kernel *k;
    struct ks_emu_func_info info;
    cudaError_t e = func_info(function, &k, &info);
    if (e != cudaSuccess)
        RT_END(e);
    memset(attr, 0, sizeof *attr);
    attr->sharedSizeBytes = info.static_shared_bytes;
    attr->localSizeBytes = info.local_bytes;
    attr->maxThreadsPerBlock = info.max_threads_per_block;
    attr->numRegs = info.registers_estimate;
    attr->ptxVersion = attr->binaryVersion = rt_card()->major * 10 + rt_card()->minor;
    attr->maxDynamicSharedSizeBytes = (int)k->dynamic_shared_limit;
    attr->preferredShmemCarveout = k->preferred_carveout;
    RT_END(cudaSuccess);
}

/* Resident blocks a multiprocessor holds: the least that threads, registers (granted in units of 256 a warp), shared memory and
 * the block limit allow. */
static int blocks_per_sm(const struct ks_emu_func_info *info, int block_size, size_t dynamic_shared)
{
    const struct rt_card *c = rt_card();
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
    (void)flags;
    RT_BEGIN;
    rt_spend(emu, RT_API_occupancy, 0, 0);
    struct rt_kernel *k;
    struct ks_emu_func_info info;
    cudaError_t e = func_info(function, &k, &info);
    if (e == cudaSuccess)
        *ret_blocks = blocks_per_sm(&info, block_size, dynamic_shared);
    RT_END(e);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, const void *function, int block_size,
                                                          size_t dynamic_shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret_blocks, function, block_size, dynamic_shared, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *ret_bytes, const void *function, int n_blocks, int block_size)
{
    (void)block_size;
    RT_BEGIN;
    (void)emu;
    struct rt_kernel *k;
    struct ks_emu_func_info info;
    cudaError_t e = func_info(function, &k, &info);
    if (e == cudaSuccess && n_blocks < 1)
        e = cudaErrorInvalidValue;
    if (e == cudaSuccess) {
        size_t each = rt_card()->shared_per_sm / (size_t)n_blocks, fixed = info.static_shared_bytes + 1024;
        each = each > fixed ? each - fixed : 0;
        *ret_bytes = each < rt_card()->shared_optin ? each : rt_card()->shared_optin;
    }
    RT_END(e);
}
