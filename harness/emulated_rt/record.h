#ifndef KS_HARNESS_EMULATED_RT_RECORD_H
#define KS_HARNESS_EMULATED_RT_RECORD_H

/* Recording of what a program does on the emulated device (harness/record/recorder.h, docs/RECORD.md).  Lock held. */

#include "harness/emulated_rt/rt.h"

bool rt_record_wanted(void);
/* Around one launch that runs now.  NULL from begin: nothing is recorded.  code, err: how it ended. */
struct rt_recorded;
struct rt_recorded *rt_record_begin(const struct ks_emu_launch *l, const struct ks_emu_func_info *info, struct ks_emu_module *m,
                                    cudaStream_t stream);
void rt_record_end(struct rt_recorded *r, enum ks_code code, const struct ks_err *err);
/* Launches in between belong to a graph. */
void rt_record_graph(bool begins);
/* Something came back to the host: rows of `width` bytes. */
void rt_record_copy(const void *from, const unsigned char *to, size_t width, size_t rows, size_t pitch, size_t slices,
                    size_t slice, cudaStream_t stream);
/* At the end of the process. */
void rt_record_finish(void);

#endif
