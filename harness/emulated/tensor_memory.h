#ifndef KS_HARNESS_EMULATED_TENSOR_MEMORY_H
#define KS_HARNESS_EMULATED_TENSOR_MEMORY_H

/* Tensor memory of a block (tcgen05): 128 lanes by 512 columns of 32 bits, allocated in columns.  An address is the lane above 16
 * bits of column.
 *
 * tcgen05.mma, cp, shift and commit are operations of the cluster's queue and complete in the order a block issued them; ld and
 * st move their data at once, and what is asynchronous about them is checked: every cell knows whether it was written, whether a
 * tcgen05.st of it has been waited for, and whether an operation under way will write it. */

#include "harness/emulated/device.h"

#define EMU_TMEM_LANES    128
#define EMU_TMEM_COLUMNS  512
#define EMU_TMEM_UNIT     32 /* columns, of allocation */
#define EMU_TMEM_UNITS    (EMU_TMEM_COLUMNS / EMU_TMEM_UNIT)
#define EMU_TMEM_QUARTERS 4 /* of the lanes: what one warp of a warpgroup reaches */

enum emu_tmem_state {
    EMU_TMEM_EMPTY,
    EMU_TMEM_WRITTEN,
    EMU_TMEM_STORING, /* by a tcgen05.st that was not waited for */
    EMU_TMEM_BUSY     /* an operation under way writes it */
};

struct emu_tmem_alloc {
    uint32_t first, columns, pc, warp;
};

/* An access to 32 lanes of a column, for checks_tcgen.c. */
struct emu_tmem_access_record {
    uint8_t warp; /* + 1; 0: none */
    uint8_t lane;
    bool write;
    uint32_t clock, count, pc;
};

struct emu_tensor_memory {
    _Alignas(64) uint32_t cell[EMU_TMEM_LANES][EMU_TMEM_COLUMNS];
    uint8_t state[EMU_TMEM_LANES][EMU_TMEM_COLUMNS];
    uint32_t used; /* units, a bit each */
    struct emu_tmem_alloc allocs[EMU_TMEM_UNITS];
    uint32_t n_allocs;
    bool sealed;   /* tcgen05.relinquish_alloc_permit */
    uint8_t group; /* cta_group of its allocations, 0: none yet */
    struct emu_tmem_access_record writer[EMU_TMEM_QUARTERS][EMU_TMEM_COLUMNS], reader[EMU_TMEM_QUARTERS][EMU_TMEM_COLUMNS][2];
    uint32_t count[EMU_MAX_WARPS];                   /* accesses so far */
    uint32_t in_force[EMU_MAX_WARPS][EMU_MAX_WARPS]; /* of each warp, those of every other that its fences put before its own */
};

enum emu_tcgen_kind { EMU_TCGEN_MMA, EMU_TCGEN_CP, EMU_TCGEN_SHIFT, EMU_TCGEN_COMMIT };
enum emu_tcgen_type { EMU_TCGEN_F16, EMU_TCGEN_TF32, EMU_TCGEN_F8F6F4, EMU_TCGEN_I8 };
enum emu_tcgen_cp { EMU_CP_128X256, EMU_CP_128X128, EMU_CP_4X256, EMU_CP_64X128_02_13, EMU_CP_64X128_01_23, EMU_CP_32X128 };

/* An operation as it was issued. */
struct emu_tcgen_op {
    enum emu_tcgen_kind kind;
    bool pair;               /* .cta_group::2 */
    enum emu_tcgen_cp shape; /* cp */
    uint32_t d;              /* tensor memory address of the result */
    uint64_t a;              /* A's descriptor or tensor memory address; the source of cp */
    bool a_in_tmem;
    uint64_t b;
    uint32_t m, n, k; /* of the whole operation, over both blocks of a pair */
    uint8_t a_type, b_type, d_type;
    bool trans_a, trans_b, negate, accumulate, saturate;
    uint32_t scale; /* D is multiplied by 2^-scale first */
    uint32_t disabled[8];
    uint32_t width, width_a; /* columns of D, of A in tensor memory */
    uint32_t lo[2], hi[2];   /* it reads shared memory within [lo, hi), for A and for B */
};

struct emu_async_op;

struct emu_tensor_memory *ks_emu_tmem(struct emu_block *b); /* made on first use */
void ks_emu_tmem_free(struct emu_tensor_memory *t);
void ks_emu_tmem_check_end(struct emu_block *b); /* all threads exited: was everything given back? */
/* Are the columns allocated?  False: the warp has faulted. */
bool ks_emu_tmem_columns(struct emu_warp *w, int lane, struct emu_block *b, uint32_t column, uint32_t n, const char *what);
/* Reports cells of [lane, lane + lanes) x [column, column + n) that cannot be read or written yet; the tensor pipe, being in
 * order, may read what an operation before it still writes. */
enum emu_tmem_access { EMU_TMEM_LOAD, EMU_TMEM_STORE, EMU_TMEM_PIPE };
void ks_emu_tmem_check(struct emu_warp *w, int thread, struct emu_block *b, uint32_t lane, uint32_t lanes, uint32_t column,
                       uint32_t n, enum emu_tmem_access how, const char *what);
void ks_emu_tmem_mark(struct emu_block *b, uint32_t lane, uint32_t lanes, uint32_t column, uint32_t n, enum emu_tmem_state state);
/* The lane of row r of a matrix with m rows in one block that starts at lane `first`: 64 rows lie in four groups of 16. */
static inline uint32_t ks_emu_tmem_lane(uint32_t rows, uint32_t r, uint32_t first)
{
    return first + (rows == 64 ? r / 16 * 32 + r % 16 : r);
}

/* checks_tcgen.c: an access by a warp, or by an operation it issues: is it ordered against those of other warps? */
void ks_emu_tmem_order(struct emu_warp *w, int lane, uint32_t first_lane, uint32_t lanes, uint32_t column, uint32_t n, bool write,
                       const char *what);
void ks_emu_tmem_forget(struct emu_block *b, uint32_t column, uint32_t n); /* newly allocated */
void ks_emu_tmem_before_sync(struct emu_warp *w);                          /* tcgen05.fence::before_thread_sync */
void ks_emu_tmem_after_sync(struct emu_warp *w);
/* An operation under way that still reads (operand A), or also one that writes, columns of b's tensor memory; NULL: none. */
const struct emu_async_op *ks_emu_tcgen_user(const struct emu_block *b, uint32_t column, uint32_t n, bool writers_too);

/* cp and shift are done behind what was issued before in the pairs that PTX ISA "Pipelined tcgen05 Instructions" lists only: is
 * there an operation of another pair under way that uses the columns? */
void ks_emu_tmem_pipelined(struct emu_warp *w, int lane, const struct emu_block *b, const struct emu_tcgen_op *op,
                           const char *what);

/* The operation under way that still reads [lo, hi) of block b's shared memory; NULL: none. */
const struct emu_async_op *ks_emu_tcgen_reader(const struct emu_block *b, uint64_t lo, uint64_t hi);

/* tcgen05.c: completion. */
void ks_emu_tcgen_run(struct emu_async_op *op);

/* A matrix in shared memory by its tcgen05 descriptor. */
struct emu_operand;
void ks_emu_tcgen_operand(const struct emu_block *b, uint64_t desc, bool mn_major, struct emu_operand *ret);

#endif
