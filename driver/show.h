#ifndef KS_DRIVER_SHOW_H
#define KS_DRIVER_SHOW_H

/* kscc -###: says what a call would run, on stderr as gcc does, and runs nothing but nvcc's answers about itself: nvcc's line (or
 * the host compiler's), and for each CUDA input the line libclang parses it by and whether the agent would look at it. */

#include "driver/call.h"

/* Returns the exit status. */
int ks_show_commands(const struct ks_call *call, const char *nvcc);

#endif
