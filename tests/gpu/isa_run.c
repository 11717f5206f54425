/* Runs the instruction tests on a GPU: isa_run MODULE LIST OUT.
 * MODULE: what test_isa --dump wrote as isa.ptx, or ptxas's cubin of it; LIST: its isa.tsv.  For each line OUT gets a status byte
 * (0: it ran) and the bytes that the kernel stored.  Needs the driver only, which is loaded when it starts; a kernel that kills
 * its context costs that kernel. */

#include "tests/emulated/isa.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The driver's types by their published sizes: its header belongs to one file of the repository (tests/lint/layers.sh). */
typedef int CUresult, CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef unsigned long long CUdeviceptr;
#define CUDA_SUCCESS 0

#define DRIVER(X)                                                                                                                \
    X(init, "cuInit", (unsigned))                                                                                                \
    X(driver_version, "cuDriverGetVersion", (int *))                                                                             \
    X(device_get, "cuDeviceGet", (CUdevice *, int))                                                                              \
    X(device_name, "cuDeviceGetName", (char *, int, CUdevice))                                                                   \
    X(context_retain, "cuDevicePrimaryCtxRetain", (CUcontext *, CUdevice))                                                       \
    X(context_reset, "cuDevicePrimaryCtxReset_v2", (CUdevice))                                                                   \
    X(context_set, "cuCtxSetCurrent", (CUcontext))                                                                               \
    X(context_sync, "cuCtxSynchronize", (void))                                                                                  \
    X(alloc, "cuMemAlloc_v2", (CUdeviceptr *, size_t))                                                                           \
    X(set8, "cuMemsetD8_v2", (CUdeviceptr, unsigned char, size_t))                                                               \
    X(to_device, "cuMemcpyHtoD_v2", (CUdeviceptr, const void *, size_t))                                                         \
    X(to_host, "cuMemcpyDtoH_v2", (void *, CUdeviceptr, size_t))                                                                 \
    X(module_load, "cuModuleLoadData", (CUmodule *, const void *))                                                               \
    X(module_function, "cuModuleGetFunction", (CUfunction *, CUmodule, const char *))                                            \
    X(launch, "cuLaunchKernel",                                                                                                  \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))

static struct {
#define X(name, symbol, params) CUresult(*name) params;
    DRIVER(X)
#undef X
} cu;

#define IN_BYTES  ((size_t)16 * ISA_MAX_IN * ISA_THREADS)
#define OUT_BYTES ((size_t)16 * ISA_MAX_OUT * ISA_THREADS)

static CUdevice device;
static CUmodule module;
static CUdeviceptr d_in, d_out, d_mem;

static bool load_driver(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return false;
#define X(name, symbol, params)                                                                                                  \
    *(void **)&cu.name = dlsym(lib, symbol);                                                                                     \
    if (!cu.name)                                                                                                                \
        return false;
    DRIVER(X)
#undef X
    return cu.init(0) == CUDA_SUCCESS && cu.device_get(&device, 0) == CUDA_SUCCESS;
}

/* A fresh context with the module and the buffers. */
static bool start(const char *image)
{
    CUcontext context;
    CUresult r = cu.context_retain(&context, device);
    r = r ? r : cu.context_set(context);
    r = r ? r : cu.module_load(&module, image);
    r = r ? r : cu.alloc(&d_in, IN_BYTES);
    r = r ? r : cu.alloc(&d_out, OUT_BYTES);
    r = r ? r : cu.alloc(&d_mem, ISA_MEM_BYTES);
    if (r)
        fprintf(stderr, "cannot start: driver error %d\n", (int)r);
    return r == CUDA_SUCCESS;
}

static char *read_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) != 0)
        return NULL;
    long n = ftell(f);
    rewind(f);
    char *data = n < 0 ? NULL : calloc(1, (size_t)n + 1);
    if (data && fread(data, 1, (size_t)n, f) != (size_t)n)
        data = NULL;
    (void)fclose(f);
    return data;
}

static CUresult run(const char *name, const char *opcode, const struct isa_io *io, uint8_t *in, uint8_t *out)
{
    CUfunction f;
    size_t in_bytes = (size_t)io->in_stride * ISA_THREADS, out_bytes = (size_t)io->out_stride * ISA_THREADS;
    isa_inputs(opcode, io, in);
    CUresult r = cu.module_function(&f, module, name);
    r = r ? r : cu.to_device(d_in, in, in_bytes);
    r = r ? r : cu.set8(d_out, 0, out_bytes);
    r = r ? r : cu.set8(d_mem, 0, ISA_MEM_BYTES);
    r = r ? r : cu.launch(f, ISA_THREADS / ISA_BLOCK, 1, 1, ISA_BLOCK, 1, 1, 0, NULL, (void *[]){&d_in, &d_out, &d_mem}, NULL);
    r = r ? r : cu.context_sync();
    return r ? r : cu.to_host(out, d_out, out_bytes);
}

int main(int argc, char **argv)
{
    char name[128] = "?", line[400];
    int version = 0, n = 0, failed = 0;
    char *image = argc == 4 ? read_file(argv[1]) : NULL;
    FILE *list = argc == 4 ? fopen(argv[2], "r") : NULL, *result = argc == 4 ? fopen(argv[3], "wb") : NULL;
    uint8_t *in = calloc(1, IN_BYTES), *out = calloc(1, OUT_BYTES);
    if (!image || !list || !result) {
        fprintf(stderr, "usage: %s MODULE LIST OUT\n", argv[0]);
        return 2;
    }
    if (!load_driver() || !start(image))
        return 77;
    (void)cu.device_name(name, sizeof(name), device);
    (void)cu.driver_version(&version);
    printf("%s, driver API %d\n", name, version);
    while (fgets(line, sizeof(line), list)) {
        char kernel[32], opcode[200];
        struct isa_io io;
        struct ks_str text = KS_STR_INIT;
        if (sscanf(line, "%31s %*u %*u %199[^\n]", kernel, opcode) != 2 || !isa_emit(&text, opcode, kernel, &io))
            return 2;
        ks_str_release(&text);
        CUresult r = run(kernel, opcode, &io, in, out);
        uint8_t status = r != CUDA_SUCCESS;
        if (r) {
            printf("%s: driver error %d\n", opcode, (int)r);
            failed++;
            memset(out, 0, OUT_BYTES);
            (void)cu.context_reset(device);
            if (!start(image))
                return 1;
        }
        n++;
        (void)fwrite(&status, 1, 1, result);
        (void)fwrite(out, 1, (size_t)io.out_stride * ISA_THREADS, result);
    }
    printf("%d kernels, %d failed\n", n, failed);
    return fclose(result) == 0 ? 0 : 1;
}
