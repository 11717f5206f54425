#ifndef KS_DRIVER_RUN_EMULATED_H
#define KS_DRIVER_RUN_EMULATED_H

/* Programs on the emulated device. */

#include "driver/options.h"

/* Changes this process's environment so that a child that asks for libcudart.so.13 gets ours, on the card that the settings name;
 * warns when `program` cannot be reached that way.  False: said. */
KS_NODISCARD bool ks_run_emulated_prepare(const struct ks_settings *s, const char *program);

#endif
