#include "harness/emulated/exec_float.h"
#include "harness/emulated/device.h"
#include "harness/emulated/tensor.h"

/* wmma products.  Fragments have a layout of their own choice, as PTX allows: element e of the matrix in row-major order belongs
 * to lane e / per_lane, slot e % per_lane; where PTX has more registers than that the slots repeat.  exec_matrix.c loads and
 * stores them. */

#define MAX_DIM 32

struct tile {
    double a[MAX_DIM][MAX_DIM]; /* [m][k] */
    double b[MAX_DIM][MAX_DIM]; /* [n][k] */
    double c[MAX_DIM][MAX_DIM]; /* [m][n] */
};

static int per_register(enum ptx_type t)
{
    return t == PTX_f16 || t == PTX_bf16 ? 2 : t == PTX_u8 || t == PTX_s8 ? 4 : 1;
}

/* transpose: the matrix is wanted by columns. */
static void unpack(struct emu_warp *w, const uint32_t *ref, int rows, int cols, enum ptx_type t, bool transpose,
                   double m[MAX_DIM][MAX_DIM])
{
    int per_lane = rows * cols / EMU_LANES, each = per_register(t);
    for (int slot = 0; slot < per_lane; slot++) {
        FOR_LANES(l)
        {
            double v[4];
            int e = l * per_lane + slot;
            if (t == PTX_f64)
                v[0] = RD(ref[slot])[l];
            else
                ks_emu_tensor_elements(R32(ref[slot / each])[l], t, false, v);
            *(transpose ? &m[e % cols][e / cols] : &m[e / cols][e % cols]) = v[slot % each];
        }
    }
}

static int n_registers(const struct emu_shape *s, char which, enum ptx_type t)
{
    if (which == 'c')
        return s->m * s->n / 32 / (t == PTX_f16 ? 2 : 1);
    return t == PTX_f16 ? 8 : (which == 'a' ? s->m : s->n) * s->k / 32 / per_register(t);
}

static void wmma_mma(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_shape s;
    struct tile t;
    memcpy(&s, &in->imm, sizeof(s));
    const uint32_t *d = in->ext, *a = d + n_registers(&s, 'c', s.d_type), *b = a + n_registers(&s, 'a', s.a_type),
                   *c = b + n_registers(&s, 'b', s.b_type);
    (void)mask;
    unpack(w, a, s.m, s.k, s.a_type, false, t.a);
    unpack(w, b, s.k, s.n, s.b_type, true, t.b);
    unpack(w, c, s.m, s.n, s.c_type, false, t.c);
    struct emu_dot rule = ks_emu_tensor_rule(w->worker->launch->emu, s.a_type, s.d_type, s.k, false);
    for (int i = 0; i < s.m; i++)
        for (int j = 0; j < s.n; j++)
            t.c[i][j] = ks_emu_tensor_dot(&rule, t.a[i], t.b[j], s.k, t.c[i][j]);
    int per_lane = s.m * s.n / EMU_LANES;
    for (int slot = 0; slot < per_lane; slot++) {
        FOR_LANES(l)
        {
            int e = l * per_lane + slot;
            double v = t.c[e / s.n][e % s.n];
            if (s.d_type == PTX_f64) {
                RD(d[slot])[l] = v;
            } else if (s.d_type == PTX_f16) {
                uint32_t *reg = &R32(d[slot / 2])[l], h = emu_float_to_half((float)v);
                *reg = slot & 1 ? (*reg & 0xffffu) | h << 16 : h;
            } else if (s.d_type == PTX_s32) {
                int64_t i = (int64_t)v;
                if (s.flags & EMU_TENSOR_SATFINITE)
                    i = i > INT32_MAX ? INT32_MAX : i < INT32_MIN ? INT32_MIN : i;
                R32(d[slot])[l] = (uint32_t)i;
            } else {
                R32(d[slot])[l] = emu_bits32(emu_nan32((float)v));
            }
        }
    }
}

const struct emu_row ks_emu_rows_wmma[] = {{"wmma.mma", wmma_mma}, {"wmma.f64", wmma_mma}, {NULL, NULL}};
