#ifndef KS_HARNESS_RECORD_RECORDER_H
#define KS_HARNESS_RECORD_RECORDER_H

/* What a device's launches and copies become in a recording (record.h): which launches are sampled, which memory a kernel can
 * reach, what was there before and after.  It runs inside of the recorded process and knows the device by a struct
 * ks_record_source: the emulated one (emulated_rt/record.c) or a GPU (record_gpu/).
 *
 * KSCC_RECORD names the folder.  KSCC_RECORD_SAMPLE: of each kernel every so manieth launch is recorded with its buffers, and the
 * first of every shape; KSCC_RECORD_MAX: cap in bytes for each process.  Once the cap is reached, or four times as much has been
 * looked at, no launch is sampled; one that reaches more memory than the cap is only counted.
 *
 * What a kernel can reach: the allocations that a word of its parameters points into (members of structures are words too), those
 * that words in these point into, and so on, and the variables of its module.
 *
 * The functions that count (next, stream, samples, not_covered) are for one thread at a time; those that write (call_..., copy)
 * may be called by several, each for its own call. */

#include "harness/record/record.h"

#include <stddef.h>
#include <stdint.h>

struct ks_record_buffer {
    unsigned char *base;
    size_t size_bytes;
    const char *kind; /* as in docs/RECORD.md; static */
};
struct ks_record_source {
    const char *device;
    bool modelled;
    /* A quick look at a word that lies far from the memory it was found in: an address at all?  NULL: never. */
    bool (*near)(const void *p);
    /* The live memory around p that kernels can use. */
    bool (*find)(const void *p, struct ks_record_buffer *ret);
    /* Copies n bytes of it; false: it cannot be read any more. */
    bool (*read)(const struct ks_record_buffer *b, size_t off_byte, void *to, size_t n);
};
struct ks_record_launch {
    const char *kernel; /* mangled */
    uint32_t grid[3], block[3], cluster[3];
    uint64_t shared_bytes;
    bool cooperative, graph;
};
/* `slices` times `rows` rows of `width` bytes. */
struct ks_record_rows {
    const unsigned char *p;
    size_t width, rows, pitch, slices, slice;
};

struct ks_recorder;
bool ks_recorder_wanted(void);
/* `s` stays the caller's and lives as long.  Errors: those of ks_record_open(). */
KS_NODISCARD enum ks_code ks_recorder_open(const struct ks_record_source *s, struct ks_recorder **ret, struct ks_err *err);
/* NULL, or why the recording is not whole. */
const char *ks_recorder_full(const struct ks_recorder *r);
void ks_recorder_close(struct ks_recorder *r);

/* The next number of a launch or copy; a stream's number (NULL, the default stream: 0). */
int64_t ks_recorder_next(struct ks_recorder *r);
int64_t ks_recorder_stream(struct ks_recorder *r, const void *stream);
/* Counts a launch.  True: it is to be recorded with its buffers.  l->kernel becomes a name that lives as long as r. */
bool ks_recorder_samples(struct ks_recorder *r, struct ks_record_launch *l);
/* Something is not in the recording: counted, and said at its end. */
void ks_recorder_not_covered(struct ks_recorder *r, const char *what);

/* Writes a launch that is only counted.  ns: below 0: not known. */
void ks_recorder_launch(struct ks_recorder *r, const struct ks_record_launch *l, int64_t n, int64_t stream, double ns);

/* One launch. */
struct ks_record_call;
struct ks_record_call *ks_record_call_new(struct ks_recorder *r, const struct ks_record_launch *l, int64_t n, int64_t stream);
/* Of a sampled one: its parameters in order, the variables of its module, then what is in all it can reach; after it ran that
 * again, or why it did not run. */
void ks_record_call_param(struct ks_record_call *c, const void *bytes, size_t size_bytes);
void ks_record_call_variable(struct ks_record_call *c, const char *name, const void *address);
void ks_record_call_before(struct ks_record_call *c);
void ks_record_call_after(struct ks_record_call *c);
void ks_record_call_fault(struct ks_record_call *c, const char *why);
/* Writes the line.  ns: below 0: not known.  Both free c. */
void ks_record_call_write(struct ks_record_call *c, double ns);
void ks_record_call_free(struct ks_record_call *c);

/* Something came back to the host.  offset: in its allocation; below 0: in none. */
void ks_recorder_copy(struct ks_recorder *r, int64_t n, int64_t stream, const struct ks_record_rows *rows, int64_t offset);

#endif
