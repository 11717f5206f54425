#ifndef KS_DRIVER_RECORDER_H
#define KS_DRIVER_RECORDER_H

/* Under which recorder a program runs (docs/RECORD.md): on a GPU where there is one and its recorder, unless the emulated device
 * is asked for. */

#include "driver/options.h"

/* Appends "NAME=VALUE" words for the program's environment, KSCC_RECORD=`dir` among them.  *ret_gpu: it runs on a GPU.
 * Errors: KS_ERR_DEVICE: cuda was asked for and there is no GPU; KS_ERR_NOT_FOUND: a part of ours is missing. */
KS_NODISCARD enum ks_code ks_recorder_environment(const struct ks_settings *s, const char *dir, struct ks_args *out,
                                                  bool *ret_gpu, struct ks_err *err);
/* What ret_gpu would be; false as well where it fails. */
bool ks_recorder_is_gpu(const struct ks_settings *s);

#endif
