#ifndef KS_HARNESS_EMULATED_BOX_H
#define KS_HARNESS_EMULATED_BOX_H

/* The rows of a tensor map's box, and reductions over their elements. */

#include "harness/emulated/ptx_ast.h"
#include "harness/emulated/tensor_map.h"

/* One row along dimension 0.  Bytes [from, to) of it lie inside the tensor; none do when from == to. */
struct emu_box_row {
    uint32_t offset; /* in the box as shared memory holds it, before the swizzle */
    uint32_t bytes;
    uint32_t from, to;
    uint64_t global; /* address of byte 0 */
};
typedef void (*emu_box_fn)(void *arg, const struct emu_box_row *row);
/* written: for a store or a reduction.  An H200 writes the piece of 16 bytes that holds the last element inside as a whole, past
 * the row's end. */
void ks_emu_box_walk(const struct ks_emu_tensor_map *map, const int32_t at[KS_EMU_MAP_RANK], bool written, emu_box_fn fn,
                     void *arg);

enum emu_reduce;
void ks_emu_reduce(void *d, const void *s, uint32_t bytes, enum ptx_type type, enum emu_reduce op);

#endif
