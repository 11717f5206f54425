#include "driver/device_choice.h"

#include "driver/paths.h"
#include "driver/stop.h"
#include "harness/remote/slurm.h"
#include "harness/remote/ssh.h"

#include <stdio.h>
#include <string.h>

/* The card that stands in where there is none and the flags name none. */
#define DEFAULT_EMULATED_ARCH "sm_90a"

/* How many GPUs there are, here or on the host. */
static enum ks_code gpus_count(const char *host, bool batch, char *name, size_t name_size, char *arch, size_t arch_size, int *ret,
                               struct ks_err *err)
{
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *j = NULL;
    struct ks_ssh *ssh;
    struct ks_slurm *slurm;
    enum ks_code code;
    if (!host[0] && !batch) {
        *ret = ks_device_count_cuda(name, name_size, arch, arch_size);
        return KS_OK;
    }
    ks_paths_bin(&bin);
    if (batch) {
        KS_TRY(ks_slurm_new(host, ks_str_cstr(&bin), 0, ks_stop_asked, &slurm, err));
        code = ks_slurm_devices(slurm, &j, err);
        ks_slurm_free(slurm);
    } else {
        KS_TRY(ks_ssh_new(host, ks_str_cstr(&bin), &ssh, err));
        code = ks_ssh_devices(ssh, &j, err);
        ks_ssh_free(ssh);
    }
    KS_TRY(code);
    *ret = (int)ks_json_get_i64(j, "cuda", 0);
    snprintf(name, name_size, "%s", ks_json_get_str(j, "name", ""));
    snprintf(arch, arch_size, "%s", ks_json_get_str(j, "arch", ""));
    for (char *p = name; *p; p++) /* shown, and a part of keys */
        *p = (unsigned char)*p < ' ' || *p == 127 ? '?' : *p;
    if (*ret > 0 && (!ks_str_starts(arch, "sm_") || strspn(arch + 3, "0123456789af") != strlen(arch + 3)))
        return ks_fail(err, KS_ERR_DEVICE, "use the GPU on '%s': its architecture '%s' is none", host, arch);
    return KS_OK;
}

enum ks_code ks_device_choose(const struct ks_unit *u, struct ks_device_chosen *ret, struct ks_err *err)
{
    struct ks_device_chosen d = {.kind = KS_DEVICE_EMULATED};
    char name[256] = "", arch[16] = "";
    enum ks_device_choice choice = u->settings->device.choice;
    const char *host = u->settings->device.host;
    bool elsewhere = host[0] || u->settings->device.batch;
    int gpus = 0;
    d.batch = u->settings->device.batch;
    snprintf(d.host, sizeof(d.host), "%s", host);
    if (choice != KS_CHOOSE_EMULATED)
        KS_TRY(gpus_count(host, d.batch, name, sizeof(name), arch, sizeof(arch), &gpus, err));
    if (gpus > 0)
        d.kind = KS_DEVICE_CUDA;
    else if (choice == KS_CHOOSE_CUDA && elsewhere)
        return ks_fail(err, KS_ERR_DEVICE, "cannot use a GPU on '%s': none is present or libcuda.so.1 is missing there",
                       d.batch ? "slurm" : host);
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
    d.count = d.kind == KS_DEVICE_CUDA && !elsewhere ? gpus : 1;
    *ret = d;
    return KS_OK;
}
