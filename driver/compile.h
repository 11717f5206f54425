#ifndef KS_DRIVER_COMPILE_H
#define KS_DRIVER_COMPILE_H

/* kscc as a compiler when something is asked of it: baseline first, then the agent; or nvcc alone, with a word why. */

/* argv: the call, argv[0] its name.  nvcc: the real one.  Becomes nvcc or returns the exit status. */
int ks_compile(char *const *argv, const char *nvcc);

#endif
