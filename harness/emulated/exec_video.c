#include "harness/emulated/exec.h"
#include "harness/emulated/video_op.h"

/* Video instructions in 64-bit integers: widen, operate, saturate or cut, then the secondary operation. */

static int64_t part(uint32_t x, int k, int width, bool is_signed)
{
    uint32_t v = width == 32 ? x : x >> k * width & ((1u << width) - 1);
    return is_signed ? (int64_t)(int32_t)(v << (32 - width)) >> (32 - width) : (int64_t)v;
}

static int64_t operate(const struct emu_video *v, int64_t a, int64_t b, int64_t c)
{
    switch ((enum emu_video_op)v->op) {
    case EMU_V_ADD:
        return a + b;
    case EMU_V_SUB:
        return a - b;
    case EMU_V_ABSDIFF:
        return a > b ? a - b : b - a;
    case EMU_V_MIN:
        return a < b ? a : b;
    case EMU_V_MAX:
        return a > b ? a : b;
    case EMU_V_AVRG: /* halves round away from zero */
        return (a + b + (a + b >= 0)) >> 1;
    case EMU_V_SHL:
    case EMU_V_SHR: {
        int n = (int)(v->wrap ? b & 31 : b > 32 || b < 0 ? 32 : b);
        return v->op == EMU_V_SHL ? (int64_t)((uint64_t)a << n) : a >> n;
    }
    case EMU_V_SET: {
        const bool holds[6] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
        return holds[v->compare];
    }
    case EMU_V_MAD:
        return (int64_t)((uint64_t)(a * b) + (uint64_t)c) >> v->shift;
    }
    return 0;
}

static int64_t saturate(int64_t r, int width, bool is_signed)
{
    int64_t top = is_signed ? (1ll << (width - 1)) - 1 : (1ll << width) - 1, low = is_signed ? -top - 1 : 0;
    return r > top ? top : r < low ? low : r;
}

static uint32_t one(const struct emu_video *v, uint32_t a, uint32_t b, uint32_t c)
{
    int width = 32 / v->parts;
    uint32_t packed = 0, sum = c;
    for (int k = 0; k < v->parts; k++) {
        int64_t r = operate(v, part(a, k, width, v->a_signed), part(b, k, width, v->b_signed),
                            v->op == EMU_V_MAD ? part(c, 0, 32, v->d_signed) : 0);
        if (v->saturate)
            r = saturate(r, width, v->d_signed);
        sum += (uint32_t)r;
        packed |= width == 32 ? (uint32_t)r : ((uint32_t)r & ((1u << width) - 1)) << k * width;
    }
    switch ((enum emu_video_second)v->second) {
    case EMU_V2_ADD:
        return sum;
    case EMU_V2_MIN:
        return v->d_signed ? ((int32_t)packed < (int32_t)c ? packed : c) : packed < c ? packed : c;
    case EMU_V2_MAX:
        return v->d_signed ? ((int32_t)packed > (int32_t)c ? packed : c) : packed > c ? packed : c;
    case EMU_V2_NONE:
        break;
    }
    return packed;
}

static void video(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_video v;
    uint32_t *d = R32(in->d);
    const uint32_t *a = R32(in->a), *b = R32(in->b), *c = R32(in->c);
    memcpy(&v, &in->imm, sizeof(v));
    FOR_LANES(i)
    if (emu_lane(mask, i))
        d[i] = one(&v, a[i], b[i], c[i]);
}

const struct emu_row ks_emu_rows_video[] = {{"video", video}, {NULL, NULL}};
