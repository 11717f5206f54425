#ifndef KS_HARNESS_EMULATED_TENSOR_H
#define KS_HARNESS_EMULATED_TENSOR_H

/* What the tensor decoders hand to the handlers: an operation's shape and types packed into emu_insn.imm. */

#include "harness/emulated/small_float.h"

#include <stdint.h>

struct emu_shape {
    uint8_t m, n, k;
    uint8_t a_type, b_type, c_type, d_type; /* enum ptx_type */
    uint8_t flags;                          /* EMU_TENSOR_* */
};
#define EMU_TENSOR_SATFINITE 1u
#define EMU_TENSOR_COLUMN    2u /* wmma load and store: column-major */
#define EMU_TENSOR_TRANS     4u /* ldmatrix, stmatrix */

_Static_assert(sizeof(struct emu_shape) == sizeof(int64_t), "a shape fits emu_insn.imm");

#endif
