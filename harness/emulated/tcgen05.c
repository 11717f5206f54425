#include "harness/emulated/async.h"
#include "harness/emulated/exec_float.h"
#include "harness/emulated/operand.h"
#include "harness/emulated/small_float.h"
#include "harness/emulated/tensor.h"
#include "harness/emulated/tensor_memory.h"

/* What tcgen05 operations do when they complete.  Their operands were checked when they were issued. */

#define MAX_K 32
#define MAX_N 256

struct work {
    const struct emu_tcgen_op *op;
    struct emu_block *block[2];
    uint32_t n_blocks, rows; /* rows of A and D a block has */
    _Alignas(64) float a[EMU_TMEM_LANES * MAX_K];
    _Alignas(64) float b[MAX_K * MAX_N];
    _Alignas(64) float d[EMU_TMEM_LANES * MAX_N]; /* f16 and saturating results; disabled lanes */
};

static void load_a(struct work *x, struct emu_block *b)
{
    const struct emu_tcgen_op *op = x->op;
    enum ptx_type t = (enum ptx_type)op->a_type;
    struct emu_operand o;
    float line[EMU_TMEM_LANES];
    if (op->a_in_tmem) {
        for (uint32_t r = 0; r < x->rows; r++)
            ks_emu_elements(&b->tmem->cell[ks_emu_tmem_lane(x->rows, r, (uint32_t)op->a >> 16)][op->a & 0xffff], op->k, t,
                            x->a + r * op->k);
    } else {
        ks_emu_tcgen_operand(b, op->a, op->trans_a, &o);
        for (uint32_t r = 0; r < x->rows && !op->trans_a; r++)
            ks_emu_operand_line(&o, r, 0, op->k, t, x->a + r * op->k);
        for (uint32_t i = 0; i < op->k && op->trans_a; i++) {
            ks_emu_operand_line(&o, i, 0, x->rows, t, line);
            for (uint32_t r = 0; r < x->rows; r++)
                x->a[r * op->k + i] = line[r];
        }
    }
    for (uint32_t i = 0; op->negate && i < x->rows * op->k; i++)
        x->a[i] = -x->a[i];
}

/* b[k][n]: each block of a pair has its half of the columns. */
static void load_b(struct work *x)
{
    const struct emu_tcgen_op *op = x->op;
    uint32_t part = op->n / x->n_blocks;
    float line[MAX_N];
    for (uint32_t p = 0; p < x->n_blocks; p++) {
        struct emu_operand o;
        float *to = x->b + p * part;
        ks_emu_tcgen_operand(x->block[p], op->b, op->trans_b, &o);
        for (uint32_t j = 0; j < part && !op->trans_b; j++) {
            ks_emu_operand_line(&o, j, 0, op->k, (enum ptx_type)op->b_type, line);
            for (uint32_t i = 0; i < op->k; i++)
                to[i * op->n + j] = line[i];
        }
        for (uint32_t i = 0; i < op->k && op->trans_b; i++)
            ks_emu_operand_line(&o, i, 0, part, (enum ptx_type)op->b_type, to + i * op->n);
    }
}

/* A run of rows and columns of D as tensor memory holds it. */
struct patch {
    uint32_t row, rows, lane, from, columns; /* rows [row, ..) at lanes [lane, ..), columns [from, ..) of the product */
};

/* 64 rows of one block of a pair: the second half of the columns lies in the upper lanes. */
static uint32_t patches_of(const struct work *x, struct patch *p)
{
    uint32_t n = x->op->n;
    if (x->rows == 64 && x->n_blocks == 2) {
        p[0] = (struct patch){0, 64, 0, 0, n / 2};
        p[1] = (struct patch){0, 64, 64, n / 2, n / 2};
        return 2;
    }
    if (x->rows == 64) {
        for (uint32_t i = 0; i < 4; i++)
            p[i] = (struct patch){16 * i, 16, (x->op->d >> 16) + 32 * i, 0, n};
        return 4;
    }
    p[0] = (struct patch){0, x->rows, 0, 0, n};
    return 1;
}

static void finish_row(const struct emu_tcgen_op *op, uint32_t *cell, const float *d, uint32_t n)
{
    const int32_t *sum = (const int32_t *)(const void *)d;
    if (op->d_type == PTX_f32) { /* in place */
        for (uint32_t c = 0; c < n; c++)
            cell[c] = (cell[c] & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : cell[c];
        return;
    }
    for (uint32_t c = 0; c < n; c++) {
        if (op->d_type == PTX_f16) {
            cell[c] = ks_emu_encode((double)d[c], EMU_FMT_F16, EMU_RN, false);
        } else {
            int64_t v = (int64_t)(int32_t)cell[c] + sum[c];
            cell[c] = (uint32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
        }
    }
}

static void start_row(const struct emu_tcgen_op *op, uint32_t *cell, float *apart, uint32_t n)
{
    float scale = ldexpf(1.0f, -(int)op->scale);
    if (!op->accumulate)
        memset(cell, 0, n * sizeof(*cell));
    if (op->d_type == PTX_s32)
        memset(apart, 0, n * sizeof(*apart));
    for (uint32_t c = 0; c < n && op->d_type == PTX_f32 && op->scale; c++)
        cell[c] = emu_bits32(emu_f32(cell[c]) * scale);
    for (uint32_t c = 0; c < n && op->d_type == PTX_f16; c++)
        apart[c] = (float)ks_emu_decode(cell[c] & 0xffffu, EMU_FMT_F16) * scale;
}

/* Rows of one block of D.  f32 results and wrapping integers are accumulated in place. */
static void product(struct work *x, struct emu_block *b, const struct patch *p)
{
    const struct emu_tcgen_op *op = x->op;
    uint32_t(*cell)[EMU_TMEM_COLUMNS] = &b->tmem->cell[p->lane];
    uint32_t column = (op->d & 0xffff);
    bool apart = op->d_type == PTX_f16 || (op->d_type == PTX_s32 && op->saturate);
    float *d = apart ? x->d : (float *)(void *)&cell[0][column];
    size_t ld = apart ? p->columns : EMU_TMEM_COLUMNS;
    for (uint32_t r = 0; r < p->rows; r++)
        start_row(op, &cell[r][column], x->d + r * p->columns, p->columns);
    const float *a = x->a + p->row * op->k, *bk = x->b + p->from;
    const struct ks_emu *emu = b->launch->emu;
    if (op->d_type != PTX_s32 && emu->config.sums != KS_EMU_SUMS_DEFAULT) {
        struct emu_dot rule = ks_emu_tensor_rule_async(emu, (enum ptx_type)op->a_type, (enum ptx_type)op->b_type,
                                                       (enum ptx_type)op->d_type, (int)op->k);
        ks_emu_rows_by_rule(d, ld, a, bk, op->n, p->rows, p->columns, op->k, &rule);
    } else if (op->d_type == PTX_s32)
        ks_emu_product_rows_int((int32_t *)(void *)d, ld, (const int32_t *)(const void *)a, (const int32_t *)(const void *)bk,
                                op->n, p->rows, p->columns, op->k);
    else
        ks_emu_product_rows(d, ld, a, bk, op->n, p->rows, p->columns, op->k);
    if (op->d_type == PTX_s32 && !apart)
        return;
    for (uint32_t r = 0; r < p->rows; r++)
        finish_row(op, &cell[r][column], d + r * ld, p->columns);
}

static void mma(struct work *x)
{
    const struct emu_tcgen_op *op = x->op;
    uint32_t column = op->d & 0xffff, any = 0;
    x->rows = op->m / x->n_blocks;
    load_b(x);
    for (int i = 0; i < 8; i++)
        any |= op->disabled[i];
    for (uint32_t k = 0; k < x->n_blocks; k++) {
        struct emu_block *b = x->block[k];
        struct patch p[4];
        uint32_t n = patches_of(x, p), width = p[0].columns;
        uint32_t(*kept)[MAX_N] = any ? ks_xcalloc(EMU_TMEM_LANES, sizeof(*kept)) : NULL;
        for (uint32_t l = 0; any && l < EMU_TMEM_LANES; l++)
            memcpy(kept[l], &b->tmem->cell[l][column], width * 4);
        load_a(x, b);
        for (uint32_t i = 0; i < n; i++) {
            product(x, b, &p[i]);
            ks_emu_tmem_mark(b, p[i].lane, p[i].rows, column, width, EMU_TMEM_WRITTEN);
        }
        for (uint32_t l = 0; any && l < EMU_TMEM_LANES; l++)
            if (op->disabled[4 * k + l / 32] >> (l % 32) & 1u)
                memcpy(&b->tmem->cell[l][column], kept[l], width * 4);
        free(kept);
    }
}

/* ------------------------------------------------------------------------------------------------ cp, shift */

static void copy_line(struct emu_block *b, struct emu_operand *o, uint32_t line, uint32_t pieces, uint32_t lane, uint32_t column)
{
    for (uint32_t p = 0; p < pieces; p++)
        ks_emu_operand_piece(o, line, p, &b->tmem->cell[lane][column + 4 * p]);
    ks_emu_tmem_mark(b, lane, 1, column, 4 * pieces, EMU_TMEM_WRITTEN);
}

static void cp(const struct emu_tcgen_op *op, struct emu_block *b)
{
    struct emu_operand o;
    uint32_t column = op->d & 0xffff, lane = op->d >> 16;
    ks_emu_tcgen_operand(b, op->a, false, &o);
    switch (op->shape) {
    case EMU_CP_128X256:
    case EMU_CP_128X128:
        for (uint32_t r = 0; r < 128; r++)
            copy_line(b, &o, r, op->shape == EMU_CP_128X256 ? 2 : 1, r, column);
        return;
    case EMU_CP_4X256:
        for (uint32_t r = 0; r < 4; r++) /* a lane of each quarter */
            copy_line(b, &o, r, 2, (lane + 32 * r) % EMU_TMEM_LANES, column);
        return;
    case EMU_CP_64X128_02_13: /* to warps 0 and 2, then 1 and 3 */
        for (uint32_t r = 0; r < 64; r++) {
            copy_line(b, &o, r, 1, r, column);
            copy_line(b, &o, r, 1, r + 64, column);
        }
        return;
    case EMU_CP_64X128_01_23:
        for (uint32_t r = 0; r < 64; r++) {
            copy_line(b, &o, r, 1, r / 32 * 64 + r % 32, column);
            copy_line(b, &o, r, 1, r / 32 * 64 + r % 32 + 32, column);
        }
        return;
    case EMU_CP_32X128:
        for (uint32_t r = 0; r < 128; r++)
            copy_line(b, &o, r % 32, 1, r, column);
        return;
    }
}

/* Of the 32 rows from the address, all but the last get the 32 bytes of the row behind them; the last keeps its own, which a copy
 * of 4x256b replaces (PTX ISA, "tcgen05.shift": shape 31x256b).  The ISA does not draw it; this is how CUTLASS describes its use.
 */
static void shift(const struct emu_tcgen_op *op, struct emu_block *b)
{
    uint32_t column = op->d & 0xffff, lane = op->d >> 16 & ~31u;
    for (uint32_t r = 0; r < 31; r++)
        memcpy(&b->tmem->cell[lane + r][column], &b->tmem->cell[lane + r + 1][column], 32);
    ks_emu_tmem_mark(b, lane, 32, column, 8, EMU_TMEM_WRITTEN);
}

void ks_emu_tcgen_run(struct emu_async_op *async)
{
    struct emu_tcgen_op *op = async->tcgen;
    struct emu_cluster *c = async->block->cluster;
    struct work *x = NULL;
    if (posix_memalign((void **)&x, 64, sizeof(*x)) != 0)
        KS_BUG(true);
    x->op = op;
    x->n_blocks = op->pair ? 2 : 1;
    for (uint32_t k = 0; k < x->n_blocks; k++)
        x->block[k] = op->pair ? c->blocks[(async->block->rank & ~1u) + k] : async->block;
    if (op->kind == EMU_TCGEN_MMA)
        mma(x);
    for (uint32_t k = 0; k < x->n_blocks; k++) {
        if (!x->block[k]->tmem)
            continue;
        if (op->kind == EMU_TCGEN_CP)
            cp(op, x->block[k]);
        if (op->kind == EMU_TCGEN_SHIFT)
            shift(op, x->block[k]);
    }
    free(x);
    free(op);
    ks_emu_wake(async->block, EMU_FOR_TENSOR);
}
