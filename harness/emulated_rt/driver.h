#ifndef KS_HARNESS_EMULATED_RT_DRIVER_H
#define KS_HARNESS_EMULATED_RT_DRIVER_H

/* The driver's interface (libcuda.so.1) on top of the runtime's: handles of streams, events, graphs, kernels and arrays are the
 * same objects in both, and so are the numbers of errors.  Calls do not touch the runtime's last error. */

#include "harness/emulated_rt/rt.h"

#include <cuda.h>

struct drv_guard {
    cudaError_t last;
};
/* Refused before cuInit() and, where needs_context, without a current context. */
CUresult drv_begin(struct drv_guard *g, bool needs_context);
CUresult drv_end(struct drv_guard *g, CUresult r);
#define DRV_CALL(needs_context, call)                                                                                            \
    do {                                                                                                                         \
        struct drv_guard g_;                                                                                                     \
        CUresult r_ = drv_begin(&g_, needs_context);                                                                             \
        if (r_ == CUDA_SUCCESS)                                                                                                  \
            r_ = (CUresult)(call);                                                                                               \
        return drv_end(&g_, r_);                                                                                                 \
    } while (0)

#define DRV_P(device_pointer) ((void *)(uintptr_t)(device_pointer))

/* driver_memory.c */
CUresult drv_copy_3d(const CUDA_MEMCPY3D *p, CUstream stream, bool waits);
CUresult drv_copy_2d(const CUDA_MEMCPY2D *p, CUstream stream, bool waits);
CUresult drv_copy_array(CUarray array, size_t offset, void *p, size_t n, bool to_array, CUstream stream, bool waits);
CUresult drv_set(CUdeviceptr dst, size_t pitch, unsigned value, unsigned elem, size_t width, size_t height, CUstream stream);
/* driver_module.c */
CUresult drv_module_load(void **ret_module, const void *image, unsigned n, const CUjit_option *options, void **values);
CUresult drv_module_load_file(void **ret_module, const char *path);
CUresult drv_module_unload(void *module);
CUresult drv_module_kernel(void **ret_kernel, void *module, const char *name);
CUresult drv_module_global(void *ret_address, size_t *ret_bytes, void *module, const char *name, bool managed);
CUresult drv_module_count(unsigned *ret_n, void *module);
CUresult drv_module_list(void **ret_kernels, unsigned n, void *module);
CUresult drv_function_attribute(int *ret, CUfunction_attribute attr, const void *function);
void *drv_function_module(const void *function);
/* driver_launch.c */
CUresult drv_launch(const CUlaunchConfig *config, const void *function, void **args, void **extra);

#endif
