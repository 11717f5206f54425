#ifndef KS_HARNESS_BUILD_IMPL_H
#define KS_HARNESS_BUILD_IMPL_H

/* Between the files of the build (build.c, build_link.c): tools are run in one way, and an object becomes a library in one. */

#include "harness/build.h"

/* Automatic variables start as zero (gcc 12, clang 16): what a call left on the stack is no memory of a candidate's. */
#define KS_ZERO_VARIABLES "-ftrivial-auto-var-init=zero"

/* Runs a tool with its temporary files in `dir`, confined where opt says so.  `log` gets all it said.  Errors: KS_ERR_BUILD with
 * the first error of it, KS_ERR_TIMEOUT. */
KS_NODISCARD enum ks_code ks_build_tool(const struct ks_session_options *opt, const char *dir, struct ks_args *argv,
                                        const char *what, int64_t timeout_ms, struct ks_str *log, struct ks_err *err);
/* b->object_path becomes b->shared_path. */
KS_NODISCARD enum ks_code ks_build_link(const struct ks_session_options *opt, const struct ks_built *b, int64_t timeout_ms,
                                        struct ks_str *log, struct ks_err *err);
/* Whether the host compiler takes an option; asked once for each opt->work_dir. */
bool ks_build_host_takes(const struct ks_session_options *opt, const char *dir, const char *option, int64_t timeout_ms);

#endif
