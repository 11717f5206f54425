#ifndef KS_HARNESS_WORKER_SANDBOX_H
#define KS_HARNESS_WORKER_SANDBOX_H

/* The walls around a candidate, raised in two steps: before its object is loaded (no new processes, no sockets, no files beyond
 * what the dynamic linker needs), and after (no new executable memory, on devices that need none).  Each layer that the kernel
 * does not offer is left out and named in the report; the process ends with SIGSYS on a refused call. */

#include "harness/protocol.h"
#include "harness/worker/namespaces.h"
#include "base/str.h"

struct ks_sandbox {
    struct ks_wire_head *head; /* where the refused call is noted */
    bool gpu;                  /* device nodes and JIT memory stay usable */
    const char *candidate;     /* may be read */
    const char *runtime;       /* may be read, or NULL */
    const struct ks_namespaces *namespaces;
};

/* Limits that hold from the start: core files, file sizes (not on a GPU), CPU time, descriptors. */
void ks_sandbox_limits(uint64_t cpu_limit_s, bool gpu);
/* Appends {"no_new_privs":true,"seccomp":true,"landlock":4,...}. */
KS_NODISCARD enum ks_code ks_sandbox_seal(const struct ks_sandbox *s, struct ks_str *ret_json, struct ks_err *err);
/* For a compiler: Landlock over the paths, no network, none of the calls that reach into other processes or the kernel.  False: a
 * filter could not be loaded although the kernel has it; a kernel without them: true. */
#define KS_MAX_CONFINE_PATHS 512
struct ks_confine_path {
    const char *path;
    bool writable;
};
/* sockets: those between processes of this machine; else none at all, and false when a wall is missing. */
bool ks_sandbox_confine(const struct ks_confine_path *paths, size_t n, bool sockets);
/* The same for a program that keeps the network; false also where the kernel has no Landlock. */
bool ks_sandbox_confine_agent(const struct ks_confine_path *paths, size_t n);
KS_NODISCARD enum ks_code ks_sandbox_seal_code(const struct ks_sandbox *s, struct ks_err *err);

#endif
