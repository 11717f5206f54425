#include "harness/emulated/tensor_map.h"

#include <string.h>

static const uint8_t type_bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 1, 0, 0};

static uint32_t checksum(const struct ks_emu_tensor_map *map)
{
    const uint8_t *p = (const uint8_t *)map;
    uint32_t h = 2166136261u;
    for (size_t i = 8; i < sizeof(*map); i++) /* all but magic and the sum itself */
        h = (h ^ p[i]) * 16777619u;
    return h;
}

void ks_emu_tensor_map_seal(struct ks_emu_tensor_map *map)
{
    map->magic = KS_EMU_MAP_MAGIC;
    map->check = checksum(map);
}

bool ks_emu_tensor_map_is_valid(const struct ks_emu_tensor_map *map)
{
    return map->magic == KS_EMU_MAP_MAGIC && map->check == checksum(map);
}

static bool is_float(unsigned type)
{
    return type == KS_EMU_MAP_F16 || type == KS_EMU_MAP_F32 || type == KS_EMU_MAP_F64 || type == KS_EMU_MAP_BF16 ||
           type == KS_EMU_MAP_F32_FTZ || type == KS_EMU_MAP_TF32 || type == KS_EMU_MAP_TF32_FTZ;
}

static uint32_t span_of(unsigned swizzle)
{
    return swizzle == KS_EMU_SWIZZLE_NONE ? 0 : swizzle == KS_EMU_SWIZZLE_32B ? 32 : swizzle == KS_EMU_SWIZZLE_64B ? 64 : 128;
}

static enum ks_code check_enums(unsigned type, uint32_t rank, unsigned interleave, unsigned swizzle, unsigned l2_promotion,
                                unsigned oob_fill, struct ks_err *err)
{
    if (type > KS_EMU_MAP_16U6_ALIGN16B || interleave > KS_EMU_INTERLEAVE_32B || swizzle > KS_EMU_SWIZZLE_128B_ATOM_64B ||
        l2_promotion > 3 || oob_fill > 1)
        return ks_fail(err, KS_ERR_RANGE, "encode a tensor map: a value outside its enumeration");
    if (rank == 0 || rank > KS_EMU_MAP_RANK)
        return ks_fail(err, KS_ERR_RANGE, "encode a tensor map: rank %u, must be 1 to 5", rank);
    if (interleave != KS_EMU_INTERLEAVE_NONE)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "encode a tensor map: interleaved layouts are not emulated");
    if (type_bytes[type] == 0)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "encode a tensor map: types padded to 16 bytes are not emulated");
    if (oob_fill && !is_float(type))
        return ks_fail(err, KS_ERR_RANGE, "encode a tensor map: NaN fill of a type that is not floating");
    return KS_OK;
}

enum ks_code ks_emu_tensor_map_encode(struct ks_emu_tensor_map *map, unsigned type, uint32_t rank, const void *base,
                                      const uint64_t *dim, const uint64_t *stride, const uint32_t *box, const uint32_t *step,
                                      unsigned interleave, unsigned swizzle, unsigned l2_promotion, unsigned oob_fill,
                                      struct ks_err *err)
{
    struct ks_emu_tensor_map m = {.base = (uint64_t)(uintptr_t)base,
                                  .type = (uint8_t)type,
                                  .rank = (uint8_t)rank,
                                  .swizzle = (uint8_t)swizzle,
                                  .nan_fill = (uint8_t)oob_fill,
                                  .l2_promotion = (uint8_t)l2_promotion};
    if (!map || !base || !dim || !box || !step || (rank > 1 && !stride) || (uintptr_t)map % 64)
        return ks_fail(err, KS_ERR_RANGE, "encode a tensor map: a null pointer, or a map that is not 64-byte aligned");
    KS_TRY(check_enums(type, rank, interleave, swizzle, l2_promotion, oob_fill, err));
    if (m.base % 16)
        return ks_fail(err, KS_ERR_RANGE, "encode a tensor map: the global address is not 16-byte aligned");
    bool packed = type == KS_EMU_MAP_16U4_ALIGN8B;
    for (uint32_t i = 0; i < rank; i++) {
        uint64_t n = dim[i], b = box[i];
        if (n == 0 || n > 1ull << 32 || (packed && i == 0 && n % 2))
            return ks_fail(err, KS_ERR_RANGE, "encode a tensor map: dimension %u is %llu", i, (unsigned long long)n);
        if (b == 0 || b > 256 || (packed && i == 0 && b % 2))
            return ks_fail(err, KS_ERR_RANGE, "encode a tensor map: box dimension %u is %u, must be 1 to 256", i, box[i]);
        if (step[i] == 0 || step[i] > 8)
            return ks_fail(err, KS_ERR_RANGE, "encode a tensor map: element stride %u is %u, must be 1 to 8", i, step[i]);
        if (i > 0 && (stride[i - 1] % 16 || stride[i - 1] >= 1ull << 40))
            return ks_fail(err, KS_ERR_RANGE, "encode a tensor map: stride %u is %llu, must be a multiple of 16 below 2^40", i,
                           (unsigned long long)stride[i - 1]);
        m.last[i] = (uint32_t)((packed && i == 0 ? n / 2 : n) - 1);
        m.box[i] = (uint16_t)(packed && i == 0 ? b / 2 : b);
        m.step[i] = i == 0 ? 1 : (uint8_t)step[i]; /* dimension 0 has no stride without interleaving */
        m.stride[i] = i == 0 ? type_bytes[type] : stride[i - 1];
    }
    for (uint32_t i = rank; i < KS_EMU_MAP_RANK; i++) {
        m.box[i] = 1;
        m.step[i] = 1;
    }
    uint32_t inner = (uint32_t)m.box[0] * type_bytes[type];
    if (inner % 16)
        return ks_fail(err, KS_ERR_RANGE, "encode a tensor map: rows of the box have %u bytes, must be a multiple of 16", inner);
    if (span_of(swizzle) && inner > span_of(swizzle))
        return ks_fail(err, KS_ERR_RANGE, "encode a tensor map: rows of the box have %u bytes, more than the swizzle's %u", inner,
                       span_of(swizzle));
    ks_emu_tensor_map_seal(&m);
    *map = m;
    return KS_OK;
}

enum ks_code ks_emu_tensor_map_set_base(struct ks_emu_tensor_map *map, const void *base, struct ks_err *err)
{
    if (!map || !base || (uintptr_t)base % 16 || !ks_emu_tensor_map_is_valid(map))
        return ks_fail(err, KS_ERR_RANGE, "replace a tensor map's address: a bad map or address");
    map->base = (uint64_t)(uintptr_t)base;
    ks_emu_tensor_map_seal(map);
    return KS_OK;
}

uint32_t ks_emu_tensor_map_element_bytes(const struct ks_emu_tensor_map *map)
{
    return type_bytes[map->type & 15];
}

uint32_t ks_emu_tensor_map_count(const struct ks_emu_tensor_map *map, uint32_t i)
{
    return ((uint32_t)map->box[i] + map->step[i] - 1) / map->step[i];
}

uint32_t ks_emu_tensor_map_box_bytes(const struct ks_emu_tensor_map *map)
{
    uint32_t bytes = ks_emu_tensor_map_element_bytes(map);
    for (uint32_t i = 0; i < map->rank; i++)
        bytes *= ks_emu_tensor_map_count(map, i);
    return bytes;
}

/* Address bits choose the row of the pattern, so a pattern does not start at the buffer but at a multiple of its size. */
const char *ks_emu_swizzle_name(enum ks_emu_map_swizzle swizzle)
{
    switch (swizzle) {
    case KS_EMU_SWIZZLE_NONE:
        return "NONE";
    case KS_EMU_SWIZZLE_32B:
        return "32B";
    case KS_EMU_SWIZZLE_64B:
        return "64B";
    case KS_EMU_SWIZZLE_128B:
        return "128B";
    case KS_EMU_SWIZZLE_128B_ATOM_32B:
        return "128B_ATOM_32B";
    case KS_EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B:
        return "128B_ATOM_32B_FLIP_8B";
    case KS_EMU_SWIZZLE_128B_ATOM_64B:
        return "128B_ATOM_64B";
    }
    return "";
}

uint32_t ks_emu_swizzle(enum ks_emu_map_swizzle swizzle, uint32_t a)
{
    switch (swizzle) {
    case KS_EMU_SWIZZLE_NONE:
        return a;
    case KS_EMU_SWIZZLE_32B: /* 16-byte pieces: bit 4 by bit 7 */
        return a ^ (a >> 3 & 0x10);
    case KS_EMU_SWIZZLE_64B: /* bits 4-5 by bits 7-8 */
        return a ^ (a >> 3 & 0x30);
    case KS_EMU_SWIZZLE_128B: /* bits 4-6 by bits 7-9 */
        return a ^ (a >> 3 & 0x70);
    case KS_EMU_SWIZZLE_128B_ATOM_32B: /* 32-byte pieces: bits 5-6 by bits 7-8 */
        return a ^ (a >> 2 & 0x60);
    case KS_EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B: /* and halves of 16 bytes in every other row */
        return a ^ (a >> 2 & 0x60) ^ (a >> 4 & 0x08);
    case KS_EMU_SWIZZLE_128B_ATOM_64B: /* 64-byte pieces: bit 6 by bit 7 */
        return a ^ (a >> 1 & 0x40);
    }
    return a;
}
