#ifndef KS_HARNESS_EMULATED_ASYNC_H
#define KS_HARNESS_EMULATED_ASYNC_H

/* Clusters and what happens beside the threads.
 *
 * The blocks of a cluster (one block where none was asked for) run together on one host thread and share a queue of asynchronous
 * operations.  An operation is checked when it is issued and takes effect when it completes, and when that is depends on the
 * seed: with seed 0 as late as possible, that is when no warp of the cluster can go on, the newest operation first; with other
 * seeds late, after a random number of instructions, or at once.  All are legal executions: late ones show a missing wait, early
 * ones a missed phase.
 *
 * An address in shared memory is 32 bits: the rank of the block in its cluster above 24 bits of offset.  A block's own addresses
 * carry its rank too (of kernels that use clusters at all), as on hardware, where masking bits of one's own address names the
 * neighbour. */

#include "harness/emulated/device.h"
#include "harness/emulated/tensor_map.h"

#define EMU_MAX_CLUSTER 16

/* An object in shared memory that threads arrive at and wait for.  The state lives here, not in the 8 bytes. */
struct emu_mbarrier {
    uint32_t offset;
    uint32_t expected; /* arrivals of a phase */
    uint32_t pending;  /* arrivals that the running phase lacks */
    int32_t tx;        /* bytes that it lacks */
    uint32_t phase;    /* phases over */
};
#define EMU_MBARRIER_MAX 0xfffffu /* of counts and bytes */

enum emu_async_kind {
    EMU_ASYNC_LOAD,        /* global or shared to shared, linear */
    EMU_ASYNC_LOAD_TENSOR, /* a box, to shared */
    EMU_ASYNC_READ,        /* first half of a copy from shared to global: reads its source */
    EMU_ASYNC_WRITE,       /* second half: writes */
    EMU_ASYNC_VALUE,       /* st.async, red.async */
    EMU_ASYNC_ARRIVE,      /* an arrival: cp.async.mbarrier.arrive, tcgen05.commit */
    EMU_ASYNC_TENSOR       /* a tcgen05 operation (tcgen05.c): in order */
};

struct emu_tcgen_op;

struct emu_async_op {
    enum emu_async_kind kind;
    uint64_t due;
    struct emu_block *block; /* whose thread issued it */
    uint32_t warp, lane, pc;
    uint32_t group; /* bulk group of the thread */
    bool tensor;    /* READ, WRITE: a box of `map` */
    bool has_group;
    bool reduce;
    uint8_t op, type;               /* of a reduction: enum emu_reduce, enum ptx_type */
    bool multicast;                 /* every destination's own barrier hears of it */
    uint8_t pair;                   /* .cta_group::2: the signal goes to the block of the pair with the barrier's parity */
    uint16_t blocks;                /* destinations, by rank */
    uint32_t shared;                /* offset of the block's side of the copy, in every destination */
    uint32_t barrier_rank, barrier; /* rank and offset; UINT32_MAX: none */
    uint32_t bytes;
    uint64_t global; /* address; LOAD within a cluster: offset in block `from` */
    struct emu_block *from;
    int32_t at[KS_EMU_MAP_RANK];
    struct ks_emu_tensor_map map;
    uint8_t value[16];
    uint8_t *data; /* WRITE: what was read */
    struct emu_tcgen_op *tcgen;
};
enum emu_reduce {
    EMU_REDUCE_ADD,
    EMU_REDUCE_MIN,
    EMU_REDUCE_MAX,
    EMU_REDUCE_INC,
    EMU_REDUCE_DEC,
    EMU_REDUCE_AND,
    EMU_REDUCE_OR,
    EMU_REDUCE_XOR
};

enum emu_async_policy { EMU_ASYNC_LATE, EMU_ASYNC_LATE_ANY, EMU_ASYNC_RANDOM, EMU_ASYNC_EAGER };

struct emu_cluster {
    struct emu_launch *launch;
    struct emu_worker *worker;
    uint64_t unit; /* number of the cluster in its grid */
    uint32_t n_blocks;
    struct emu_block *blocks[EMU_MAX_CLUSTER];
    KS_VEC(struct emu_async_op) queue; /* in order of issue */
    enum emu_async_policy policy;
    uint64_t random;
    uint64_t insts;    /* warp instructions executed */
    uint64_t progress; /* grows whenever something completes that a thread may wait for */
    uint32_t soft_wakes;
    /* barrier.cluster */
    uint32_t arrived, phase;
};

/* cluster.c */
struct emu_cluster *ks_emu_cluster_start(struct emu_worker *wk, uint64_t unit);
enum emu_block_result ks_emu_cluster_run(struct emu_cluster *c);
void ks_emu_cluster_deadlock(struct emu_cluster *c, const char *who); /* reports who waits where and ends the launch */
void ks_emu_cluster_end(struct emu_cluster *c); /* checks what was left undone, releases everything */
/* Fragments of the block that wait for `what` look again. */
void ks_emu_wake(struct emu_block *b, enum emu_wait what);
void ks_emu_cluster_wake(struct emu_cluster *c, enum emu_wait what);
void ks_emu_cluster_check(struct emu_cluster *c); /* threads exited: its barrier may be complete */
/* Block and offset of a shared address; NULL: no such place, and the warp has faulted.  what: "mbarrier.init", for the text. */
struct emu_block *ks_emu_shared_at(struct emu_warp *w, int lane, uint64_t address, bool generic, uint32_t bytes, uint32_t align,
                                   const char *what, uint32_t *ret_offset);
/* Says for what the fragment waits: appended to the text of a deadlock. */
void ks_emu_wait_text(struct emu_warp *w, const struct emu_frag *f, struct ks_str *out);
uint64_t ks_emu_mix(uint64_t x);

/* async.c */
void ks_emu_async_push(struct emu_cluster *c, struct emu_async_op *op); /* completes at once where the policy says so */
/* Completes what is due; idle: and if there is nothing, one operation more.  True: something completed. */
bool ks_emu_async_step(struct emu_cluster *c, bool idle);
void ks_emu_async_finish(struct emu_cluster *c); /* all threads exited: completes and reports what nobody waited for */
/* Operations of the thread's bulk groups before `group` that are unfinished; read: whose source is still to be read. */
bool ks_emu_async_pending(const struct emu_warp *w, int lane, uint32_t group, bool read);
void ks_emu_async_exit(struct emu_warp *w, uint32_t mask); /* threads exit: have they waited for their bulk groups? */
/* An operation has brought `bytes` to the block of that rank: its barrier hears of it. */
void ks_emu_async_signal(struct emu_async_op *op, uint32_t rank, uint32_t bytes);
void ks_emu_async_arrive(struct emu_async_op *op);
void ks_emu_cp_async_settle(struct emu_block *b, uint32_t warp, uint32_t lane); /* all cp.async of the thread are over */

/* mbarrier.c */
struct emu_mbarrier *ks_emu_mbarrier_find(struct emu_block *b, uint32_t offset); /* NULL: none there */
/* As find, but reports one that was not initialised at the instruction. */
struct emu_mbarrier *ks_emu_mbarrier_need(struct emu_warp *w, int lane, uint32_t pc, struct emu_block *b, uint32_t offset,
                                          const char *what);
void ks_emu_mbarrier_arrive(struct emu_warp *w, int lane, uint32_t pc, struct emu_block *b, struct emu_mbarrier *m,
                            uint32_t count);
void ks_emu_mbarrier_tx(struct emu_warp *w, int lane, uint32_t pc, struct emu_block *b, struct emu_mbarrier *m, int64_t bytes);
/* Generic accesses that hit a barrier object are misuse. */
void ks_emu_mbarrier_touch(struct emu_warp *w, uint32_t pc, const struct emu_access *x, struct emu_block *b);

/* bulk.c: effects of copies */
void ks_emu_bulk_load(struct emu_async_op *op);
void ks_emu_bulk_read(struct emu_async_op *op);
void ks_emu_bulk_write(struct emu_async_op *op);
void ks_emu_bulk_value(struct emu_async_op *op);

/* proxy.c: accesses of the async proxy to shared memory, as the issuing thread makes them */
bool ks_emu_async_shared(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_block *b, uint32_t offset,
                         uint32_t bytes, bool store);
/* The same for global memory; false: faulted. */
bool ks_emu_async_global(struct emu_warp *w, const struct emu_insn *in, int lane, uint64_t address, uint32_t bytes, bool store,
                         bool atomic);
void ks_emu_proxy_store(struct emu_block *b, const struct emu_access *x); /* by threads */
/* By a copy: remembers the swizzle of tensor copies, -1: none.  The other tells it; false: something else was there last. */
void ks_emu_proxy_copied(struct emu_block *b, uint32_t offset, uint32_t bytes, int swizzle);
bool ks_emu_proxy_swizzle(const struct emu_block *b, uint32_t offset, uint32_t *ret);

#endif
