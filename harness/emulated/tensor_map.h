#ifndef KS_HARNESS_EMULATED_TENSOR_MAP_H
#define KS_HARNESS_EMULATED_TENSOR_MAP_H

/* Tensor maps: what cuTensorMapEncodeTiled() makes of an array in global memory, 128 opaque bytes that travel to the kernel as a
 * parameter or through memory.  The encoding is our own.  It carries a checksum, so that a copy whose bytes were changed or that
 * never was a tensor map is refused by name instead of being followed.
 *
 * Numbers of data types, swizzles, interleaves and fills are those of cuda.h.  Not done, refused by name: interleaved layouts and
 * the padded types 16U4_ALIGN16B and 16U6_ALIGN16B; im2col has no encoding at all. */

#include "base/err.h"

#include <stdbool.h>

enum ks_emu_map_type {
    KS_EMU_MAP_U8,
    KS_EMU_MAP_U16,
    KS_EMU_MAP_U32,
    KS_EMU_MAP_S32,
    KS_EMU_MAP_U64,
    KS_EMU_MAP_S64,
    KS_EMU_MAP_F16,
    KS_EMU_MAP_F32,
    KS_EMU_MAP_F64,
    KS_EMU_MAP_BF16,
    KS_EMU_MAP_F32_FTZ,
    KS_EMU_MAP_TF32,
    KS_EMU_MAP_TF32_FTZ,
    KS_EMU_MAP_16U4_ALIGN8B,
    KS_EMU_MAP_16U4_ALIGN16B,
    KS_EMU_MAP_16U6_ALIGN16B
};
enum ks_emu_map_swizzle {
    KS_EMU_SWIZZLE_NONE,
    KS_EMU_SWIZZLE_32B,
    KS_EMU_SWIZZLE_64B,
    KS_EMU_SWIZZLE_128B,
    KS_EMU_SWIZZLE_128B_ATOM_32B,
    KS_EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B,
    KS_EMU_SWIZZLE_128B_ATOM_64B
};
enum ks_emu_map_interleave { KS_EMU_INTERLEAVE_NONE, KS_EMU_INTERLEAVE_16B, KS_EMU_INTERLEAVE_32B };

#define KS_EMU_MAP_MAGIC 0x4d54534bu /* "KSTM" */
#define KS_EMU_MAP_RANK  5

/* The 128 bytes.  Dimensions count elements, except that types of four bits count bytes in dimension 0 (a pair each). */
struct ks_emu_tensor_map {
    uint32_t magic, check;
    uint64_t base;
    uint64_t stride[KS_EMU_MAP_RANK]; /* bytes; stride[0]: of an element */
    uint32_t last[KS_EMU_MAP_RANK];   /* dimension - 1: up to 2^32 elements */
    uint16_t box[KS_EMU_MAP_RANK];
    uint8_t step[KS_EMU_MAP_RANK]; /* element strides */
    uint8_t type, rank, swizzle, nan_fill, l2_promotion;
    uint8_t spare[32];
};
_Static_assert(sizeof(struct ks_emu_tensor_map) == 128, "a tensor map has the size of CUtensorMap");

/* The arguments of cuTensorMapEncodeTiled(), in its order; map: 64-byte aligned.  stride: rank - 1 numbers of bytes.
 * Errors: KS_ERR_RANGE for what the driver answers with CUDA_ERROR_INVALID_VALUE, KS_ERR_UNSUPPORTED for what is not emulated.
 * Needs no device. */
KS_NODISCARD enum ks_code ks_emu_tensor_map_encode(struct ks_emu_tensor_map *map, unsigned type, uint32_t rank, const void *base,
                                                   const uint64_t *dim, const uint64_t *stride, const uint32_t *box,
                                                   const uint32_t *step, unsigned interleave, unsigned swizzle,
                                                   unsigned l2_promotion, unsigned oob_fill, struct ks_err *err);
/* What cuTensorMapReplaceAddress() does. */
KS_NODISCARD enum ks_code ks_emu_tensor_map_set_base(struct ks_emu_tensor_map *map, const void *base, struct ks_err *err);
/* Recomputes the checksum after a field was changed (tensormap.replace). */
void ks_emu_tensor_map_seal(struct ks_emu_tensor_map *map);
bool ks_emu_tensor_map_is_valid(const struct ks_emu_tensor_map *map);

uint32_t ks_emu_tensor_map_element_bytes(const struct ks_emu_tensor_map *map);
/* Elements a box has along dimension i: its extent over the element stride. */
uint32_t ks_emu_tensor_map_count(const struct ks_emu_tensor_map *map, uint32_t i);
uint32_t ks_emu_tensor_map_box_bytes(const struct ks_emu_tensor_map *map);
const char *ks_emu_swizzle_name(enum ks_emu_map_swizzle swizzle); /* as cuda.h has it, less CU_TENSOR_MAP_SWIZZLE_ */
/* Where byte `address` of shared memory goes under a swizzle. */
uint32_t ks_emu_swizzle(enum ks_emu_map_swizzle swizzle, uint32_t address);

#endif
