#include "harness/emulated/async.h"
#include "harness/emulated/exec_float.h"
#include "harness/emulated/exec_mem.h"
#include "harness/emulated/operand.h"
#include "harness/emulated/warpgroup.h"
#include "harness/emulated/wgmma.h"

/* wgmma.mma_async of one warp: rows 16 * (warp % 4) and up of the 64. */

#define MAX_K 32

/* wgmma matrix descriptor: start 0-13, leading offset 16-29, stride offset 32-45 (all / 16), base offset 49-51, swizzle 62-63. */
static struct emu_operand operand(const struct emu_block *b, uint64_t desc, bool mn_major)
{
    static const enum ks_emu_map_swizzle swizzles[4] = {KS_EMU_SWIZZLE_NONE, KS_EMU_SWIZZLE_128B, KS_EMU_SWIZZLE_64B,
                                                        KS_EMU_SWIZZLE_32B};
    return (struct emu_operand){.shared = b->shared,
                                .shared_bytes = b->shared_bytes,
                                .start = (uint32_t)(desc & 0x3fff) << 4,
                                .lbo = (uint32_t)(desc >> 16 & 0x3fff) << 4,
                                .sbo = (uint32_t)(desc >> 32 & 0x3fff) << 4,
                                .base_offset = (uint32_t)(desc >> 49) & 7,
                                .swizzle = swizzles[desc >> 62],
                                .mn_major = mn_major,
                                .lo = UINT32_MAX};
}

/* a[h][k][lane]: every lane of a row gets the row's element. */
static void put_row(float *a, uint32_t row, const float *line, uint32_t k)
{
    float *to = a + (size_t)(row / 8) * k * EMU_LANES + (size_t)(row % 8) * 4;
    for (uint32_t i = 0; i < k; i++)
        for (int t = 0; t < 4; t++)
            to[(size_t)i * EMU_LANES + (size_t)t] = line[i];
}

static void a_from_shared(struct emu_operand *o, uint32_t first_row, uint32_t k, enum ptx_type type, float *a)
{
    float line[64];
    if (!o->mn_major) {
        for (uint32_t r = 0; r < 16; r++) {
            ks_emu_operand_line(o, first_row + r, 0, k, type, line);
            put_row(a, r, line, k);
        }
        return;
    }
    for (uint32_t i = 0; i < k; i++) {
        ks_emu_operand_line(o, i, first_row, 16, type, line);
        for (uint32_t r = 0; r < 16; r++)
            for (uint32_t t = 0; t < 4; t++)
                a[((size_t)(r / 8) * k + i) * EMU_LANES + r % 8 * 4 + t] = line[r];
    }
}

/* Registers hold rows g and g + 8 (h), first and second half of k; lane 4 g + t has a run of elements. */
static void a_from_registers(struct emu_warp *w, const uint32_t *refs, uint32_t k, enum ptx_type type, float *a)
{
    uint32_t each = 32 / ks_emu_element_bits(type);
    for (uint32_t r = 0; r < 4; r++) {
        const uint32_t *reg = R32(refs[r]);
        for (uint32_t l = 0; l < EMU_LANES; l++) {
            float v[4];
            ks_emu_elements(&reg[l], each, type, v);
            for (uint32_t j = 0; j < each; j++) {
                uint32_t i = (r >> 1) * (k / 2) + (l & 3) * each + j;
                for (uint32_t t = 0; t < 4; t++)
                    a[((size_t)(r & 1) * k + i) * EMU_LANES + (l & ~3u) + t] = v[j];
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------------ accumulators */

struct accumulators {
    float *d[128];
    float half[128][EMU_LANES]; /* f16: as floats */
    int32_t *i[128];
    int32_t sum[128][EMU_LANES]; /* saturating integers: this product alone */
};

static void take(struct emu_warp *w, const struct emu_shape *s, const uint32_t *refs, struct accumulators *x, uint32_t keep)
{
    uint32_t n8 = s->n;
    bool half = s->d_type == PTX_f16, apart = s->flags & EMU_WGMMA_SATFINITE;
    for (uint32_t r = 0; r < 4 * n8; r++) {
        if (half) {
            const uint32_t *reg = R32(refs[r / 2]);
            x->d[r] = x->half[r];
            FOR_LANES(l) x->half[r][l] = keep ? emu_half_to_float((uint16_t)(reg[l] >> (r & 1) * 16)) : 0;
            continue;
        }
        x->d[r] = RF(refs[r]);
        x->i[r] = apart ? x->sum[r] : (int32_t *)R32(refs[r]);
        if (!keep)
            memset(R32(refs[r]), 0, 4 * EMU_LANES);
        if (apart)
            memset(x->sum[r], 0, sizeof(x->sum[r]));
    }
}

static void give(struct emu_warp *w, const struct emu_shape *s, const uint32_t *refs, struct accumulators *x)
{
    uint32_t n8 = s->n;
    if (s->d_type == PTX_f16) {
        for (uint32_t r = 0; r < 2 * n8; r++) {
            uint32_t *reg = R32(refs[r]);
            FOR_LANES(l)
            reg[l] = (uint32_t)emu_float_to_half(x->half[2 * r + 1][l]) << 16 | emu_float_to_half(x->half[2 * r][l]);
        }
    } else if (s->d_type == PTX_s32 && (s->flags & EMU_WGMMA_SATFINITE)) {
        for (uint32_t r = 0; r < 4 * n8; r++) {
            int32_t *reg = (int32_t *)R32(refs[r]);
            FOR_LANES(l)
            {
                int64_t v = (int64_t)reg[l] + x->sum[r][l];
                reg[l] = (int32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
            }
        }
    } else if (s->d_type == PTX_f32) {
        for (uint32_t r = 0; r < 4 * n8; r++) {
            float *reg = RF(refs[r]);
            FOR_LANES(l) reg[l] = emu_nan32(reg[l]);
        }
    }
}

static void product(struct emu_warp *w, const struct emu_shape *s, const uint32_t *refs, const float *a, const float *b,
                    uint32_t keep)
{
    struct accumulators x;
    const struct ks_emu *emu = w->worker->launch->emu;
    take(w, s, refs, &x, keep);
    if (s->d_type != PTX_s32 && emu->config.sums != KS_EMU_SUMS_DEFAULT) {
        struct emu_dot rule =
            ks_emu_tensor_rule_async(emu, (enum ptx_type)s->a_type, (enum ptx_type)s->b_type, (enum ptx_type)s->d_type, s->k);
        ks_emu_fragment_by_rule(x.d, a, b, s->n, s->k, &rule);
    } else if (s->d_type == PTX_s32)
        ks_emu_fragment_imma(x.i, (const int32_t *)(const void *)a, (const int32_t *)(const void *)b, s->n, s->k);
    else
        ks_emu_fragment_mma(x.d, a, b, s->n, s->k);
    give(w, s, refs, &x);
}

/* ------------------------------------------------------------------------------------------------ the instruction */

static bool has_warpgroup(struct emu_warp *w, const char *what)
{
    if ((w->id & ~3u) + 4 <= w->block->n_warps)
        return true;
    ks_emu_fault(w, KS_ERR_DEVICE, "warpgroup", 0, "", 0, "",
                 "%s by warp %u of a block of %u warps: it takes four, from a multiple of four", what, w->id, w->block->n_warps);
    return false;
}

/* ext: scale-d, accumulators, A (four registers or a descriptor), B's descriptor, accumulators again (as results). */
static void mma_async(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_shape s;
    memcpy(&s, &in->imm, sizeof(s));
    uint32_t nd = s.d_type == PTX_f16 ? s.n * 2u : s.n * 4u, keep = RP(in->ext[0]) & mask;
    bool regs = s.flags & EMU_WGMMA_REGISTERS;
    const uint32_t *d = in->ext + 1, *ra = d + nd, *rb = ra + (regs ? 4 : 1);
    _Alignas(64) float a[2 * MAX_K * EMU_LANES], b[256 * MAX_K];
    if (!has_warpgroup(w, "wgmma"))
        return;
    struct emu_wgmma_state *state = ks_emu_wgmma_state(w);
    struct emu_operand ob = operand(w->block, R64(*rb)[0], s.flags & EMU_WGMMA_TRANS_B), oa = {.lo = UINT32_MAX};
    if (regs) {
        a_from_registers(w, ra, s.k, (enum ptx_type)s.a_type, a);
    } else {
        oa = operand(w->block, R64(*ra)[0], s.flags & EMU_WGMMA_TRANS_A);
        a_from_shared(&oa, w->id % 4 * 16, s.k, (enum ptx_type)s.a_type, a);
    }
    ks_emu_fragment_b(&ob, s.n * 8u, s.k, (enum ptx_type)s.b_type, b);
    if (oa.outside || ob.outside) {
        ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", 0, "load", (oa.outside ? oa : ob).start, "shared",
                     "operand %s of wgmma reaches past the block's %u bytes of shared memory", oa.outside ? "A" : "B",
                     w->block->shared_bytes);
        return;
    }
    if (s.flags & EMU_WGMMA_NEGATE)
        for (uint32_t i = 0; i < 2u * s.k * EMU_LANES; i++)
            a[i] = -a[i];
    ks_emu_wgmma_issue(w, in, state, &s, regs ? NULL : &oa, &ob);
    product(w, &s, d, a, b, keep);
    ks_emu_wake(w->block, EMU_FOR_WGMMA);
}

static void fence(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    (void)in;
    (void)mask;
    if (!has_warpgroup(w, "wgmma.fence"))
        return;
    struct emu_wgmma_state *s = ks_emu_wgmma_state(w);
    s->fenced = true;
    memset(s->dirty, 0, s->n_pieces);
}

static void commit(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_wgmma_state *s = ks_emu_wgmma_state(w);
    (void)in;
    (void)mask;
    if (w->worker->launch->checks & KS_EMU_CHECK_RACE) /* its reads are over for whoever waits, in any of the four warps */
        ks_emu_race_release(w, false);
    s->issued_at[s->group % EMU_WGMMA_GROUPS] = s->issued;
    s->group++;
}

/* imm: groups that may stay in flight.  The product is the warpgroup's: it is not over before all four warps have issued it. */
static void wait_group(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_wgmma_state *s = ks_emu_wgmma_state(w);
    uint32_t keep = (uint32_t)in->imm, over = s->group > keep ? s->group - keep : 0;
    if (over > 0) {
        uint32_t need = s->issued_at[(over - 1) % EMU_WGMMA_GROUPS];
        for (uint32_t k = w->id & ~3u; k < (w->id & ~3u) + 4 && k < w->block->n_warps; k++) {
            const struct emu_wgmma_state *peer = w->block->warps[k].wgmma;
            if (peer && peer->issued >= need)
                continue;
            w->wait_mask = mask;
            w->wait = EMU_FOR_WGMMA;
            return;
        }
    }
    if (over > 0 && (w->worker->launch->checks & KS_EMU_CHECK_RACE))
        ks_emu_race_acquire(w, false);
    ks_emu_wgmma_over(s, over);
}

const struct emu_row ks_emu_rows_wgmma[] = {
    {"wgmma.mma", mma_async}, {"wgmma.fence", fence}, {"wgmma.commit", commit}, {"wgmma.wait", wait_group}, {NULL, NULL}};
