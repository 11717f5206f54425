#include "driver/device_choice.h"

#include <stdio.h>

/* The card that stands in where there is none and the flags name none. */
#define DEFAULT_EMULATED_ARCH "sm_90a"

enum ks_code ks_device_choose(const struct ks_unit *u, struct ks_device_chosen *ret, struct ks_err *err)
{
    struct ks_device_chosen d = {.kind = KS_DEVICE_EMULATED};
    char name[256] = "", arch[16] = "";
    enum ks_device_choice choice = u->settings->device.choice;
    if (choice != KS_CHOOSE_EMULATED && ks_device_count_cuda(name, sizeof(name), arch, sizeof(arch)) > 0)
        d.kind = KS_DEVICE_CUDA;
    else if (choice == KS_CHOOSE_CUDA)
        return ks_fail(err, KS_ERR_DEVICE,
                       "cannot use a GPU: none is present or libcuda.so.1 is missing (--kscc-device=emulated runs without one)");
    if (d.kind == KS_DEVICE_EMULATED) {
        ks_unit_arch(u, arch, sizeof(arch));
        if (u->settings->device.arch[0])
            snprintf(arch, sizeof(arch), "%s", u->settings->device.arch);
        if (!arch[0])
            snprintf(arch, sizeof(arch), "%s", DEFAULT_EMULATED_ARCH);
    }
    snprintf(d.arch, sizeof(d.arch), "%s", arch);
    if (d.kind == KS_DEVICE_CUDA)
        snprintf(d.label, sizeof(d.label), "cuda %s %s", name, arch);
    else
        snprintf(d.label, sizeof(d.label), "emulated %s", arch);
    *ret = d;
    return KS_OK;
}
