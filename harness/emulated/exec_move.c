#include "harness/emulated/device.h"

/* Moves: between registers, packing and unpacking of vectors, predicates, special registers, addresses of locals. */

EMU_UNARY(mov_16, uint16_t, uint16_t, x)
EMU_UNARY(mov_32, uint32_t, uint32_t, x)
EMU_UNARY(mov_64, uint64_t, uint64_t, x)
static void mov_pred(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    emu_set_pred(&RP(in->d), RP(in->a), mask);
}
static void mov_128(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint64_t *d = emu_at(w, in->d);
    const uint64_t *a = emu_at(w, in->a);
    for (int h = 0; h < 2; h++)
        FOR_LANES(i) d[h * EMU_LANES + i] = (mask >> i & 1u) ? a[h * EMU_LANES + i] : d[h * EMU_LANES + i];
}

/* Pack: d is made of ext[0] (lowest) ... ; unpack: the reverse.  A 128-bit register is a plane of low and a plane of high words.
 */
EMU_BINARY(pack_16_32, uint32_t, uint16_t, (uint32_t)y << 16 | x)
EMU_BINARY(pack_32_64, uint64_t, uint32_t, (uint64_t)y << 32 | x)
EMU_UNARY(low_32_16, uint16_t, uint32_t, x)
EMU_UNARY(high_32_16, uint16_t, uint32_t, x >> 16)
EMU_UNARY(low_64_32, uint32_t, uint64_t, x)
EMU_UNARY(high_64_32, uint32_t, uint64_t, x >> 32)
EMU_BINARY(pack_8_16, uint16_t, uint16_t, (x & 0xffu) | (uint32_t)y << 8)
EMU_UNARY(low_16_8, uint16_t, uint16_t, x & 0xff)
EMU_UNARY(high_16_8, uint16_t, uint16_t, x >> 8)
EMU_UNARY(part_64_16, uint16_t, uint64_t, x >> in->imm)

static void pack_16_64(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint64_t *d = R64(in->d);
    const uint16_t *p[4] = {R16(in->ext[0]), R16(in->ext[1]), R16(in->ext[2]), R16(in->ext[3])};
    FOR_LANES(i)
    if (emu_lane(mask, i))
        d[i] = p[0][i] | (uint64_t)p[1][i] << 16 | (uint64_t)p[2][i] << 32 | (uint64_t)p[3][i] << 48;
}
static void pack_8_32(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t *d = R32(in->d);
    const uint16_t *p[4] = {R16(in->ext[0]), R16(in->ext[1]), R16(in->ext[2]), R16(in->ext[3])};
    FOR_LANES(i)
    if (emu_lane(mask, i))
        d[i] = (p[0][i] & 0xffu) | (p[1][i] & 0xffu) << 8 | (p[2][i] & 0xffu) << 16 | (uint32_t)(p[3][i] & 0xffu) << 24;
}
EMU_UNARY(part_32_8, uint16_t, uint32_t, x >> in->imm & 0xff)
static void pack_64_128(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint64_t *d = emu_at(w, in->d);
    const uint64_t *lo = R64(in->a), *hi = R64(in->b);
    FOR_LANES(i)
    if (emu_lane(mask, i)) {
        d[i] = lo[i];
        d[EMU_LANES + i] = hi[i];
    }
}
static void part_128_64(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint64_t *d = R64(in->d);
    const uint64_t *a = (const uint64_t *)emu_at(w, in->a) + in->imm * EMU_LANES;
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? a[i] : d[i];
}
static void part_128_32(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t *d = R32(in->d);
    const uint64_t *a = (const uint64_t *)emu_at(w, in->a) + (in->imm >> 1) * EMU_LANES;
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? (uint32_t)(a[i] >> (in->imm & 1) * 32) : d[i];
}
static void pack_32_128(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint64_t *d = emu_at(w, in->d);
    for (int h = 0; h < 2; h++) {
        const uint32_t *lo = R32(in->ext[2 * h]), *hi = R32(in->ext[2 * h + 1]);
        FOR_LANES(i)
        if (emu_lane(mask, i))
            d[h * EMU_LANES + i] = (uint64_t)hi[i] << 32 | lo[i];
    }
}

/* Address of a local variable: the running frame plus imm. */
static void frame_address(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint64_t *d = R64(in->d);
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? w->frame[i] + (uint64_t)in->imm : d[i];
}
static void frame_address_32(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t *d = R32(in->d);
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? w->frame[i] + (uint32_t)in->imm : d[i];
}

/* Special registers that differ between lanes, warps or blocks; sub: which, imm: component.  32 bits. */
static void tid(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t *d = R32(in->d);
    const uint32_t *t = w->tid[in->imm];
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? t[i] : d[i];
}
static void spread(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, uint32_t v)
{
    uint32_t *d = R32(in->d);
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? v : d[i];
}
static void ctaid(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    spread(w, in, mask, w->block->id[in->imm]);
}
static void warpid(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    spread(w, in, mask, w->id);
}
static void smid(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    spread(w, in, mask, (uint32_t)(w->block->linear % (uint64_t)(in->imm ? in->imm : 1)));
}
static void laneid(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t *d = R32(in->d);
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? (uint32_t)i : d[i];
}
static void lanemask(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint32_t *d = R32(in->d);
    FOR_LANES(i)
    {
        uint32_t eq = 1u << i, lt = eq - 1;
        uint32_t v = in->imm == 0 ? eq : in->imm == 1 ? lt : in->imm == 2 ? lt | eq : in->imm == 3 ? ~lt : ~(lt | eq);
        d[i] = (mask >> i & 1u) ? v : d[i];
    }
}
/* %clock counts the instructions of the warp and what it slept, %globaltimer the same as nanoseconds from where the launch before
 * ended: reproducible, and increasing. */
static uint64_t virtual_clock(struct emu_warp *w, bool global)
{
    w->insts++;
    w->worker->progress++;
    return w->insts + w->slept + (global ? w->worker->launch->emu->clock : 0);
}
static void clock32(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    spread(w, in, mask, (uint32_t)(virtual_clock(w, in->sub) >> in->imm));
}
static void clock64(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    uint64_t *d = R64(in->d), now = virtual_clock(w, in->sub);
    FOR_LANES(i) d[i] = (mask >> i & 1u) ? now : d[i];
}
static void sleep_ns(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    const uint32_t *ns = R32(in->a);
    uint32_t longest = 0;
    FOR_LANES(i) longest = emu_lane(mask, i) && ns[i] > longest ? ns[i] : longest;
    w->slept += longest;
}

const struct emu_row ks_emu_rows_move[] = {{"mov.16", mov_16},
                                           {"mov.32", mov_32},
                                           {"mov.64", mov_64},
                                           {"mov.pred", mov_pred},
                                           {"mov.128", mov_128},
                                           {"pack.16.32", pack_16_32},
                                           {"pack.32.64", pack_32_64},
                                           {"pack.16.64", pack_16_64},
                                           {"pack.8.32", pack_8_32},
                                           {"pack.64.128", pack_64_128},
                                           {"pack.32.128", pack_32_128},
                                           {"pack.8.16", pack_8_16},
                                           {"low.16.8", low_16_8},
                                           {"high.16.8", high_16_8},
                                           {"low.32.16", low_32_16},
                                           {"high.32.16", high_32_16},
                                           {"low.64.32", low_64_32},
                                           {"high.64.32", high_64_32},
                                           {"part.64.16", part_64_16},
                                           {"part.32.8", part_32_8},
                                           {"part.128.64", part_128_64},
                                           {"part.128.32", part_128_32},
                                           {"frame.64", frame_address},
                                           {"frame.32", frame_address_32},
                                           {"tid", tid},
                                           {"ctaid", ctaid},
                                           {"warpid", warpid},
                                           {"smid", smid},
                                           {"laneid", laneid},
                                           {"lanemask", lanemask},
                                           {"clock32", clock32},
                                           {"clock64", clock64},
                                           {"nanosleep", sleep_ns},
                                           {NULL, NULL}};
