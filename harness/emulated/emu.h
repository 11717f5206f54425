#ifndef KS_HARNESS_EMULATED_EMU_H
#define KS_HARNESS_EMULATED_EMU_H

/* The emulated device: executes PTX on the CPU.  One ks_emu is one device with its memory.  Results, findings, counters and
 * modelled time are a function of (PTX, inputs, seed) alone: not of the number of host threads, of addresses or of the clock.
 *
 * Device pointers are host addresses inside an arena reserved by the device; a kernel access is checked against the list of live
 * allocations, and host code that follows one gets a segmentation fault, as with a GPU.  Time is *modelled* by the formula in
 * harness/emulated/model.c and never measured. */

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"

#include <stdbool.h>

struct ks_emu;
struct ks_emu_module;

/* Checks, each of which can be switched; all on in the safety gate. */
#define KS_EMU_CHECK_BOUNDS  0x01u /* out of bounds, misaligned, use after free; always on for global memory */
#define KS_EMU_CHECK_INIT    0x02u /* uninitialised reads of global, shared and local memory, byte precision */
#define KS_EMU_CHECK_RACE    0x04u /* shared- and global-memory races */
#define KS_EMU_CHECK_SYNC    0x08u /* divergent barriers, invalid shuffle masks */
#define KS_EMU_CHECK_OUTPUTS 0x10u /* writes to what ks_emu_declare_input() named */
#define KS_EMU_CHECK_ALL     0x1fu

/* How tensor cores add up f16, bf16, tf32 and narrower products (docs/EMULATED.md, "Arithmetic"). */
enum ks_emu_sums {
    KS_EMU_SUMS_DEFAULT,  /* mma.sync as hardware; wgmma and tcgen05 by fused multiply-adds in order of k, which is fast */
    KS_EMU_SUMS_HARDWARE, /* all as hardware: aligned and cut */
    KS_EMU_SUMS_EXACT     /* all in double precision, rounded once an instruction */
};

struct ks_emu_config {
    const char *arch;            /* "sm_90a": picks the limits and the model's constants from arch.def */
    unsigned checks;             /* KS_EMU_CHECK_* */
    uint64_t seed;               /* perturbs the order in which warps and blocks run */
    int n_threads;               /* host threads, 0: all */
    bool counters;               /* collect counters (costs a little) */
    bool line_bytes;             /* with counters: also the different bytes that each source line touches (costs more) */
    int64_t sample_thread_insts; /* 0: run every block.  Else: once a launch has executed this many thread instructions, run an
                                    evenly spread subset of the remaining blocks only and scale its counters; results are then not
                                    complete. Which blocks run is a function of grid and counts alone. */
    int64_t max_warp_insts;      /* 0: none; past it the launch fails as hanging */
    enum ks_emu_sums sums;       /* of tensor cores */
    void (*output)(void *arg, const char *text, size_t len); /* what kernels print; NULL: to stdout */
    void *output_arg;
};

/* What a program is told about its device. */
struct ks_emu_card {
    char name[64];
    int major, minor, sms;
    size_t shared_optin, shared_per_sm;
    int blocks_per_sm, threads_per_sm;
    int l2_bytes;
    size_t memory_bytes;
    int clock_khz, memory_clock_khz, bus_bits;
};
/* False: no row of arch.def has that name ("sm_90a"). */
bool ks_emu_card_find(const char *arch, struct ks_emu_card *ret);

KS_NODISCARD enum ks_code ks_emu_new(const struct ks_emu_config *config, struct ks_emu **ret_emu, struct ks_err *err);
void ks_emu_free(struct ks_emu *emu);
/* arch must stay the same.  Switching KS_EMU_CHECK_INIT on after launches without it counts all memory as written: poison what is
 * not. */
void ks_emu_configure(struct ks_emu *emu, const struct ks_emu_config *config);

/* name: label shown in findings ("q", or NULL).  Contents start uninitialised (poisoned).  NULL when the device is full. */
void *ks_emu_malloc(struct ks_emu *emu, size_t size_bytes, const char *name);
/* off_byte behind a multiple of align_bytes (a power of two). */
void *ks_emu_malloc_at(struct ks_emu *emu, size_t size_bytes, size_t align_bytes, size_t off_byte, const char *name);
KS_NODISCARD enum ks_code ks_emu_mfree(struct ks_emu *emu, void *p, struct ks_err *err);
/* Start and size of the live allocation that holds p; false: none. */
bool ks_emu_find(struct ks_emu *emu, const void *p, void **ret_base, size_t *ret_size_bytes);
/* Pinned and managed memory: the host may follow the pointer p of this allocation. */
void ks_emu_host_visible(struct ks_emu *emu, void *p);
/* Kernels may only read the allocation that starts at p; with KS_EMU_CHECK_OUTPUTS a write is a finding. */
void ks_emu_declare_input(struct ks_emu *emu, void *p, bool is_input);
/* Bytes of the live allocations. */
size_t ks_emu_live_bytes(const struct ks_emu *emu);
void ks_emu_set_name(struct ks_emu *emu, void *p, const char *name);
/* What ks_emu_malloc() can still give. */
size_t ks_emu_free_bytes(const struct ks_emu *emu);
/* Host memory that the program made itself (page-locked by it): from now on it lies in the device too, and *ret_base is its
 * address there.  The pages around it come along.  False: no room. */
bool ks_emu_host_adopt(struct ks_emu *emu, void *p, size_t size_bytes, void **ret_base);
void ks_emu_host_return(struct ks_emu *emu, void *p, size_t size_bytes, void *base);
/* Host-side writes must go through these (they mark bytes initialised); KS_ERR_RANGE outside allocations. */
/* Bytes among the n at p that nobody has written, while KS_EMU_CHECK_INIT is on; ret_first: the first of them. */
bool ks_emu_unwritten(struct ks_emu *emu, const void *p, size_t n, size_t *ret_first);
KS_NODISCARD enum ks_code ks_emu_write(struct ks_emu *emu, void *dst, const void *src, size_t n, struct ks_err *err);
KS_NODISCARD enum ks_code ks_emu_read(struct ks_emu *emu, void *dst, const void *src, size_t n, struct ks_err *err);
KS_NODISCARD enum ks_code ks_emu_fill(struct ks_emu *emu, void *dst, int byte, size_t n, struct ks_err *err);
KS_NODISCARD enum ks_code ks_emu_copy(struct ks_emu *emu, void *dst, const void *src, size_t n,
                                      struct ks_err *err); /* carries init state */
/* Bytes count as never written again, and hold `pattern` repeated. */
void ks_emu_poison(struct ks_emu *emu, void *dst, size_t n, uint32_t pattern);

/* PTX text of one module.  Errors: KS_ERR_SYNTAX / KS_ERR_UNSUPPORTED with the instruction and, with -lineinfo, the user's line.
 */
KS_NODISCARD enum ks_code ks_emu_module_load(struct ks_emu *emu, const char *ptx, size_t len, struct ks_emu_module **ret_module,
                                             struct ks_err *err);
void ks_emu_module_unload(struct ks_emu *emu, struct ks_emu_module *m);
/* Global (or constant) variable of the module. */
bool ks_emu_module_symbol(struct ks_emu_module *m, const char *name, void **ret_address, size_t *ret_size_bytes);
/* The i-th variable that lies in memory; false past the last. */
bool ks_emu_module_variable(const struct ks_emu_module *m, size_t i, const char **ret_name, void **ret_address,
                            size_t *ret_size_bytes);
/* Name of the i-th kernel of the module, NULL past the last. */
const char *ks_emu_module_kernel(const struct ks_emu_module *m, size_t i);

struct ks_emu_func_info {
    size_t n_params;
    size_t param_bytes;
    const uint32_t *param_offset; /* bytes into the parameter block */
    const uint32_t *param_size;
    size_t static_shared_bytes, local_bytes;
    int max_threads_per_block; /* .maxntid or the device limit */
    int registers_estimate;    /* from PTX liveness; ptxas's number, when known, is set with ks_emu_set_registers() */
};
KS_NODISCARD enum ks_code ks_emu_func(struct ks_emu_module *m, const char *name, struct ks_emu_func_info *ret_info,
                                      struct ks_err *err);
void ks_emu_set_registers(struct ks_emu_module *m, const char *name, int registers);

struct ks_emu_launch {
    const char *name; /* kernel as in the PTX (mangled) */
    uint32_t grid[3], block[3], cluster[3];
    size_t shared_bytes; /* dynamic */
    void *const *args;   /* one pointer per parameter, as cudaLaunchKernel takes */
    bool cooperative;
};
/* Runs to completion.  Errors: KS_ERR_RANGE (launch configuration beyond the device's limits), KS_ERR_DEVICE (trap, fault: the
 * finding says where), KS_ERR_TIMEOUT (deadlock or max_warp_insts), KS_ERR_UNSUPPORTED. */
KS_NODISCARD enum ks_code ks_emu_launch_run(struct ks_emu *emu, struct ks_emu_module *m, const struct ks_emu_launch *l,
                                            struct ks_err *err);
/* Values of graphs' conditional handles, which kernels set with cudaGraphSetConditional(): handles count from 1. */
uint64_t ks_emu_condition_new(struct ks_emu *emu, uint32_t value);
bool ks_emu_condition_set(struct ks_emu *emu, uint64_t handle, uint32_t value); /* false: no such handle */
uint32_t ks_emu_condition(const struct ks_emu *emu, uint64_t handle);           /* 0: no such handle */
/* Kind of the finding that ended the last failed launch ("out-of-bounds", "assert", ...); "" when none did. */
const char *ks_emu_fault_kind(const struct ks_emu *emu);

/* Findings since the last clear: array of {kind, kernel, block, thread, access, address, allocation, line, file, ptx_line, text,
 * other{...}}, at most 100, identical ones merged with "count".  Sorted by kernel, ptx_line, kind: deterministic.  Caller frees.
 */
struct ks_json *ks_emu_findings(struct ks_emu *emu);
void ks_emu_findings_clear(struct ks_emu *emu);
/* Counters since the last clear: array, one object per launched kernel name; metric names in docs/EMULATED.md. Caller frees. */
struct ks_json *ks_emu_counters(struct ks_emu *emu);
void ks_emu_counters_clear(struct ks_emu *emu);
/* Adds to the modelled time what the host did besides launching: host_ns of its own, and an operation on the device (a copy, a
 * fill) that moves dram_bytes in device memory, 0: none.  drains: it waited, so the next launch does not overlap its overhead. */
void ks_emu_spend(struct ks_emu *emu, double host_ns, double dram_bytes, bool drains);
/* Modelled nanoseconds of all launches and of what was spent since the last counters clear, launch overhead included. */
double ks_emu_modelled_ns(struct ks_emu *emu);

#endif
