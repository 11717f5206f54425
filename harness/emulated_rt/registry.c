/* Registration: what nvcc's generated constructors tell the runtime. */
#include "harness/emulated_rt/rt.h"

#include "base/str.h"

#include <string.h>

struct rt_variable {
    const void *host;
    char *name;
    size_t size_bytes;
    struct rt_module *module;
    void **managed; /* the host pointer that stands for a __managed__ variable */
};

static KS_VEC(struct rt_kernel *) kernels;
static KS_VEC(struct rt_variable) variables;
static KS_VEC(struct rt_module *) registered;

/* Kernels by host address: programs made of templates register thousands. */
#define N_BUCKETS 4096
static struct rt_kernel *recent[N_BUCKETS];

static size_t bucket_of(const void *p)
{
    return ((uintptr_t)p >> 4) * 2654435761u % N_BUCKETS;
}

void rt_registers_apply(struct ks_emu_module *m, const char *kernel);

void rt_module_told(struct rt_module *m)
{
    struct ks_emu_module *loaded = rt_module_loaded(m);
    for (size_t i = 0; i < kernels.n; i++)
        if (kernels.data[i]->module == m)
            rt_registers_apply(loaded, kernels.data[i]->name);
    for (size_t i = 0; i < variables.n; i++) {
        struct rt_variable *v = &variables.data[i];
        size_t size;
        if (v->module != m || !v->managed)
            continue;
        if (ks_emu_module_symbol(loaded, v->name, v->managed, &size))
            ks_emu_host_visible(rt_emu(), *v->managed);
        else
            *v->managed = NULL;
    }
}

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device_fun, const char *device_name, int thread_limit,
                            uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp);
void __cudaRegisterVar(void **handle, char *host, char *device_address, const char *device_name, int ext, size_t size,
                       int constant, int global);
void __cudaRegisterManagedVar(void **handle, void **host, char *device_address, const char *device_name, int ext, size_t size,
                              int constant, int global);
void __cudaRegisterHostVar(void **handle, const char *device_name, char *host, size_t size);
void __cudaRegisterUnifiedTable(void **handle, void *table);
char __cudaInitModule(void **handle);

void **__cudaRegisterFatBinary(void *wrapper)
{
    rt_lock();
    struct rt_module *m = rt_module_new(wrapper, true);
    ks_vec_push(&registered, m);
    rt_unlock();
    return (void **)m;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

/* Device state stays: programs may still free memory in later destructors. */
void __cudaUnregisterFatBinary(void **handle)
{
    (void)handle;
}

struct rt_kernel *rt_kernel_add(struct rt_module *m, const void *host, const char *name)
{
    struct rt_kernel *k = ks_xcalloc(1, sizeof *k);
    k->host = host;
    k->name = ks_xstrdup(name);
    k->module = m;
    k->dynamic_shared_limit = RT_SHARED_DEFAULT;
    k->preferred_carveout = -1;
    ks_vec_push(&kernels, k);
    return k;
}

void __cudaRegisterFunction(void **handle, const char *host, char *device_fun, const char *device_name, int thread_limit,
                            uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp)
{
    (void)device_fun, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    rt_lock();
    (void)rt_kernel_add((struct rt_module *)handle, host, device_name);
    rt_unlock();
}

static void variable_add(void **handle, const void *host, const char *name, size_t size, void **managed)
{
    struct rt_variable v = {
        .host = host, .name = ks_xstrdup(name), .size_bytes = size, .module = (struct rt_module *)handle, .managed = managed};
    rt_lock();
    ks_vec_push(&variables, v);
    rt_unlock();
}

void __cudaRegisterVar(void **handle, char *host, char *device_address, const char *device_name, int ext, size_t size,
                       int constant, int global)
{
    (void)device_address, (void)ext, (void)constant, (void)global;
    variable_add(handle, host, device_name, size, NULL);
}

void __cudaRegisterManagedVar(void **handle, void **host, char *device_address, const char *device_name, int ext, size_t size,
                              int constant, int global)
{
    (void)device_address, (void)ext, (void)constant, (void)global;
    variable_add(handle, host, device_name, size, host);
}

/* Names of host variables and of functions with one address on both sides: made for coherent machines, where device code
 * could use them; here nothing asks. */
void __cudaRegisterHostVar(void **handle, const char *device_name, char *host, size_t size)
{
    (void)handle, (void)device_name, (void)host, (void)size;
}

void __cudaRegisterUnifiedTable(void **handle, void *table)
{
    (void)handle, (void)table;
}

char __cudaInitModule(void **handle)
{
    rt_lock();
    cudaError_t e = rt_module_load((struct rt_module *)handle);
    rt_unlock();
    return e == cudaSuccess;
}

struct rt_kernel *rt_kernel_find(const void *p)
{
    struct rt_kernel **slot = &recent[bucket_of(p)];
    if (*slot && ((*slot)->host == p || (const void *)*slot == p))
        return *slot;
    for (size_t i = 0; p && i < kernels.n; i++)
        if (kernels.data[i]->host == p || (const void *)kernels.data[i] == p)
            return *slot = kernels.data[i];
    return NULL;
}

struct rt_kernel *rt_kernel_named(struct rt_module *m, const char *name)
{
    for (size_t i = 0; i < kernels.n; i++)
        if (kernels.data[i]->module == m && strcmp(kernels.data[i]->name, name) == 0)
            return kernels.data[i];
    return NULL;
}

void rt_kernels_forget(struct rt_module *m)
{
    size_t kept = 0;
    memset(recent, 0, sizeof recent);
    for (size_t i = 0; i < kernels.n; i++) {
        struct rt_kernel *k = kernels.data[i];
        if (k->module != m) {
            kernels.data[kept++] = k;
            continue;
        }
        free(k->name);
        free(k);
    }
    kernels.n = kept;
}

cudaError_t rt_kernel_module(struct rt_kernel *k, struct ks_emu_module **ret_module)
{
    cudaError_t e = rt_module_load(k->module);
    if (e == cudaSuccess)
        *ret_module = rt_module_loaded(k->module);
    return e;
}

cudaError_t rt_kernel_info(const void *function, struct rt_kernel **ret_kernel, struct ks_emu_func_info *ret_info)
{
    struct rt_kernel *k = rt_kernel_find(function);
    struct ks_emu_module *m;
    struct ks_err err;
    if (!k)
        return cudaErrorInvalidDeviceFunction;
    cudaError_t e = rt_kernel_module(k, &m);
    if (e != cudaSuccess)
        return e;
    enum ks_code code = ks_emu_func(m, k->name, ret_info, &err);
    if (code == KS_ERR_NOT_FOUND)
        return cudaErrorInvalidDeviceFunction;
    if (code != KS_OK)
        return rt_from_code(code == KS_ERR_RANGE ? KS_ERR_UNSUPPORTED : code, &err);
    *ret_kernel = k;
    return cudaSuccess;
}

void rt_kernels_unsettle(unsigned call)
{
    for (size_t i = 0; i < kernels.n; i++) {
        struct rt_kernel *k = kernels.data[i], *same;
        struct ks_emu_func_info info;
        uint32_t h = (call * 2654435761u ^ (uint32_t)i * 40503u) * 2246822519u;
        if (!(k->limit_set || k->cluster_set) || rt_kernel_info(k, &same, &info) != cudaSuccess)
            continue;
        if (k->limit_set) /* as at first, or the most there is */
            k->dynamic_shared_limit = h >> 30 & 1 ? RT_SHARED_DEFAULT : rt_card()->shared_optin - info.static_shared_bytes;
        if (k->cluster_set)
            k->non_portable_cluster = h >> 29 & 1;
    }
}

cudaError_t rt_modules_load_all(void)
{
    for (size_t i = 0; i < registered.n; i++) {
        cudaError_t e = rt_module_load(registered.data[i]);
        if (e != cudaSuccess)
            return e;
    }
    return cudaSuccess;
}

cudaError_t rt_variable(const void *symbol, void **ret_address, size_t *ret_size)
{
    for (size_t i = 0; i < variables.n; i++) {
        struct rt_variable *v = &variables.data[i];
        if (v->host != symbol && (!v->managed || *v->managed != symbol))
            continue;
        cudaError_t e = rt_module_load(v->module);
        if (e != cudaSuccess)
            return e;
        return ks_emu_module_symbol(rt_module_loaded(v->module), v->name, ret_address, ret_size) ? cudaSuccess
                                                                                                 : cudaErrorInvalidSymbol;
    }
    return cudaErrorInvalidSymbol;
}
