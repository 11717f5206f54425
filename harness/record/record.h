#ifndef KS_HARNESS_RECORD_RECORD_H
#define KS_HARNESS_RECORD_RECORD_H

/* A recording: what a program did on its device (docs/RECORD.md has every field).  A folder of
 *
 *   process-<pid>.jsonl   one for each process that used the device: a head, then one object a line in the order of completion,
 * and at last an object "end" contents/<hash>.zst   bytes of buffers, each once, named by the SHA-256 of what is in them
 *
 * A line is written by one write() after the contents that it names are in place, so that whatever is there when a process is
 * killed is a readable beginning.  The cap counts everything that a process writes: past it contents are left out, then lines,
 * and "end" says how much.  A failed write (a full disk) counts as the cap reached.  Several threads may write at once.
 */

#include "base/json.h"

#include <stdbool.h>

#define KS_RECORD_FORMAT  "kscc-record"
#define KS_RECORD_VERSION 1
#define KS_RECORD_HASH    65

/* ---- writing (inside of the program: writer.c) ---------------------------------------------------------------------- */

struct ks_record;
/* Makes the folder where it is missing.  head: fields of the first line beside format and version, handed over. */
KS_NODISCARD enum ks_code ks_record_open(const char *dir, int64_t max_bytes, struct ks_json *head, struct ks_record **ret,
                                         struct ks_err *err);
/* Copies n bytes at off_byte of the contents to `to`. */
typedef void ks_record_read_fn(void *arg, size_t off_byte, void *to, size_t n);
/* Hashes `size` bytes, and keeps them where they are new.  False: not kept (the cap); the hash is right all the same. */
bool ks_record_contents(struct ks_record *r, ks_record_read_fn *read, void *arg, size_t size, char ret_hash[KS_RECORD_HASH]);
/* Appends a line; takes `line` over.  False: left out. */
bool ks_record_line(struct ks_record *r, struct ks_json *line);
/* The same of one that is JSON already, its newline included. */
bool ks_record_text(struct ks_record *r, const struct ks_str *text);
/* Appends "end" with totals; not_covered, handed over: what is not in the recording, and how often.  NULL: nothing. */
void ks_record_close(struct ks_record *r, struct ks_json *not_covered);
/* Why nothing more is kept, for people; NULL: all has been. */
const char *ks_record_full(const struct ks_record *r);

/* ---- reading (reader.c) --------------------------------------------------------------------------------------------- */

/* Calls visit for every whole line of every process: j is borrowed.  A last line that was cut off, and a missing "end", are no
 * errors: *ret_cut counts the processes that have either.  Errors: KS_ERR_NOT_FOUND: no recording; KS_ERR_SYNTAX with file and
 * line; KS_ERR_MISMATCH: another version; what visit returns. */
typedef enum ks_code ks_record_line_fn(void *arg, const char *process, const struct ks_json *j, struct ks_err *err);
KS_NODISCARD enum ks_code ks_recording_read(const char *dir, ks_record_line_fn *visit, void *arg, int *ret_cut,
                                            struct ks_err *err);
/* The contents of that name; checks size and hash.  Errors: KS_ERR_NOT_FOUND, KS_ERR_SYNTAX, KS_ERR_MISMATCH. */
KS_NODISCARD enum ks_code ks_recording_contents(const char *dir, const char *hash, struct ks_str *out, struct ks_err *err);
/* {"processes", "cut", "launches", "recorded", "copies", "ns", "modelled", "contents", "full", "not_covered", "kernels":
 * [{"kernel", "launches", "recorded", "ns", "share", "bound", "shapes": [{"grid", "block", "shared", "launches", "ns",
 * "weight"}]}]}: kernels and shapes by time, the longest first.  share: of the device's time; bound: how much faster all of it
 * would be if this kernel took none (Amdahl), null where it is all there is.  Caller frees. */
KS_NODISCARD enum ks_code ks_recording_summary(const char *dir, struct ks_json **ret, struct ks_err *err);
/* Every contents file that a line names is there and holds what its name says.  *ret_n: how many.  Errors: the first that does
 * not. */
KS_NODISCARD enum ks_code ks_recording_check(const char *dir, size_t *ret_n, struct ks_err *err);

#endif
