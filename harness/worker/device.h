#ifndef KS_HARNESS_WORKER_DEVICE_H
#define KS_HARNESS_WORKER_DEVICE_H

/* What the worker needs of a device, as a table: two kinds exist (emulated, cuda).  A worker drives one device and one candidate.
 */

#include "harness/protocol.h"
#include "base/str.h"

struct ks_device_ops {
    const char *name;
    /* Opens the device; describes it as a JSON object text. */
    enum ks_code (*open)(const struct ks_wire_hello *hello, struct ks_str *ret_json, struct ks_err *err);
    enum ks_code (*configure)(const struct ks_wire_config *config, struct ks_err *err);
    /* Memory for one buffer of a call, red zones included; returned pointer is past the first red zone. */
    enum ks_code (*place)(const struct ks_wire_buffer *b, void **ret_p, struct ks_err *err);
    enum ks_code (*release)(void *p, struct ks_err *err);
    /* Fills buffer and red zones as `b` says; shm_data: where b->shm_off points. */
    enum ks_code (*fill)(const struct ks_wire_buffer *b, void *p, const void *shm_data, struct ks_err *err);
    enum ks_code (*sync)(struct ks_err *err);
    /* Copies red zone, contents, red zone to shm_data. */
    enum ks_code (*fetch)(const struct ks_wire_buffer *b, void *p, void *shm_data, struct ks_err *err);
    void *(*stream)(void); /* handed to entries that take a stream */
    /* Brackets one call of the entry.  flush_l2: the cache is overwritten first, and while the device is busy with that the host
     * has time to queue the call, so that the events around it see the device's time and not the host's.  end synchronises the
     * whole device; late_ns: how long after the closing event other work went on. Errors: KS_ERR_DEVICE with the device's own
     * words. */
    enum ks_code (*call_begin)(bool on_stream, bool flush_l2, struct ks_err *err);
    enum ks_code (*call_end)(bool on_stream, double *ret_device_ns, double *ret_late_ns, struct ks_err *err);
    /* Findings or counters as JSON text. */
    enum ks_code (*report)(const struct ks_wire_report *r, struct ks_str *out, double *ret_modelled_ns, struct ks_err *err);
};

extern const struct ks_device_ops ks_device_emulated, ks_device_cuda;

#endif
