/* Registration: what nvcc's generated constructors tell the runtime, and lazy loading of the PTX they brought. */
#include "harness/emulated_rt/rt.h"

#include "harness/fatbin.h"

#include <stdio.h>
#include <string.h>

#define WRAPPER_MAGIC 0x466243b1
struct fat_wrapper {
    int magic, version;
    const void *data;
    void *file;
};

struct rt_module {
    const void *fatbin;
    struct ks_emu_module *loaded;
    cudaError_t failed; /* loading was tried and failed */
    bool gone;
};
struct rt_variable {
    const void *host;
    char *name;
    size_t size_bytes;
    struct rt_module *module;
    void **managed; /* the host pointer that stands for a __managed__ variable */
};

static KS_VEC(struct rt_kernel *) kernels;
static KS_VEC(struct rt_variable) variables;
static KS_VEC(struct rt_module *) modules;

void rt_registers_apply(struct ks_emu_module *m, const char *kernel);

static cudaError_t module_load(struct rt_module *m)
{
    if (m->loaded || m->failed)
        return m->failed;
    struct ks_emu *emu = rt_emu();
    if (!emu)
        return rt_sticky();
    struct ks_err err;
    KS_AUTO_STR struct ks_str ptx = KS_STR_INIT;
    enum ks_code code = ks_fatbin_ptx(m->fatbin, 0, rt_card()->major * 10 + rt_card()->minor, &ptx, &err);
    if (code == KS_OK)
        code = ks_emu_module_load(emu, ks_str_cstr(&ptx), ptx.len, &m->loaded, &err);
    if (code != KS_OK) {
        (void)rt_from_code(code == KS_ERR_RANGE ? KS_ERR_UNSUPPORTED : code, &err);
        m->failed = code == KS_ERR_NOT_FOUND ? cudaErrorNoKernelImageForDevice
                    : code == KS_ERR_SYNTAX  ? cudaErrorInvalidPtx
                                             : cudaErrorNotSupported;
        return m->failed;
    }
    for (size_t i = 0; i < kernels.n; i++)
        if (kernels.data[i]->module == m)
            rt_registers_apply(m->loaded, kernels.data[i]->name);
    for (size_t i = 0; i < variables.n; i++) {
        struct rt_variable *v = &variables.data[i];
        size_t size;
        if (v->module != m || !v->managed)
            continue;
        if (ks_emu_module_symbol(m->loaded, v->name, v->managed, &size))
            ks_emu_host_visible(emu, *v->managed);
        else
            *v->managed = NULL;
    }
    return cudaSuccess;
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
char __cudaInitModule(void **handle);

void **__cudaRegisterFatBinary(void *wrapper)
{
    const struct fat_wrapper *w = wrapper;
    struct rt_module *m = ks_xcalloc(1, sizeof *m);
    m->fatbin = w->magic == WRAPPER_MAGIC ? w->data : NULL;
    if (!m->fatbin)
        m->failed = cudaErrorInvalidKernelImage;
    rt_lock();
    ks_vec_push(&modules, m);
    rt_unlock();
    return (void **)m;
}

void __cudaRegisterFatBinaryEnd(void **handle)
{
    (void)handle;
}

void __cudaUnregisterFatBinary(void **handle)
{
    struct rt_module *m = (struct rt_module *)handle;
    m->gone = true; /* device state stays: programs may still free memory in later destructors */
}

void __cudaRegisterFunction(void **handle, const char *host, char *device_fun, const char *device_name, int thread_limit,
                            uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *warp)
{
    (void)device_fun, (void)thread_limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    struct rt_kernel *k = ks_xcalloc(1, sizeof *k);
    k->host = host;
    k->name = ks_xstrdup(device_name);
    k->module = (struct rt_module *)handle;
    k->dynamic_shared_limit = 48u << 10;
    k->preferred_carveout = -1;
    rt_lock();
    ks_vec_push(&kernels, k);
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

char __cudaInitModule(void **handle)
{
    rt_lock();
    cudaError_t e = module_load((struct rt_module *)handle);
    rt_unlock();
    return e == cudaSuccess;
}

struct rt_kernel *rt_kernel_find(const void *p)
{
    for (size_t i = 0; i < kernels.n; i++)
        if (kernels.data[i]->host == p || (const void *)kernels.data[i] == p)
            return kernels.data[i];
    return NULL;
}

cudaError_t rt_kernel_module(struct rt_kernel *k, struct ks_emu_module **ret_module)
{
    cudaError_t e = module_load(k->module);
    if (e == cudaSuccess)
        *ret_module = k->module->loaded;
    return e;
}

cudaError_t rt_modules_load_all(void)
{
    for (size_t i = 0; i < modules.n; i++) {
        cudaError_t e = module_load(modules.data[i]);
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
        cudaError_t e = module_load(v->module);
        if (e != cudaSuccess)
            return e;
        return ks_emu_module_symbol(v->module->loaded, v->name, ret_address, ret_size) ? cudaSuccess : cudaErrorInvalidSymbol;
    }
    return cudaErrorInvalidSymbol;
}
