#ifndef KS_HARNESS_REMOTE_BUNDLE_H
#define KS_HARNESS_REMOTE_BUNDLE_H

/* A trial as a folder, for machines that are reached through files: what a parent asks (steps, as over a connection: step.h), and
 * beside it what came of it.
 *
 *   bundle.json   format, version of who made it, limits, whether steps may still come; once closed: number of bytes, hash
 *   steps         the frames: greeting, objects, worker starts, inputs, calls
 *   alive         touched by the parent of an open bundle while it lives
 *   result/       alive: touched by the runner, also within a step; answers: the frames; result.json: version, the bundle's hash,
 * host, number of bytes, hash
 *
 * An open bundle grows while a runner does its steps; a closed one is run from its hash on its own, anywhere, as often as one
 * likes, and its result folder says to which bundle it belongs.  As over a connection no expected output, no seed of the session
 * and no tolerance is in it: whoever made it compares.  Files are opened anew for each look, which makes appended bytes visible
 * over NFS (close-to-open), and clocks of two machines are never compared. */

#include "harness/remote/runner.h"

#define KS_BUNDLE_FORMAT 1
#define KS_BUNDLE_BEAT_S 1 /* between two touches of a runner's `alive` */

struct ks_bundle_limits {
    int64_t wall_s;           /* for the whole of it; 0: none */
    int64_t silence_s;        /* an open bundle whose parent has been silent for so long is left; 0: never */
    int64_t runner_silence_s; /* the parent's own: a runner that has been heard of, and then not for so long, is gone; 0: never */
};

/* The parent's: a new folder, then bytes of frames, then the end. */
KS_NODISCARD enum ks_code ks_bundle_make(const char *dir, const struct ks_bundle_limits *limits, struct ks_err *err);
KS_NODISCARD enum ks_code ks_bundle_add(const char *dir, const void *data, size_t len, struct ks_err *err);
KS_NODISCARD enum ks_code ks_bundle_close(const char *dir, struct ks_err *err);
void ks_bundle_touch(const char *dir); /* I am alive */
/* Appends what `file` has from *at on, and moves *at.  A file that is not there yet has nothing.  Errors: KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_bundle_more(const char *dir, const char *file, size_t *at, struct ks_str *out, struct ks_err *err);

/* The runner's: does the steps; the result folder is made.  Errors: KS_ERR_UNSUPPORTED (another version or format, named),
 * KS_ERR_MISMATCH (the hash is another one, or there is a result already: a bundle is never done twice into one), KS_ERR_PROTOCOL
 * (not steps, or an end within one), KS_ERR_TIMEOUT (limits, a silent parent), KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_bundle_run(const char *dir, const char *result, struct ks_runner *r, struct ks_err *err);
/* Whether a result is whole and of this bundle, which is closed.  Errors: KS_ERR_UNSUPPORTED (as above), KS_ERR_MISMATCH (of
 * another bundle, damaged, or the bundle is still open), KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_bundle_check(const char *dir, const char *result, struct ks_err *err);
/* A signal handler's: the run at work ends after its step, with KS_ERR_INTERRUPTED. */
void ks_bundle_stop(void);

#endif
