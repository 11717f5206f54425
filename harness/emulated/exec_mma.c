#include "harness/emulated/exec_float.h"
#include "harness/emulated/device.h"
#include "harness/emulated/tensor.h"

/* Matrix products of a warp.  Operands are unpacked into small matrices, multiplied in double precision (products of the narrow
 * types are exact there, sums nearly so) and rounded once to the accumulator's type; integers are exact.  Tensor cores differ
 * from that in the last bits: they truncate sums, in an order the hardware does not document. */

#define MAX_DIM 32

struct tile {
    double a[MAX_DIM][MAX_DIM]; /* [m][k] */
    double b[MAX_DIM][MAX_DIM]; /* [k][n] */
    double c[MAX_DIM][MAX_DIM]; /* [m][n] */
};

static struct emu_shape shape_of(const struct emu_insn *in)
{
    struct emu_shape s;
    memcpy(&s, &in->imm, sizeof(s));
    return s;
}

static int elements_per_register(enum ptx_type t)
{
    return t == PTX_f16 || t == PTX_bf16 ? 2 : t == PTX_u8 || t == PTX_s8 || t == PTX_e4m3 || t == PTX_e5m2 ? 4 : 1;
}

static double element(uint32_t reg, int j, enum ptx_type t)
{
    switch ((int)t) {
    case PTX_f16:
        return emu_half_to_float((uint16_t)(reg >> 16 * j));
    case PTX_bf16:
        return emu_bf16_to_float((uint16_t)(reg >> 16 * j));
    case PTX_u8:
        return (uint8_t)(reg >> 8 * j);
    case PTX_s8:
        return (int8_t)(reg >> 8 * j);
    case PTX_e4m3:
        return ks_emu_decode(reg >> 8 * j & 0xff, EMU_FMT_E4M3);
    case PTX_e5m2:
        return ks_emu_decode(reg >> 8 * j & 0xff, EMU_FMT_E5M2);
    case PTX_tf32: /* the low 13 bits are ignored */
        return emu_f32(reg & 0xffffe000u);
    case PTX_s32:
        return (int32_t)reg;
    default:
        return emu_f32(reg);
    }
}

/* d = a x b + c over the tile, into c. */
static void multiply(struct tile *t, const struct emu_shape *s)
{
    for (int i = 0; i < s->m; i++) {
        for (int k = 0; k < s->k; k++) {
            double x = t->a[i][k];
            for (int j = 0; j < s->n; j++)
                t->c[i][j] += x * t->b[k][j];
        }
    }
}

static uint32_t result32(double v, enum ptx_type t, uint8_t flags)
{
    if (t == PTX_s32) { /* exact: |v| < 2^53 */
        int64_t i = (int64_t)v;
        if (flags & EMU_TENSOR_SATFINITE)
            i = i > INT32_MAX ? INT32_MAX : i < INT32_MIN ? INT32_MIN : i;
        return (uint32_t)i;
    }
    return emu_bits32(emu_nan32((float)v));
}

/* ------------------------------------------------------------------------------------------------ mma.sync */

/* Registers hold rows g, g + 8 and runs of four lanes: lane = 4 g + t (PTX ISA, "Matrix Fragments for mma.m16n8k*"). */
static void mma(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_shape s = shape_of(in);
    struct tile t;
    int ea = elements_per_register(s.a_type), na = s.m * s.k / ea / 32, nb = s.n * s.k / ea / 32,
        nc = s.d_type == PTX_f16 ? 2 : 4;
    const uint32_t *d = in->ext, *a = d + nc, *b = a + na, *c = b + nb;
    (void)mask;
    for (int r = 0; r < na; r++) {
        const uint32_t *reg = R32(a[r]);
        FOR_LANES(l)
        for (int j = 0; j < ea; j++)
            t.a[(l >> 2) + 8 * (r & 1)][ea * (l & 3) + j + 4 * ea * (r >> 1)] = element(reg[l], j, s.a_type);
    }
    for (int r = 0; r < nb; r++) {
        const uint32_t *reg = R32(b[r]);
        FOR_LANES(l)
        for (int j = 0; j < ea; j++)
            t.b[ea * (l & 3) + j + 4 * ea * r][l >> 2] = element(reg[l], j, s.b_type);
    }
    for (int r = 0; r < nc; r++) {
        const uint32_t *reg = R32(c[r]);
        FOR_LANES(l)
        {
            if (s.c_type == PTX_f16) {
                for (int j = 0; j < 2; j++)
                    t.c[(l >> 2) + 8 * r][2 * (l & 3) + j] = element(reg[l], j, PTX_f16);
            } else {
                t.c[(l >> 2) + 8 * (r >> 1)][2 * (l & 3) + (r & 1)] = element(reg[l], 0, s.c_type);
            }
        }
    }
    multiply(&t, &s);
    for (int r = 0; r < nc; r++) {
        uint32_t *reg = R32(d[r]);
        FOR_LANES(l)
        {
            if (s.d_type == PTX_f16) {
                const double *row = &t.c[(l >> 2) + 8 * r][2 * (l & 3)];
                reg[l] = ks_emu_encode(row[0], EMU_FMT_F16, EMU_RN, false) | ks_emu_encode(row[1], EMU_FMT_F16, EMU_RN, false)
                                                                                 << 16;
            } else {
                reg[l] = result32(t.c[(l >> 2) + 8 * (r >> 1)][2 * (l & 3) + (r & 1)], s.d_type, s.flags);
            }
        }
    }
}

/* m8n8k4 in double precision, accumulated in order of k with fused multiply-adds. */
static void mma_f64(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    double a[8][4], b[4][8], c[8][8];
    const uint32_t *e = in->ext;
    (void)mask;
    FOR_LANES(l)
    {
        a[l >> 2][l & 3] = RD(e[2])[l];
        b[l & 3][l >> 2] = RD(e[3])[l];
        for (int j = 0; j < 2; j++)
            c[l >> 2][2 * (l & 3) + j] = RD(e[4 + j])[l];
    }
    for (int i = 0; i < 8; i++)
        for (int k = 0; k < 4; k++)
            for (int j = 0; j < 8; j++)
                c[i][j] = __builtin_fma(a[i][k], b[k][j], c[i][j]);
    FOR_LANES(l)
    for (int j = 0; j < 2; j++)
        RD(e[j])[l] = c[l >> 2][2 * (l & 3) + j];
}

/* ------------------------------------------------------------------------------------------------ wmma */

/* Fragments of wmma have a layout of their own choice, as PTX allows: element e of the matrix in row-major order belongs to lane
 * e / per_lane, slot e % per_lane; where PTX has more registers than that the slots repeat. */

static void unpack(struct emu_warp *w, const uint32_t *ref, int rows, int cols, enum ptx_type t, double m[MAX_DIM][MAX_DIM])
{
    int per_lane = rows * cols / EMU_LANES, each = elements_per_register(t);
    for (int slot = 0; slot < per_lane; slot++) {
        const uint32_t *reg = R32(ref[slot / each]);
        FOR_LANES(l)
        {
            int e = l * per_lane + slot;
            m[e / cols][e % cols] = element(reg[l], slot % each, t);
        }
    }
}

static int n_registers(const struct emu_shape *s, char which, enum ptx_type t)
{
    if (which == 'c')
        return s->m * s->n / 32 / (t == PTX_f16 ? 2 : 1);
    return t == PTX_f16 ? 8 : (which == 'a' ? s->m : s->n) * s->k / 32 / elements_per_register(t);
}

static void wmma_mma(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_shape s = shape_of(in);
    struct tile t;
    const uint32_t *d = in->ext, *a = d + n_registers(&s, 'c', s.d_type), *b = a + n_registers(&s, 'a', s.a_type),
                   *c = b + n_registers(&s, 'b', s.b_type);
    (void)mask;
    unpack(w, a, s.m, s.k, s.a_type, t.a);
    unpack(w, b, s.k, s.n, s.b_type, t.b);
    unpack(w, c, s.m, s.n, s.c_type, t.c);
    multiply(&t, &s);
    int per_lane = s.m * s.n / EMU_LANES;
    for (int slot = 0; slot < per_lane; slot++) {
        FOR_LANES(l)
        {
            int e = l * per_lane + slot;
            double v = t.c[e / s.n][e % s.n];
            if (s.d_type != PTX_f16) {
                R32(d[slot])[l] = result32(v, s.d_type, s.flags);
                continue;
            }
            uint32_t *reg = &R32(d[slot / 2])[l], h = ks_emu_encode(v, EMU_FMT_F16, EMU_RN, false);
            *reg = slot & 1 ? (*reg & 0xffffu) | h << 16 : h;
        }
    }
}

const struct emu_row ks_emu_rows_mma[] = {{"mma", mma}, {"mma.f64", mma_f64}, {"wmma.mma", wmma_mma}, {NULL, NULL}};
