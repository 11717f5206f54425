#ifndef KS_DRIVER_STOP_H
#define KS_DRIVER_STOP_H

/* Stopping a search from outside.  The first INT, TERM or HUP asks the search to end with the best verified candidate; a second
 * one ends the process at once: the baseline object is there. */

#include <stdbool.h>

void ks_stop_install(void);
bool ks_stop_asked(void);
const char *ks_stop_signal_name(void); /* "INT"; "" when not asked */

#endif
