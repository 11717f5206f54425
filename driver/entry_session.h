#ifndef KS_DRIVER_ENTRY_SESSION_H
#define KS_DRIVER_ENTRY_SESSION_H

/* What judges the candidates of one entry: the harness's session with its scratch folder, and what it said about device and
 * baseline.  Shared by the search, the sittings of operators, and replay. */

#include "driver/entry.h"
#include "driver/work_dir.h"
#include "harness/remote/slurm.h"
#include "harness/remote/ssh.h"

/* Content key of an entry: unit, contract, device, gate and its thresholds. */
void ks_entry_key(const struct ks_entry_context *x, const struct ks_json *contract, char ret_hex[65]);
/* The signature that the contract promises something about.  False: said, with KS_KEEP_BASELINE or `instead` as what is done.
 * Arena: the unit's. */
KS_NODISCARD bool ks_entry_bind(const struct ks_entry_context *x, const struct ks_contract *contract, const char *instead,
                                struct ks_signature *ret);

struct ks_crew;
struct ks_entry_session {
    struct ks_work_dir work;
    struct ks_ssh *ssh;       /* of a device that is elsewhere, */
    struct ks_slurm *slurm;   /* either of them, */
    struct ks_remote *remote; /* and its connection; NULL: the device is here */
    struct ks_session *session;
    struct ks_crew *crew;             /* in its place when several devices judge (crew.h); NULL: the session does */
    struct ks_json *device, *profile; /* owned */
};
/* key: of the entry; on the emulated device the session's secret is made from it, so that a run can be repeated.  Borrows
 * contract and signature until the close.  What was opened must be closed, also after a failure. */
KS_NODISCARD enum ks_code ks_entry_session_open(const struct ks_entry_context *x, const struct ks_contract *contract,
                                                const struct ks_signature *signature, const char *key,
                                                struct ks_entry_session *ret, struct ks_err *err);
void ks_entry_session_close(struct ks_entry_session *s); /* may be called on a zeroed one */

#endif
