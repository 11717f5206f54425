#ifndef KS_DRIVER_NVCC_H
#define KS_DRIVER_NVCC_H

/* The real nvcc: finding it, becoming it, and running it as a child that a build cannot tell from nvcc itself.
 *
 * nvcc finds its toolkit through argv[0] and prints that name in its messages, so argv[0] is always the absolute path
 * as found, symbolic links unresolved. */

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <stdbool.h>

struct ks_echo;

/* In the bin/ of a shim toolkit: a symbolic link to the nvcc it stands for. */
#define KS_SHIM_LINK ".kscc-real-nvcc"

/* Finds nvcc: `given` if not NULL, else that of the shim toolkit kscc was started through, else the first `nvcc` on PATH that is
 * not this program, else $CUDA_HOME/bin, $CUDA_PATH/bin and /usr/local/cuda/bin.  Errors: KS_ERR_NOT_FOUND listing where it
 * looked. Caller frees *ret_path. */
KS_NODISCARD enum ks_code ks_nvcc_find(const char *given, char **ret_path, struct ks_err *err);
/* True when `path` is this program: the same file, a copy of it, or a script that runs it. */
bool ks_nvcc_is_self(const char *path);
/* True when this process was started by nvcc as its host compiler ("-ccbin kscc", or gcc on PATH being kscc), and not by a program
 * that nvcc ran ("-run"). */
bool ks_nvcc_is_parent(void);
/* The host compiler on PATH, gcc or g++, that is not this program; NULL: none.  Caller frees. */
char *ks_host_compiler_find(bool cxx);
/* Becomes the host compiler (recursion guard).  Returns only on failure. */
enum ks_code ks_nvcc_exec_host_compiler(char *const *argv, struct ks_err *err);

/* Becomes nvcc.  Returns only on failure. */
enum ks_code ks_nvcc_exec(char *const *argv, struct ks_err *err);

/* How a child ended, for ending the same way. */
struct ks_wait_status {
    bool by_signal;
    int value; /* exit status or signal number */
};
/* Runs nvcc as a child in this process group with everything inherited: INT and QUIT are left to the child, TERM, HUP and
 * the signals that nvcc handles are passed on; any other that ends us ends it as well.  echo: keeps a copy of what it says on
 * stderr; NULL: none is wanted. */
KS_NODISCARD enum ks_code ks_nvcc_run(char *const *argv, struct ks_echo *echo, struct ks_wait_status *ret, struct ks_err *err);
/* Ends this process the way the child ended. */
_Noreturn void ks_end_like(const struct ks_wait_status *s);

/* What nvcc says about itself. */
struct ks_toolkit {
    char *nvcc;    /* path as found */
    char *top;     /* toolkit root that nvcc uses */
    char *version; /* "13.0.88" */
};
KS_NODISCARD enum ks_code ks_toolkit_query(const char *nvcc, struct ks_toolkit *ret, struct ks_err *err);
void ks_toolkit_release(struct ks_toolkit *t);

#endif
