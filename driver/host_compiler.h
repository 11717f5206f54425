#ifndef KS_DRIVER_HOST_COMPILER_H
#define KS_DRIVER_HOST_COMPILER_H

/* The host compiler that nvcc calls: which program it is, and what a parse of the same text by libclang must know of it. */

#include "base/err.h"
#include "base/mem.h"

#include <stdbool.h>

struct ks_host_compiler {
    const char *path;
    const char *gnuc_version; /* __GNUC__ and so on, "12.2.0"; NULL: not said */
    const char *gcc_dir;      /* gcc: folder of its library, "/usr/lib/gcc/x86_64-linux-gnu/12"; NULL: another compiler */
};

/* -ccbin (NULL: not given), else NVCC_CCBIN, else the one on PATH that is not this program; in the spelling for the language.
 * NULL: none.  Caller frees. */
char *ks_host_compiler_choose(const char *ccbin, bool cxx);
/* Asks it.  Arena: all of *ret.  Errors: KS_ERR_NOT_FOUND, KS_ERR_UNSUPPORTED, KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_host_compiler_query(const char *ccbin, struct ks_arena *arena, struct ks_host_compiler *ret,
                                                 struct ks_err *err);

#endif
