#ifndef KS_DRIVER_CREW_H
#define KS_DRIVER_CREW_H

/* Several devices for one search: a process for each, forked off before anything else is open, with a session of its own
 * (entry_session.h).  The search stays in this process and hands them texts; a session's calls block, and a session has one
 * worker that is timed, which is why they are processes.
 *
 * A GPU's process sees that GPU alone (CUDA_VISIBLE_DEVICES), so that no two of them time on one; other builds are kept out by
 * the lock of the device (harness/device_lock.h).  A process that ends costs no verdict: its text goes to another one.  They end
 * with this process, however it ends.
 *
 * Code that two texts share is run and timed once, whoever has them: behind its build a trial waits until the texts before it that
 * are under way are built, too, and takes the verdict of the one that compiles to the same.  (After the loss of a process its
 * text may come behind a later one that has its code; then both are run, and the search takes the first verdict for both.) */

#include "driver/entry_session.h"
#include "driver/judged.h"

struct ks_crew;
struct ks_crew_job;

/* n >= 2.  A device that cannot be used is left out, which is said; with none, the first one's error.  *ret_device and
 * *ret_profile: of the first that can; the caller frees them. */
KS_NODISCARD enum ks_code ks_crew_open(const struct ks_entry_context *x, const struct ks_contract *contract,
                                       const struct ks_signature *signature, const char *key, int n, struct ks_crew **ret,
                                       struct ks_json **ret_device, struct ks_json **ret_profile, struct ks_err *err);
void ks_crew_close(struct ks_crew *c); /* NULL-safe */
/* How many are left. */
int ks_crew_size(const struct ks_crew *c);
/* Has the text judged by whoever is free next, and returns at once.  source: borrowed until the end; hash: its. */
struct ks_crew_job *ks_crew_begin(struct ks_crew *c, bool confirm, const char *source, size_t len, const char *hash);
/* Waits for it, and frees it.  Errors: nobody is left who could judge. */
KS_NODISCARD enum ks_code ks_crew_end(struct ks_crew *c, struct ks_crew_job *job, struct ks_judged *ret, struct ks_err *err);
/* As ks_session_know() and ks_session_device_json(), for all of them and of the first; NULL: nobody is left. */
void ks_crew_know(struct ks_crew *c, const char *code_hash, const char *source_hash);
struct ks_json *ks_crew_device_json(struct ks_crew *c);

#endif
