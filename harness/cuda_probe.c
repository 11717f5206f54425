/* Which GPUs are here, asked of the driver without making a context. */
#include "harness/session.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define ATTRIBUTE_MAJOR 75
#define ATTRIBUTE_MINOR 76

static void *function(void *lib, const char *name)
{
    return lib ? dlsym(lib, name) : NULL;
}

int ks_device_count_cuda(char *ret_name, size_t name_size, char *ret_arch, size_t arch_size)
{
    int (*init)(unsigned), (*count)(int *), (*get)(int *, int), (*name)(char *, int, int), (*attribute)(int *, int, int);
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbols[] = {function(lib, "cuInit"), function(lib, "cuDeviceGetCount"), function(lib, "cuDeviceGet"),
                       function(lib, "cuDeviceGetName"), function(lib, "cuDeviceGetAttribute")};
    void *slots[] = {&init, &count, &get, &name, &attribute};
    for (size_t i = 0; i < 5; i++) {
        if (!symbols[i])
            return 0;
        memcpy(slots[i], &symbols[i], sizeof symbols[i]);
    }
    int n = 0, device = 0, major = 0, minor = 0;
    if (init(0) != 0 || count(&n) != 0 || n < 1 || get(&device, 0) != 0)
        return 0;
    attribute(&major, ATTRIBUTE_MAJOR, device);
    attribute(&minor, ATTRIBUTE_MINOR, device);
    if (ret_name && name_size && name(ret_name, (int)name_size, device) != 0)
        snprintf(ret_name, name_size, "unknown GPU");
    if (ret_arch && arch_size) /* from Hopper on, the architecture's own instructions need the 'a' */
        snprintf(ret_arch, arch_size, "sm_%d%d%s", major, minor, major >= 9 ? "a" : "");
    return n;
}
