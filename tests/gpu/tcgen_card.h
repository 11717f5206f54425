#ifndef KS_TESTS_GPU_TCGEN_CARD_H
#define KS_TESTS_GPU_TCGEN_CARD_H

/* The tcgen05 tests of tests/emulated on a card: what tcgen_paths.h needs, by the driver instead of the emulator (-DTCGEN_CARD).
 * The driver is loaded when the program starts, so this also runs on the emulated device's libcuda.so.1.  77: no driver, no
 * device, or none that can run sm_100a code. */

#include "base/err.h"
#include "base/str.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The driver's types by their published sizes: its header belongs to one file of the repository (tests/lint/layers.sh). */
#define DRIVER(X)                                                                                                                \
    X(init, "cuInit", (unsigned))                                                                                                \
    X(device_get, "cuDeviceGet", (int *, int))                                                                                   \
    X(attribute, "cuDeviceGetAttribute", (int *, int, int))                                                                      \
    X(context_retain, "cuDevicePrimaryCtxRetain", (void **, int))                                                                \
    X(context_reset, "cuDevicePrimaryCtxReset_v2", (int))                                                                        \
    X(context_set, "cuCtxSetCurrent", (void *))                                                                                  \
    X(context_sync, "cuCtxSynchronize", (void))                                                                                  \
    X(alloc, "cuMemAlloc_v2", (unsigned long long *, size_t))                                                                    \
    X(to_device, "cuMemcpyHtoD_v2", (unsigned long long, const void *, size_t))                                                  \
    X(to_host, "cuMemcpyDtoH_v2", (void *, unsigned long long, size_t))                                                          \
    X(module_load, "cuModuleLoadData", (void **, const char *))                                                                  \
    X(module_function, "cuModuleGetFunction", (void **, void *, const char *))                                                   \
    X(function_set, "cuFuncSetAttribute", (void *, int, int))                                                                    \
    X(launch, "cuLaunchKernel",                                                                                                  \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **))
#define CARD_CAPABILITY_MAJOR   75 /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR */
#define CARD_MAX_DYNAMIC_SHARED 8  /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */

static struct {
#define X(name, symbol, params) int(*name) params;
    DRIVER(X)
#undef X
} cu;
static int card_device, n_passed, n_failed;
static void *card_module;
static const char *card_ptx;

static inline void verdict(bool ok, const char *name, const char *fmt, ...)
{
    va_list ap;
    (ok ? n_passed++ : n_failed++);
    if (ok)
        return;
    printf("FAILED %s: ", name);
    va_start(ap, fmt);
    vprintf(fmt, ap);
    va_end(ap);
    printf("\n");
}
static inline int finish(void)
{
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed > 0 || n_passed == 0;
}

/* A context with the module and three buffers of the given sizes; a kernel that faults costs all of that. */
static inline int card_begin(unsigned long long *buffers, const size_t *bytes)
{
    void *context;
    int r = cu.context_retain(&context, card_device);
    r = r ? r : cu.context_set(context);
    r = r ? r : cu.module_load(&card_module, card_ptx);
    for (int i = 0; i < 3; i++)
        r = r ? r : cu.alloc(&buffers[i], bytes[i]);
    return r;
}
static inline void card_open(void)
{
    int major = 0;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
#define X(name, symbol, params)                                                                                                  \
    *(void **)&cu.name = lib ? dlsym(lib, symbol) : NULL;                                                                        \
    if (!cu.name) {                                                                                                              \
        printf("skipped: no driver with %s\n", symbol);                                                                          \
        exit(77);                                                                                                                \
    }
    DRIVER(X)
#undef X
    if (cu.init(0) || cu.device_get(&card_device, 0) || cu.attribute(&major, CARD_CAPABILITY_MAJOR, card_device) || major != 10) {
        printf("skipped: no device of compute capability 10\n");
        exit(77);
    }
}

#endif
