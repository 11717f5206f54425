#ifndef KS_HARNESS_EMULATED_WARPGROUP_H
#define KS_HARNESS_EMULATED_WARPGROUP_H

/* wgmma of one warp.  A warp computes its own 16 of the 64 rows when it issues the instruction; what makes the operation
 * asynchronous is checked: accumulators touched, registers overwritten or shared memory stored to before the wait. */

#include "harness/emulated/device.h"

#define EMU_WGMMA_GROUPS  64  /* committed and not waited for, at most */
#define EMU_WGMMA_PENDING 256 /* operations */

/* An operand in shared memory that a pending wgmma reads: it lies within [lo, hi). */
struct emu_wgmma_read {
    uint32_t lo, hi, group, pc;
    uint32_t number; /* of the operation */
};

struct emu_wgmma_state {
    uint32_t issued;                      /* operations */
    uint32_t group;                       /* groups committed */
    uint32_t over;                        /* operations that are over, as this warp has waited for them */
    uint32_t waited;                      /* groups before it are over */
    uint32_t issued_at[EMU_WGMMA_GROUPS]; /* operations when a group was committed, by its number modulo the size */
    bool fenced;                          /* a wgmma.fence came before the first one */
    uint32_t n_reads;
    struct emu_wgmma_read reads[2 * EMU_WGMMA_PENDING];
    /* register file in pieces of 64 bytes: accumulators, and operands in registers, of pending operations (group + 1, 0: none);
     * written since the last wgmma.fence */
    uint32_t n_pieces;
    uint32_t *accumulator, *operand, *by; /* by: pc of the operation */
    uint8_t *dirty;
    uint8_t *loading; /* by a tcgen05.ld that was not waited for */
};

struct emu_wgmma_state *ks_emu_wgmma_state(struct emu_warp *w); /* made on first use */
void ks_emu_wgmma_free(struct emu_wgmma_state *s);
/* A store to [offset, offset + bytes) of block b's shared memory: does a pending wgmma of it still read there? */
void ks_emu_wgmma_check_store(struct emu_warp *w, int lane, struct emu_block *b, uint32_t offset, uint32_t bytes,
                              const char *what);
void ks_emu_wgmma_check_stores(struct emu_warp *w, const struct emu_access *x, struct emu_block *b, uint64_t lo, uint64_t hi);
/* The register operands of an ordinary instruction against pending operations. */
void ks_emu_wgmma_check_registers(struct emu_warp *w, const struct emu_insn *in, uint32_t mask);

#endif
