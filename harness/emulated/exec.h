#ifndef KS_HARNESS_EMULATED_EXEC_H
#define KS_HARNESS_EMULATED_EXEC_H

/* State of a running block and the idioms of handlers: a handler reads whole 32-lane registers and writes the lanes of its mask.
 * Loops over lanes have no branches so that the compiler vectorises them. */

#include "harness/emulated/ir.h"
#include "harness/emulated/race.h"

#include <string.h>

#define EMU_LANES     32
#define EMU_MAX_WARPS 64 /* of a block; the hardware has 32 */
#define EMU_VECTOR    (2 * EMU_MAX_WARPS)
#define EMU_MAX_BARS  16
#define EMU_MAX_DEPTH 64 /* call depth */

enum emu_frag_state {
    EMU_RUN,
    EMU_WAIT_BAR,   /* arrived at a block barrier */
    EMU_WAIT_LANES, /* at a barrier or warp operation, until other lanes of the warp come */
    EMU_WAIT_EVENT, /* for something beside the threads: emu_frag.wait */
};

/* What a fragment waits for in EMU_WAIT_EVENT. */
enum emu_wait {
    EMU_FOR_NOTHING,
    EMU_FOR_MBARRIER,
    EMU_FOR_BULK,    /* bulk groups of its threads */
    EMU_FOR_WGMMA,   /* the other warps of its warpgroup */
    EMU_FOR_CLUSTER, /* barrier.cluster */
    EMU_FOR_TENSOR   /* tensor memory, tcgen05 operations */
};

/* Lanes of a warp that stand at the same pc. */
struct emu_frag {
    uint32_t pc, mask;
    uint8_t state;
    uint8_t bar;
    uint8_t wait;       /* enum emu_wait */
    bool soft;          /* its poll has failed already: it goes on when nobody else can */
    bool passed;        /* its quantum is used up: others first */
    bool waited;        /* for the other lanes of its warp at an aligned barrier */
    uint32_t returning; /* lanes that were about to exit when it began to wait there */
};

/* Where the undefined bytes of a register come from. */
struct emu_undef {
    uint64_t at;   /* address that was read */
    uint32_t from; /* 0: none in this register; else pc + 1 of the load, UINT32_MAX: the register itself */
    uint32_t space;
};

/* Why a warp stopped running (emu_warp.event). */
enum emu_event { EMU_EVENT_NONE, EMU_EVENT_FAULT };

struct emu_block;
struct emu_worker;

struct emu_warp {
    uint8_t *base[2]; /* register file, constant pool */
    struct emu_block *block;
    struct emu_worker *worker;
    uint32_t live; /* lanes that exist and have not exited */
    uint32_t exists;
    uint32_t event;
    uint32_t n_undef;        /* registers with bytes that nobody wrote */
    struct emu_undef *undef; /* by offset / 64; NULL: not checked */
    uint32_t wait_mask;      /* out of a handler: lanes that cannot go on yet, and what they wait for */
    uint8_t wait;
    uint32_t cc;    /* carry flags */
    uint32_t id;    /* in the block */
    uint32_t pc;    /* of the running instruction, for findings */
    uint32_t clock; /* synchronisation clock of the race checker */
    struct emu_race_last race_last[2][EMU_RACE_LAST]; /* events of global and of its block's shared memory, found again */
    struct emu_frag frag[EMU_LANES];
    uint32_t n_frags;
    uint64_t insts; /* executed so far */
    uint64_t slept; /* nanoseconds of nanosleep */
    uint32_t polls; /* strong loads and atomics without effect, since the block's turn began */
    uint8_t *local; /* lane 0; lane i at + i * local_bytes */
    uint32_t local_bytes;
    uint8_t *local_init;                    /* one byte per byte, when checked */
    _Alignas(64) uint32_t frame[EMU_LANES]; /* local address of the running function's frame */
    uint32_t tid[3][EMU_LANES];
    uint32_t depth[EMU_LANES];
    uint32_t async_group[EMU_LANES];   /* cp.async groups committed */
    uint32_t bulk_group[EMU_LANES];    /* bulk groups committed */
    uint32_t bulk_used[EMU_LANES];     /* last group that got an operation, plus one */
    uint32_t bulk_waited[EMU_LANES];   /* groups before it are over */
    uint32_t bulk_pc[EMU_LANES];       /* of that operation */
    uint32_t cluster_phase[EMU_LANES]; /* arrivals at barrier.cluster */
    uint32_t max_registers;            /* setmaxnreg; 0: not told */
    struct emu_wgmma_state *wgmma;     /* NULL: none issued yet */
    uint32_t ret_pc[EMU_MAX_DEPTH][EMU_LANES];
    uint32_t ret_frame[EMU_MAX_DEPTH][EMU_LANES];
    struct emu_saved *saved; /* registers of suspended activations, a stack a lane; NULL: nothing recursive was called yet */
};

struct emu_barrier {
    uint32_t arrived;                    /* threads */
    uint32_t expected;                   /* 0: every live thread */
    uint32_t red_and, red_or, red_count; /* of a reduction */
    uint32_t kind;
    uint64_t warps;                            /* that take part in this phase */
    uint32_t first_warp, first_lane, first_pc; /* who came first */
};

/* A lane's cp.async that it has not waited for; kept while initialised bytes are checked. */
struct emu_async {
    uint32_t warp, lane, group;
    uint32_t offset, bytes; /* of shared memory */
    uint32_t pc;
};

struct emu_launch;
struct emu_cluster;
struct emu_mbarrier;
struct emu_tensor_memory;

struct emu_block {
    struct emu_launch *launch;
    struct emu_cluster *cluster;
    uint32_t rank;      /* in it */
    uint32_t rank_bits; /* what its shared addresses carry */
    struct emu_block *next_free;
    KS_VEC(struct emu_mbarrier) mbarriers;
    uint32_t mbarrier_lo, mbarrier_hi; /* they lie in between */
    uint32_t *proxy;                   /* by word of shared memory: proxy_epoch of the last store by a thread; when checked */
    uint32_t proxy_epoch;              /* grows with every fence.proxy.async */
    struct emu_tensor_memory *tmem;    /* NULL: none allocated yet */
    struct emu_worker *worker;
    uint32_t id[3];
    uint64_t linear;
    uint32_t n_warps, n_threads, live_threads;
    struct emu_warp *warps;
    uint8_t *regs; /* register files; when initialised bytes are checked, followed by levels of the same layout and zeros */
    struct emu_undef *undef;
    bool undef_dirty;
    uint8_t *shared;
    uint32_t shared_bytes;
    uint8_t *shared_init; /* one byte per byte, when checked */
    struct emu_race_space shared_race;
    uint64_t order; /* of its start among the launch's units */
    uint8_t *local, *local_init;
    struct emu_barrier bar[EMU_MAX_BARS];
    uint32_t (*vc)[EMU_VECTOR]; /* vector clocks, when checked: vc[w][v]; from EMU_MAX_WARPS on those of checks_tcgen.c */
    bool faulted;
    uint64_t insts; /* warp instructions executed */
    KS_VEC(struct emu_async) async;
    uint64_t acquired_time;
    uint32_t next_warp;
    uint32_t turn;
    bool stuck; /* in its last turn every warp waited or polled, and nothing changed */
};

/* Lane helpers */
#define FOR_LANES(i) for (int i = 0; i < EMU_LANES; i++)
static inline void *emu_at(const struct emu_warp *w, uint32_t ref)
{
    return w->base[ref & 1u] + (ref & ~1u);
}
#define R16(ref) ((uint16_t *)__builtin_assume_aligned(emu_at(w, ref), 64))
#define R32(ref) ((uint32_t *)__builtin_assume_aligned(emu_at(w, ref), 64))
#define R64(ref) ((uint64_t *)__builtin_assume_aligned(emu_at(w, ref), 64))
#define RF(ref)  ((float *)__builtin_assume_aligned(emu_at(w, ref), 64))
#define RD(ref)  ((double *)__builtin_assume_aligned(emu_at(w, ref), 64))
#define RP(ref)  (*(uint32_t *)emu_at(w, ref))

static inline bool emu_lane(uint32_t mask, int i)
{
    return mask >> i & 1u;
}

static inline void emu_set_pred(uint32_t *p, uint32_t value, uint32_t mask)
{
    *p = (*p & ~mask) | (value & mask);
}

static inline float emu_f32(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
static inline uint32_t emu_bits32(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    return b;
}
static inline double emu_f64(uint64_t bits)
{
    double f;
    memcpy(&f, &bits, 8);
    return f;
}
static inline uint64_t emu_bits64(double f)
{
    uint64_t b;
    memcpy(&b, &f, 8);
    return b;
}

/* Handlers by canonical name ("add.32", "setp.lt.s32"); each exec_*.c has one table, ended by a NULL key. */
struct emu_row {
    const char *key;
    emu_fn fn;
};
extern const struct emu_row ks_emu_rows_int[], ks_emu_rows_bits[], ks_emu_rows_f32[], ks_emu_rows_f64[], ks_emu_rows_half[],
    ks_emu_rows_cmp[], ks_emu_rows_cvt[], ks_emu_rows_special[], ks_emu_rows_move[], ks_emu_rows_mem[], ks_emu_rows_atom[],
    ks_emu_rows_warp[], ks_emu_rows_call[], ks_emu_rows_mma[], ks_emu_rows_matrix[], ks_emu_rows_texture[], ks_emu_rows_wmma[],
    ks_emu_rows_video[];
extern const struct emu_row ks_emu_rows_mbarrier[], ks_emu_rows_bulk[], ks_emu_rows_cluster[], ks_emu_rows_wgmma[],
    ks_emu_rows_tcgen[];
emu_fn ks_emu_handler(const char *key); /* NULL: none */

/* UNARY/BINARY/TERNARY(name, D, A, expr): d = expr(x, y, z) lane by lane, D and A being lane types. */
#define EMU_UNARY(name, D, A, expr)                                                                                              \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        D *d = __builtin_assume_aligned(emu_at(w, in->d), 64);                                                                   \
        const A *a = __builtin_assume_aligned(emu_at(w, in->a), 64);                                                             \
        if (mask == EMU_FULL) {                                                                                                  \
            _Pragma("GCC ivdep") FOR_LANES(i)                                                                                    \
            {                                                                                                                    \
                A x = a[i];                                                                                                      \
                d[i] = (D)(expr);                                                                                                \
            }                                                                                                                    \
        } else {                                                                                                                 \
            _Pragma("GCC ivdep") FOR_LANES(i)                                                                                    \
            {                                                                                                                    \
                A x = a[i];                                                                                                      \
                D r = (D)(expr);                                                                                                 \
                d[i] = (mask >> i & 1u) ? r : d[i];                                                                              \
            }                                                                                                                    \
        }                                                                                                                        \
    }
#define EMU_BINARY(name, D, A, expr)                                                                                             \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        D *d = __builtin_assume_aligned(emu_at(w, in->d), 64);                                                                   \
        const A *a = __builtin_assume_aligned(emu_at(w, in->a), 64);                                                             \
        const A *b = __builtin_assume_aligned(emu_at(w, in->b), 64);                                                             \
        if (mask == EMU_FULL) {                                                                                                  \
            _Pragma("GCC ivdep") FOR_LANES(i)                                                                                    \
            {                                                                                                                    \
                A x = a[i], y = b[i];                                                                                            \
                d[i] = (D)(expr);                                                                                                \
            }                                                                                                                    \
        } else {                                                                                                                 \
            _Pragma("GCC ivdep") FOR_LANES(i)                                                                                    \
            {                                                                                                                    \
                A x = a[i], y = b[i];                                                                                            \
                D r = (D)(expr);                                                                                                 \
                d[i] = (mask >> i & 1u) ? r : d[i];                                                                              \
            }                                                                                                                    \
        }                                                                                                                        \
    }
#define EMU_TERNARY2(name, D, A, C, expr)                                                                                        \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        D *d = __builtin_assume_aligned(emu_at(w, in->d), 64);                                                                   \
        const A *a = __builtin_assume_aligned(emu_at(w, in->a), 64);                                                             \
        const A *b = __builtin_assume_aligned(emu_at(w, in->b), 64);                                                             \
        const C *c = __builtin_assume_aligned(emu_at(w, in->c), 64);                                                             \
        if (mask == EMU_FULL) {                                                                                                  \
            _Pragma("GCC ivdep") FOR_LANES(i)                                                                                    \
            {                                                                                                                    \
                A x = a[i], y = b[i];                                                                                            \
                C z = c[i];                                                                                                      \
                d[i] = (D)(expr);                                                                                                \
            }                                                                                                                    \
        } else {                                                                                                                 \
            _Pragma("GCC ivdep") FOR_LANES(i)                                                                                    \
            {                                                                                                                    \
                A x = a[i], y = b[i];                                                                                            \
                C z = c[i];                                                                                                      \
                D r = (D)(expr);                                                                                                 \
                d[i] = (mask >> i & 1u) ? r : d[i];                                                                              \
            }                                                                                                                    \
        }                                                                                                                        \
    }
#define EMU_TERNARY(name, D, A, expr) EMU_TERNARY2(name, D, A, A, expr)

#endif
