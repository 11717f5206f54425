#ifndef KS_DRIVER_DATABASE_H
#define KS_DRIVER_DATABASE_H

/* The compilation database of a build, compile_commands.json: the commands that compile .cu files, as words. */

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>

struct ks_database_command {
    const char *directory; /* where the command runs */
    const char *file;      /* as it says; relative to `directory` when not absolute */
    char *const *argv;     /* the compiler, its words, NULL */
};

/* Reads `path`, a folder that holds compile_commands.json or the file itself.  Commands of other files are left out.  Arena: all
 * of *ret.  Errors: KS_ERR_NOT_FOUND, KS_ERR_IO, KS_ERR_SYNTAX (an entry without directory, file or words). */
KS_NODISCARD enum ks_code ks_database_read(const char *path, struct ks_arena *arena, struct ks_database_command **ret,
                                           size_t *ret_n, struct ks_err *err);

#endif
