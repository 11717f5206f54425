#include "harness/emulated/exec_float.h"
#include "harness/emulated/device.h"
#include "harness/emulated/tensor.h"

/* Matrix products of a warp: mma.sync.  Operands are unpacked into small matrices of doubles (every type but f64 is exact there),
 * sparse ones spread out by their metadata, scaled ones multiplied by their scales; tensor_sum.c then adds up each dot product.
 */

#define MAX_K 256

struct tile {
    double a[16][MAX_K]; /* [m][k] */
    double b[8][MAX_K];  /* [n][k] */
    double c[16][8];     /* [m][n] */
};

static struct emu_mma mma_of(const struct emu_insn *in)
{
    struct emu_mma s;
    memcpy(&s, &in->imm, sizeof(s));
    return s;
}

/* Elements in a register. */
static int per_register(uint32_t t, uint32_t flags)
{
    switch ((int)t) {
    case PTX_f64:
    case PTX_tf32:
    case PTX_f32:
    case PTX_s32:
        return 1;
    case PTX_f16:
    case PTX_bf16:
        return 2;
    case PTX_s4:
    case PTX_u4:
        return 8;
    case PTX_b1:
        return 32;
    default:
        return (flags & EMU_MMA_NIBBLES) ? 8 : 4;
    }
}

/* Spreads register r of A or B over the columns: lane 4 g + t holds e neighbours from e t on. */
static void unpack(struct emu_warp *w, const uint32_t *ref, int n, bool is_a, int rows, uint32_t type, uint32_t flags,
                   double (*m)[MAX_K])
{
    int e = per_register(type, flags);
    for (int r = 0; r < n; r++) {
        int down = is_a && rows == 16 ? 8 * (r & 1) : 0, right = 4 * e * (is_a && rows == 16 ? r >> 1 : r);
        if (type == PTX_f64) {
            const double *reg = RD(ref[r]);
            FOR_LANES(l) m[(l >> 2) + down][(l & 3) + right] = reg[l];
            continue;
        }
        const uint32_t *reg = R32(ref[r]);
        FOR_LANES(l)
        ks_emu_tensor_elements(reg[l], (enum ptx_type)type, flags & EMU_MMA_NIBBLES, &m[(l >> 2) + down][e * (l & 3) + right]);
    }
}

/* A comes compressed: of every four elements (pairs of 4-bit ones) two, of every two tf32 one; a nibble of metadata a group says
 * which.  The selector names one lane of each four, or a pair.  With 16- and 32-bit elements a lane's word holds four groups of
 * row g in its lower and of row g + 8 in its upper half; with narrower ones the first lane holds eight groups of row g, the next
 * of row g + 8 (found by experiment on an H200). */
static void spread_sparse(struct emu_warp *w, const struct emu_mma *s, uint32_t meta, double (*a)[MAX_K])
{
    const uint32_t *word = R32(meta);
    int k = s->k4 * 4, unit = s->a_type == PTX_s4 || s->a_type == PTX_u4 ? 2 : 1, group = s->a_type == PTX_tf32 ? 2 : 4 * unit;
    int groups = k / group, lanes = groups / 4, first = lanes == 4 ? 0 : (s->flags >> 6) * lanes;
    bool bytes = per_register(s->a_type, s->flags) >= 4;
    for (int i = 0; i < 16; i++) {
        double full[MAX_K] = {0};
        for (int q = 0; q < groups; q++) {
            int lane = 4 * (i & 7) + first + (bytes ? (i >> 3) + 2 * (q >> 3) : q >> 2);
            uint32_t nibble = word[lane] >> (bytes ? 4 * (q & 7) : 16 * (i >> 3) + 4 * (q & 3)) & 15;
            int at[2] = {(int)(nibble & 3), (int)(nibble >> 2)};
            if (group == 2) {
                full[2 * q + (at[0] >> 1)] = a[i][q];
                continue;
            }
            for (int h = 0; h < 2; h++)
                for (int u = 0; u < unit; u++)
                    full[q * group + at[h] * unit + u] = a[i][(2 * q + h) * unit + u];
        }
        memcpy(a[i], full, sizeof(double) * (size_t)k);
    }
}

static double scale_of(uint32_t word, uint32_t byte, uint32_t type)
{
    uint32_t bits = word >> 8 * (byte & 3) & 0xff;
    return type == PTX_ue8m0 ? ks_emu_decode(bits, EMU_FMT_UE8M0) : ks_emu_decode(bits & 0x7f, EMU_FMT_E4M3);
}

/* Multiplies rows by their scales.  ref: word, byte selector, thread selector.  Of A, lanes 0 and 1 (or 2 and 3) of each four
 * hold rows g and g + 8; of B, the lane selected holds column g. */
static void apply_scales(struct emu_warp *w, const struct emu_mma *s, const uint32_t *ref, bool is_a, double (*m)[MAX_K])
{
    int k = s->k4 * 4, n = (s->flags & EMU_MMA_VEC4) ? 4 : (s->flags & EMU_MMA_VEC2) ? 2 : 1, rows = is_a ? 16 : 8;
    const uint32_t *word = R32(ref[0]);
    uint32_t byte = R16(ref[1])[0], thread = R16(ref[2])[0];
    for (int i = 0; i < rows; i++) {
        uint32_t lane = 4 * ((uint32_t)i & 7) + (is_a ? 2 * (thread & 1) + ((uint32_t)i >> 3) : thread & 3);
        for (int v = 0; v < n; v++) {
            double f = scale_of(word[lane], byte + (uint32_t)v, s->scale_type);
            for (int j = v * k / n; j < (v + 1) * k / n; j++)
                m[i][j] *= f;
        }
    }
}

static int registers_of_c(const struct emu_mma *s)
{
    return s->d_type == PTX_f16 ? s->m / 8 : s->m / 4;
}

static void load_c(struct emu_warp *w, const struct emu_mma *s, const uint32_t *c, struct tile *t)
{
    for (int r = 0; r < registers_of_c(s); r++) {
        FOR_LANES(l)
        {
            int g = l >> 2, q = 2 * (l & 3);
            if (s->c_type == PTX_f16) {
                t->c[g + 8 * r][q] = emu_half_to_float((uint16_t)R32(c[r])[l]);
                t->c[g + 8 * r][q + 1] = emu_half_to_float((uint16_t)(R32(c[r])[l] >> 16));
            } else {
                double *to = &t->c[g + 8 * (r >> 1)][q + (r & 1)];
                *to = s->c_type == PTX_f64   ? RD(c[r])[l]
                      : s->c_type == PTX_s32 ? (double)(int32_t)R32(c[r])[l]
                                             : (double)RF(c[r])[l];
            }
        }
    }
}

static uint32_t integer_bits(double v, bool saturate)
{
    int64_t i = (int64_t)v; /* exact: |v| < 2^53 */
    if (saturate)
        i = i > INT32_MAX ? INT32_MAX : i < INT32_MIN ? INT32_MIN : i;
    return (uint32_t)i;
}

static void store_d(struct emu_warp *w, const struct emu_mma *s, const uint32_t *d, const struct tile *t)
{
    for (int r = 0; r < registers_of_c(s); r++) {
        FOR_LANES(l)
        {
            int g = l >> 2, q = 2 * (l & 3);
            if (s->d_type == PTX_f16) { /* the sums are f16 values already */
                const double *at = &t->c[g + 8 * r][q];
                R32(d[r])[l] = emu_float_to_half((float)at[0]) | (uint32_t)emu_float_to_half((float)at[1]) << 16;
                continue;
            }
            double v = t->c[g + 8 * (r >> 1)][q + (r & 1)];
            if (s->d_type == PTX_f64)
                RD(d[r])[l] = v;
            else
                R32(d[r])
            [l] = s->d_type == PTX_s32 ? integer_bits(v, s->flags & EMU_MMA_SATFINITE) : emu_bits32(emu_nan32((float)v));
        }
    }
}

static void multiply(const struct emu_warp *w, const struct emu_mma *s, struct tile *t)
{
    int k = s->k4 * 4;
    struct emu_dot rule = ks_emu_tensor_rule(w->worker->launch->emu, (enum ptx_type)s->a_type, (enum ptx_type)s->d_type, k,
                                             s->flags & EMU_MMA_SPARSE);
    for (int i = 0; i < s->m; i++) {
        for (int j = 0; j < 8; j++) {
            double sum = t->c[i][j];
            if (s->a_type == PTX_b1)
                for (int q = 0; q < k; q++)
                    sum += (s->flags & EMU_MMA_XOR) ? t->a[i][q] != t->b[j][q] : t->a[i][q] * t->b[j][q];
            else
                sum = ks_emu_tensor_dot(&rule, t->a[i], t->b[j], k, sum);
            t->c[i][j] = sum;
        }
    }
}

static void mma(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_mma s = mma_of(in);
    struct tile t;
    bool sparse = s.flags & EMU_MMA_SPARSE;
    int k = s.k4 * 4, ea = per_register(s.a_type, s.flags), eb = per_register(s.b_type, s.flags), nc = registers_of_c(&s),
        na = s.m * k / 32 / ea / (sparse ? 2 : 1), nb = 8 * k / 32 / eb;
    const uint32_t *d = in->ext, *a = d + nc, *b = a + na, *c = b + nb, *more = c + nc;
    (void)mask;
    unpack(w, a, na, true, s.m, s.a_type, s.flags, t.a);
    unpack(w, b, nb, false, 8, s.b_type, s.flags, t.b);
    load_c(w, &s, c, &t);
    if (sparse)
        spread_sparse(w, &s, more[0], t.a);
    if (s.scale_type) {
        apply_scales(w, &s, more, true, t.a);
        apply_scales(w, &s, more + 3, false, t.b);
    }
    multiply(w, &s, &t);
    store_d(w, &s, d, &t);
}

const struct emu_row ks_emu_rows_mma[] = {{"mma", mma}, {NULL, NULL}};
