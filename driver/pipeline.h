#ifndef KS_DRIVER_PIPELINE_H
#define KS_DRIVER_PIPELINE_H

/* One .cu under -O-agent, after its baseline object exists: from the source to the replaced object. */

#include "driver/cmdline.h"
#include "driver/options.h"

/* `input`: index into c->inputs; `object`: its baseline object, NULL: where nvcc puts it for this line.  Whatever goes wrong is
 * said on stderr and leaves the baseline object in place.  Returns true when a candidate that passed the gate was emitted, for
 * every entry of the unit. */
KS_NODISCARD bool ks_pipeline_run(const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc, size_t input,
                                  const char *object);

#endif
