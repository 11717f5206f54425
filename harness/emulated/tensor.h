#ifndef KS_HARNESS_EMULATED_TENSOR_H
#define KS_HARNESS_EMULATED_TENSOR_H

/* What the tensor decoders hand to the handlers: an operation's shape and types packed into emu_insn.imm. */

#include "harness/emulated/ptx_ast.h"
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

/* ldmatrix, stmatrix: packed into emu_insn.target. */
enum emu_matrix_layout {
    EMU_MATRIX_HALVES, /* m8n8 of 16 bits: a lane's register holds two neighbours of row lane / 4 (trans: of column lane / 4) */
    EMU_MATRIX_BYTES   /* transposed bytes: register r of lane 4 b + a holds rows 4 a + 2 r and the next (stmatrix: 8 r + 2 a),
                          columns b and b + 8 */
};
struct emu_matrix {
    uint8_t n; /* matrices: 1, 2, 4 */
    uint8_t layout, trans;
    uint8_t element_bits; /* 4, 6: a row's 16 packed elements spread to bytes */
};
_Static_assert(sizeof(struct emu_matrix) == sizeof(uint32_t), "fits emu_insn.target");

/* mma.sync: packed into emu_insn.imm.  n is 8.  ext: d, a, b, c, then the metadata of a sparse A, then for scaled products
 * (scale, byte, thread) of A and of B. */
struct emu_mma {
    uint8_t m, k4; /* k / 4 */
    uint8_t a_type, b_type, c_type, d_type;
    uint8_t flags;
    uint8_t scale_type; /* of block-scaled products, else PTX_NONE */
};
#define EMU_MMA_SATFINITE 1u
#define EMU_MMA_SPARSE    2u
#define EMU_MMA_XOR       4u    /* of bits; else and */
#define EMU_MMA_NIBBLES   8u    /* e2m1 packed two to a byte; else in the middle bits of one */
#define EMU_MMA_VEC2      16u   /* two scales along k */
#define EMU_MMA_VEC4      32u   /* four */
#define EMU_MMA_SELECTOR  0xc0u /* of the lanes that hold the metadata */
_Static_assert(sizeof(struct emu_mma) == sizeof(int64_t), "fits emu_insn.imm");

_Static_assert(sizeof(struct emu_shape) == sizeof(int64_t), "a shape fits emu_insn.imm");

/* exec_tensor_sum.c.  The elements of a register; nibbles: e2m1 packed, else in bits 2 to 5 of a byte. */
void ks_emu_tensor_elements(uint32_t reg, enum ptx_type t, bool nibbles, double *out);

/* How a dot product of tensor cores is added up. */
enum emu_dot_kind {
    EMU_DOT_CUT,   /* as tensor cores do (exec_tensor_sum.c) */
    EMU_DOT_EXACT, /* in double precision, rounded once; integers */
    EMU_DOT_FMA    /* f64: fused multiply-adds in order of k */
};
struct emu_dot {
    enum emu_dot_kind kind;
    int step;             /* products added at once */
    int bits;             /* binary places that are kept */
    int places;           /* of the sum's fraction, when fewer than f32 has; 0: all */
    int least_a, least_b; /* exponents of the operands' least normal numbers, which subnormal ones count with; 0: their own */
    int split;            /* fp8: in two halves, runs of `split` elements taken in turns; 0: not */
    bool half;            /* the result is f16 */
};
struct ks_emu;
struct emu_dot ks_emu_tensor_rule(const struct ks_emu *emu, enum ptx_type a, enum ptx_type d, int k, bool sparse);
/* wgmma, tcgen05 */
struct emu_dot ks_emu_tensor_rule_async(const struct ks_emu *emu, enum ptx_type a, enum ptx_type b, enum ptx_type d, int k);
double ks_emu_tensor_dot(const struct emu_dot *r, const double *a, const double *b, int k, double c);

#endif
