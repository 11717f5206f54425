#ifndef KS_HARNESS_CLIENT_H
#define KS_HARNESS_CLIENT_H

/* The parent's end of one kscc-worker process: start, ask with a deadline, learn how it died, stop.  The worker leads its own
 * process group, has an empty environment but for what the device needs, and dies with the parent. */

#include "harness/protocol.h"
#include "base/json.h"
#include "base/str.h"

#include <sys/types.h>

struct ks_remote;

struct ks_worker_options {
    const char *program;      /* path of kscc-worker */
    struct ks_remote *remote; /* not NULL: the worker runs there (remote/remote.h), and its pid is 0 */
    struct ks_wire_hello hello;
    size_t memory_limit_bytes; /* resident memory, watched while waiting; 0: none */
    enum ks_worker_walls {
        KS_WALLS_OWN,
        KS_WALLS_WRITABLE,
        KS_WALLS_OPEN,
        KS_WALLS_SHARED,
        KS_WALLS_PLAIN
    } walls;            /* from the highest
to none */
    int64_t timeout_ms; /* for the start */
};

/* "own", "writable", ...: the word that the worker is given. */
const char *ks_walls_text(enum ks_worker_walls walls);

struct ks_worker;

KS_NODISCARD enum ks_code ks_worker_start(const struct ks_worker_options *opt, struct ks_worker **ret_worker, struct ks_err *err);
/* The two halves of it.  Whoever launches waits or stops; the worker may be asked when the wait has ended well. */
KS_NODISCARD enum ks_code ks_worker_launch(const struct ks_worker_options *opt, struct ks_worker **ret_worker,
                                           struct ks_err *err);
KS_NODISCARD enum ks_code ks_worker_await(struct ks_worker *w, int64_t timeout_ms, struct ks_err *err);
/* Kills the worker without waiting for its end; ks_worker_stop follows. */
void ks_worker_condemn(struct ks_worker *w);
/* Its end of the socket is closed, or it has ended. */
bool ks_worker_ends(const struct ks_worker *w);
/* Kills when it does not end by itself at once, reaps, frees.  NULL-safe. */
void ks_worker_stop(struct ks_worker *w);

/* The shared memory, opt->hello.shm_bytes long; data from KS_WIRE_DATA_OFF. */
unsigned char *ks_worker_shm(struct ks_worker *w);
/* Sends `c` (c->op and its part of the union filled in) and waits.  A worker that did not answer is dead afterwards.
 * Errors: what the worker answered (its text), KS_ERR_TIMEOUT, KS_ERR_SIGNAL, KS_ERR_SANDBOX (a refused system call, named),
 * KS_ERR_EXIT_STATUS, KS_ERR_MEMORY_LIMIT, KS_ERR_PROTOCOL. */
KS_NODISCARD enum ks_code ks_worker_ask(struct ks_worker *w, struct ks_wire_command *c, int64_t timeout_ms,
                                        struct ks_wire_reply *ret_reply, struct ks_err *err);
/* What the worker said about its device at the start, JSON text.  Borrowed. */
const char *ks_worker_device_text(const struct ks_worker *w);
/* Adds to the sandbox's report what the worker's control group can do ("cgroup": ["kill", "memory", "pids"]), or that there is
 * none. */
void ks_worker_cgroup(const struct ks_worker *w, struct ks_json *sandbox);
bool ks_worker_alive(const struct ks_worker *w);
/* Text of the last report; len as the reply said. */
void ks_worker_text(struct ks_worker *w, const struct ks_wire_reply *reply, struct ks_str *out);
pid_t ks_worker_pid(const struct ks_worker *w);            /* of the worker itself, in our numbers; 0: gone */
int ks_worker_threads(const struct ks_worker *w);          /* threads it has now */
int64_t ks_worker_last_wall_ns(const struct ks_worker *w); /* the parent's own clock around the last ask */

#endif
