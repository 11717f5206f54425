#include "harness/emulated/async.h"
#include "harness/emulated/box.h"
#include "harness/emulated/exec_float.h"
#include "harness/emulated/small_float.h"

/* What bulk copies do when they complete.  Everything about their addresses was checked when they were issued. */

/* ------------------------------------------------------------------------------------------------ reductions */

#define REDUCE_INT(T, U)                                                                                                         \
    static void reduce_##T(T *d, const T *s, size_t n, enum emu_reduce op)                                                       \
    {                                                                                                                            \
        for (size_t i = 0; i < n; i++) {                                                                                         \
            switch (op) {                                                                                                        \
            case EMU_REDUCE_ADD:                                                                                                 \
                d[i] = (T)((U)d[i] + (U)s[i]);                                                                                   \
                break;                                                                                                           \
            case EMU_REDUCE_MIN:                                                                                                 \
                d[i] = s[i] < d[i] ? s[i] : d[i];                                                                                \
                break;                                                                                                           \
            case EMU_REDUCE_MAX:                                                                                                 \
                d[i] = s[i] > d[i] ? s[i] : d[i];                                                                                \
                break;                                                                                                           \
            case EMU_REDUCE_INC:                                                                                                 \
                d[i] = d[i] >= s[i] ? 0 : (T)(d[i] + 1);                                                                         \
                break;                                                                                                           \
            case EMU_REDUCE_DEC:                                                                                                 \
                d[i] = d[i] == 0 || d[i] > s[i] ? s[i] : (T)(d[i] - 1);                                                          \
                break;                                                                                                           \
            case EMU_REDUCE_AND:                                                                                                 \
                d[i] &= s[i];                                                                                                    \
                break;                                                                                                           \
            case EMU_REDUCE_OR:                                                                                                  \
                d[i] |= s[i];                                                                                                    \
                break;                                                                                                           \
            case EMU_REDUCE_XOR:                                                                                                 \
                d[i] ^= s[i];                                                                                                    \
                break;                                                                                                           \
            }                                                                                                                    \
        }                                                                                                                        \
    }
REDUCE_INT(uint32_t, uint32_t)
REDUCE_INT(int32_t, uint32_t)
REDUCE_INT(uint64_t, uint64_t)
REDUCE_INT(int64_t, uint64_t)

static double pick(double d, double s, enum emu_reduce op)
{
    if (op == EMU_REDUCE_ADD)
        return d + s;
    if (d != d)
        return s;
    return op == EMU_REDUCE_MIN ? (s < d ? s : d) : (s > d ? s : d);
}

static void reduce_half(uint16_t *d, const uint16_t *s, size_t n, enum emu_reduce op, bool bf16)
{
    for (size_t i = 0; i < n; i++) {
        double x = bf16 ? emu_bf16_to_float(d[i]) : emu_half_to_float(d[i]);
        double y = bf16 ? emu_bf16_to_float(s[i]) : emu_half_to_float(s[i]);
        d[i] = (uint16_t)ks_emu_encode(pick(x, y, op), bf16 ? EMU_FMT_BF16 : EMU_FMT_F16, EMU_RN, false);
    }
}

void ks_emu_reduce(void *d, const void *s, uint32_t bytes, enum ptx_type type, enum emu_reduce op)
{
    switch ((int)type) {
    case PTX_f16:
    case PTX_bf16:
        reduce_half(d, s, bytes / 2, op, type == PTX_bf16);
        return;
    case PTX_f32:
        for (uint32_t i = 0; i < bytes / 4; i++)
            ((float *)d)[i] = (float)pick((double)((float *)d)[i], (double)((const float *)s)[i], op);
        return;
    case PTX_f64:
        for (uint32_t i = 0; i < bytes / 8; i++)
            ((double *)d)[i] = pick(((double *)d)[i], ((const double *)s)[i], op);
        return;
    case PTX_s32:
        reduce_int32_t(d, s, bytes / 4, op);
        return;
    case PTX_s64:
        reduce_int64_t(d, s, bytes / 8, op);
        return;
    case PTX_u64:
    case PTX_b64:
        reduce_uint64_t(d, s, bytes / 8, op);
        return;
    default:
        reduce_uint32_t(d, s, bytes / 4, op);
    }
}

/* ------------------------------------------------------------------------------------------------ boxes */

void ks_emu_box_walk(const struct ks_emu_tensor_map *map, const int32_t at[KS_EMU_MAP_RANK], bool written, emu_box_fn fn,
                     void *arg)
{
    uint32_t n[KS_EMU_MAP_RANK], i[KS_EMU_MAP_RANK] = {0}, each = ks_emu_tensor_map_element_bytes(map), off = 0;
    for (uint32_t k = 0; k < KS_EMU_MAP_RANK; k++)
        n[k] = k < map->rank ? ks_emu_tensor_map_count(map, k) : 1;
    int64_t first = map->type == KS_EMU_MAP_16U4_ALIGN8B ? at[0] / 2 : at[0], dim0 = (int64_t)map->last[0] + 1;
    int64_t lo = first < 0 ? -first : 0, hi = dim0 - first;
    hi = hi > n[0] ? n[0] : hi;
    for (bool more = true; more;) {
        struct emu_box_row row = {.offset = off, .bytes = n[0] * each, .global = map->base};
        bool inside = hi > lo;
        for (uint32_t k = 1; k < map->rank; k++) {
            int64_t c = (int64_t)at[k] + (int64_t)i[k] * map->step[k];
            inside = inside && c >= 0 && c <= (int64_t)map->last[k];
            row.global += (uint64_t)c * map->stride[k];
        }
        if (inside) {
            row.from = (uint32_t)lo * each;
            row.to = (uint32_t)hi * each;
            if (written)
                row.to = (row.to + 15) & ~15u;               /* a box has whole pieces of 16 bytes */
            row.global += (uint64_t)(first * (int64_t)each); /* of byte 0 of the row */
        }
        fn(arg, &row);
        off += row.bytes;
        more = false;
        for (uint32_t k = 1; k < map->rank && !more; k++) {
            more = ++i[k] < n[k];
            if (!more)
                i[k] = 0;
        }
    }
}

/* The NaN of the fill is the same 16 bits for all types, as an H200 gives it. */
static void fill_outside(const struct ks_emu_tensor_map *map, uint8_t *row, uint32_t bytes)
{
    static const uint16_t nan = 0x7ff7;
    memset(row, 0, bytes);
    for (uint32_t i = 0; map->nan_fill && i + 2 <= bytes; i += 2)
        memcpy(row + i, &nan, 2);
}

/* TF32 rounds what is loaded, and nothing that is stored.  The _FTZ types flush nothing on an H200: they differ from the others
 * in nothing seen (tests/gpu/async/copies.cu). */
static void convert(const struct ks_emu_tensor_map *map, uint8_t *row, uint32_t from, uint32_t to)
{
    if (map->type != KS_EMU_MAP_TF32 && map->type != KS_EMU_MAP_TF32_FTZ)
        return;
    for (uint32_t i = from; i + 4 <= to; i += 4) {
        uint32_t v;
        memcpy(&v, row + i, 4);
        if ((v & 0x7f800000u) != 0x7f800000u)
            v = (v + 0xfffu + (v >> 13 & 1u)) & 0xffffe000u;
        else if (v & 0x7fffffu)
            v = 0x7fffe000u;
        memcpy(row + i, &v, 4);
    }
}

#define MAX_ROW_BYTES (256 * 8)

/* Moves a row between a linear buffer and its swizzled place in shared memory. */
static void move_row(const struct ks_emu_tensor_map *map, struct emu_block *b, uint32_t at, uint8_t *row, uint32_t bytes, bool to)
{
    uint32_t piece = map->swizzle == KS_EMU_SWIZZLE_128B_ATOM_32B_FLIP_8B ? 8 : 16;
    for (uint32_t i = 0; i < bytes; i += piece) {
        uint32_t a = ks_emu_swizzle((enum ks_emu_map_swizzle)map->swizzle, at + i);
        if (a + piece > b->shared_bytes)
            continue;
        if (to)
            memcpy(b->shared + a, row + i, piece);
        else
            memcpy(row + i, b->shared + a, piece);
    }
}

static void load_row(void *arg, const struct emu_box_row *r)
{
    struct emu_async_op *op = arg;
    uint8_t row[MAX_ROW_BYTES];
    if (r->to - r->from < r->bytes)
        fill_outside(&op->map, row, r->bytes);
    if (r->to > r->from)
        memcpy(row + r->from, (const uint8_t *)(uintptr_t)(r->global + r->from), r->to - r->from);
    convert(&op->map, row, r->from, r->to);
    for (uint32_t k = 0; k < op->block->cluster->n_blocks; k++)
        if (op->blocks >> k & 1u)
            move_row(&op->map, op->block->cluster->blocks[k], op->shared + r->offset, row, r->bytes, true);
}

void ks_emu_bulk_load(struct emu_async_op *op)
{
    struct emu_cluster *c = op->block->cluster;
    const uint8_t *from = op->from ? op->from->shared + op->global : (const uint8_t *)(uintptr_t)op->global;
    if (op->kind == EMU_ASYNC_LOAD_TENSOR)
        ks_emu_box_walk(&op->map, op->at, false, load_row, op);
    for (uint32_t k = 0; k < c->n_blocks; k++) {
        struct emu_block *b = c->blocks[k];
        if (!(op->blocks >> k & 1u))
            continue;
        if (op->kind == EMU_ASYNC_LOAD && op->reduce)
            ks_emu_reduce(b->shared + op->shared, from, op->bytes, (enum ptx_type)op->type, (enum emu_reduce)op->op);
        else if (op->kind == EMU_ASYNC_LOAD)
            memmove(b->shared + op->shared, from, op->bytes);
        if (b->shared_init)
            memset(b->shared_init + op->shared, EMU_SHADOW_WRITTEN, op->bytes);
        ks_emu_async_signal(op, k, op->bytes);
    }
}

static void read_row(void *arg, const struct emu_box_row *r)
{
    struct emu_async_op *op = arg;
    move_row(&op->map, op->block, op->shared + r->offset, op->data + r->offset, r->bytes, false);
}

void ks_emu_bulk_read(struct emu_async_op *op)
{
    op->data = ks_xcalloc(op->bytes + 1, 1);
    if (op->tensor)
        ks_emu_box_walk(&op->map, op->at, false, read_row, op);
    else
        memcpy(op->data, op->block->shared + op->shared, op->bytes);
}

static enum ptx_type element_type(const struct ks_emu_tensor_map *map)
{
    static const uint8_t types[16] = {PTX_u8,  PTX_u16,  PTX_u32, PTX_s32, PTX_u64, PTX_s64, PTX_f16, PTX_f32,
                                      PTX_f64, PTX_bf16, PTX_f32, PTX_f32, PTX_f32, PTX_u8,  PTX_u8,  PTX_u8};
    return (enum ptx_type)types[map->type & 15];
}

static void write_row(void *arg, const struct emu_box_row *r)
{
    struct emu_async_op *op = arg;
    uint8_t *to = (uint8_t *)(uintptr_t)(r->global + r->from);
    if (r->to <= r->from)
        return;
    if (op->reduce)
        ks_emu_reduce(to, op->data + r->offset + r->from, r->to - r->from, element_type(&op->map), (enum emu_reduce)op->op);
    else
        memcpy(to, op->data + r->offset + r->from, r->to - r->from);
    ks_emu_mark_init(op->block->launch->emu, to, r->to - r->from, true);
}

void ks_emu_bulk_write(struct emu_async_op *op)
{
    void *to = (void *)(uintptr_t)op->global;
    if (op->tensor) {
        ks_emu_box_walk(&op->map, op->at, true, write_row, op);
        return;
    }
    if (op->reduce)
        ks_emu_reduce(to, op->data, op->bytes, (enum ptx_type)op->type, (enum emu_reduce)op->op);
    else
        memcpy(to, op->data, op->bytes);
    ks_emu_mark_init(op->block->launch->emu, to, op->bytes, true);
}

void ks_emu_bulk_value(struct emu_async_op *op)
{
    struct emu_cluster *c = op->block->cluster;
    for (uint32_t k = 0; k < c->n_blocks; k++) {
        if (!(op->blocks >> k & 1u))
            continue;
        struct emu_block *b = c->blocks[k];
        if (op->reduce)
            ks_emu_reduce(b->shared + op->shared, op->value, op->bytes, (enum ptx_type)op->type, (enum emu_reduce)op->op);
        else
            memcpy(b->shared + op->shared, op->value, op->bytes);
        if (b->shared_init)
            memset(b->shared_init + op->shared, EMU_SHADOW_WRITTEN, op->bytes);
        ks_emu_async_signal(op, k, op->bytes);
    }
}
