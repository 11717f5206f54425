#include "harness/emulated/async.h"
#include "harness/emulated/exec_mem.h"
#include "harness/emulated/operand.h"
#include "harness/emulated/tcgen.h"
#include "harness/emulated/tensor_memory.h"
#include "harness/emulated/warpgroup.h"

/* tcgen05 instructions as threads and warps issue them; operands: tcgen.h. */

/* ------------------------------------------------------------------------------------------------ allocation */

static uint32_t find_units(const struct emu_tensor_memory *t, uint32_t units)
{
    for (uint32_t u = 0; u + units <= EMU_TMEM_UNITS; u++)
        if (!(t->used >> u & ((1u << units) - 1)))
            return u;
    return EMU_TMEM_UNITS;
}

static bool valid_columns(struct emu_warp *w, uint32_t n)
{
    if (n >= EMU_TMEM_UNIT && n <= EMU_TMEM_COLUMNS && (n & (n - 1)) == 0)
        return true;
    ks_emu_fault(w, KS_ERR_DEVICE, "tensor-memory", 0, "", n, "",
                 "%u columns of tensor memory: must be a power of two from 32 to 512", n);
    return false;
}

/* All tcgen05 instructions of a kernel must name the same cta_group; the first allocation settles it.  False: faulted. */
static bool same_group(struct emu_warp *w, int lane, bool pair, bool allocates)
{
    struct emu_tensor_memory *t = w->block->tmem;
    if (t && t->group == 0 && allocates)
        t->group = pair ? 2 : 1;
    if (!t || t->group == 0 || (t->group == 2) == pair)
        return true;
    ks_emu_fault(w, KS_ERR_DEVICE, "tensor-pair", lane, "", 0, "",
                 "cta_group::%d where tensor memory was allocated for cta_group::%d", pair ? 2 : 1, t->group);
    return false;
}

/* a: where the address goes, b: columns. */
static void alloc(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_tensor_memory *t = ks_emu_tmem(w->block);
    int lane = __builtin_ctz(mask);
    uint32_t n = R32(in->b)[lane], units = n / EMU_TMEM_UNIT, at, offset;
    if (!valid_columns(w, n) || !same_group(w, lane, in->sub & EMU_TC_PAIR, true))
        return;
    if (t->sealed) {
        ks_emu_fault(w, KS_ERR_DEVICE, "tensor-memory", lane, "", n, "", "tcgen05.alloc after tcgen05.relinquish_alloc_permit");
        return;
    }
    at = find_units(t, units);
    if (at == EMU_TMEM_UNITS) { /* until somebody gives columns back */
        w->wait_mask = mask;
        w->wait = EMU_FOR_TENSOR;
        return;
    }
    struct emu_block *b = ks_emu_shared_at(w, lane, R64(in->a)[lane], in->sub & EMU_TC_GENERIC, 4, 4, "tcgen05.alloc", &offset);
    if (!b)
        return;
    t->used |= ((1u << units) - 1) << at;
    ks_emu_tmem_forget(w->block, at * EMU_TMEM_UNIT, n);
    t->allocs[t->n_allocs++] = (struct emu_tmem_alloc){at * EMU_TMEM_UNIT, n, w->pc, w->id};
    uint32_t address = at * EMU_TMEM_UNIT;
    struct emu_access x = {.mask = 1u << lane, .bytes = 4, .store = true};
    memcpy(b->shared + offset, &address, 4);
    if (b->shared_init)
        memset(b->shared_init + offset, EMU_SHADOW_WRITTEN, 4);
    FOR_LANES(i) x.ad[i] = offset;
    if (w->worker->launch->checks & KS_EMU_CHECK_RACE)
        ks_emu_race_shared(w, in, &x, b);
}

static void dealloc(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_tensor_memory *t = ks_emu_tmem(w->block);
    int lane = __builtin_ctz(mask);
    uint32_t first = R32(in->a)[lane] & 0xffff, n = R32(in->b)[lane];
    w->pc = ks_emu_pc(w, in);
    if (!valid_columns(w, n) || !same_group(w, lane, in->sub & EMU_TC_PAIR, false))
        return;
    for (uint32_t i = 0; i < t->n_allocs; i++) {
        if (t->allocs[i].first != first || t->allocs[i].columns != n)
            continue;
        if (ks_emu_tcgen_user(w->block, first, n, true) && (w->worker->launch->checks & KS_EMU_CHECK_SYNC))
            ks_emu_report(w, "tcgen05-pending", lane, w->pc, "store", 0, "", NULL,
                          "tcgen05.dealloc of columns that an operation under way still uses");
        ks_emu_tmem_after_sync(w); /* it needs order only, no fence */
        ks_emu_tmem_order(w, lane, 0, EMU_TMEM_LANES, first, n, true, "tcgen05.dealloc");
        t->used &= ~(((1u << n / EMU_TMEM_UNIT) - 1) << first / EMU_TMEM_UNIT);
        t->allocs[i] = t->allocs[--t->n_allocs];
        ks_emu_tmem_mark(w->block, 0, EMU_TMEM_LANES, first, n, EMU_TMEM_EMPTY);
        ks_emu_wake(w->block, EMU_FOR_TENSOR);
        return;
    }
    ks_emu_fault(w, KS_ERR_DEVICE, "tensor-memory", lane, "", first, "",
                 "tcgen05.dealloc of %u columns at column %u, which no tcgen05.alloc gave", n, first);
}

static void relinquish(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    (void)in;
    (void)mask;
    ks_emu_tmem(w->block)->sealed = true;
}

/* ------------------------------------------------------------------------------------------------ loads and stores */

/* Row and first column of register r of a thread (PTX ISA, "Data movement shape"); packed, it has the column behind that too. */
static void shape_cell(enum emu_tc_shape shape, uint32_t r, uint32_t thread, uint32_t *row, uint32_t *column)
{
    *row = *column = 0;
    switch (shape) {
    case EMU_TC_32X32:
        *row = thread;
        *column = r;
        return;
    case EMU_TC_16X64:
        *row = thread / 4 + 8 * (thread & 1);
        *column = 2 * r + (thread >> 1 & 1);
        return;
    case EMU_TC_16X128:
        *row = thread / 4 + 8 * (r & 1);
        *column = r / 2 * 4 + thread % 4;
        return;
    case EMU_TC_16X256:
        *row = thread / 4 + 8 * (r >> 1 & 1);
        *column = r / 4 * 8 + 2 * (thread % 4) + (r & 1);
        return;
    case EMU_TC_16X32X2:
        *row = thread % 16;
        *column = r;
        return;
    }
}
static void cell_of(const struct emu_insn *in, uint32_t r, uint32_t thread, uint32_t *row, uint32_t *column)
{
    shape_cell((enum emu_tc_shape)in->type, r, thread, row, column);
    *column *= in->sub & EMU_TC_PACK ? 2 : 1;
    if (in->type == EMU_TC_16X32X2) /* two accesses; the second starts that many columns behind the first */
        *column += thread / 16 * (uint32_t)in->imm;
}

/* The window of tensor memory an instruction covers; false: faulted.  A warp reaches the lanes of its quarter only. */
static bool window(struct emu_warp *w, const struct emu_insn *in, int thread, uint32_t *ret_lane, uint32_t *ret_column,
                   uint32_t *ret_columns)
{
    uint32_t address = R32(in->a)[thread], lane = address >> 16, column = address & 0xffff, quarter = w->id % 4 * 32;
    uint32_t rows = in->type == EMU_TC_32X32 ? 32 : 16, last_row, last;
    cell_of(in, in->n_ext - 1u, 31, &last_row, &last);
    uint32_t columns = last + (in->sub & EMU_TC_PACK ? 2 : 1);
    if (lane != quarter && !(rows == 16 && lane == quarter + 16)) {
        ks_emu_fault(w, KS_ERR_DEVICE, "tensor-lanes", thread, "", address, "",
                     "warp %u of its warpgroup reaches lanes %u to %u of tensor memory, not lane %u", w->id % 4, quarter,
                     quarter + 31, lane);
        return false;
    }
    *ret_lane = lane;
    *ret_column = column;
    *ret_columns = columns;
    return ks_emu_tmem_columns(w, thread, w->block, column, columns, in->sub & EMU_TC_STORE ? "tcgen05.st" : "tcgen05.ld");
}

static void load(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    int thread = __builtin_ctz(mask);
    uint32_t lane, column, columns, rows = in->type == EMU_TC_32X32 ? 32 : 16;
    if (!window(w, in, thread, &lane, &column, &columns))
        return;
    const struct emu_tensor_memory *t = w->block->tmem;
    ks_emu_tmem_check(w, thread, w->block, lane, rows, column, columns, EMU_TMEM_LOAD, "tcgen05.ld");
    ks_emu_tmem_order(w, thread, lane, rows, column, columns, false, "tcgen05.ld");
    struct emu_wgmma_state *s = ks_emu_wgmma_state(w);
    for (uint32_t r = 0; r < in->n_ext; r++) {
        uint32_t *d = R32(in->ext[r]);
        for (uint32_t l = 0; l < EMU_LANES; l++) {
            uint32_t row, c;
            cell_of(in, r, l, &row, &c);
            const uint32_t *from = t->cell[lane + row] + column;
            d[l] = in->sub & EMU_TC_PACK ? (from[c] & 0xffffu) | from[c + 1] << 16 : from[c];
        }
        s->loading[in->ext[r] / 64] = 1;
        s->by[in->ext[r] / 64] = w->pc;
    }
}

static void store(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    int thread = __builtin_ctz(mask);
    uint32_t lane, column, columns, rows = in->type == EMU_TC_32X32 ? 32 : 16;
    if (!window(w, in, thread, &lane, &column, &columns))
        return;
    struct emu_tensor_memory *t = w->block->tmem;
    ks_emu_tmem_check(w, thread, w->block, lane, rows, column, columns, EMU_TMEM_STORE, "tcgen05.st");
    ks_emu_tmem_order(w, thread, lane, rows, column, columns, true, "tcgen05.st");
    for (uint32_t r = 0; r < in->n_ext; r++) {
        const uint32_t *s = R32(in->ext[r]);
        for (uint32_t l = 0; l < EMU_LANES; l++) {
            uint32_t row, c;
            cell_of(in, r, l, &row, &c);
            uint32_t *to = t->cell[lane + row] + column;
            uint8_t *state = t->state[lane + row] + column;
            if (in->sub & EMU_TC_PACK) {
                to[c] = s[l] & 0xffffu;
                to[c + 1] = s[l] >> 16;
                state[c] = state[c + 1] = EMU_TMEM_STORING;
            } else {
                to[c] = s[l];
                state[c] = EMU_TMEM_STORING;
            }
        }
    }
}

static void wait_ld(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    (void)in;
    (void)mask;
    if (w->wgmma)
        memset(w->wgmma->loading, 0, w->wgmma->n_pieces);
}

static void wait_st(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_tensor_memory *t = w->block->tmem;
    (void)in;
    (void)mask;
    for (uint32_t l = w->id % 4 * 32; t && l < w->id % 4 * 32 + 32; l++) {
        uint8_t *s = t->state[l];
        for (uint32_t c = 0; c < EMU_TMEM_COLUMNS; c++)
            s[c] = s[c] == EMU_TMEM_STORING ? EMU_TMEM_WRITTEN : s[c];
    }
}

static void fence_before(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    (void)in;
    (void)mask;
    ks_emu_tmem_before_sync(w);
}
static void fence_after(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    (void)in;
    (void)mask;
    ks_emu_tmem_after_sync(w);
}

/* ------------------------------------------------------------------------------------------------ the tensor pipe */

static void push(struct emu_warp *w, int lane, const struct emu_tcgen_op *op)
{
    struct emu_tcgen_op *own = ks_xcalloc(1, sizeof(*own));
    *own = *op;
    struct emu_async_op async = {.kind = EMU_ASYNC_TENSOR,
                                 .block = w->block,
                                 .warp = w->id,
                                 .lane = (uint32_t)lane,
                                 .pc = w->pc,
                                 .barrier = UINT32_MAX,
                                 .tcgen = own};
    ks_emu_async_push(w->block->cluster, &async);
}

/* The blocks an operation works in; 0: faulted. */
static uint32_t blocks_of(struct emu_warp *w, int lane, bool pair, struct emu_block *ret[2])
{
    struct emu_cluster *c = w->block->cluster;
    ret[0] = w->block;
    if (!pair)
        return 1;
    if (c->n_blocks < 2 || (w->block->rank | 1u) >= c->n_blocks) {
        ks_emu_fault(w, KS_ERR_DEVICE, "tensor-pair", lane, "", 0, "", "cta_group::2 in a cluster of %u blocks", c->n_blocks);
        return 0;
    }
    ret[0] = c->blocks[w->block->rank & ~1u];
    ret[1] = c->blocks[w->block->rank | 1u];
    return 2;
}

static bool decode_descriptor(struct emu_warp *w, int lane, uint32_t idesc, enum emu_tcgen_type kind, struct emu_tcgen_op *op)
{
    static const uint8_t f8f6f4[8] = {PTX_e4m3, PTX_e5m2, PTX_NONE, PTX_e2m3, PTX_e3m2, PTX_e2m1, PTX_NONE, PTX_NONE};
    uint32_t d = idesc >> 4 & 3, a = idesc >> 7 & 7, b = idesc >> 10 & 7;
    op->n = (idesc >> 17 & 63) * 8;
    op->m = (idesc >> 24 & 31) * 16;
    op->saturate = idesc >> 3 & 1;
    op->negate = (idesc >> 13 & 1) != (idesc >> 14 & 1);
    op->trans_a = idesc >> 15 & 1;
    op->trans_b = idesc >> 16 & 1;
    op->d_type = d == 0 ? PTX_f16 : d == 1 ? PTX_f32 : PTX_s32;
    bool ok = d < 3;
    switch (kind) {
    case EMU_TCGEN_F16:
        op->k = 16;
        op->a_type = a ? PTX_bf16 : PTX_f16;
        op->b_type = b ? PTX_bf16 : PTX_f16;
        ok &= a < 2 && b < 2 && d < 2 && (d == 1 || (a == 0 && b == 0));
        break;
    case EMU_TCGEN_TF32:
        op->k = 8;
        op->a_type = op->b_type = PTX_tf32;
        ok &= a == 2 && b == 2 && d == 1;
        break;
    case EMU_TCGEN_F8F6F4:
        op->k = 32;
        op->a_type = f8f6f4[a];
        op->b_type = f8f6f4[b];
        ok &= op->a_type != PTX_NONE && op->b_type != PTX_NONE && d < 2;
        break;
    case EMU_TCGEN_I8:
        op->k = 32;
        op->a_type = a ? PTX_s8 : PTX_u8;
        op->b_type = b ? PTX_s8 : PTX_u8;
        ok &= a < 2 && b < 2 && d == 2;
        break;
    }
    bool wide = kind == EMU_TCGEN_I8 && (op->pair || op->n > 32); /* rows of the table of shapes */
    bool bytes = kind == EMU_TCGEN_F8F6F4 || kind == EMU_TCGEN_I8;
    ok &= (op->pair ? op->m == 128 || op->m == 256 : op->m == 64 || op->m == 128) && op->n >= 8 && op->n <= 256;
    ok &= op->n % ((wide || (bytes && op->trans_b) ? 16 : 8) * (op->pair ? 2 : 1)) == 0;
    ok &= !(idesc & 4) && !(idesc & (1u << 6 | 1u << 23 | 1u << 29)); /* dense; reserved */
    ok &= kind == EMU_TCGEN_I8 ? !(idesc >> 13 & 3) : !op->saturate;
    ok &= op->scale == 0 || kind == EMU_TCGEN_F16 || kind == EMU_TCGEN_TF32;
    if (!ok)
        ks_emu_fault(w, KS_ERR_DEVICE, "tensor-descriptor", lane, "", idesc, "",
                     "instruction descriptor 0x%08x: no such types, shape (M %u, N %u), negation, saturation or scale of this "
                     "kind, or reserved bits",
                     idesc, op->m, op->n);
    return ok;
}

/* What a shared memory descriptor must not say; NULL: nothing. */
static const char *descriptor_mistake(uint64_t desc, bool trans, enum ptx_type t)
{
    uint32_t code = (uint32_t)(desc >> 61);
    if ((desc >> 46 & 7) != 1)
        return "bits 46 to 48 must be 1";
    if (desc >> 52 & 0x1ff)
        return "bits 52 to 60 must be 0";
    if (code == 3 || code == 5 || code == 7)
        return "no such swizzle";
    if (trans && (t == PTX_tf32) != (code == 1))
        return t == PTX_tf32 ? "transposed tf32 needs the 128-byte swizzle of 32-byte atoms"
                             : "transposed, the 128-byte swizzle of 32-byte atoms is for tf32";
    return NULL;
}

/* Lines of an operand in shared memory, as the checks of asynchronous reads see them; false: outside. */
static bool check_shared(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_block *b, uint64_t desc, bool trans,
                         uint32_t lines, uint32_t k, enum ptx_type t, const char *what, struct emu_tcgen_op *op)
{
    struct emu_operand o;
    uint32_t each = 128 / ks_emu_element_bits(t), n = trans ? k : lines, pieces = (trans ? lines : k) / each;
    bool checked = w->worker->launch->checks & (KS_EMU_CHECK_INIT | KS_EMU_CHECK_RACE | KS_EMU_CHECK_SYNC);
    int which = what[0] == 'B';
    bool mismatch = false;
    op->lo[which] = UINT32_MAX;
    op->hi[which] = 0;
    ks_emu_tcgen_operand(b, desc, trans, &o);
    uint32_t seen;
    const char *mistake = descriptor_mistake(desc, trans, t);
    if (mistake) {
        ks_emu_fault(w, KS_ERR_DEVICE, "tensor-descriptor", lane, "", 0, "", "descriptor 0x%016llx of operand %s: %s",
                     (unsigned long long)desc, what, mistake);
        return false;
    }
    for (uint32_t l = 0; l < n; l++) {
        for (uint32_t p = 0; p < pieces; p++) {
            uint32_t a = ks_emu_operand_address(&o, l, p);
            if (a + 16 > b->shared_bytes) {
                ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", lane, "load", a, "shared",
                             "operand %s of tcgen05 reaches past the block's %u bytes of shared memory", what, b->shared_bytes);
                return false;
            }
            op->lo[which] = a < op->lo[which] ? a : op->lo[which];
            op->hi[which] = a + 16 > op->hi[which] ? a + 16 : op->hi[which];
            if (checked && !ks_emu_async_shared(w, in, lane, b, a, 16, false))
                return false;
            if (!mismatch && ks_emu_proxy_swizzle(b, a, &seen) && seen != (uint32_t)o.swizzle) {
                mismatch = true;
                ks_emu_report(w, "tensor-swizzle", lane, w->pc, "load", a, "shared", NULL,
                              "operand %s is read with another swizzle (%s) than a tensor copy wrote it with (%s)", what,
                              ks_emu_swizzle_name(o.swizzle), ks_emu_swizzle_name((enum ks_emu_map_swizzle)seen));
            }
        }
    }
    return true;
}

/* Where a result or A may start: lane 0, and of 64 rows, which lie in half of each quarter, lane 16 too.  False: faulted. */
static bool first_lane(struct emu_warp *w, int thread, uint32_t lane, bool halves, const char *what)
{
    if (lane == 0 || (halves && lane == 16))
        return true;
    ks_emu_fault(w, KS_ERR_DEVICE, "tensor-lanes", thread, "", lane << 16, "",
                 "%s of tcgen05.mma at lane %u of tensor memory, must be %s", what, lane, halves ? "0 or 16" : "0");
    return false;
}

static bool check_mma(struct emu_warp *w, const struct emu_insn *in, int lane, struct emu_tcgen_op *op)
{
    struct emu_block *b[2];
    uint32_t n = blocks_of(w, lane, op->pair, b);
    uint32_t rows = n ? op->m / n : 0, width = rows == 64 && n == 2 ? op->n / 2 : op->n, d = op->d & 0xffff;
    op->width = width;
    if (n && (!same_group(w, lane, op->pair, false) || !first_lane(w, lane, op->d >> 16, rows == 64 && n == 1, "the result") ||
              (op->a_in_tmem && !first_lane(w, lane, (uint32_t)op->a >> 16, rows == 64 && n == 1, "operand A"))))
        return false;
    uint32_t base = op->d >> 16;
    if (n && op->a_in_tmem && (uint32_t)op->a >> 16 != base) {
        ks_emu_fault(w, KS_ERR_DEVICE, "tensor-lanes", lane, "", (uint32_t)op->a, "",
                     "operand A of tcgen05.mma at lane %u of tensor memory, the result at lane %u", (uint32_t)op->a >> 16, base);
        return false;
    }
    for (uint32_t k = 0; k < n; k++) {
        uint32_t lanes = rows == 64 && n == 1 ? 16 : 128, step = lanes == 16 ? 32 : 128;
        if (!ks_emu_tmem_columns(w, lane, b[k], d, width, "the result of tcgen05.mma"))
            return false;
        if (op->a_in_tmem) {
            uint32_t cells = op->k * ks_emu_element_bits((enum ptx_type)op->a_type) / 32, a = (uint32_t)op->a & 0xffff;
            if (!ks_emu_tmem_columns(w, lane, b[k], a, cells, "operand A of tcgen05.mma"))
                return false;
            uint32_t from = (uint32_t)op->a >> 16;
            op->width_a = cells;
            for (uint32_t l = from; l < 128; l += step)
                ks_emu_tmem_check(w, lane, b[k], l, lanes, a, cells, EMU_TMEM_PIPE, "operand A of tcgen05.mma");
            if (n == 1)
                ks_emu_tmem_order(w, lane, 0, EMU_TMEM_LANES, a, cells, false, "operand A of tcgen05.mma");
        } else if (!check_shared(w, in, lane, b[k], op->a, op->trans_a, rows, op->k, (enum ptx_type)op->a_type, "A", op)) {
            return false;
        }
        if (!check_shared(w, in, lane, b[k], op->b, op->trans_b, op->n / n, op->k, (enum ptx_type)op->b_type, "B", op))
            return false;
        if (n == 1)
            ks_emu_tmem_order(w, lane, 0, EMU_TMEM_LANES, d, width, true, "the result of tcgen05.mma");
        else
            ks_emu_tmem_forget(b[k], d, width); /* by a warp of another block */
        for (uint32_t l = base; l < 128; l += step) {
            if (op->accumulate)
                ks_emu_tmem_check(w, lane, b[k], l, lanes, d, width, EMU_TMEM_PIPE, "the accumulator of tcgen05.mma");
            ks_emu_tmem_mark(b[k], l, lanes, d, width, EMU_TMEM_BUSY);
        }
    }
    return n > 0;
}

/* ext: result, A, B's descriptor, instruction descriptor, enable, disabled lanes. */
static void mma(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    w->pc = ks_emu_pc(w, in);
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(mask, i))
            continue;
        struct emu_tcgen_op op = {.kind = EMU_TCGEN_MMA,
                                  .pair = in->sub & EMU_TC_PAIR,
                                  .d = R32(in->ext[0])[i],
                                  .a_in_tmem = in->sub & EMU_TC_A_TMEM,
                                  .b = R64(in->ext[2])[i],
                                  .accumulate = emu_lane(RP(in->ext[4]), i),
                                  .scale = (uint32_t)in->imm};
        op.a = op.a_in_tmem ? R32(in->ext[1])[i] : R64(in->ext[1])[i];
        for (uint32_t k = 5; k < in->n_ext; k++)
            op.disabled[k - 5] = R32(in->ext[k])[i];
        if (!decode_descriptor(w, i, R32(in->ext[3])[i], (enum emu_tcgen_type)in->type, &op) || !check_mma(w, in, i, &op))
            return;
        w->worker->mem[w->pc].flops += 2ull * op.m * op.n * op.k;
        push(w, i, &op);
    }
}

static void cp(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    static const struct {
        uint32_t lines, pieces;
    } shapes[] = {{128, 2}, {128, 1}, {4, 2}, {64, 1}, {64, 1}, {32, 1}};
    w->pc = ks_emu_pc(w, in);
    for (int i = 0; i < EMU_LANES; i++) {
        struct emu_block *b[2];
        if (!emu_lane(mask, i))
            continue;
        struct emu_tcgen_op op = {.kind = EMU_TCGEN_CP,
                                  .pair = in->sub & EMU_TC_PAIR,
                                  .shape = (enum emu_tcgen_cp)in->type,
                                  .d = R32(in->a)[i],
                                  .a = R64(in->b)[i]};
        uint32_t n = blocks_of(w, i, op.pair, b), columns = 4 * shapes[in->type].pieces, lane = op.d >> 16;
        bool few = in->type == EMU_CP_4X256;
        if (n && lane >= (few ? 32 : 1)) {
            ks_emu_fault(w, KS_ERR_DEVICE, "tensor-lanes", i, "", op.d, "", "tcgen05.cp at lane %u of tensor memory, must be %s",
                         lane, few ? "0 to 31, the same lane of each quarter" : "0");
            return;
        }
        for (uint32_t k = 0; k < n; k++) {
            if (!ks_emu_tmem_columns(w, i, b[k], op.d & 0xffff, columns, "tcgen05.cp") ||
                !check_shared(w, in, i, b[k], op.a, false, shapes[in->type].lines, 16 * shapes[in->type].pieces, PTX_u8, "of cp",
                              &op))
                return;
            op.width = columns;
            ks_emu_tmem_pipelined(w, i, b[k], &op, "tcgen05.cp");
            if (n == 1)
                ks_emu_tmem_order(w, i, 0, EMU_TMEM_LANES, op.d & 0xffff, columns, true, "tcgen05.cp");
            for (uint32_t l = few ? lane : 0; l < EMU_TMEM_LANES; l += few ? 32 : 1)
                ks_emu_tmem_mark(b[k], l, 1, op.d & 0xffff, columns, EMU_TMEM_BUSY);
        }
        if (!n)
            return;
        push(w, i, &op);
    }
}

static void shift(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    w->pc = ks_emu_pc(w, in);
    for (int i = 0; i < EMU_LANES; i++) {
        struct emu_block *b[2];
        if (!emu_lane(mask, i))
            continue;
        struct emu_tcgen_op op = {.kind = EMU_TCGEN_SHIFT, .pair = in->sub & EMU_TC_PAIR, .d = R32(in->a)[i]};
        uint32_t n = blocks_of(w, i, op.pair, b), lane = op.d >> 16;
        if (n && (lane % 32 || lane >= EMU_TMEM_LANES)) {
            ks_emu_fault(w, KS_ERR_DEVICE, "tensor-lanes", i, "", op.d, "", "tcgen05.shift at lane %u, must be a multiple of 32",
                         lane);
            return;
        }
        for (uint32_t k = 0; k < n; k++)
            if (!ks_emu_tmem_columns(w, i, b[k], op.d & 0xffff, 8, "tcgen05.shift"))
                return;
        if (!n)
            return;
        op.width = 8;
        if (n == 1)
            ks_emu_tmem_order(w, i, lane, 32, op.d & 0xffff, 8, true, "tcgen05.shift");
        for (uint32_t k = 0; k < n; k++) {
            ks_emu_tmem_pipelined(w, i, b[k], &op, "tcgen05.shift");
            ks_emu_tmem_check(w, i, b[k], lane, 32, op.d & 0xffff, 8, EMU_TMEM_PIPE, "tcgen05.shift");
            ks_emu_tmem_mark(b[k], lane, 32, op.d & 0xffff, 8, EMU_TMEM_BUSY);
        }
        push(w, i, &op);
    }
}

/* The barrier hears of everything the block issued to the tensor pipe before. */
static void commit(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_cluster *c = w->block->cluster;
    w->pc = ks_emu_pc(w, in);
    for (int i = 0; i < EMU_LANES; i++) {
        uint32_t offset;
        if (!emu_lane(mask, i))
            continue;
        struct emu_block *b = ks_emu_shared_at(w, i, R64(in->a)[i], in->sub & EMU_TC_GENERIC, 8, 8, "tcgen05.commit", &offset);
        if (!b || !ks_emu_mbarrier_need(w, i, w->pc, b, offset, "tcgen05.commit"))
            return;
        struct emu_tcgen_op *marker = ks_xcalloc(1, sizeof(*marker));
        marker->kind = EMU_TCGEN_COMMIT;
        struct emu_async_op op = {.kind = EMU_ASYNC_ARRIVE,
                                  .block = w->block,
                                  .warp = w->id,
                                  .lane = (uint32_t)i,
                                  .pc = w->pc,
                                  .blocks = (uint16_t)(1u << b->rank),
                                  .barrier_rank = b->rank,
                                  .barrier = offset,
                                  .tcgen = marker};
        if (in->c != EMU_NONE) {
            op.blocks = R16(in->c)[i];
            op.multicast = true;
            if (op.blocks == 0 || op.blocks >> c->n_blocks) {
                free(marker);
                ks_emu_fault(w, KS_ERR_DEVICE, "multicast-mask", i, "", op.blocks, "",
                             "tcgen05.commit to blocks 0x%x of a cluster of %u", op.blocks, c->n_blocks);
                return;
            }
        }
        ks_emu_tmem_before_sync(w);
        if (w->worker->launch->checks & KS_EMU_CHECK_RACE)
            ks_emu_race_release(w, false);
        ks_emu_async_push(c, &op);
    }
}

const struct emu_row ks_emu_rows_tcgen[] = {{"tcgen05.alloc", alloc},
                                            {"tcgen05.dealloc", dealloc},
                                            {"tcgen05.relinquish", relinquish},
                                            {"tcgen05.ld", load},
                                            {"tcgen05.st", store},
                                            {"tcgen05.wait.ld", wait_ld},
                                            {"tcgen05.wait.st", wait_st},
                                            {"tcgen05.mma", mma},
                                            {"tcgen05.cp", cp},
                                            {"tcgen05.shift", shift},
                                            {"tcgen05.commit", commit},
                                            {"tcgen05.fence.before", fence_before},
                                            {"tcgen05.fence.after", fence_after},
                                            {NULL, NULL}};
