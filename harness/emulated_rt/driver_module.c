/* The driver's modules and libraries, and the runtime's libraries: one kind of object. */
#include "harness/emulated_rt/driver.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* Text of an error goes where the caller wants it: the value of the option is the buffer, its size is another option's value. */
static void log_to(unsigned n, const CUjit_option *options, void **values)
{
    char *buffer = NULL;
    size_t size = 0;
    for (unsigned i = 0; i < n; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            buffer = values[i];
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            size = (size_t)(uintptr_t)values[i];
    }
    if (buffer && size > 0)
        snprintf(buffer, size, "%s", kscc_emu_error());
}

CUresult drv_module_load(void **ret_module, const void *image, unsigned n, const CUjit_option *options, void **values)
{
    if (!ret_module || !image)
        return CUDA_ERROR_INVALID_VALUE;
    rt_lock();
    struct rt_module *m = rt_emu() ? rt_module_new(image, false) : NULL;
    cudaError_t e = m ? rt_module_load(m) : rt_sticky();
    if (e == cudaSuccess)
        *ret_module = m;
    else if (m)
        rt_module_free(m);
    rt_unlock();
    if (e != cudaSuccess && options)
        log_to(n, options, values);
    return (CUresult)e;
}

CUresult drv_module_load_file(void **ret_module, const char *path)
{
    KS_AUTO_STR struct ks_str image = KS_STR_INIT;
    struct ks_err err;
    if (!path || ks_file_read(path, KS_MAX_PTX_BYTES, &image, &err) != KS_OK)
        return path ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    ks_str_addc(&image, 0);
    return drv_module_load(ret_module, image.data, 0, NULL, NULL);
}

CUresult drv_module_unload(void *module)
{
    rt_lock();
    struct rt_module *m = rt_module_find(module);
    if (m)
        rt_module_free(m);
    rt_unlock();
    return m ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult drv_module_kernel(void **ret_kernel, void *module, const char *name)
{
    rt_lock();
    struct rt_module *m = rt_module_find(module);
    struct rt_kernel *k = NULL;
    cudaError_t e = !m                     ? cudaErrorInvalidResourceHandle
                    : !name || !ret_kernel ? cudaErrorInvalidValue
                                           : rt_module_kernel(m, name, &k);
    rt_unlock();
    if (e == cudaSuccess)
        *ret_kernel = k;
    return (CUresult)e;
}

CUresult drv_module_global(void *ret_address, size_t *ret_bytes, void *module, const char *name, bool managed)
{
    rt_lock();
    struct rt_module *m = rt_module_find(module);
    void *address;
    size_t bytes;
    cudaError_t e = m ? rt_module_load(m) : cudaErrorInvalidResourceHandle;
    if (e == cudaSuccess && !(name && ks_emu_module_symbol(rt_module_loaded(m), name, &address, &bytes)))
        e = cudaErrorSymbolNotFound;
    if (e == cudaSuccess && managed)
        ks_emu_host_visible(rt_emu(), address);
    if (e == cudaSuccess && ret_address)
        memcpy(ret_address, &address, sizeof address);
    if (e == cudaSuccess && ret_bytes)
        *ret_bytes = bytes;
    rt_unlock();
    return (CUresult)e;
}

CUresult drv_module_count(unsigned *ret_n, void *module)
{
    rt_lock();
    struct rt_module *m = rt_module_find(module);
    cudaError_t e = m ? rt_module_load(m) : cudaErrorInvalidResourceHandle;
    if (e == cudaSuccess)
        *ret_n = (unsigned)rt_module_kernel_count(m);
    rt_unlock();
    return (CUresult)e;
}

CUresult drv_module_list(void **ret_kernels, unsigned n, void *module)
{
    rt_lock();
    struct rt_module *m = rt_module_find(module);
    cudaError_t e = m ? rt_module_load(m) : cudaErrorInvalidResourceHandle;
    for (unsigned i = 0; i < n && e == cudaSuccess && i < rt_module_kernel_count(m); i++) {
        struct rt_kernel *k;
        e = rt_module_kernel(m, rt_module_kernel_name(m, i), &k);
        if (e == cudaSuccess)
            ret_kernels[i] = k;
    }
    rt_unlock();
    return (CUresult)e;
}

CUresult drv_function_attribute(int *ret, CUfunction_attribute attr, const void *function)
{
    struct cudaFuncAttributes a;
    cudaError_t e = cudaFuncGetAttributes(&a, function);
    const int values[CU_FUNC_ATTRIBUTE_MAX] = {
        [CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = a.maxThreadsPerBlock,
        [CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES] = (int)a.sharedSizeBytes,
        [CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES] = (int)a.constSizeBytes,
        [CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES] = (int)a.localSizeBytes,
        [CU_FUNC_ATTRIBUTE_NUM_REGS] = a.numRegs,
        [CU_FUNC_ATTRIBUTE_PTX_VERSION] = a.ptxVersion,
        [CU_FUNC_ATTRIBUTE_BINARY_VERSION] = a.binaryVersion,
        [CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = a.maxDynamicSharedSizeBytes,
        [CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = a.preferredShmemCarveout,
        [CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = a.requiredClusterWidth,
        [CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT] = a.requiredClusterHeight,
        [CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH] = a.requiredClusterDepth,
        [CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED] = a.nonPortableClusterSizeAllowed,
    };
    if (e != cudaSuccess || !ret || (unsigned)attr >= CU_FUNC_ATTRIBUTE_MAX)
        return e != cudaSuccess ? (CUresult)e : CUDA_ERROR_INVALID_VALUE;
    *ret = values[attr];
    return CUDA_SUCCESS;
}

void *drv_function_module(const void *function)
{
    rt_lock();
    const struct rt_kernel *k = rt_kernel_find(function);
    rt_unlock();
    return k ? k->module : NULL;
}

/* ------------------------------------------------------------------------------------------------ the runtime's libraries */

cudaError_t cudaLibraryLoadData(cudaLibrary_t *ret, const void *image, enum cudaJitOption *options, void **values, unsigned n,
                                enum cudaLibraryOption *library_options, void **library_values, unsigned n_library)
{
    (void)options, (void)values, (void)n, (void)library_options, (void)library_values, (void)n_library;
    return rt_return((cudaError_t)drv_module_load((void **)ret, image, 0, NULL, NULL));
}

cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t *ret, const char *path, enum cudaJitOption *options, void **values, unsigned n,
                                    enum cudaLibraryOption *library_options, void **library_values, unsigned n_library)
{
    (void)options, (void)values, (void)n, (void)library_options, (void)library_values, (void)n_library;
    return rt_return((cudaError_t)drv_module_load_file((void **)ret, path));
}

cudaError_t cudaLibraryUnload(cudaLibrary_t library)
{
    return rt_return((cudaError_t)drv_module_unload(library));
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t *ret, cudaLibrary_t library, const char *name)
{
    return rt_return((cudaError_t)drv_module_kernel((void **)ret, library, name));
}

cudaError_t cudaLibraryGetKernelCount(unsigned *ret_n, cudaLibrary_t library)
{
    return rt_return((cudaError_t)drv_module_count(ret_n, library));
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *ret, unsigned n, cudaLibrary_t library)
{
    return rt_return((cudaError_t)drv_module_list((void **)ret, n, library));
}

cudaError_t cudaLibraryGetGlobal(void **ret_address, size_t *ret_bytes, cudaLibrary_t library, const char *name)
{
    return rt_return((cudaError_t)drv_module_global(ret_address, ret_bytes, library, name, false));
}

cudaError_t cudaLibraryGetManaged(void **ret_address, size_t *ret_bytes, cudaLibrary_t library, const char *name)
{
    return rt_return((cudaError_t)drv_module_global(ret_address, ret_bytes, library, name, true));
}

/* ------------------------------------------------------------------------------------------------ linking at run time */

/* Images are collected as PTX, and the "cubin" that comes out is PTX again. */
struct CUlinkState_st {
    struct ks_str text;
    unsigned n;
};

CUresult CUDAAPI cuLinkCreate_v2(unsigned n, CUjit_option *options, void **values, CUlinkState *ret)
{
    (void)n, (void)options, (void)values;
    *ret = ks_xcalloc(1, sizeof **ret);
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name, unsigned n,
                                  CUjit_option *options, void **values)
{
    (void)name, (void)n, (void)options, (void)values;
    if (!state || !data)
        return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_JIT_INPUT_PTX || state->n > 0)
        return (CUresult)rt_refuse("cuLinkAddData", "one PTX text can be linked, nothing else");
    ks_str_addn(&state->text, data, strnlen(data, size));
    state->n++;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned n, CUjit_option *options,
                                  void **values)
{
    KS_AUTO_STR struct ks_str image = KS_STR_INIT;
    struct ks_err err;
    if (!path || ks_file_read(path, KS_MAX_PTX_BYTES, &image, &err) != KS_OK)
        return path ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE;
    return cuLinkAddData_v2(state, type, image.data, image.len, path, n, options, values);
}

CUresult CUDAAPI cuLinkComplete(CUlinkState state, void **ret_image, size_t *ret_size)
{
    if (!state || !ret_image)
        return CUDA_ERROR_INVALID_VALUE;
    *ret_image = (void *)(uintptr_t)ks_str_cstr(&state->text);
    if (ret_size)
        *ret_size = state->text.len + 1;
    return CUDA_SUCCESS;
}

CUresult CUDAAPI cuLinkDestroy(CUlinkState state)
{
    if (!state)
        return CUDA_ERROR_INVALID_VALUE;
    ks_str_release(&state->text);
    free(state);
    return CUDA_SUCCESS;
}
