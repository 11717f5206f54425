#include "harness/emulated/async.h"
#include "harness/emulated/exec_float.h"
#include "harness/emulated/exec_mem.h"
#include "harness/emulated/tensor.h"

/* Matrix loads and stores of a warp (ldmatrix, stmatrix, wmma), movmatrix, and cp.async. */

/* Resolves accesses of any space whose lanes are all in the same one; generic addresses are looked at lane by lane. */
static bool resolve(struct emu_warp *w, const struct emu_insn *in, struct emu_access *x)
{
    if (in->space == PTX_SHARED)
        return ks_emu_resolve_shared(w, in, x);
    if (in->space == PTX_GLOBAL || in->space == PTX_CONST)
        return ks_emu_resolve_global(w, in, x);
    struct emu_access part[3];
    ks_emu_split_generic(w, x, part);
    for (int s = 0; s < 3; s++) {
        if (part[s].mask != x->mask)
            continue;
        if (!(s == 0   ? ks_emu_resolve_global(w, in, &part[s])
              : s == 1 ? ks_emu_resolve_shared(w, in, &part[s])
                       : ks_emu_resolve_local(w, in, &part[s])))
            return false;
        *x = part[s];
        return true;
    }
    ks_emu_fault(w, KS_ERR_UNSUPPORTED, "unsupported", __builtin_ctz(x->mask), "", x->ad[0], "",
                 "a matrix access over several memory spaces");
    return false;
}

static struct emu_matrix matrix_of(const struct emu_insn *in)
{
    struct emu_matrix x;
    memcpy(&x, &in->target, sizeof(x));
    return x;
}

/* Row addresses come from lanes 0-7 for the first matrix of eight rows, 8-15 for the second, and so on. */
static bool row_addresses(struct emu_warp *w, const struct emu_insn *in, bool store, struct emu_access *x)
{
    struct emu_matrix m = matrix_of(in);
    uint32_t rows = m.n * (!store && m.layout == EMU_MATRIX_BYTES ? 16u : 8u);
    *x = (struct emu_access){.bytes = 16, .store = store};
    ks_emu_addresses(w, in->a, in->sub & 1, in->imm, rows >= 32 ? EMU_FULL : (1u << rows) - 1, x);
    return resolve(w, in, x);
}

/* Reads a row of 16 bytes, or of 16 packed elements that become a byte each. */
static void read_row(uint64_t ad, uint32_t element_bits, uint8_t row[16])
{
    uint8_t packed[16];
    memcpy(packed, (const void *)(uintptr_t)ad, 16);
    for (uint32_t e = 0; e < 16; e++) {
        uint32_t bit = e * element_bits, pair = packed[bit / 8] | (bit / 8 < 15 ? (uint32_t)packed[bit / 8 + 1] << 8 : 0);
        row[e] = (uint8_t)(pair >> (bit & 7) & ((1u << element_bits) - 1));
    }
}

/* Where byte k of register r of lane l lies: row and column. */
static inline void place_of(const struct emu_matrix *m, bool store, int l, uint32_t r, int k, uint32_t *ret_row,
                            uint32_t *ret_col)
{
    uint32_t a = (uint32_t)l & 3, b = (uint32_t)l >> 2;
    if (m->layout == EMU_MATRIX_BYTES) {
        *ret_row = store ? 8 * r + 2 * a + (uint32_t)(k & 1) : 16 * (r >> 1) + 4 * a + 2 * (r & 1) + (uint32_t)(k & 1);
        *ret_col = b + 8 * (uint32_t)(k >> 1);
    } else if (m->trans) {
        *ret_row = 8 * r + 2 * a + (uint32_t)(k >> 1);
        *ret_col = 2 * b + (uint32_t)(k & 1);
    } else {
        *ret_row = 8 * r + b;
        *ret_col = 4 * a + (uint32_t)k;
    }
}

static void ldmatrix(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_matrix m = matrix_of(in);
    struct emu_access x;
    uint8_t row[EMU_LANES][16];
    (void)mask;
    if (!row_addresses(w, in, false, &x))
        return;
    for (int i = 0; i < EMU_LANES; i++)
        if (emu_lane(x.mask, i))
            read_row(x.ad[i], m.element_bits, row[i]);
    for (uint32_t r = 0; r < in->n_ext; r++) {
        uint32_t *d = R32(in->ext[r]);
        FOR_LANES(l)
        {
            uint8_t bytes[4];
            for (int k = 0; k < 4; k++) {
                uint32_t i, j;
                place_of(&m, false, l, r, k, &i, &j);
                bytes[k] = row[i][j];
            }
            memcpy(&d[l], bytes, 4);
        }
    }
}

static void stmatrix(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_matrix m = matrix_of(in);
    struct emu_access x;
    uint8_t row[EMU_LANES][16];
    (void)mask;
    if (!row_addresses(w, in, true, &x))
        return;
    for (uint32_t r = 0; r < in->n_ext; r++) {
        const uint32_t *s = R32(in->ext[r]);
        FOR_LANES(l)
        {
            for (int k = 0; k < 4; k++) {
                uint32_t i, j;
                place_of(&m, true, l, r, k, &i, &j);
                row[i][j] = (uint8_t)(s[l] >> 8 * k);
            }
        }
    }
    for (int i = 0; i < EMU_LANES; i++)
        if (emu_lane(x.mask, i))
            memcpy((void *)(uintptr_t)x.ad[i], row[i], 16);
}

static void movmatrix(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    const uint32_t *a = R32(in->a);
    uint32_t *d = R32(in->d);
    uint16_t m[8][8];
    (void)mask;
    FOR_LANES(l)
    {
        m[l >> 2][2 * (l & 3)] = (uint16_t)a[l];
        m[l >> 2][2 * (l & 3) + 1] = (uint16_t)(a[l] >> 16);
    }
    FOR_LANES(l) d[l] = (uint32_t)m[2 * (l & 3) + 1][l >> 2] << 16 | m[2 * (l & 3)][l >> 2];
}

/* One slot of a wmma fragment over all lanes: addresses of its elements (exec_mma.c explains the layout). */
static bool wmma_slot(struct emu_warp *w, const struct emu_insn *in, const struct emu_shape *s, int slot, bool store,
                      struct emu_access *x)
{
    char which = (char)in->type;
    int rows = which == 'b' ? s->k : s->m, cols = which == 'a' ? s->k : s->n, per_lane = rows * cols / EMU_LANES;
    bool wide = in->sub & 1;
    uint64_t base = wide ? R64(in->a)[0] : R32(in->a)[0], stride = R32(in->b)[0];
    *x = (struct emu_access){.bytes = in->size, .store = store, .mask = EMU_FULL, .uncounted = true};
    FOR_LANES(l)
    {
        int e = l * per_lane + slot % per_lane;
        uint64_t i = (uint64_t)(e / cols), j = (uint64_t)(e % cols);
        x->ad[l] = base + (s->flags & EMU_TENSOR_COLUMN ? j * stride + i : i * stride + j) * in->size;
    }
    return resolve(w, in, x);
}

/* Counts a fragment's accesses as the machine makes them, whatever the order of elements here: from shared memory 16 bytes a
 * lane, eight rows at a time, where elements are of 16 bits; else two elements a lane, four lanes a row. */
static void wmma_count(struct emu_warp *w, const struct emu_insn *in, const struct emu_shape *s, bool store)
{
    char which = (char)in->type;
    uint32_t rows = which == 'b' ? s->k : s->m, cols = which == 'a' ? s->k : s->n, column = s->flags & EMU_TENSOR_COLUMN;
    uint64_t base = in->sub & 1 ? R64(in->a)[0] : R32(in->a)[0], stride = R32(in->b)[0];
    uint32_t major = column ? cols : rows, minor = column ? rows : cols, wide = in->size == 2 && in->space == PTX_SHARED ? 8 : 2;
    uint32_t lanes_row = wide == 8 ? 1 : 4, rows_once = EMU_LANES / lanes_row > major ? major : EMU_LANES / lanes_row;
    uint32_t step = wide * lanes_row, down = wide == 8 && major > 16 ? 16 : rows_once;
    if (!w->worker->launch->counting || in->size == 8 || minor % step || major % down)
        return;
    uint32_t across = EMU_LANES / lanes_row / down; /* stretches of a row side by side */
    for (uint32_t r = 0; r < major; r += down)
        for (uint32_t c = 0; c < minor; c += step * across) {
            struct emu_access x = {.bytes = wide * in->size, .store = store, .mask = EMU_FULL};
            FOR_LANES(l)
            {
                uint32_t lane = (uint32_t)l / lanes_row, row = r + lane % down,
                         col = c + lane / down % across * step + (uint32_t)l % lanes_row * wide;
                x.ad[l] = base + (row * stride + col) * in->size;
            }
            ks_emu_count(w, in, &x);
        }
}

static void wmma_load(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_shape s;
    struct emu_access x;
    memcpy(&s, &in->imm, sizeof(s));
    (void)mask;
    wmma_count(w, in, &s, false);
    if (in->size == 8) {
        for (int slot = 0; slot < in->n_ext; slot++) {
            if (!wmma_slot(w, in, &s, slot, false, &x))
                return;
            FOR_LANES(l) memcpy(&R64(in->ext[slot])[l], (const void *)(uintptr_t)x.ad[l], 8);
        }
        return;
    }
    int each = 4 / in->size, slots = in->n_ext * each, rows = (char)in->type == 'b' ? s.k : s.m,
        cols = (char)in->type == 'a' ? s.k : s.n;
    int per_lane = rows * cols / EMU_LANES;
    for (int slot = 0; slot < slots; slot++) {
        uint32_t *d = R32(in->ext[slot / each]);
        int shift = slot % each * in->size * 8;
        if (slot >= per_lane) { /* repeated */
            const uint32_t *from = R32(in->ext[slot % per_lane / each]);
            if (slot % each == 0)
                FOR_LANES(l) d[l] = from[l];
            continue;
        }
        if (!wmma_slot(w, in, &s, slot, false, &x))
            return;
        FOR_LANES(l)
        {
            uint32_t v = 0;
            memcpy(&v, (const void *)(uintptr_t)x.ad[l], in->size);
            d[l] = shift ? d[l] | v << shift : v;
        }
    }
}

static void wmma_store(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_shape s;
    struct emu_access x;
    memcpy(&s, &in->imm, sizeof(s));
    (void)mask;
    wmma_count(w, in, &s, true);
    int each = in->size == 8 ? 1 : 4 / in->size, per_lane = s.m * s.n / EMU_LANES;
    for (int slot = 0; in->size == 8 && slot < per_lane; slot++) {
        if (!wmma_slot(w, in, &s, slot, true, &x))
            return;
        FOR_LANES(l) memcpy((void *)(uintptr_t)x.ad[l], &R64(in->ext[slot])[l], 8);
    }
    if (in->size == 8)
        return;
    for (int slot = 0; slot < per_lane; slot++) {
        const uint32_t *d = R32(in->ext[slot / each]);
        if (!wmma_slot(w, in, &s, slot, true, &x))
            return;
        FOR_LANES(l)
        {
            uint32_t v = d[l] >> slot % each * in->size * 8;
            memcpy((void *)(uintptr_t)x.ad[l], &v, in->size);
        }
    }
}

/* a + imm: shared destination, b + target: global source, c: bytes to take (the rest becomes zero). */
static void cp_async(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_access to = {.bytes = in->size, .store = true}, from = {.bytes = in->size};
    const uint32_t *take = in->c == EMU_NONE ? NULL : R32(in->c);
    uint32_t reads = mask;
    if (take)
        FOR_LANES(i) reads &= take[i] ? EMU_FULL : ~(1u << i);
    if (reads) {
        bool part = false;
        if (take)
            FOR_LANES(i) part |= emu_lane(reads, i) && take[i] < in->size;
        ks_emu_addresses(w, in->b, true, (int32_t)in->target, reads, &from);
        if (part) { /* only the bytes asked for are read, so check them alone, lane by lane */
            for (int i = 0; i < EMU_LANES; i++) {
                if (!emu_lane(reads, i))
                    continue;
                const struct emu_alloc *a = ks_emu_alloc_find(w->worker->launch->emu, (uintptr_t)from.ad[i]);
                uint32_t n = take[i] < in->size ? take[i] : in->size;
                if (!a || !a->live || from.ad[i] + n > (uintptr_t)a->base + a->size) {
                    w->pc = ks_emu_pc(w, in);
                    ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", i, "load", from.ad[i], "global", "cp.async reads %u bytes",
                                 n);
                    return;
                }
            }
        } else if (!ks_emu_resolve_global(w, in, &from)) {
            return;
        }
    }
    ks_emu_addresses(w, in->a, in->sub & 1, in->imm, mask, &to);
    if (!resolve(w, in, &to))
        return;
    FOR_LANES(i)
    {
        if (!emu_lane(mask, i))
            continue;
        uint32_t n = take && take[i] < in->size ? take[i] : in->size;
        memset((void *)(uintptr_t)to.ad[i], 0, in->size);
        if (n)
            memcpy((void *)(uintptr_t)to.ad[i], (const void *)(uintptr_t)from.ad[i], n);
        if (w->block->shared_init) {
            struct emu_async pending = {
                w->id,    (uint32_t)i,     w->async_group[i], (uint32_t)(to.ad[i] - (uintptr_t)w->block->shared),
                in->size, ks_emu_pc(w, in)};
            memset(w->block->shared_init + pending.offset, EMU_SHADOW_ASYNC, pending.bytes);
            ks_vec_push(&w->block->async, pending);
        }
    }
}

static void cp_async_commit(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    (void)in;
    FOR_LANES(i) w->async_group[i] += mask >> i & 1u;
}

/* imm: groups that may stay pending; -1: wait for everything, committed or not. */
static void cp_async_wait(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_block *b = w->block;
    size_t kept = 0;
    for (size_t k = 0; k < b->async.n; k++) {
        struct emu_async a = b->async.data[k];
        bool mine = a.warp == w->id && emu_lane(mask, (int)a.lane);
        if (mine && (in->imm < 0 || (int64_t)a.group < (int64_t)w->async_group[a.lane] - in->imm))
            memset(b->shared_init + a.offset, EMU_SHADOW_WRITTEN, a.bytes);
        else
            b->async.data[kept++] = a;
    }
    b->async.n = kept;
}

void ks_emu_cp_async_settle(struct emu_block *b, uint32_t warp, uint32_t lane)
{
    size_t kept = 0;
    for (size_t k = 0; k < b->async.n; k++) {
        struct emu_async a = b->async.data[k];
        if (a.warp == warp && a.lane == lane)
            memset(b->shared_init + a.offset, EMU_SHADOW_WRITTEN, a.bytes);
        else
            b->async.data[kept++] = a;
    }
    b->async.n = kept;
}

const struct emu_row ks_emu_rows_matrix[] = {{"ldmatrix", ldmatrix},
                                             {"stmatrix", stmatrix},
                                             {"movmatrix", movmatrix},
                                             {"wmma.load", wmma_load},
                                             {"wmma.store", wmma_store},
                                             {"cp.async", cp_async},
                                             {"cp.async.commit", cp_async_commit},
                                             {"cp.async.wait", cp_async_wait},
                                             {NULL, NULL}};
