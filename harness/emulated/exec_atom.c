#include "harness/emulated/exec_float.h"
#include "harness/emulated/exec_mem.h"

/* Atomics: lane after lane, in lane order.  Where several host threads run blocks, global memory is updated by compare-and-swap
 * of its 16-, 32- or 64-bit word; programs whose results depend on the order of blocks run on one thread (emu_program.ordered).
 */

typedef uint64_t (*update_fn)(uint64_t old, uint64_t b, uint64_t c);

static uint64_t read_reg(const void *reg, uint32_t bytes, int lane)
{
    return bytes == 2   ? ((const uint16_t *)reg)[lane]
           : bytes == 4 ? ((const uint32_t *)reg)[lane]
                        : ((const uint64_t *)reg)[lane];
}

static void write_reg(void *reg, uint32_t bytes, int lane, uint64_t v)
{
    if (bytes == 2)
        ((uint16_t *)reg)[lane] = (uint16_t)v;
    else if (bytes == 4)
        ((uint32_t *)reg)[lane] = (uint32_t)v;
    else
        ((uint64_t *)reg)[lane] = v;
}

static uint64_t exchange(uint64_t ad, uint32_t bytes, uint64_t b, uint64_t c, update_fn update)
{
    if (bytes == 4) {
        uint32_t *p = (uint32_t *)(uintptr_t)ad, old = __atomic_load_n(p, __ATOMIC_RELAXED), next;
        do {
            next = (uint32_t)update(old, b, c);
        } while (!__atomic_compare_exchange_n(p, &old, next, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
        return old;
    }
    if (bytes == 8) {
        uint64_t *p = (uint64_t *)(uintptr_t)ad, old = __atomic_load_n(p, __ATOMIC_RELAXED), next;
        do {
            next = update(old, b, c);
        } while (!__atomic_compare_exchange_n(p, &old, next, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
        return old;
    }
    uint16_t *p = (uint16_t *)(uintptr_t)ad, old = __atomic_load_n(p, __ATOMIC_RELAXED), next;
    do {
        next = (uint16_t)update(old, b, c);
    } while (!__atomic_compare_exchange_n(p, &old, next, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    return old;
}

static void run_part(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, update_fn update)
{
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(x->mask, i))
            continue;
        for (uint32_t v = 0; v < in->vec; v++) {
            const void *b = emu_at(w, in->vec > 1 ? in->ext[v] : in->b);
            uint64_t c = in->c == EMU_NONE ? 0 : read_reg(emu_at(w, in->c), in->rsize, i);
            uint64_t arg = read_reg(b, in->rsize, i), old = exchange(x->ad[i] + (uint64_t)v * in->size, in->size, arg, c, update);
            uint64_t changed = (update(old, arg, c) ^ old) << (64 - 8 * in->size);
            w->worker->progress += changed != 0;
            w->polls += changed == 0;
            uint32_t dst = in->vec == 1 ? in->d : in->n_ext == 2u * in->vec ? in->ext[in->vec + v] : EMU_NONE;
            if (dst != EMU_NONE)
                write_reg(emu_at(w, dst), in->rsize, i, old);
        }
    }
}

static uint64_t add_f32_value(uint64_t old, uint64_t b, uint64_t c);
/* In global memory, unlike shared, subnormals are flushed. */
static uint64_t add_f32_global(uint64_t old, uint64_t b, uint64_t c)
{
    (void)c;
    return emu_bits32(emu_ftz(emu_nan32(emu_ftz(emu_f32((uint32_t)old)) + emu_ftz(emu_f32((uint32_t)b)))));
}

static void atom(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, update_fn update)
{
    update_fn global = update == add_f32_value ? add_f32_global : update;
    struct emu_access x = {.bytes = (uint32_t)in->size * in->vec, .atomic = true}, part[3];
    ks_emu_addresses(w, in->a, in->sub & 1, in->imm, mask, &x);
    if (in->space == PTX_SHARED) {
        if (ks_emu_resolve_shared(w, in, &x))
            run_part(w, in, &x, update);
        return;
    }
    if (in->space == PTX_GLOBAL) {
        if (ks_emu_resolve_global(w, in, &x))
            run_part(w, in, &x, global);
        return;
    }
    ks_emu_split_generic(w, &x, part);
    for (int s = 0; s < 3; s++) {
        if (!part[s].mask)
            continue;
        if (!(s == 0   ? ks_emu_resolve_global(w, in, &part[s])
              : s == 1 ? ks_emu_resolve_shared(w, in, &part[s])
                       : ks_emu_resolve_local(w, in, &part[s])))
            return;
        run_part(w, in, &part[s], s == 0 ? global : update);
    }
}

/* 128 bits: programs with these run on one thread where blocks could meet (decode_mem.c). */
static void run_wide(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, bool compare)
{
    const uint64_t *b = emu_at(w, in->b), *c = compare ? emu_at(w, in->c) : b;
    uint64_t *d = in->d == EMU_NONE ? NULL : emu_at(w, in->d);
    for (int i = 0; i < EMU_LANES; i++) {
        uint64_t old[2], want[2] = {b[i], b[EMU_LANES + i]}, next[2] = {c[i], c[EMU_LANES + i]};
        if (!emu_lane(x->mask, i))
            continue;
        memcpy(old, (const void *)(uintptr_t)x->ad[i], 16);
        if (!compare || memcmp(old, want, 16) == 0)
            memcpy((void *)(uintptr_t)x->ad[i], next, 16);
        if (d) {
            d[i] = old[0];
            d[EMU_LANES + i] = old[1];
        }
    }
}

static void atom_wide(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, bool compare)
{
    struct emu_access x = {.bytes = 16, .atomic = true}, part[3];
    ks_emu_addresses(w, in->a, in->sub & 1, in->imm, mask, &x);
    if (in->space == PTX_SHARED) {
        if (ks_emu_resolve_shared(w, in, &x))
            run_wide(w, in, &x, compare);
        return;
    }
    ks_emu_split_generic(w, &x, part);
    for (int s = 0; s < 3; s++)
        if (part[s].mask && (s == 0   ? ks_emu_resolve_global(w, in, &part[s])
                             : s == 1 ? ks_emu_resolve_shared(w, in, &part[s])
                                      : ks_emu_resolve_local(w, in, &part[s])))
            run_wide(w, in, &part[s], compare);
}
static void exch_128(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    atom_wide(w, in, mask, false);
}
static void cas_128(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    atom_wide(w, in, mask, true);
}

#define ATOM(name, expr)                                                                                                         \
    static uint64_t name##_value(uint64_t old, uint64_t b, uint64_t c)                                                           \
    {                                                                                                                            \
        (void)old;                                                                                                               \
        (void)b;                                                                                                                 \
        (void)c;                                                                                                                 \
        return (uint64_t)(expr);                                                                                                 \
    }                                                                                                                            \
    static void name(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                               \
    {                                                                                                                            \
        atom(w, in, mask, name##_value);                                                                                         \
    }
ATOM(add, old + b)
ATOM(and_, old &b)
ATOM(or_, old | b)
ATOM(xor_, old ^ b)
ATOM(exch, b)
ATOM(cas_, old == b ? c : old)
ATOM(inc, (uint32_t)old >= (uint32_t)b ? 0 : (uint32_t)old + 1)
ATOM(dec, (uint32_t)old == 0 || (uint32_t)old > (uint32_t)b ? (uint32_t)b : (uint32_t)old - 1)
ATOM(min_u32, (uint32_t)old < (uint32_t)b ? old : b)
ATOM(max_u32, (uint32_t)old > (uint32_t)b ? old : b)
ATOM(min_s32, (int32_t)old < (int32_t)b ? old : b)
ATOM(max_s32, (int32_t)old > (int32_t)b ? old : b)
ATOM(min_u64, old < b ? old : b)
ATOM(max_u64, old > b ? old : b)
ATOM(min_s64, (int64_t)old < (int64_t)b ? old : b)
ATOM(max_s64, (int64_t)old > (int64_t)b ? old : b)
ATOM(add_f32, emu_bits32(emu_nan32(emu_f32((uint32_t)old) + emu_f32((uint32_t)b))))
ATOM(add_f64, emu_bits64(emu_f64(old) + emu_f64(b)))

static uint32_t half_op(uint32_t x, uint32_t y, int op, bool bf)
{
    float p = bf ? emu_bf16_to_float((uint16_t)x) : emu_half_to_float((uint16_t)x),
          q = bf ? emu_bf16_to_float((uint16_t)y) : emu_half_to_float((uint16_t)y);
    float r = op == 0 ? p + q : op == 1 ? emu_min32(p, q) : emu_max32(p, q);
    return bf ? emu_float_to_bf16(r) : emu_float_to_half(r);
}
#define HALF(name, op, bf)                                                                                                       \
    ATOM(name, half_op((uint32_t)old & 0xffffu, (uint32_t)b & 0xffffu, op, bf))                                                  \
    ATOM(name##x2, half_op((uint32_t)old & 0xffffu, (uint32_t)b & 0xffffu, op, bf) |                                             \
                       half_op((uint32_t)old >> 16 & 0xffffu, (uint32_t)b >> 16 & 0xffffu, op, bf) << 16)
HALF(add_f16, 0, false)
HALF(add_bf16, 0, true)
HALF(min_f16, 1, false)
HALF(min_bf16, 1, true)
HALF(max_f16, 2, false)
HALF(max_bf16, 2, true)

const struct emu_row ks_emu_rows_atom[] = {{"atom.add.u32", add},        {"atom.add.s32", add},
                                           {"atom.add.u64", add},        {"atom.add.s64", add},
                                           {"atom.add.f32", add_f32},    {"atom.add.f64", add_f64},
                                           {"atom.add.f16", add_f16},    {"atom.add.f16x2", add_f16x2},
                                           {"atom.add.bf16", add_bf16},  {"atom.add.bf16x2", add_bf16x2},
                                           {"atom.min.f16", min_f16},    {"atom.min.f16x2", min_f16x2},
                                           {"atom.min.bf16", min_bf16},  {"atom.min.bf16x2", min_bf16x2},
                                           {"atom.max.f16", max_f16},    {"atom.max.f16x2", max_f16x2},
                                           {"atom.max.bf16", max_bf16},  {"atom.max.bf16x2", max_bf16x2},
                                           {"atom.and.b32", and_},       {"atom.and.b64", and_},
                                           {"atom.or.b32", or_},         {"atom.or.b64", or_},
                                           {"atom.xor.b32", xor_},       {"atom.xor.b64", xor_},
                                           {"atom.exch.b32", exch},      {"atom.exch.b64", exch},
                                           {"atom.cas.b16", cas_},       {"atom.cas.b32", cas_},
                                           {"atom.cas.b64", cas_},       {"atom.cas.b128", cas_128},
                                           {"atom.exch.b128", exch_128}, {"atom.inc.u32", inc},
                                           {"atom.dec.u32", dec},        {"atom.min.u32", min_u32},
                                           {"atom.max.u32", max_u32},    {"atom.min.s32", min_s32},
                                           {"atom.max.s32", max_s32},    {"atom.min.u64", min_u64},
                                           {"atom.max.u64", max_u64},    {"atom.min.s64", min_s64},
                                           {"atom.max.s64", max_s64},    {NULL, NULL}};
