#ifndef KS_DRIVER_WORK_DIR_H
#define KS_DRIVER_WORK_DIR_H

/* A scratch folder, $TMPDIR/<prefix>.XXXXXX: kscc-work of a search, kscc-store of a temporary store, kscc-emit of an emission,
 * kscc-print of a fingerprint, kscc-link of a program, kscc-sign of a signature.  Its owner holds a lock (flock) on the folder
 * itself, which the kernel gives back however the owner ends, so that a later search can tell what was left behind: process ids
 * would lie after their reuse, and between containers that share the folder for temporary files. */

#include "base/err.h"

#include <stdbool.h>

struct ks_work_dir {
    char *path; /* NULL: not open */
    int lock_fd;
};

KS_NODISCARD enum ks_code ks_work_dir_open(const char *prefix, struct ks_work_dir *ret, struct ks_err *err);
void ks_work_dir_close(struct ks_work_dir *w); /* removes the folder; may be called twice, and on a zeroed one */
/* Removes this user's folders that nobody holds.  Never follows a link; what cannot be removed stays. */
void ks_work_dir_sweep(void);
/* Calls visit for each folder of this user whose name begins so ("kscc-work."), held or not. */
void ks_work_dir_each(const char *prefix, void (*visit)(const char *path, void *context), void *context);
/* Whether somebody holds the folder.  For one whose owner is known to have locked it once: asking may keep out who is about to. */
bool ks_work_dir_held(const char *path);

#endif
