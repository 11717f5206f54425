#ifndef KS_DRIVER_RUN_EMULATED_H
#define KS_DRIVER_RUN_EMULATED_H

/* Programs on the emulated device. */

#include "driver/options.h"

/* Changes this process's environment so that a child that asks for libcudart.so.13 gets ours, on the card that the settings name;
 * warns when `program` cannot be reached that way.  False: said. */
KS_NODISCARD bool ks_run_emulated_prepare(const struct ks_settings *s, const char *program);
/* The same environment as "NAME=VALUE" words, which are appended.  Errors: KS_ERR_NOT_FOUND: our library. */
KS_NODISCARD enum ks_code ks_run_emulated_words(const struct ks_settings *s, struct ks_args *out, struct ks_err *err);
/* Puts such words into this process's own environment. */
void ks_environment_set(const struct ks_args *words);
/* Warns when `program` is linked so that it cannot run there. */
void ks_run_warn_static(const char *program);

#endif
