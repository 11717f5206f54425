#include "harness/record_gpu/api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct gpu_api gpu;

/* The one `kscc record` found, then those that the loader knows. */
static void *cupti_open(void)
{
    const char *names[] = {getenv("KSCC_RECORD_CUPTI"), "libcupti.so.13", "libcupti.so.12", "libcupti.so"};
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

enum ks_code gpu_api_load(struct ks_err *err)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver)
        return ks_fail(err, KS_ERR_NOT_FOUND, "cannot open libcuda.so.1: %s", dlerror());
    void *cupti = cupti_open();
    if (!cupti)
        return ks_fail(err, KS_ERR_NOT_FOUND, "cannot open CUPTI (libcupti.so): %s", dlerror());
#define NEED(lib, name)                                                                                                          \
    if (!look_up(lib, #name, &gpu.name))                                                                                         \
        return ks_fail(err, KS_ERR_NOT_FOUND, "find no function '%s'", #name);
#define NEED_DRIVER(name) NEED(driver, name)
#define NEED_CUPTI(name)  NEED(cupti, name)
#define WANT(name)        look_up(driver, #name, &gpu.name);
    GPU_DRIVER(NEED_DRIVER)
    GPU_CUPTI(NEED_CUPTI)
    GPU_DRIVER_YOUNG(WANT)
    return KS_OK;
}
