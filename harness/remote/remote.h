#ifndef KS_HARNESS_REMOTE_REMOTE_H
#define KS_HARNESS_REMOTE_REMOTE_H

/* The parent's end of a runner elsewhere (runner.h): a program that was started here, `ssh HOST .../kscc-worker serve` say, and
 * speaks steps over its standard input and output.  A session that is given one (ks_session_options.remote) has all its workers
 * there, the original's too; builds, expected outputs, comparisons and verdicts stay here.
 *
 * A connection that breaks costs the trial at work, which is run again from its beginning over a new one: nothing of it has been
 * judged.  An answer that is none of the step that was asked, or brings other contents than were asked for, ends the connection
 * in the same way; nothing of it is kept. */

#include "harness/client.h"
#include "harness/nvml.h"
#include "harness/sanitizer_tool.h"

struct ks_remote;

/* How the runner is reached. */
struct ks_remote_via {
    const char *name; /* for messages: "ssh:gpubox" */
    void *context;
    /* Makes sure that the runner's program is there; appends the words that start it.  Called for each connection. */
    enum ks_code (*command)(void *context, struct ks_args *out, struct ks_err *err);
    int64_t connect_ms; /* for the first answer; 0: two minutes */
    bool by_trial;      /* a connection is for one trial, and is closed when it has its verdict */
    int max_breaks;     /* that one trial may see; 0: 3 */
    int max_pause_s;    /* between two attempts to connect; 0: 8 */
    bool (*stop)(void); /* asked while a first answer is waited for; NULL: nobody stops */
    const char
        *node_prefix; /* "slurm:": a connection may end at any of several nodes, whose places are called so; NULL: at one */
    bool (*blames_place)(const char *lost); /* whether the loss speaks against the place; NULL: each does */
};

/* Borrows `via`.  Connects at the first step. */
struct ks_remote *ks_remote_new(const struct ks_remote_via *via);
void ks_remote_free(struct ks_remote *r); /* NULL-safe */
/* Connects, if it is not.  Errors: what `command` says, KS_ERR_DEVICE (no runner answers: its last words), KS_ERR_UNSUPPORTED
 * (another version). */
KS_NODISCARD enum ks_code ks_remote_connect(struct ks_remote *r, struct ks_err *err);
/* Whether the connection broke since the last ks_remote_connect(), and how; NULL: it did not. */
const char *ks_remote_lost(const struct ks_remote *r);
const char *ks_remote_name(const struct ks_remote *r);
/* The place where the runner of this connection is, or of the last one was (harness/health.h). */
const char *ks_remote_place(const struct ks_remote *r);
/* The last connection is lost, and that speaks against the place where it ended. */
bool ks_remote_blames_place(const struct ks_remote *r);
/* Connects with growing pauses between attempts.  Errors: as ks_remote_connect; KS_ERR_INTERRUPTED. */
KS_NODISCARD enum ks_code ks_remote_reconnect(struct ks_remote *r, struct ks_err *err);
int ks_remote_max_breaks(const struct ks_remote *r);
/* A trial has its verdict: a connection by trial is closed. */
void ks_remote_rest(struct ks_remote *r);
/* Whether a runner has ever answered. */
bool ks_remote_met(const struct ks_remote *r);
bool ks_remote_is_by_trial(const struct ks_remote *r);

/* Sends the object of that path, if it is not there; path: becomes a reference to it. */
KS_NODISCARD enum ks_code ks_remote_object_send(struct ks_remote *r, char *path, size_t size, struct ks_err *err);
/* As ks_tools_run, there; task->replay names objects and the library by reference, task->sanitizer and worker are not used.
 * Errors: KS_ERR_NOT_FOUND (no compute-sanitizer there), those of a step. */
KS_NODISCARD enum ks_code ks_remote_tools(struct ks_remote *r, const struct ks_tools_task *task, struct ks_tool_report *ret,
                                          struct ks_err *err);
/* Of the card there; not present where it cannot be asked. */
struct ks_nvml_sample ks_remote_clocks(struct ks_remote *r);

/* client.c's: one lane.  shm is the parent's copy of the shared memory. */
struct ks_lane {
    struct ks_remote *remote;
    uint32_t number;
    unsigned connection; /* of which it is one; lanes of earlier ones are dead */
    int threads;
    bool alive;
    unsigned char *shm;
    size_t shm_bytes;
    struct ks_wire_prepare placed;
    int64_t wall_ns;
};
KS_NODISCARD enum ks_code ks_lane_start(struct ks_lane *l, const struct ks_worker_options *opt, struct ks_str *ret_device_text,
                                        struct ks_err *err);
KS_NODISCARD enum ks_code ks_lane_ask(struct ks_lane *l, const struct ks_wire_command *c, int64_t timeout_ms,
                                      struct ks_wire_reply *ret_reply, struct ks_err *err);
void ks_lane_stop(struct ks_lane *l);
/* 0 leave, 1 with others, 2 alone: the lock of the device over there. */
void ks_remote_lock(struct ks_remote *r, uint32_t how);

#endif
