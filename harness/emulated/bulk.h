#ifndef KS_HARNESS_EMULATED_BULK_H
#define KS_HARNESS_EMULATED_BULK_H

/* Operands of the bulk copies, as decode_async.c leaves them for exec_bulk.c.
 *
 *   a        address in shared memory (64 bits): destination of a load, source of a store
 *   b        the same again: what the race check compares between lanes
 *   c        mask of destination blocks (16 bits), or none
 *   ext[0]   the barrier's address, or none
 *   ext[1]   global address, or the tensor map's, or the source in shared memory
 *   ext[2]   size in bytes (32 bits), or none
 *   ext[3..] coordinates (32 bits)
 *   imm      EMU_BULK_*, and the rank
 *   sub      enum emu_reduce,  type: its type */

#define EMU_BULK_TENSOR      1
#define EMU_BULK_STORE       2 /* to global memory */
#define EMU_BULK_FROM_SHARED 4
#define EMU_BULK_REDUCE      8
#define EMU_BULK_PAIR        16 /* .cta_group::2 */
#define EMU_BULK_RANK(imm)   ((uint32_t)(imm) >> 8)

#endif
