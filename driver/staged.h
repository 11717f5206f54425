#ifndef KS_DRIVER_STAGED_H
#define KS_DRIVER_STAGED_H

/* What a commit is about, by git: hooks are given names of files that are there, and a commit may delete what a certificate
 * needs, or leave it out.  Names are seen from the current folder.  Errors of all: KS_ERR_BUILD (no repository), KS_ERR_NOT_FOUND
 * (no git). */

#include "base/err.h"
#include "base/str.h"

/* Names that the commit at hand changes, deleted ones too: what is staged, or where pre-commit says that it looks at commits made
 * already (PRE_COMMIT_FROM_REF, PRE_COMMIT_TO_REF), what they change. */
KS_NODISCARD enum ks_code ks_staged_names(struct ks_args *ret, struct ks_err *err);
/* Names that are here, but neither in the commit nor ignored; none where commits made already are looked at. */
KS_NODISCARD enum ks_code ks_staged_left_out(struct ks_args *ret, struct ks_err *err);
/* Names below a folder that the commit has. */
KS_NODISCARD enum ks_code ks_staged_below(const char *dir, struct ks_args *ret, struct ks_err *err);

#endif
