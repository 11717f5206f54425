/* Launches: the triple-chevron stack, launch by stub address or kernel handle, host functions. */
#include "harness/emulated_rt/op.h"
#include "harness/emulated_rt/record.h"

#include "base/str.h"

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

cudaError_t rt_launch_fill(struct rt_launch *l, const void *function, dim3 grid, dim3 block, size_t shared, void **args)
{
    memset(l, 0, sizeof *l);
    l->kernel = rt_kernel_find(function);
    l->function = (void *)(uintptr_t)function;
    l->grid = grid;
    l->block = block;
    l->shared_bytes = shared;
    l->args = args;
    return l->kernel ? cudaSuccess : cudaErrorInvalidDeviceFunction;
}

/* What the hardware would refuse before it runs anything, with the runtime's own codes. */
static cudaError_t limits_check(const struct rt_launch *l, const struct ks_emu_func_info *info)
{
    unsigned long long threads = (unsigned long long)l->block.x * l->block.y * l->block.z;
    if (threads == 0 || (unsigned long long)l->grid.x * l->grid.y * l->grid.z == 0 || threads > 1024)
        return cudaErrorInvalidConfiguration;
    if (threads > (unsigned long long)info->max_threads_per_block)
        return cudaErrorLaunchOutOfResources;
    bool opted_in = l->kernel->dynamic_shared_limit != RT_SHARED_DEFAULT; /* otherwise static and dynamic share 48 KiB */
    if (l->shared_bytes > l->kernel->dynamic_shared_limit ||
        (!opted_in && l->shared_bytes + info->static_shared_bytes > RT_SHARED_DEFAULT))
        return cudaErrorInvalidValue;
    if (l->cooperative) {
        int blocks = rt_blocks_per_sm(info, (int)threads, l->shared_bytes);
        if ((unsigned long long)l->grid.x * l->grid.y * l->grid.z > (unsigned long long)blocks * (unsigned)rt_card()->sms)
            return cudaErrorCooperativeLaunchTooLarge;
    }
    unsigned cluster = l->cluster.x * l->cluster.y * l->cluster.z;
    if (l->cluster.x && (cluster == 0 || cluster > 16 || (cluster > 8 && !l->kernel->non_portable_cluster)))
        return cudaErrorInvalidClusterSize;
    if (cluster > 1 && (l->grid.x % l->cluster.x || l->grid.y % l->cluster.y || l->grid.z % l->cluster.z))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

cudaError_t rt_launch_run(const struct rt_launch *l, cudaStream_t stream)
{
    struct ks_emu_module *m;
    struct rt_kernel *k;
    struct ks_emu_func_info info;
    cudaError_t e = rt_kernel_info(l->kernel, &k, &info);
    if (e == cudaSuccess)
        e = limits_check(l, &info);
    if (e == cudaSuccess)
        e = rt_kernel_module(k, &m);
    if (e != cudaSuccess)
        return e;
    dim3 c = l->cluster.x ? l->cluster : (dim3){0, 0, 0};
    if (!c.x && k->required_cluster[0])
        c = (dim3){(unsigned)k->required_cluster[0], (unsigned)k->required_cluster[1], (unsigned)k->required_cluster[2]};
    struct ks_emu_launch launch = {.name = k->name,
                                   .grid = {l->grid.x, l->grid.y, l->grid.z},
                                   .block = {l->block.x, l->block.y, l->block.z},
                                   .cluster = {c.x, c.y, c.z},
                                   .shared_bytes = l->shared_bytes,
                                   .args = l->args,
                                   .cooperative = l->cooperative};
    struct ks_err err;
    rt_count_launch();
    rt_order_op(stream, k->name);
    struct rt_recorded *recorded = rt_record_begin(&launch, &info, m, stream);
    enum ks_code code = ks_emu_launch_run(rt_emu(), m, &launch, &err);
    rt_record_end(recorded, code, &err);
    e = rt_from_code(code, &err);
    /* As on a GPU, a fault inside the kernel shows at the next synchronisation. */
    return code == KS_ERR_DEVICE || code == KS_ERR_TIMEOUT ? cudaSuccess : e;
}

/* A launch that the runtime refuses tells its caller what earlier calls have set of the kernel. */
static cudaError_t refusal_note(const struct rt_launch *l, cudaError_t e)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (e == cudaSuccess || rt_sticky() != cudaSuccess)
        return e;
    ks_str_addf(&text, "the launch of %s is refused: %s", l->kernel ? l->kernel->name : "an unknown kernel", cudaGetErrorName(e));
    rt_call_finding("refused-launch", text.data);
    return e;
}

static cudaError_t launch(const void *function, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream,
                          bool cooperative)
{
    RT_BEGIN;
    (void)emu;
    struct rt_op op = {.kind = RT_OP_KERNEL};
    cudaError_t e = rt_launch_fill(&op.launch, function, grid, block, shared, args);
    op.launch.cooperative = cooperative;
    RT_END(refusal_note(&op.launch, e == cudaSuccess ? rt_submit(&op, rt_default_stream(stream)) : e));
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    return launch((const void *)kernel, grid, block, args, shared, stream, false);
}

cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    return launch(function, grid, block, args, shared, stream, false);
}

cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **args, size_t shared,
                                        cudaStream_t stream)
{
    return launch(function, grid, block, args, shared, stream, true);
}

/* Attributes that change what runs are applied, the others kept: they are hints, or speak about other launches. */
cudaError_t rt_launch_attribute(struct rt_launch *l, const cudaLaunchAttribute *a)
{
    unsigned i = 0;
    while (i < l->n_attributes && l->attributes[i].id != a->id)
        i++;
    if (a->id <= cudaLaunchAttributeIgnore || i == RT_MAX_ATTRIBUTES)
        return a->id == cudaLaunchAttributeIgnore ? cudaSuccess : cudaErrorInvalidValue;
    l->attributes[i] = *a;
    l->n_attributes += i == l->n_attributes;
    if (a->id == cudaLaunchAttributeClusterDimension)
        l->cluster = (dim3){a->val.clusterDim.x, a->val.clusterDim.y, a->val.clusterDim.z};
    if (a->id == cudaLaunchAttributeCooperative)
        l->cooperative = a->val.cooperative != 0;
    return cudaSuccess;
}

const cudaLaunchAttributeValue *rt_launch_attribute_get(const struct rt_launch *l, cudaLaunchAttributeID id)
{
    for (unsigned i = 0; i < l->n_attributes; i++)
        if (l->attributes[i].id == id)
            return &l->attributes[i].val;
    return NULL;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **args)
{
    if (!config)
        return rt_return(cudaErrorInvalidValue);
    RT_BEGIN;
    (void)emu;
    struct rt_op op = {.kind = RT_OP_KERNEL};
    cudaError_t e = rt_launch_fill(&op.launch, function, config->gridDim, config->blockDim, config->dynamicSmemBytes, args);
    for (unsigned i = 0; i < config->numAttrs && e == cudaSuccess; i++)
        e = rt_launch_attribute(&op.launch, &config->attrs[i]);
    RT_END(refusal_note(&op.launch, e == cudaSuccess ? rt_submit(&op, rt_default_stream(config->stream)) : e));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *data)
{
    if (!fn)
        return rt_return(cudaErrorInvalidValue);
    struct rt_op op = {.kind = RT_OP_HOST, .host = {.fn = fn, .data = data}};
    RT_BEGIN;
    (void)emu;
    RT_END(rt_submit(&op, rt_default_stream(stream)));
}

/* A callback is told of a fault, so it is called after one too. */
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void *data, unsigned flags)
{
    if (flags != 0 || !callback)
        return rt_return(cudaErrorInvalidValue);
    struct rt_op op = {.kind = RT_OP_HOST, .host = {.callback = callback, .data = data}};
    rt_lock();
    RT_END(rt_submit(&op, rt_default_stream(stream)));
}
