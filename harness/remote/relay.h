#ifndef KS_HARNESS_REMOTE_RELAY_H
#define KS_HARNESS_REMOTE_RELAY_H

/* Between a parent that speaks steps over a pipe (remote.h) and a runner that is reached through a folder (bundle.h): what the
 * parent says is added to the bundle, what the runner answers is passed on.  Somebody else sees to it that there is a runner: a
 * process here, a job of a batch system. */

#include "harness/remote/bundle.h"

struct ks_relay_runner {
    void *context;
    KS_NODISCARD enum ks_code (*start)(void *context, const char *dir, struct ks_err *err);
    /* Whether it still comes or works; false, with a sentence why in `why`: it has ended.  Called often; it says when next
     * itself. */
    bool (*lives)(void *context, struct ks_str *why);
    void (*end)(void *context); /* it is wanted no more; also after it has ended or was not started */
};

/* Makes the bundle, starts the runner, and relays until the parent closes in_fd or a signal (INT, TERM, HUP) ends it: then the
 * bundle is closed and the runner given a moment to end by itself.  Errors: KS_ERR_DEVICE (the runner ended before the parent
 * did), KS_ERR_INTERRUPTED, KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_relay(const char *dir, const struct ks_bundle_limits *limits, const struct ks_relay_runner *runner,
                                   int in_fd, int out_fd, struct ks_err *err);
/* From now on INT, TERM, HUP, and the parent's death, are noted and end nothing by themselves. */
void ks_relay_signals(void);
bool ks_relay_signalled(void);
/* With a runner that is a process here: program run DIR. */
KS_NODISCARD enum ks_code ks_relay_here(const char *dir, const char *program, int in_fd, int out_fd, struct ks_err *err);

#endif
