#ifndef KS_HARNESS_REMOTE_WORKER_FILES_H
#define KS_HARNESS_REMOTE_WORKER_FILES_H

/* What a machine elsewhere needs of a build of ours: kscc-worker, and the emulated device's library. */

#include "base/str.h"

struct ks_worker_files {
    char *root;          /* the folder above bin/ */
    const char *runtime; /* relative to root; NULL: not there */
    char key[65];        /* of both contents */
};

KS_NODISCARD enum ks_code ks_worker_files_find(const char *bin_dir, struct ks_worker_files *ret, struct ks_err *err);
void ks_worker_files_release(struct ks_worker_files *f);
/* Copies them to DIR/worker-KEY, unless they are there, by one rename; `out` becomes that folder. */
KS_NODISCARD enum ks_code ks_worker_files_copy(const struct ks_worker_files *f, const char *dir, struct ks_str *out,
                                               struct ks_err *err);

#endif
