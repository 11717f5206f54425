#ifndef KS_HARNESS_CONFINE_H
#define KS_HARNESS_CONFINE_H

/* What the compiler may read while it builds a candidate: the toolkit, the host compiler, the folders that the user's command
 * line names, and every file that the original itself includes.  Nothing else of the user's, since `#include` and `.incbin` put a
 * file's text into the object.  kscc-worker --confine does the confining. */

#include "harness/session.h"

/* Fills `out` with paths.  deps_path: the dependency file of the original's build; NULL: ks_confine_add() says what it includes.
 */
void ks_confine_paths(const struct ks_session_options *opt, const char *deps_path, struct ks_args *out);
/* A file that the original includes, unless it is the system's or below a path that is there already. */
void ks_confine_add(struct ks_args *out, const char *path);
/* The command `argv` behind `kscc-worker --confine`; dir is what it may write to. */
void ks_confine_command(const struct ks_session_options *opt, const char *dir, const struct ks_args *argv, struct ks_args *out);

#endif
