#ifndef KS_HARNESS_WORKER_DEVICE_H
#define KS_HARNESS_WORKER_DEVICE_H

/* What the worker needs of a device, as a table: two kinds exist (emulated, cuda).  A worker drives one device and one candidate.
 */

#include "harness/protocol.h"
#include "base/str.h"

/* What is measured of one call. */
struct ks_call_result {
    double device_ns, late_ns, busy_ns;
    double left_bytes; /* device memory that the call took and did not give back; 0: not known here */
};

struct ks_device_ops {
    const char *name;
    /* Opens the device; describes it as a JSON object text. */
    enum ks_code (*open)(const struct ks_wire_hello *hello, struct ks_str *ret_json, struct ks_err *err);
    enum ks_code (*configure)(const struct ks_wire_config *config, struct ks_err *err);
    /* Before the buffers of a call are placed.  May be NULL. */
    enum ks_code (*renew)(const struct ks_wire_prepare *p, struct ks_err *err);
    /* Memory for one buffer of a call, red zones included; returned pointer is past the first red zone. */
    enum ks_code (*place)(const struct ks_wire_buffer *b, void **ret_p, struct ks_err *err);
    enum ks_code (*release)(const struct ks_wire_buffer *b, void *p, struct ks_err *err);
    /* Fills buffer and red zones as `b` says; shm_data: where b->shm_off points. */
    enum ks_code (*fill)(const struct ks_wire_prepare *prepare, const struct ks_wire_buffer *b, void *p, const void *shm_data,
                         struct ks_err *err);
    enum ks_code (*sync)(struct ks_err *err);
    /* Copies red zone, contents, red zone to shm_data. */
    enum ks_code (*fetch)(const struct ks_wire_prepare *prepare, const struct ks_wire_buffer *b, void *p, void *shm_data,
                          struct ks_err *err);
    void *(*stream)(void); /* handed to entries that take a stream */
    /* Brackets one call of the entry over the buffers of `p`.  With KS_CACHE_COLD the cache is overwritten first, and while the
     * device is busy with that (with KS_CACHE_WARM: with a delay) the host has time to queue the call, so that the events around
     * it see the device's time and not the host's.  end synchronises the whole device. Errors: KS_ERR_DEVICE with the device's
     * own words, or naming what the call has changed. */
    enum ks_code (*call_begin)(const struct ks_wire_prepare *p, void *const *pointers, bool on_stream, struct ks_err *err);
    enum ks_code (*call_end)(const struct ks_wire_prepare *p, void *const *pointers, bool on_stream, struct ks_call_result *ret,
                             struct ks_err *err);
    /* A replay is over: gives everything back, so that a tool can say what the candidate has left.  May be NULL. */
    void (*close)(void);
    /* Findings or counters as JSON text. */
    enum ks_code (*report)(const struct ks_wire_report *r, struct ks_str *out, double *ret_modelled_ns, struct ks_err *err);
};

extern const struct ks_device_ops ks_device_emulated, ks_device_cuda, ks_device_host;

#endif
