#ifndef KS_HARNESS_RECORD_GPU_STATE_H
#define KS_HARNESS_RECORD_GPU_STATE_H

/* libkscc-record.so: recording on a GPU.  The driver loads it into the recorded program (CUDA_INJECTION64_PATH); CUPTI calls it
 * around every call of the driver's interface and hands it the times of all kernels.
 *
 *   main.c      loading, the callback, the end          calls.c     which of the driver's calls matter
 *   launch.c    launches: which are sampled, what they read and wrote
 *   memory.c    what is allocated where                 copy.c      copies to the host
 *   activity.c  times of kernels, from CUPTI            variables.c variables of modules
 *
 * A sampled launch is alone on the device: the context is synchronised before and after it, and no other thread launches
 * meanwhile (gate).  Every other launch costs a count; its line is written when CUPTI says how long it took.
 *
 * Locks, outermost first: paper (for reading by every callback, for writing by who closes the recording), gate (a sampled launch
 * holds it from its entry to its exit), book (counters and what waits for its time; short).  Functions of ours in the program's
 * streams take paper, for reading, and book, and wait for nothing else; so book is not held while a stream is waited for. */

#include "base/str.h"
#include "harness/record/recorder.h"
#include "harness/record_gpu/api.h"

#include <pthread.h>

/* A call of ours is under way in this thread: its callbacks are not the program's. */
extern __thread bool gpu_inside;
extern pthread_mutex_t gpu_gate, gpu_book;
extern pthread_rwlock_t gpu_paper;

/* Opened when the program first launches or copies; NULL: nothing is recorded.  Paper is held, and book is not. */
struct ks_recorder *gpu_recorder(void);
/* Takes book. */
void gpu_not_covered(const char *what);
CUstream gpu_stream(CUstream s, bool per_thread);
/* "CUDA_ERROR_..." */
const char *gpu_error(CUresult r);
/* A module or a context goes: handles of its functions may come again. */
void gpu_module_goes(void);

/* ---- calls.c */
void gpu_calls_enable(CUpti_SubscriberHandle subscriber);
void gpu_calls_take(CUpti_CallbackId id, const CUpti_CallbackData *cb);

/* ---- memory.c */
void gpu_memory_add(const void *base, size_t size_bytes, const char *kind);
void gpu_memory_remove(const void *base);
/* A context ended: the stream that memory is read on may have been its. */
void gpu_memory_forget_stream(void);
/* Between the first and the last allocation of one of the places that the driver has for them (pools lie far from the rest). */
bool gpu_memory_near(const void *p);
bool gpu_memory_find(const void *p, struct ks_record_buffer *ret);
bool gpu_memory_read(const struct ks_record_buffer *b, size_t off_byte, void *to, size_t n);
/* 0: ordinary memory of the host. */
unsigned gpu_memory_type(const void *p);

/* ---- captures (launch.c) */
void gpu_capture(bool begins);
/* Work in this stream goes into a graph instead of running. */
bool gpu_is_captured(CUstream s);

/* ---- launch.c */
struct gpu_launch {
    struct ks_record_launch l;
    CUfunction f;
    CUstream stream;
    void **params, **extra;
};
void gpu_launch_enter(struct gpu_launch *g, const CUpti_CallbackData *cb);
void gpu_launch_exit(const CUpti_CallbackData *cb);
void gpu_graph_enter(CUstream stream, const CUpti_CallbackData *cb);
/* Writes the line of a kernel that ended; ns below 0: its time is not known.  l: what CUPTI says of it. */
void gpu_launch_timed(uint32_t correlation, double ns, const struct ks_record_launch *l);
/* Those that were never heard of again. */
void gpu_launch_finish(void);
void gpu_launch_forget(void);

/* ---- activity.c */
KS_NODISCARD enum ks_code gpu_activity_start(struct ks_err *err);
void gpu_activity_wake(void);
/* All that ended has been written when it returns. */
void gpu_activity_finish(void);

/* ---- copy.c: at the exit of a call that copies */
void gpu_copy(const void *from, const struct ks_record_rows *to, CUstream stream, bool async);
void gpu_copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, bool async);
void gpu_copy_3d(const CUDA_MEMCPY3D *c, CUstream stream, bool async);

/* ---- variables.c */
void gpu_variables_of_image(const void *elf, size_t size_bytes);
void gpu_variables_forget(void);
void gpu_variables_add(struct ks_record_call *c, CUfunction f);

#endif
