#ifndef KS_HARNESS_EMULATED_COUNTERS_H
#define KS_HARNESS_EMULATED_COUNTERS_H

/* Counters of one kernel, added up over its launches; docs/EMULATED.md says what each means.  All are sums of doubles that hold
 * whole numbers (scaled ones where a launch was sampled), so their order does not matter. */

#include "harness/emulated/device.h"

/* clang-format off */
#define EMU_COUNTERS(X) \
    X(warp_insts) X(thread_insts) X(machine_insts) X(issued_lanes) X(branch_insts) X(divergent_branches) \
    X(global_load_requests) X(global_load_sectors) X(global_load_lines) X(global_load_bytes_requested) \
    X(global_store_requests) X(global_store_sectors) X(global_store_lines) X(global_store_bytes_requested) \
    X(global_atomic_requests) X(global_atomic_sectors) X(global_atomic_bytes) X(global_atomic_hottest) X(global_atomic_passes) X(global_atomic_float_passes) X(global_atomic_slices) \
    X(l1_miss_sectors) X(l1_miss_lines) X(l2_unique_read_bytes) X(l2_unique_write_bytes) X(dram_read_bytes) \
    X(shared_load_requests) X(shared_load_wavefronts) X(shared_load_bytes) \
    X(shared_store_requests) X(shared_store_wavefronts) X(shared_store_bytes) \
    X(shared_atomic_requests) X(shared_atomic_wavefronts) X(shared_atomic_bytes) X(shared_atomic_serial) X(shared_ideal) \
    X(local_requests) X(local_bytes) X(const_bytes) X(param_bytes) X(barriers) X(barrier_waits) \
    X(flops_fp32) X(flops_fp16) X(flops_fp64) X(flops_tensor)
#define EMU_LINE_COUNTERS(X) \
    X(warp_insts) X(thread_insts) X(issued_lanes) X(machine_insts) X(branch_insts) X(divergent_branches) \
    X(global_requests) X(global_sectors) X(global_load_requests) X(global_load_sectors) X(global_load_bytes) \
    X(global_store_requests) X(global_store_sectors) X(global_store_bytes) \
    X(global_atomic_requests) X(global_atomic_sectors) X(global_atomic_bytes) X(global_atomic_passes) \
    X(l1_miss_sectors) X(l2_unique_bytes) X(shared_requests) X(shared_wavefronts) X(shared_ideal) X(shared_bytes) \
    X(local_requests) X(local_bytes) X(const_bytes) X(param_bytes) X(barriers) X(barrier_waits) X(flops) X(flops_tensor)
/* clang-format on */

/* What one source line did; a line of a header counts where it is called. */
struct emu_line_count {
    char *file;
    uint32_t line;
#define X(name) double name;
    EMU_LINE_COUNTERS(X)
#undef X
    double by_class[EMU_N_CLASSES];
};

/* Global memory by access ("load", "store", "atomic", "async") and the cache operator that the instruction names:
 * counters_line.c.
 */
struct emu_operator_count {
    const char *access;
    char name[40];
    double requests, sectors, bytes;
};

#define EMU_MODEL_TERMS(X)                                                                                                       \
    X(issue)                                                                                                                     \
    X(int)                                                                                                                       \
    X(fp32)                                                                                                                      \
    X(fp64) X(fp16) X(special) X(tensor) X(lsu) X(shared) X(l2) X(l2_write) X(dram) X(atomic) X(barrier) X(dispatch) X(latency)
struct emu_model_terms {
#define X(name) double name##_ns;
    EMU_MODEL_TERMS(X)
#undef X
    double launch_ns, waves;
    const char *bound; /* the largest term */
};

struct emu_counters {
    char *name;
    uint64_t launches;
    uint32_t grid[3], block[3];
    uint64_t blocks, blocks_run;
#define X(name) double name;
    EMU_COUNTERS(X)
#undef X
    double by_class[EMU_N_CLASSES];   /* warp instructions */
    double pipe_insts[EMU_N_CLASSES]; /* machine instructions after expansion */
    double chain_clk;                 /* latency of one warp on its own, summed over warps */
    struct emu_occupancy occupancy;
    int registers;
    uint32_t shared_bytes;
    double modelled_ns;
    struct emu_model_terms terms;                /* of the last launch */
    KS_VEC(struct emu_line_count) lines;         /* sorted by file and line */
    KS_VEC(struct emu_operator_count) operators; /* sorted by access and name */
};

/* One instruction in a launch, all workers together; active: lanes whose guard was true. */
struct emu_pc_count {
    double warps, lanes, active;
    const struct emu_mem_count *mem;
};

/* counters.c */
double ks_emu_counters_missing(const struct emu_launch *l, const struct emu_mem_count *m, double scale);
double ks_emu_take_unique(struct ks_emu *emu, const struct emu_launch *l, uint8_t *plane, double *ret_fetched);

/* counters_line.c */
void ks_emu_line_add(struct emu_counters *c, const struct emu_launch *l, uint32_t pc, const struct emu_pc_count *n, double scale);
/* most: different bytes of the whole kernel. */
void ks_emu_line_unique_add(struct emu_counters *c, const struct emu_launch *l, double scale, double most);
void ks_emu_lines_release(struct emu_counters *c);
bool ks_emu_is_store(const struct emu_info *info);         /* of global or shared memory, matrices and bulk copies included */
uint32_t ks_emu_direct_bytes(const struct emu_info *info); /* a lane's bytes of ld.param and ld.const; 0: another instruction */

/* model.c */
double ks_emu_model(const struct emu_arch *a, const struct emu_counters *c, bool queued, struct emu_model_terms *ret_terms);
/* Latency in clocks of a warp alone through straight code [from, to), and its machine instructions. */
double ks_emu_model_chain(const struct emu_arch *a, const struct emu_program *p, uint32_t from, uint32_t to,
                          const struct emu_mem_count *mem, double dram_share);
uint32_t ks_emu_model_expands(
    const struct ptx_insn *in,
    size_t n_before); /* n_before: instructions of its function before it; machine instructions a PTX instruction becomes */

#endif
