#ifndef KS_DRIVER_COMPILE_H
#define KS_DRIVER_COMPILE_H

/* kscc as a compiler: nvcc itself unless agent work is asked for and possible on this command line. */

/* Usually does not return: it becomes nvcc.  Returns the exit status otherwise. */
int ks_compile(char *const *argv);

#endif
