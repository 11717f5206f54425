#ifndef KS_HARNESS_EMULATED_DEVICE_H
#define KS_HARNESS_EMULATED_DEVICE_H

/* Inside of the emulated device: memory, modules, launches, workers.
 *
 * Memory is one reserved stretch of address space, the arena.  Its first bytes are windows that name shared and local memory in
 * generic addresses and are never accessed; device allocations follow, 256-byte aligned, with unused gaps between them, and
 * addresses of freed allocations are not used again, so that a late access is recognised.  Shadow planes lie in stretches of
 * their own at fixed ratios to the arena: bit planes (initialised, read, written) and race records. */

#include "harness/emulated/emu.h"
#include "harness/emulated/exec.h"

#include <pthread.h>

#define EMU_SHARED_WINDOW 0u         /* arena offset */
#define EMU_LOCAL_WINDOW  (1u << 28) /* shared memory of the 16 blocks a cluster may have before it */
#define EMU_FIRST_ALLOC   (EMU_LOCAL_WINDOW + EMU_WINDOW_BYTES)
#define EMU_WINDOW_BYTES  (1u << 24)
#define EMU_SECTOR        32u
#define EMU_L1_SECTORS    8192u /* 256 KiB */
#define EMU_HOT_ROWS      2u
#define EMU_HOT_SLOTS     4096u

struct emu_alloc {
    uint8_t *base;
    size_t size;
    char *name;
    bool live;
    bool read_only;   /* for kernels: parameters, constants */
    bool is_input;    /* the host said that kernels only read it */
    uint32_t touched; /* launch number that touched it last */
};

struct emu_arch {
    const char *name, *board, *suffixes;
#define F(type, field) type field;
#include "harness/emulated/arch_fields.def"
#undef F
};
const struct emu_arch *ks_emu_arch_find(const char *name); /* NULL: unknown */

/* Counts of one instruction: sums up to `lo`. */
struct emu_mem_count {
    uint64_t g_requests, g_sectors, g_lines, g_misses, g_miss_lines, g_bytes;
    uint64_t s_requests, s_wavefronts, s_ideal, s_bytes;
    uint64_t l_requests, l_bytes;
    uint64_t diverged; /* branches that split a warp */
    uint64_t waits;    /* fragments that had to wait at a barrier or for an event */
    uint64_t flops;    /* of tcgen05, whose shapes are known when they run */
    uint64_t serial;   /* atomics: passes, one for each time a sector (or a shared word) must be updated again for a request */
    uint64_t lo, hi;   /* loads: addresses, less the arena's; hi 0: none */
    uint64_t slices;   /* atomics: bit set of the 512-byte stretches touched, modulo 64: parts of L2 that work side by side */
};

struct emu_finding;
struct emu_counters;

/* A range that unwritten bytes were copied to by one instruction, and the finding that tells. */
struct emu_carried {
    uint64_t lo, hi;
    struct emu_finding *finding;
};

struct emu_stretch {
    uint8_t *from, *to;
};

struct emu_adopted { /* host memory that lies in the arena too */
    uintptr_t from, to;
    uintptr_t delta;
};

struct ks_emu {
    struct ks_emu_config config;
    char arch_name[16];
    const struct emu_arch *arch;
    uint8_t *arena;
    unsigned open_depth; /* 0: the host cannot touch device memory */
    KS_VEC(struct emu_adopted) adopted;
    KS_VEC(struct emu_stretch) host_stretches; /* pages that the host may always touch; sorted */
    size_t arena_bytes, capacity_bytes, live_bytes, next_off;
    KS_VEC(struct emu_alloc) allocs;                /* sorted by base; dead ones stay */
    uint8_t *init_plane, *read_plane, *write_plane; /* NULL until needed */
    struct emu_race_space race;                     /* of all blocks */
    uint32_t launch_number;
    bool unchecked_launch; /* kernels ran since initialised bytes were last tracked */
    uint8_t *param_block;  /* of the running kernel */
    KS_VEC(uint32_t) conditions;
    char fault_kind[24]; /* of the last failed launch */
    KS_VEC(struct emu_finding *) findings;
    KS_VEC(struct emu_carried) carried;
    KS_VEC(struct emu_counters *) counters;
    double modelled_ns;
    bool stream_busy; /* something was launched since the last clear: the next launch overlaps its overhead */
    KS_VEC(struct ks_emu_module *) modules;
    uint64_t clock;                           /* virtual nanoseconds at the start of the next launch: %globaltimer */
    KS_VEC(struct ks_emu_texture *) textures; /* by handle (texture.h); NULL: freed */
    pthread_mutex_t lock;
};

struct ks_emu_module {
    struct ks_emu *emu;
    struct ptx_module *ptx;
    uint8_t **var_address;         /* by index in ptx->vars; NULL: shared or extern */
    struct emu_program **programs; /* by index in ptx->funcs; NULL until linked */
    int *registers;                /* of each function, 0: not told */
};

/* One host thread's share of a launch. */
struct emu_worker {
    struct emu_launch *launch;
    int index;
    struct emu_range {
        uintptr_t lo, hi;
    } cache[2][16];                  /* last allocations seen: read, written; by instruction */
    uint64_t *warp_diff, *lane_diff; /* difference arrays over pc */
    uint64_t *pred_off;
    struct emu_mem_count *mem; /* by pc */
    uint64_t *l1;              /* direct-mapped tags of the model's L1: sector and block */
    uint64_t *hot;             /* updates by atomics, of EMU_HOT_ROWS hashes of their sectors, EMU_HOT_SLOTS each */
    /* sampled launches: sectors that the running unit has read and written, as in emu->read_plane, and the bytes set there */
    uint8_t *unit_plane[2];
    KS_VEC(uint64_t) unit_bytes;
    uint64_t barriers, blocks_run, warp_insts, thread_insts;
    struct emu_block *free_blocks;
    struct emu_race_space *race; /* its own, or that of all blocks; NULL: not checked */
    uint64_t order;              /* of its last unit, by starts */
    uint64_t clock;              /* the largest of its warps */
    bool spun;                   /* the active blocks wait for something outside of themselves */
    uint64_t progress;           /* stores, atomics that changed something, barriers, exits, blocks, looks at the clock */
};

struct emu_launch {
    struct ks_emu *emu;
    struct ks_emu_module *module;
    struct emu_program *program;
    uint32_t grid[3], block[3], cluster[3];
    uint64_t n_blocks, n_units; /* a unit: a cluster, or a block where there are none */
    uint32_t cluster_size;
    bool explicit_cluster;
    uint32_t threads_per_block, warps_per_block;
    uint32_t shared_bytes; /* static and dynamic */
    uint32_t dyn_shared_bytes;
    uint8_t *pool;
    uint8_t *param_block;    /* in device memory */
    uint8_t *grid_workspace; /* of cooperative launches */
    bool sampling;           /* perhaps not all blocks will run */
    uint8_t *seen[2][2];     /* then: sectors that two, and three, units have read and written; NULL: not counting */
    uint8_t **line_planes;   /* by pc: sectors touched by its source line; NULL: not asked for (counters_line.c) */
    int registers;           /* a thread, for occupancy */
    uint64_t resident;       /* blocks on the device at a time */
    unsigned checks;
    bool counting;
    bool cooperative;
    uint32_t number;
    /* what is left to run */
    uint64_t next_unit;  /* under emu->lock */
    uint64_t n_started;  /* units, likewise */
    uint64_t stop_after; /* units past it need not run: an earlier one failed */
    int64_t warp_insts;  /* of all workers, for max_warp_insts */
    struct ks_err fail;  /* of unit `fail_unit` */
    enum ks_code fail_code;
    uint64_t fail_unit;
    uint64_t sample_from, sample_step; /* step 0: run all */
    struct emu_race_state *races;
    struct emu_race_turns *race_turns; /* NULL: one host thread, blocks in order */
};

/* device.c */
struct emu_alloc *ks_emu_alloc_find(struct ks_emu *emu, uintptr_t address); /* live or dead allocation around it, NULL: none */
void ks_emu_mark_init(struct ks_emu *emu, const void *p, size_t n, bool init);
bool ks_emu_is_init(const struct ks_emu *emu, const void *p, size_t n, size_t *ret_first_bad);
void *ks_emu_plane_map(size_t bytes); /* lazily zero */

/* guard.c: brackets around what the emulator itself does to device memory; they nest. */
void ks_emu_memory_open(struct ks_emu *emu);
void ks_emu_memory_close(struct ks_emu *emu);
/* The pages of n bytes at p alone; within the brackets above nothing is left to do. */
void ks_emu_part_open(struct ks_emu *emu, const void *p, size_t n);
void ks_emu_part_close(struct ks_emu *emu, const void *p, size_t n);
void ks_emu_host_forget(struct ks_emu *emu, const struct emu_alloc *a);

/* program.c */
KS_NODISCARD enum ks_code ks_emu_program_link(struct ks_emu_module *m, struct ptx_func *kernel, struct emu_program **ret_program,
                                              struct ks_err *err);
void ks_emu_program_free(struct emu_program *p);
/* module.c: a kernel, linked on first use, and its registers a thread. */
KS_NODISCARD enum ks_code ks_emu_kernel(struct ks_emu_module *m, const char *name, struct emu_program **ret_program,
                                        int *ret_registers, struct ks_err *err);

/* regalloc.c: virtual registers to offsets; fills reg_bytes and registers_estimate.  ext, ext_def: the program's reference list
 * and which of its entries are written.  vreg_bytes: 1 for a predicate. */
void ks_emu_allocate_registers(struct emu_program *p, const uint8_t *ext_def, uint32_t *ext, const uint8_t *vreg_bytes,
                               uint32_t n_vregs, const uint32_t *func_of_vreg);

/* recursion.c: the registers of function `func` of one lane, pushed when it is called and popped when it returns. */
void ks_emu_saved_push(struct emu_warp *w, uint32_t func, int lane);
void ks_emu_saved_pop(struct emu_warp *w, uint32_t func, int lane);
void ks_emu_saved_reset(struct emu_warp *w);
void ks_emu_saved_free(struct emu_warp *w);

/* sched.c, block.c */
enum emu_block_result { EMU_BLOCK_DONE, EMU_BLOCK_SPUN, EMU_BLOCK_FAILED };
struct emu_block *ks_emu_block_start(struct emu_worker *wk, struct emu_cluster *c, uint32_t rank);
/* Gives every warp of the block a turn.  False: one failed.  ret_alive: threads are left; ret_moved: something was executed. */
bool ks_emu_block_turn(struct emu_block *b, bool *ret_alive, bool *ret_moved);
void ks_emu_block_end(struct emu_block *b);
void ks_emu_block_free(struct emu_block *b);
enum emu_warp_result { EMU_WARP_DONE, EMU_WARP_BLOCKED, EMU_WARP_QUANTUM, EMU_WARP_FAILED };
enum emu_warp_result ks_emu_warp_run(struct emu_warp *w, uint64_t quantum);
/* A fragment arrives at a block barrier; true: it may go on at once. */
bool ks_emu_bar_arrive(struct emu_warp *w, const struct emu_insn *in, struct emu_frag *f);
void ks_emu_bar_check(struct emu_block *b); /* releases barriers that exited threads made complete */

/* findings.c.  kind: "out-of-bounds", ...; access: "load", "store", "atomic", ""; other: the second party or NULL. */
struct emu_party {
    bool valid;
    uint64_t block; /* linear */
    uint32_t thread[3];
    uint32_t pc;
    const char *access;
};
/* Lane `lane` of warp w at pc. */
struct emu_party ks_emu_party(const struct emu_warp *w, int lane, uint32_t pc, const char *access);
struct emu_party ks_emu_lane_party(const struct emu_warp *w, int lane); /* where that lane stands now */
void ks_emu_report(struct emu_warp *w, const char *kind, int lane, uint32_t pc, const char *access, uint64_t address,
                   const char *space, const struct emu_party *other, const char *fmt, ...) KS_PRINTF(9, 10);
/* Reports and ends the launch with `code`. */
void ks_emu_fault(struct emu_warp *w, enum ks_code code, const char *kind, int lane, const char *access, uint64_t address,
                  const char *space, const char *fmt, ...) KS_PRINTF(8, 9);
void ks_emu_fault_other(struct emu_warp *w, enum ks_code code, const char *kind, int lane, const char *access, uint64_t address,
                        const char *space, const struct emu_party *other, const char *fmt, ...) KS_PRINTF(9, 10);
/* A launch failed in `after_unit`: what later blocks showed before they were stopped depends on timing and is dropped. */
void ks_emu_findings_forget(struct ks_emu *emu, uint32_t launch, uint64_t after_unit);
/* A store put bytes that nobody wrote into global memory; it becomes a finding when the host reads them. */
void ks_emu_carry(struct emu_warp *w, int lane, uint32_t pc, uint64_t address, uint32_t bytes, uint64_t from,
                  const struct emu_party *other);
void ks_emu_carried_read(struct ks_emu *emu, const uint8_t *p, size_t n);
void ks_emu_source_of(const struct emu_launch *l, uint32_t pc, const char **ret_file, uint32_t *ret_line, uint32_t *ret_ptx_line);

/* counters.c, counters_line.c, model.c */
void ks_emu_line_planes_open(struct emu_launch *l);
void ks_emu_line_planes_close(struct emu_launch *l);
void ks_emu_counters_add(struct emu_launch *l, struct emu_worker *workers, int n_workers);
struct emu_occupancy {
    int blocks_per_sm, warps_per_sm;
    int by_blocks, by_warps, by_registers, by_shared; /* blocks an SM that each limit alone would allow */
    const char *limiter;
};
void ks_emu_occupancy(const struct emu_arch *a, uint32_t threads, uint32_t registers, uint32_t shared_bytes,
                      struct emu_occupancy *ret);

/* check hooks.  Shadow bytes of shared and local memory: */
#define EMU_SHADOW_WRITTEN  1
#define EMU_SHADOW_ASYNC    2 /* by a cp.async that was not waited for */
#define EMU_SHADOW_COPIED   3 /* with bytes of global memory that were never written */
#define EMU_SHADOW_COMPUTED 4 /* with what was computed from bytes that were never written */
struct emu_access {
    uint64_t ad[EMU_LANES]; /* inactive lanes repeat an active one */
    uint32_t mask;
    uint32_t bytes; /* per lane */
    bool store, atomic;
    bool uncounted; /* the handler counts */
};
void ks_emu_check_init_global(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x);
void ks_emu_mark_init_global(struct emu_warp *w, const struct emu_access *x);
void ks_emu_check_init_bytes(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, const uint8_t *shadow,
                             const char *space);
/* checks_undef.c.  step: before an instruction runs for `mask`, the lanes of `guarded` whose guard holds.  load: true when the
 * bytes go on into registers instead of being reported.  store: after the bytes were marked as written; x: host addresses. */
enum emu_undef_rule ks_emu_undef_rule(const struct emu_insn *in, const struct emu_info *info);
void ks_emu_undef_restored(struct emu_warp *w, uint32_t offset, int lane); /* a saved register came back: counts as written */
void ks_emu_undef_start(struct emu_block *b);
void ks_emu_undef_end(struct emu_block *b);
void ks_emu_undef_step(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, uint32_t guarded);
bool ks_emu_undef_load(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, const uint8_t *shadow);
void ks_emu_undef_store(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, enum ptx_space space);
void ks_emu_check_async_leak(struct emu_warp *w, uint32_t lanes);         /* that exit now */
void ks_emu_mark_init_bytes(const struct emu_access *x, uint8_t *shadow); /* inactive lanes repeat active addresses */
void ks_emu_race_global(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x);
/* b: whose shared memory */
void ks_emu_race_shared(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, struct emu_block *b);
/* A warp comes to barrier `id`; the barrier completes and the warps in the mask, which waited, go on. */
void ks_emu_race_arrive(struct emu_warp *w, uint32_t id);
void ks_emu_race_barrier(struct emu_block *b, uint32_t id, uint64_t waiting);
void ks_emu_race_warp_sync(struct emu_warp *w);
/* May blocks be checked side by side?  begin: returns how many of the n workers may work. */
bool ks_emu_race_each_for_itself(const struct emu_launch *l);
int ks_emu_race_begin(struct emu_launch *l, struct emu_worker *workers, int n);
void ks_emu_race_end(struct emu_launch *l);
void ks_emu_race_worker_end(struct emu_worker *wk);
void ks_emu_race_block_new(struct emu_block *b);
void ks_emu_race_block_free(struct emu_block *b);
void ks_emu_race_block_start(struct emu_block *b);
void ks_emu_race_block_end(struct emu_block *b);
/* block_only: among the threads of the block, not between blocks. */
void ks_emu_race_release(struct emu_warp *w, bool block_only);
void ks_emu_race_acquire(struct emu_warp *w, bool block_only);

#endif
