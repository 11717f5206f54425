#ifndef KS_HARNESS_REMOTE_STEP_H
#define KS_HARNESS_REMOTE_STEP_H

/* What a parent asks of workers on another machine, as frames: a header and a payload, which Zstandard has packed where that is
 * shorter.  The same frames travel over a connection one by one (kscc-worker serve) and lie in a trial bundle all at once
 * (kscc-worker run; bundle.h).  Each step but KS_STEP_OBJECT has one answer, a frame of the same kind, lane and number.
 *
 *   HEAD    text: the version (ks_step_version) of who speaks; the first frame either way.  A runner says its node's name on a
 * second line OBJECT  a shared object; the payload's SHA-256 is its name.  No answer START   struct ks_step_start: a worker
 * process in lane `lane` ASK     struct ks_step_ask, a command (protocol.h), then input contents as ranges of the shared memory
 *   STOP    ends the lane's worker
 *   TOOLS   struct ks_step_tools, a replay (protocol.h's commands; objects and library as references): compute-sanitizer over it.
 * The answer's text is an array of what the tools said CLOCKS  no payload; the answer's text is a struct ks_nvml_sample of CUDA's
 * first device there LOCK    uint32_t: 0 leave, 1 enter with others, 2 enter alone (device_lock.h)
 *
 * An answer is struct ks_step_result, a report's text, then the ranges that a read-back wrote.  A lane is one worker process from
 * its start to its end; lanes are numbered from 0 and never used twice.
 *
 * What travels: objects, the contents of inputs or the keys of single buffers, sizes, limits.  No expected output, no seed of the
 * session, no tolerance: the parent compares.  Both ends come from the same build (structs are sent as they are), which the
 * version says; another one is refused before anything else is read. */

#include "harness/protocol.h"
#include "base/str.h"

#include <stdbool.h>

#define KS_STEP_FORMAT     2
#define KS_STEP_MAGIC      0x7073736bu
#define KS_MAX_FRAME_BYTES (1ull << 33)
#define KS_MAX_LANES       64u
#define KS_STEP_OBJECT_REF "object:"  /* and its hash: stands for the path of an object in a command */
#define KS_STEP_RUNTIME    "runtime:" /* stands for the path of the emulated device's library */

enum ks_step_kind {
    KS_STEP_HEAD,
    KS_STEP_OBJECT,
    KS_STEP_START,
    KS_STEP_ASK,
    KS_STEP_STOP,
    KS_STEP_LOCK,
    KS_STEP_TOOLS,
    KS_STEP_CLOCKS,
    KS_N_STEPS
};

struct ks_frame {
    uint32_t magic, kind, lane, number;
    uint64_t bytes;        /* of the payload */
    uint64_t packed_bytes; /* as it follows; equal to bytes: as it is */
};

struct ks_step_start {
    uint32_t walls; /* enum ks_worker_walls */
    uint32_t pad;
    int64_t timeout_ms;
    uint64_t memory_limit_bytes;
    struct ks_wire_hello hello;
};

struct ks_step_tools {
    uint32_t mask, sealed;
    int64_t timeout_ms;
};

struct ks_step_ask {
    int64_t timeout_ms;
    uint32_t command_bytes;
    uint32_t n_ranges;
};

struct ks_range {
    uint64_t off, bytes;
};

struct ks_step_result {
    uint32_t code; /* enum ks_code */
    uint32_t alive;
    int32_t threads;
    uint32_t n_ranges;
    int64_t wall_ns;
    uint64_t text_bytes;
    struct ks_wire_reply reply;
    char message[sizeof(((struct ks_err *)0)->message)];
};

/* "kscc 0.3.0 steps 1 wire 1234.5678": equal only in builds that understand each other. */
const char *ks_step_version(void);
/* Errors: KS_ERR_UNSUPPORTED, naming both versions. */
KS_NODISCARD enum ks_code ks_step_version_check(const char *theirs, size_t len, struct ks_err *err);

void ks_frame_put(struct ks_str *out, enum ks_step_kind kind, uint32_t lane, uint32_t number, const void *payload, size_t len);
/* The frame at *at of the text, which then stands behind it.  payload: replaced.  Errors: KS_ERR_PROTOCOL (no frame, cut short).
 */
KS_NODISCARD enum ks_code ks_frame_take(const struct ks_str *text, size_t *at, struct ks_frame *ret, struct ks_str *payload,
                                        struct ks_err *err);
KS_NODISCARD enum ks_code ks_frame_send(int fd, const struct ks_str *frame, struct ks_err *err);
/* Reads one frame.  deadline_ns: on the monotonic clock, 0: none.  *ret_end: the other side has closed between two frames. */
KS_NODISCARD enum ks_code ks_frame_recv(int fd, int64_t deadline_ns, struct ks_frame *ret, struct ks_str *payload, bool *ret_end,
                                        struct ks_err *err);

/* Appends n ranges of shm with their bytes. */
void ks_ranges_put(struct ks_str *out, const unsigned char *shm, const struct ks_range *ranges, size_t n);
/* Takes n ranges from data into shm; every byte of data must be used.  allowed: NULL, or the n ranges that they must be.  Errors:
 * KS_ERR_PROTOCOL. */
KS_NODISCARD enum ks_code ks_ranges_take(const char *data, size_t len, size_t n, const struct ks_range *allowed,
                                         unsigned char *shm, size_t shm_bytes, struct ks_err *err);
/* The ranges whose contents a command brings along (a preparation), or that its answer does (a read-back of buffers that
 * `placed` describes).  ret: KS_MAX_PARAMS of them. */
size_t ks_ranges_of_prepare(const struct ks_wire_prepare *p, struct ks_range *ret);
size_t ks_ranges_of_fetch(const struct ks_wire_fetch *f, const struct ks_wire_prepare *placed, struct ks_range *ret);

#endif
