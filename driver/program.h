#ifndef KS_DRIVER_PROGRAM_H
#define KS_DRIVER_PROGRAM_H

/* What a program's ELF file says about the CUDA runtime it uses. */

#include <stdbool.h>

/* True for a 64-bit ELF program that registers device code and needs no libcudart.so: the runtime is inside it.  False for
 * everything else, also for what cannot be read. */
bool ks_program_has_static_runtime(const char *path);

#endif
