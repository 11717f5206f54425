#ifndef KS_DRIVER_AGAIN_LINE_H
#define KS_DRIVER_AGAIN_LINE_H

/* Which lines make nothing but an object and a dependency file, so that those two can be kept (again.h). */

#include "driver/cmdline.h"

/* One unit to one object and at most a dependency file, by words whose meaning is known. */
bool ks_again_line_is_plain(const struct ks_cmdline *c);

#endif
