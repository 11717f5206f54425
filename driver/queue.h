#ifndef KS_DRIVER_QUEUE_H
#define KS_DRIVER_QUEUE_H

/* What runs where, without a daemon: whoever judges candidates says in a file of its scratch folder (work_dir.h) what it is at,
 * and who wants to know reads these files.  A folder that nobody holds any more is nobody's work, however its owner ended.  A
 * process is at one thing at a time.  Nothing here fails: what cannot be written is not shown. */

#include "base/json.h"
#include "driver/unit.h"

#define KS_QUEUE_JOB "job.json"

struct ks_device_chosen;

/* "doing.json" in the folder; KS_QUEUE_JOB beside it is Slurm's (ks_slurm_tell).  Borrows what it is given until the end. */
void ks_queue_begin(const char *work_dir, const struct ks_unit *u, const char *entry, const struct ks_device_chosen *d);
void ks_queue_doing(const char *what);
/* As on_gate of a session (harness/session.h). */
void ks_queue_gate(const char *gate, bool confirm);
void ks_queue_free(void); /* nothing is asked of it just now */
void ks_queue_end(void);

/* [{"pid":, "unit":, "entry":, "device":, "where":, "doing":, "since": seconds since 1970, "job": {...}}], the oldest first, of
 * this user's processes that share this folder for temporary files.  Caller frees. */
struct ks_json *ks_queue_read(void);

#endif
