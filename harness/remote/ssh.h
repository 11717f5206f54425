#ifndef KS_HARNESS_REMOTE_SSH_H
#define KS_HARNESS_REMOTE_SSH_H

/* A runner behind OpenSSH's client, which is the user's own: configuration, keys, agents and known hosts are theirs, and nothing
 * is ever asked (BatchMode).  All connections of this user to a host share one (ControlMaster), which ends by itself when nobody
 * has used it for a minute.
 *
 * kscc-worker, and the emulated device's library for a host without a GPU, are copied there once per build, into
 * ${XDG_CACHE_HOME:-$HOME/.cache}/kscc/worker/HASH, by one rename, so that a copy that breaks off is never used.  That folder is
 * all that stays; a runner removes its scratch folder when the connection ends. */

#include "harness/remote/remote.h"

struct ks_ssh;

/* Whether `host` may be handed to ssh as a host: user@name, an alias, an address; nothing that could be an option or a command.
 */
bool ks_ssh_host_ok(const char *host);
/* bin_dir: where our kscc-worker is.  Errors: KS_ERR_NOT_FOUND (no ssh, no worker), KS_ERR_USAGE (the host). */
KS_NODISCARD enum ks_code ks_ssh_new(const char *host, const char *bin_dir, struct ks_ssh **ret, struct ks_err *err);
void ks_ssh_free(struct ks_ssh *s); /* NULL-safe */
const struct ks_remote_via *ks_ssh_via(const struct ks_ssh *s);
/* What the host has: {"cuda": n, "name": "NVIDIA H200", "arch": "sm_90a"}, "cuda": 0 where there is no GPU.  Caller frees.
 * Errors: KS_ERR_DEVICE with ssh's own words. */
KS_NODISCARD enum ks_code ks_ssh_devices(struct ks_ssh *s, struct ks_json **ret, struct ks_err *err);

#endif
