#ifndef KS_HARNESS_WORKER_NAMESPACES_H
#define KS_HARNESS_WORKER_NAMESPACES_H

/* Namespaces of its own for a worker: users (where it has no capabilities), processes, network, shared memory, host name, and
 * mounts, which it sees read-only.  Which of them the kernel allows is found by trying.
 *
 * A process namespace needs processes: this one stays outside and ends as the worker ends, a second one is the namespace's first,
 * which buries what is left, and the third is the worker.  Its death takes the others along, and theirs takes it. */

#include "base/str.h"

#include <stdbool.h>

struct ks_namespaces {
    bool user, pid, net, ipc, uts, mount, read_only, no_capabilities;
};

/* To be called before there are threads.  Returns in the worker; the processes around it close fds[0..n_fds) and never return. */
/* What to leave out where the device does not open otherwise: READ_ONLY, mounts stay writable (Landlock still says what may be
 * written); PIDS, no process and mount namespace; NETWORK,
 * nothing but what is named next: the network is kept, and sockets of the session behind which other programs act
 * for the user (/run/user, container engines) are covered. */
enum ks_namespaces_without { KS_WITHOUT_NONE, KS_WITHOUT_READ_ONLY, KS_WITHOUT_PIDS, KS_WITH_NETWORK };
/* Called in the first process of the new process namespace, about ten times a second; what is not 0 ends the namespace with that
 * status.  To be set before ks_namespaces_enter(); nothing in the namespace can stop or kill that process. */
void ks_namespaces_watch(int (*tick)(void));
/* With NETWORK: the one folder that stays writable when mounts can be made read-only; they are then, so that not even modes and times of
 * files elsewhere can be changed, which Landlock does not cover. */
void ks_namespaces_writable(const char *folder);
void ks_namespaces_enter(struct ks_namespaces *ret, enum ks_namespaces_without without, const int *fds, int n_fds);
/* Users and network only, for a compiler: no other process, no interface but a loopback that is down. */
void ks_network_leave(void);
/* Takes every capability away, which works without namespaces too. */
bool ks_capabilities_drop(void);
/* Appends ,"namespaces":["user",...],"capabilities":"none". */
void ks_namespaces_report(const struct ks_namespaces *n, struct ks_str *json);

#endif
