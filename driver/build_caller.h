#ifndef KS_DRIVER_BUILD_CALLER_H
#define KS_DRIVER_BUILD_CALLER_H

/* Whether make, ninja or another build program called us: then others write to the same terminal, and a search says what it
 * begins with and what it ends in. */

#include <stdbool.h>

bool ks_called_by_build(void);

#endif
