#ifndef KS_HARNESS_BUILD_H
#define KS_HARNESS_BUILD_H

/* Turns the text of a unit into an object and a shared library that a worker can load, with the user's own compile flags.
 * Differences from the user's compile: code is position independent, the architecture is the session's, PTX is embedded
 * (uncompressed) beside machine code, line information is on, device code is whole-program, the host compiler leaves what it
 * read,
 * __DATE__ and __TIME__ stand still.  ptxas is run once more on that PTX
 * for registers and spills. */

#include "harness/host_text.h"
#include "harness/object.h"
#include "harness/session.h"

/* Folder below opt->work_dir of what is linked with every object; builds of candidates may read it. */
#define KS_LAST_ERROR_DIR "last-error"

struct ks_kernel_resources {
    char *name; /* mangled */
    int registers;
    int spill_store_bytes, spill_load_bytes, stack_bytes, shared_bytes;
};

struct ks_built {
    char hash[65];        /* of the text */
    char object_hash[65]; /* of host code and PTX, the same for every build of the text */
    char code_hash[65];   /* the same without line information: equal for texts that differ in comments and layout only */
    char *object_path, *shared_path;
    struct ks_object object;
    struct ks_host_text *host_text;      /* NULL: the host compiler left none */
    struct ks_kernel_resources *kernels; /* sorted by name */
    size_t n_kernels;
    char *ptxas_text;
    size_t object_bytes;
    int64_t build_ns;
};

/* tag: name of a folder made under opt->work_dir.  Errors: KS_ERR_BUILD with the compiler's first error, ret_log (may be NULL)
 * gets all it said; KS_ERR_NOT_FOUND when nvcc is missing; KS_ERR_TIMEOUT past timeout_ms. */
KS_NODISCARD enum ks_code ks_build(const struct ks_session_options *opt, const char *source, size_t len, const char *tag,
                                   int64_t timeout_ms, struct ks_built **ret_built, struct ks_str *ret_log, struct ks_err *err);
/* The object alone, by the same line: what emission puts into the user's object.  Equal text, flags and toolkit give an equal
 * object_hash. */
KS_NODISCARD enum ks_code ks_build_object(const struct ks_session_options *opt, const char *source, size_t len, const char *tag,
                                          int64_t timeout_ms, struct ks_built **ret_built, struct ks_str *ret_log,
                                          struct ks_err *err);
/* What ks_build does behind that: ptxas's numbers and the library.  An object that no gate lets in can do without. */
KS_NODISCARD enum ks_code ks_build_finish(const struct ks_session_options *opt, struct ks_built *b, int64_t timeout_ms,
                                          struct ks_str *ret_log, struct ks_err *err);
void ks_built_free(struct ks_built *b);
/* "kernel=registers;..." */
void ks_built_registers(const struct ks_built *b, struct ks_str *out);
const struct ks_kernel_resources *ks_built_kernel(const struct ks_built *b, const char *name);

/* The user's compile line without output, architecture, dependency files and separate compilation; for tests. */
void ks_build_flags(const struct ks_session_options *opt, struct ks_args *out);

#endif
