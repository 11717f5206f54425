#include "harness/record_gpu/api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

struct gpu_api gpu;

static void *cupti_open(const char *path)
{
    const char *names[] = {path, "libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *lib = names[i] && *names[i] ? dlopen(names[i], RTLD_NOW | RTLD_LOCAL) : NULL;
        if (lib)
            return lib;
    }
    return NULL;
}

static bool look_up(void *lib, const char *name, void *slot)
{
    void *symbol = dlsym(lib, name);
    memcpy(slot, &symbol, sizeof symbol);
    return symbol != NULL;
}

#define NEED(name)                                                                                                               \
    if (!look_up(lib, #name, &gpu.name))                                                                                         \
        return ks_fail(err, KS_ERR_NOT_FOUND, "find no function '%s'", #name);
#define WANT(name) look_up(lib, #name, &gpu.name);

enum ks_code gpu_driver_load(struct ks_err *err)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return ks_fail(err, KS_ERR_NOT_FOUND, "cannot open libcuda.so.1: %s", dlerror());
    GPU_DRIVER(NEED)
    GPU_DRIVER_YOUNG(WANT)
    return KS_OK;
}

enum ks_code gpu_cupti_load(const char *cupti, struct ks_err *err)
{
    void *lib = cupti_open(cupti);
    if (!lib)
        return ks_fail(err, KS_ERR_NOT_FOUND, "cannot open CUPTI (libcupti.so): %s", dlerror());
    GPU_CUPTI(NEED)
    return KS_OK;
}

enum ks_code gpu_cupti(CUptiResult r, const char *what, struct ks_err *err)
{
    const char *why = NULL;
    if (r == CUPTI_SUCCESS)
        return KS_OK;
    gpu.cuptiGetResultString(r, &why);
    return ks_fail(err, KS_ERR_DEVICE, "cannot %s: %s", what, why ? why : "unknown error");
}
