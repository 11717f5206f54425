#ifndef KS_DRIVER_ONE_STEP_H
#define KS_DRIVER_ONE_STEP_H

/* Compiling and linking in one step ("nvcc a.cu b.cu -lfoo -o prog") under -O-agent: there is no object to replace.  The program
 * that nvcc made stays until the end.  Every .cu with a contract is compiled once more into an object of our own, that object
 * goes through the pipeline, and when at least one holds a candidate afterwards the program is linked again from the objects, by
 * the user's line with objects in the place of sources, and takes the first one's place by one rename. */

#include "driver/cmdline.h"
#include "driver/options.h"

/* After nvcc has made the program.  True when every .cu was emitted with its candidates; what went otherwise has been said. */
KS_NODISCARD bool ks_one_step(const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc);

#endif
