#ifndef KS_DRIVER_DEVICE_CHOICE_H
#define KS_DRIVER_DEVICE_CHOICE_H

/* Which device the trials of a unit run on. */

#include "driver/unit.h"
#include "harness/session.h"

struct ks_device_chosen {
    enum ks_device_kind kind;
    int count;                    /* how many of them are here (emulated: 1); elsewhere only the first is used */
    char arch[16];                /* "sm_90a" */
    char host[KS_MAX_HOST_BYTES]; /* where it is, for ssh; "": here */
    bool batch;                   /* jobs of Slurm; host: what is asked of it */
    char label[320];              /* "emulated sm_90a", "cuda NVIDIA H200 sm_90a": shown, and part of the content key */
};

/* From --kscc-device, the GPUs present (on ssh:HOST: there) and the unit's flags.  Errors: KS_ERR_DEVICE when cuda was asked for
 * and there is no GPU, or the host cannot be reached. */
KS_NODISCARD enum ks_code ks_device_choose(const struct ks_unit *u, struct ks_device_chosen *ret, struct ks_err *err);

#endif
