#include "harness/emulated/exec_float.h"
#include "harness/emulated/exec_mem.h"
#include "harness/emulated/tex_op.h"
#include "harness/emulated/texture.h"

/* Texture fetches and surface accesses.  The lanes with the same handle go together; each lane's sample is a list of taps (texel
 * and weight), and all lanes' k-th taps are one global-memory access, so that every check and counter sees them. */

#define MAX_TAPS 16 /* 8 of a 3D sample, on two levels */

struct tap {
    uint64_t ad; /* 0: the border colour */
    double weight;
};
struct sample {
    struct tap tap[MAX_TAPS];
    uint32_t n;
};

static struct emu_tex_op op_of(const struct emu_insn *in)
{
    struct emu_tex_op t;
    memcpy(&t, &in->target, sizeof(t));
    return t;
}

static uint64_t handle_of(struct emu_warp *w, const struct emu_insn *in, int lane)
{
    uint64_t h;
    if (in->a != EMU_NONE)
        return R64(in->a)[lane];
    memcpy(&h, (const void *)(uintptr_t)in->imm, 8);
    return h;
}

/* Lanes of `mask` whose handle is that of the first; NULL and a fault when it names nothing. */
static const struct ks_emu_texture *group(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, uint32_t *ret_group)
{
    int lead = __builtin_ctz(mask);
    uint64_t h = handle_of(w, in, lead);
    const struct ks_emu_texture *t = ks_emu_texture_find(w->worker->launch->emu, h);
    w->pc = ks_emu_pc(w, in);
    if (!t) {
        ks_emu_fault(w, KS_ERR_DEVICE, "bad-texture", lead, "", h, "", "0x%llx is no texture or surface (or a destroyed one)",
                     (unsigned long long)h);
        return NULL;
    }
    uint32_t same = 0;
    for (int i = 0; i < EMU_LANES; i++)
        same |= (uint32_t)(emu_lane(mask, i) && handle_of(w, in, i) == h) << i;
    *ret_group = same;
    return t;
}

/* ------------------------------------------------------------------------------------------------ sampling */

/* A texel index after addressing; -1: the border. */
static int64_t wrap(int64_t i, int64_t n, enum ks_emu_address mode)
{
    switch (mode) {
    case KS_EMU_ADDRESS_WRAP:
        return ((i % n) + n) % n;
    case KS_EMU_ADDRESS_MIRROR:
        i = ((i % (2 * n)) + 2 * n) % (2 * n);
        return i < n ? i : 2 * n - 1 - i;
    case KS_EMU_ADDRESS_CLAMP:
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    case KS_EMU_ADDRESS_BORDER:
        return i < 0 || i >= n ? -1 : i;
    }
    return -1;
}

/* One or two texels and their weights along one axis. */
struct axis {
    int64_t index[2];
    double weight[2];
    int n;
};

static struct axis axis_of(const struct ks_emu_texture *t, double x, uint32_t n, int k, bool filter)
{
    enum ks_emu_address mode = (enum ks_emu_address)t->address[k];
    struct axis a = {.n = 1, .weight = {1, 0}};
    if (!t->normalized_coords && mode != KS_EMU_ADDRESS_BORDER)
        mode = KS_EMU_ADDRESS_CLAMP;
    x = t->normalized_coords ? x * n : x;
    if (!(fabs(x) < 1e15)) /* NaN and infinities: as hardware, some edge */
        x = 0;
    if (!filter) {
        a.index[0] = wrap((int64_t)floor(x), n, mode);
        return a;
    }
    double at = floor((x - 0.5) * 256 + 0.5) / 256, low = floor(at);
    a.n = 2;
    a.weight[1] = at - low;
    a.weight[0] = 1 - a.weight[1];
    for (int i = 0; i < 2; i++)
        a.index[i] = wrap((int64_t)low + i, n, mode);
    return a;
}

static uint64_t texel_address(const struct ks_emu_image *m, int64_t x, int64_t y, int64_t z)
{
    if (x < 0 || y < 0 || z < 0)
        return 0;
    return (uint64_t)(uintptr_t)m->base + (uint64_t)z * m->slice_bytes + (uint64_t)y * m->pitch_bytes +
           (uint64_t)x * m->channels * m->channel_bits / 8;
}

/* Direction to face and position on it (Programming Guide, "Cubemap Textures"). */
static int cube_face(const double c[3], double st[2])
{
    double ax = fabs(c[0]), ay = fabs(c[1]), az = fabs(c[2]), m, s, v;
    int face;
    if (ax >= ay && ax >= az) {
        face = c[0] >= 0 ? 0 : 1;
        m = ax;
        s = c[0] >= 0 ? -c[2] : c[2];
        v = -c[1];
    } else if (ay >= az) {
        face = c[1] >= 0 ? 2 : 3;
        m = ay;
        s = c[0];
        v = c[1] >= 0 ? c[2] : -c[2];
    } else {
        face = c[2] >= 0 ? 4 : 5;
        m = az;
        s = c[2] >= 0 ? c[0] : -c[0];
        v = -c[1];
    }
    st[0] = (s / m + 1) / 2;
    st[1] = (v / m + 1) / 2;
    return face;
}

/* Adds the taps of one level.  c: coordinates without the layer. */
static void add_level(const struct ks_emu_texture *t, const struct ks_emu_image *m, const struct emu_tex_op *o, const double c[3],
                      int64_t layer, double scale, struct sample *s)
{
    bool filter = (t->linear && o->float_coords) || o->mode == EMU_TEX_GATHER;
    bool two = o->geom != EMU_TEX_1D && o->geom != EMU_TEX_A1D, three = o->geom == EMU_TEX_3D;
    struct axis one = {.n = 1, .weight = {1, 0}};
    struct axis x = axis_of(t, c[0], m->width, 0, filter), y = two ? axis_of(t, c[1], m->height, 1, filter) : one,
                z = three ? axis_of(t, c[2], m->depth, 2, filter) : one;
    for (int k = 0; k < z.n; k++) {
        for (int j = 0; j < y.n; j++) {
            for (int i = 0; i < x.n && s->n < MAX_TAPS; i++) {
                double weight = x.weight[i] * y.weight[j] * z.weight[k] * scale;
                if (weight == 0 && o->mode != EMU_TEX_GATHER)
                    continue;
                s->tap[s->n++] = (struct tap){texel_address(m, x.index[i], y.index[j], three ? z.index[k] : layer), weight};
            }
        }
    }
}

static double coordinate(struct emu_warp *w, uint32_t ref, int lane, bool is_float)
{
    return is_float ? (double)RF(ref)[lane] : (double)(int32_t)R32(ref)[lane];
}

static double level_of_detail(struct emu_warp *w, const struct emu_insn *in, const struct ks_emu_texture *t,
                              const struct emu_tex_op *o, const uint32_t *extra, int lane)
{
    const struct ks_emu_image *m = &t->level[0];
    uint32_t size[3] = {m->width, m->height, m->depth}, n = (in->n_ext - (uint32_t)(extra - in->ext)) / 2;
    if (o->mode == EMU_TEX_LEVEL)
        return coordinate(w, extra[0], lane, o->float_coords) + (double)t->lod_bias;
    double longest = 0;
    for (int d = 0; d < 2; d++) {
        double sum = 0;
        for (uint32_t i = 0; i < n; i++) {
            double g = coordinate(w, extra[(uint32_t)d * n + i], lane, true) * (t->normalized_coords ? size[i] : 1);
            sum += g * g;
        }
        longest = sum > longest ? sum : longest;
    }
    return longest > 0 ? 0.5 * log2(longest) + (double)t->lod_bias : 0;
}

static void take_sample(struct emu_warp *w, const struct emu_insn *in, const struct ks_emu_texture *t, const struct emu_tex_op *o,
                        int lane, struct sample *s)
{
    const uint32_t *ref = in->ext + o->n_dst;
    bool layered = o->geom == EMU_TEX_A1D || o->geom == EMU_TEX_A2D || o->geom == EMU_TEX_ACUBE;
    uint32_t n = emu_tex_coords(o->geom) - layered;
    int64_t layer = layered ? (int64_t)R32(ref[0])[lane] : 0;
    double c[3] = {0, 0, 0}, lod = 0;
    for (uint32_t i = 0; i < n; i++)
        c[i] = coordinate(w, ref[layered + i], lane, o->float_coords);
    s->n = 0;
    if (o->geom == EMU_TEX_CUBE || o->geom == EMU_TEX_ACUBE) {
        double st[2];
        layer = layer * 6 + cube_face(c, st);
        c[0] = st[0];
        c[1] = st[1];
    }
    layer = layer < 0 ? 0 : layer >= (int64_t)t->level[0].layers ? (int64_t)t->level[0].layers - 1 : layer;
    if (t->linear_memory && !o->float_coords && (c[0] < 0 || c[0] >= t->level[0].width)) {
        s->tap[s->n++] = (struct tap){0, 0};
        return;
    }
    if (o->mode == EMU_TEX_LEVEL || o->mode == EMU_TEX_GRAD) {
        lod = level_of_detail(w, in, t, o, ref + n + layered, lane);
        double top = t->n_levels - 1 < t->lod_max ? t->n_levels - 1 : (double)t->lod_max;
        lod = lod > top ? top : lod;
        lod = lod < (double)t->lod_min ? (double)t->lod_min : lod;
        lod = lod > 0 ? lod : 0; /* NaN too */
        lod = lod > t->n_levels - 1 ? t->n_levels - 1 : lod;
    }
    uint32_t level = (uint32_t)lod;
    double part = floor((lod - level) * 256 + 0.5) / 256;
    if (!t->mip_linear || part == 0) {
        add_level(t, &t->level[(uint32_t)(lod + 0.5)], o, c, layer, 1, s);
        return;
    }
    add_level(t, &t->level[level], o, c, layer, 1 - part, s);
    add_level(t, &t->level[level + 1 < t->n_levels ? level + 1 : level], o, c, layer, part, s);
}

/* ------------------------------------------------------------------------------------------------ texels */

/* Channel k as a number; missing channels read as 0, the fourth as 1. */
static double channel(const struct ks_emu_texture *t, const struct tap *tap, int k)
{
    const struct ks_emu_image *m = &t->level[0];
    bool fraction = t->normalized_float && m->kind != KS_EMU_TEXEL_FLOAT && m->channel_bits < 32;
    if (k >= m->channels)
        return k == 3 && (fraction || m->kind == KS_EMU_TEXEL_FLOAT) ? 1 : k == 3;
    if (!tap->ad)
        return t->linear_memory ? 0 : (double)t->border[k];
    uint32_t bits = 0, width = m->channel_bits;
    memcpy(&bits, (const uint8_t *)(uintptr_t)tap->ad + (uint32_t)k * width / 8, width / 8);
    if (m->kind == KS_EMU_TEXEL_FLOAT)
        return width == 16 ? (double)emu_half_to_float((uint16_t)bits) : (double)emu_f32(bits);
    if (m->kind == KS_EMU_TEXEL_UINT) {
        double v = fraction ? bits / (double)((1u << (width & 31)) - 1) : bits;
        if (t->srgb && fraction && width == 8 && k < 3)
            v = v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
        return v;
    }
    int32_t s = (int32_t)(bits << (32 - width)) >> (32 - width);
    if (!fraction)
        return s;
    double v = s / (double)((1 << (width - 1)) - 1);
    return v < -1 ? -1 : v;
}

static uint32_t texel_bits(double v, enum ptx_type to, const struct ks_emu_texture *t)
{
    const struct ks_emu_image *m = &t->level[0];
    bool is_float = m->kind == KS_EMU_TEXEL_FLOAT || (t->normalized_float && m->channel_bits < 32);
    if (to == PTX_f16 || to == PTX_f16x2)
        return emu_float_to_half((float)v);
    if (to == PTX_f32 || is_float) /* registers of integer type hold the bits of float texels */
        return emu_bits32((float)v);
    return m->kind == KS_EMU_TEXEL_SINT ? (uint32_t)(int64_t)v : (uint32_t)v;
}

static bool reach_taps(struct emu_warp *w, const struct emu_insn *in, const struct ks_emu_texture *t, uint32_t mask,
                       struct sample *s)
{
    for (uint32_t k = 0; k < MAX_TAPS; k++) {
        struct emu_access x = {.bytes = (uint32_t)t->level[0].channels * t->level[0].channel_bits / 8};
        for (int i = 0; i < EMU_LANES; i++)
            x.mask |= (uint32_t)(emu_lane(mask, i) && k < s[i].n && s[i].tap[k].ad) << i;
        if (!x.mask)
            continue;
        uint64_t lead = s[__builtin_ctz(x.mask)].tap[k].ad;
        for (int i = 0; i < EMU_LANES; i++)
            x.ad[i] = emu_lane(x.mask, i) ? s[i].tap[k].ad : lead;
        if (!ks_emu_resolve_global(w, in, &x))
            return false;
    }
    return true;
}

static void tex_group(struct emu_warp *w, const struct emu_insn *in, const struct ks_emu_texture *t, uint32_t mask)
{
    struct emu_tex_op o = op_of(in);
    struct sample s[EMU_LANES];
    for (int i = 0; i < EMU_LANES; i++)
        if (emu_lane(mask, i))
            take_sample(w, in, t, &o, i, &s[i]);
    if (!reach_taps(w, in, t, mask, s))
        return;
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(mask, i))
            continue;
        uint32_t r[4];
        static const int gather_order[4] = {2, 3, 1, 0}; /* (0,1) (1,1) (1,0) (0,0) */
        for (int k = 0; k < 4; k++) {
            double v = 0;
            if (o.mode == EMU_TEX_GATHER)
                v = channel(t, &s[i].tap[gather_order[k]], o.component);
            else if (s[i].n == 1)
                v = channel(t, &s[i].tap[0], k);
            else
                for (uint32_t j = 0; j < s[i].n; j++)
                    v += channel(t, &s[i].tap[j], k) * s[i].tap[j].weight;
            r[k] = texel_bits(v, in->type, t);
        }
        for (uint32_t k = 0; k < o.n_dst; k++) {
            if (in->type == PTX_f16x2)
                R32(in->ext[k])[i] = r[(2 * k) & 3] | r[(2 * k + 1) & 3] << 16;
            else if (in->type == PTX_f16)
                R16(in->ext[k])[i] = (uint16_t)r[k];
            else
                R32(in->ext[k])[i] = r[k];
        }
    }
}

static void tex(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    while (mask) {
        uint32_t same = 0;
        const struct ks_emu_texture *t = group(w, in, mask, &same);
        if (!t)
            return;
        tex_group(w, in, t, same);
        if (w->event != EMU_EVENT_NONE)
            return;
        mask &= ~same;
    }
}

/* ------------------------------------------------------------------------------------------------ surfaces */

/* Address of a lane's element, 0: outside.  The first coordinate counts bytes. */
static uint64_t surface_address(struct emu_warp *w, const struct emu_insn *in, const struct ks_emu_image *m,
                                const struct emu_tex_op *o, int lane)
{
    const uint32_t *ref = in->ext + o->n_dst;
    bool layered = o->geom == EMU_TEX_A1D || o->geom == EMU_TEX_A2D;
    uint32_t n = emu_tex_coords(o->geom) - layered, bytes = (uint32_t)in->size * in->vec;
    int64_t row = (int64_t)m->width * m->channels * m->channel_bits / 8;
    int64_t size[3] = {row, n > 1 ? (int64_t)m->height : 1, n > 2 ? (int64_t)m->depth : 1}, c[3] = {0, 0, 0};
    int64_t layer = layered ? (int64_t)(int32_t)R32(ref[0])[lane] : 0;
    bool outside = layer < 0 || layer >= (int64_t)m->layers;
    for (uint32_t i = 0; i < n; i++) {
        int64_t last = i == 0 ? size[0] - bytes : size[i] - 1;
        c[i] = (int32_t)R32(ref[layered + i])[lane];
        outside |= c[i] < 0 || c[i] > last;
        c[i] = c[i] < 0 ? 0 : c[i] > last ? last : c[i];
    }
    if (outside && o->mode != EMU_SURF_CLAMP)
        return 0;
    layer = layer < 0 ? 0 : layer >= (int64_t)m->layers ? (int64_t)m->layers - 1 : layer;
    return (uint64_t)(uintptr_t)m->base + (uint64_t)(layered ? layer : c[2]) * m->slice_bytes + (uint64_t)c[1] * m->pitch_bytes +
           (uint64_t)c[0];
}

static void put(struct emu_warp *w, const struct emu_insn *in, uint32_t v, int lane, uint64_t value)
{
    if (in->rsize == 2)
        R16(in->ext[v])[lane] = (uint16_t)value;
    else if (in->rsize == 4)
        R32(in->ext[v])[lane] = (uint32_t)value;
    else
        R64(in->ext[v])[lane] = value;
}

static uint64_t get(struct emu_warp *w, const struct emu_insn *in, uint32_t v, int lane)
{
    return in->rsize == 2 ? R16(in->ext[v])[lane] : in->rsize == 4 ? R32(in->ext[v])[lane] : R64(in->ext[v])[lane];
}

static void surface_group(struct emu_warp *w, const struct emu_insn *in, const struct ks_emu_image *m, uint32_t mask, bool store)
{
    struct emu_tex_op o = op_of(in);
    struct emu_access x = {.bytes = (uint32_t)in->size * in->vec, .store = store};
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(mask, i))
            continue;
        x.ad[i] = surface_address(w, in, m, &o, i);
        x.mask |= (uint32_t)(x.ad[i] != 0) << i;
        if (!x.ad[i] && o.mode == EMU_SURF_TRAP) {
            ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", i, store ? "store" : "load", 0, "surface",
                         "%u-byte surface %s outside of %u x %u x %u texels", x.bytes, store ? "store" : "load", m->width,
                         m->height, m->depth > 1 ? m->depth : m->layers);
            return;
        }
        for (uint32_t v = 0; !x.ad[i] && !store && v < in->vec; v++)
            put(w, in, v, i, 0);
    }
    if (!x.mask)
        return;
    uint64_t lead = x.ad[__builtin_ctz(x.mask)];
    for (int i = 0; i < EMU_LANES; i++)
        x.ad[i] = emu_lane(x.mask, i) ? x.ad[i] : lead;
    if (!ks_emu_resolve_global(w, in, &x))
        return;
    for (int i = 0; i < EMU_LANES; i++) {
        for (uint32_t v = 0; emu_lane(x.mask, i) && v < in->vec; v++) {
            void *at = (void *)(uintptr_t)(x.ad[i] + (uint64_t)v * in->size);
            uint64_t value = store ? get(w, in, v, i) : 0;
            if (store)
                memcpy(at, &value, in->size);
            else
                memcpy(&value, at, in->size);
            if (!store)
                put(w, in, v, i, value);
        }
    }
}

static void surface(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, bool store)
{
    while (mask) {
        uint32_t same = 0;
        const struct ks_emu_texture *t = group(w, in, mask, &same);
        if (!t)
            return;
        surface_group(w, in, &t->level[0], same, store);
        if (w->event != EMU_EVENT_NONE)
            return;
        mask &= ~same;
    }
}
static void suld(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    surface(w, in, mask, false);
}
static void sust(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    surface(w, in, mask, true);
}

static void txq(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    while (mask) {
        uint32_t same = 0;
        const struct ks_emu_texture *t = group(w, in, mask, &same);
        if (!t)
            return;
        const uint32_t value[] = {t->level[0].width,  t->level[0].height, t->level[0].depth,
                                  t->level[0].layers, t->n_levels,        t->normalized_coords};
        for (int i = 0; i < EMU_LANES; i++)
            if (emu_lane(same, i))
                R32(in->d)[i] = value[in->sub];
        mask &= ~same;
    }
}

const struct emu_row ks_emu_rows_texture[] = {{"tex", tex}, {"suld", suld}, {"sust", sust}, {"txq", txq}, {NULL, NULL}};
