#ifndef KS_HARNESS_EMULATED_OPERAND_H
#define KS_HARNESS_EMULATED_OPERAND_H

/* Matrices of wgmma and tcgen05 in shared memory, and the products themselves.
 *
 * A descriptor names a matrix as a grid of pieces of 16 bytes.  K-major: a line is a row (or, of B, a column), its pieces follow
 * K.  MN-major: a line is one k, its pieces follow the other dimension.  How pieces lie (PTX ISA, "Strides" and "Canonical
 * layouts" of the matrix descriptor), W being the swizzle's span in bytes:
 *
 *   K-major, no swizzle    start + line/8 * SBO + line%8 * 16 + piece * LBO
 *   K-major, swizzled      start + line/8 * SBO + line%8 * W + piece * 16
 *   MN-major, no swizzle   start + piece * SBO + line%8 * 16 + line/8 * LBO
 *   MN-major, swizzled     start + piece*16 % W + piece*16/W * LBO + line%8 * W + line/8 * SBO     (atoms of 32 bytes: 4 for 8)
 *
 * and then the swizzle exchanges address bits, as it does for tensor maps. */

#include "harness/emulated/device.h"
#include "harness/emulated/tensor_map.h"

struct emu_operand {
    const uint8_t *shared;
    uint32_t shared_bytes;
    uint32_t start, lbo, sbo; /* bytes */
    uint32_t base_offset;     /* rows of 128 bytes by which the swizzle's pattern is shifted */
    enum ks_emu_map_swizzle swizzle;
    bool mn_major;
    uint32_t lo, hi; /* bytes read so far lie in [lo, hi) */
    bool outside;    /* some did not lie in shared memory: zeros */
};

/* Copies a piece; bytes outside of shared memory are zeros and noted. */
void ks_emu_operand_piece(struct emu_operand *o, uint32_t line, uint32_t piece, void *to16);
uint32_t ks_emu_operand_address(const struct emu_operand *o, uint32_t line, uint32_t piece);

/* One line of n elements, n * element bits being a multiple of 128 bits: to[0..n), as floats or, for integers, as int32_t. */
void ks_emu_operand_line(struct emu_operand *o, uint32_t line, uint32_t first, uint32_t n, enum ptx_type type, void *to);
/* n elements of packed bytes as floats (integers: int32_t).  tf32: the low 13 bits are ignored. */
void ks_emu_elements(const void *from, uint32_t n, enum ptx_type type, void *to);
bool ks_emu_is_int(enum ptx_type type);
uint32_t ks_emu_element_bits(enum ptx_type type);

/* ------------------------------------------------------------------------------------------------ products in fragments
 *
 * The accumulators of a warp are registers: d[4j + 2h + e][lane] is row lane/4 + 8h, column 8j + 2*(lane%4) + e.  A product works
 * on them where they are.  a[h][k][lane]: the element of that lane's row; b[2j + e][k][lane%4].  Each accumulator takes its
 * products in order of k, each by one fused multiply-add (integers: exactly, modulo 2^32): that is the definition, whatever
 * instructions compute it.  With a rule (tensor.h) the sums are the rule's instead. */
struct emu_dot;
void ks_emu_fragment_b(struct emu_operand *o, uint32_t n, uint32_t k, enum ptx_type type, float *b);
void ks_emu_fragment_mma(float *const *d, const float *a, const float *b, uint32_t n8, uint32_t k);
void ks_emu_fragment_by_rule(float *const *d, const float *a, const float *b, uint32_t n8, uint32_t k,
                             const struct emu_dot *rule);
void ks_emu_fragment_imma(int32_t *const *d, const int32_t *a, const int32_t *b, uint32_t n8, uint32_t k);

/* d[m][ld] += a[m][k] x b[k][ldb], row by row, n columns; the same definition.  n a multiple of 8. */
void ks_emu_product_rows(float *d, size_t ld, const float *a, const float *b, size_t ldb, uint32_t m, uint32_t n, uint32_t k);
void ks_emu_rows_by_rule(float *d, size_t ld, const float *a, const float *b, size_t ldb, uint32_t m, uint32_t n, uint32_t k,
                         const struct emu_dot *rule);
void ks_emu_product_rows_int(int32_t *d, size_t ld, const int32_t *a, const int32_t *b, size_t ldb, uint32_t m, uint32_t n,
                             uint32_t k);

#endif
