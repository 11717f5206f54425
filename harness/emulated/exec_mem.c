#include "harness/emulated/exec_mem.h"

/* Loads and stores.  in: a = address register (flags EMU_WIDE: 64 bits), imm = offset, size and vec of the access, rsize = bytes
 * of a register lane, EMU_SIGNED: extend the sign; registers: d (load) or b (store), for vectors ext[0..vec). */

static inline bool is_wide(const struct emu_insn *in)
{
    return in->sub & 1;
}

static uint64_t load_value(uint64_t ad, uint32_t size, bool is_signed)
{
    switch (size) {
    case 1: {
        uint8_t v = *(const uint8_t *)(uintptr_t)ad;
        return is_signed ? (uint64_t)(int64_t)(int8_t)v : v;
    }
    case 2: {
        uint16_t v;
        memcpy(&v, (const void *)(uintptr_t)ad, 2);
        return is_signed ? (uint64_t)(int64_t)(int16_t)v : v;
    }
    case 4: {
        uint32_t v;
        memcpy(&v, (const void *)(uintptr_t)ad, 4);
        return is_signed ? (uint64_t)(int64_t)(int32_t)v : v;
    }
    default: {
        uint64_t v;
        memcpy(&v, (const void *)(uintptr_t)ad, 8);
        return v;
    }
    }
}

static void load_any(uint64_t *ad, uint32_t mask, void *d, uint32_t size, uint32_t rsize, bool is_signed)
{
    FOR_LANES(i)
    {
        if (!emu_lane(mask, i))
            continue;
        uint64_t v = load_value(ad[i], size, is_signed);
        if (rsize == 2)
            ((uint16_t *)d)[i] = (uint16_t)v;
        else if (rsize == 4)
            ((uint32_t *)d)[i] = (uint32_t)v;
        else
            ((uint64_t *)d)[i] = v;
    }
}

static inline bool consecutive(const uint64_t *ad, uint64_t step)
{
    uint64_t base = ad[0], bad = 0;
    FOR_LANES(i) bad |= ad[i] ^ (base + (uint64_t)i * step);
    return bad == 0;
}

static void load_lanes(struct emu_warp *w, const struct emu_insn *in, struct emu_access *x)
{
    uint32_t mask = x->mask, size = in->size;
    if (size == 16) { /* b128: planes of low and high words */
        uint64_t *d = emu_at(w, in->d);
        for (int h = 0; h < 2; h++)
            FOR_LANES(i)
        if (emu_lane(mask, i))
            d[h * EMU_LANES + i] = load_value(x->ad[i] + 8 * (uint64_t)h, 8, false);
        return;
    }
    bool row = mask == EMU_FULL && in->vec == 1 && size == in->rsize && consecutive(x->ad, size);
    if (row) {
        memcpy(emu_at(w, in->d), (const void *)(uintptr_t)x->ad[0], (size_t)size * EMU_LANES);
        return;
    }
    for (uint32_t v = 0; v < in->vec; v++) {
        uint32_t ref = in->vec == 1 ? in->d : in->ext[v];
        uint64_t off = (uint64_t)v * size;
        if (ref == EMU_NONE)
            continue;
        void *d = emu_at(w, ref);
        if (mask == EMU_FULL && size == 4 && in->rsize == 4) {
            uint32_t *d32 = d;
            FOR_LANES(i) d32[i] = *(const uint32_t *)(uintptr_t)(x->ad[i] + off);
            continue;
        }
        if (off)
            FOR_LANES(i) x->ad[i] += size;
        load_any(x->ad, mask, d, size, in->rsize, in->flags & EMU_SIGNED);
    }
}

static void store_any(const uint64_t *ad, uint64_t off, uint32_t mask, const void *s, uint32_t size, uint32_t rsize)
{
    FOR_LANES(i)
    {
        if (!emu_lane(mask, i))
            continue;
        uint64_t v = rsize == 2 ? ((const uint16_t *)s)[i] : rsize == 4 ? ((const uint32_t *)s)[i] : ((const uint64_t *)s)[i];
        memcpy((void *)(uintptr_t)(ad[i] + off), &v, size); /* little-endian host */
    }
}

static void store_lanes(struct emu_warp *w, const struct emu_insn *in, struct emu_access *x)
{
    uint32_t mask = x->mask, size = in->size;
    if (size == 16) {
        const uint64_t *s = emu_at(w, in->b);
        for (int h = 0; h < 2; h++)
            FOR_LANES(i)
        if (emu_lane(mask, i))
            memcpy((void *)(uintptr_t)(x->ad[i] + 8 * (uint64_t)h), &s[h * EMU_LANES + i], 8);
        return;
    }
    if (mask == EMU_FULL && in->vec == 1 && size == in->rsize && consecutive(x->ad, size)) {
        memcpy((void *)(uintptr_t)x->ad[0], emu_at(w, in->b), (size_t)size * EMU_LANES);
        return;
    }
    for (uint32_t v = 0; v < in->vec; v++) {
        const void *s = emu_at(w, in->vec == 1 ? in->b : in->ext[v]);
        if (size == 4 && in->rsize == 4) {
            const uint32_t *s32 = s;
            FOR_LANES(i)
            if (emu_lane(mask, i))
                *(uint32_t *)(uintptr_t)(x->ad[i] + (uint64_t)v * 4) = s32[i];
        } else {
            store_any(x->ad, (uint64_t)v * size, mask, s, size, in->rsize);
        }
    }
}

#define SPACE(space, named)                                                                                                      \
    static void ld_##space(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                         \
    {                                                                                                                            \
        struct emu_access x;                                                                                                     \
        x.uncounted = false;                                                                                                     \
        x.bytes = (uint32_t)in->size * in->vec;                                                                                  \
        x.store = x.atomic = false;                                                                                              \
        w->polls += in->flags & EMU_STRONG;                                                                                      \
        ks_emu_addresses(w, in->a, is_wide(in), in->imm, mask, &x);                                                              \
        if (ks_emu_resolve_##space(w, in, &x))                                                                                   \
            load_lanes(w, in, &x);                                                                                               \
    }                                                                                                                            \
    static void st_##space(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)                                         \
    {                                                                                                                            \
        struct emu_access x;                                                                                                     \
        x.uncounted = false;                                                                                                     \
        x.bytes = (uint32_t)in->size * in->vec;                                                                                  \
        x.store = true;                                                                                                          \
        w->worker->progress++;                                                                                                   \
        x.atomic = false;                                                                                                        \
        ks_emu_addresses(w, in->a, is_wide(in), in->imm, mask, &x);                                                              \
        if (!ks_emu_resolve_##space(w, in, &x))                                                                                  \
            return;                                                                                                              \
        store_lanes(w, in, &x);                                                                                                  \
        if (__builtin_expect(w->n_undef, 0))                                                                                     \
            ks_emu_undef_store(w, in, &x, named);                                                                                \
    }
SPACE(global, PTX_GLOBAL)
SPACE(shared, PTX_SHARED)

/* Local addresses given by symbol count from the lane's frame; addresses from registers are absolute. */
static void local_addresses(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, struct emu_access *x)
{
    if (in->a != EMU_NONE) {
        ks_emu_addresses(w, in->a, is_wide(in), in->imm, mask, x);
        return;
    }
    x->mask = mask;
    uint64_t lead = w->frame[__builtin_ctz(mask)] + (uint64_t)in->imm;
    FOR_LANES(i) x->ad[i] = emu_lane(mask, i) ? w->frame[i] + (uint64_t)in->imm : lead;
}
static void ld_local(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_access x = {.bytes = (uint32_t)in->size * in->vec};
    local_addresses(w, in, mask, &x);
    if (ks_emu_resolve_local(w, in, &x))
        load_lanes(w, in, &x);
}
static void st_local(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    struct emu_access x = {.bytes = (uint32_t)in->size * in->vec, .store = true};
    local_addresses(w, in, mask, &x);
    if (!ks_emu_resolve_local(w, in, &x))
        return;
    store_lanes(w, in, &x);
    if (__builtin_expect(w->n_undef, 0))
        ks_emu_undef_store(w, in, &x, PTX_LOCAL);
}

static bool resolve_part(struct emu_warp *w, const struct emu_insn *in, struct emu_access *x, int space)
{
    return space == 0   ? ks_emu_resolve_global(w, in, x)
           : space == 1 ? ks_emu_resolve_shared(w, in, x)
                        : ks_emu_resolve_local(w, in, x);
}
static void generic(struct emu_warp *w, const struct emu_insn *in, uint32_t mask, bool store)
{
    w->worker->progress += store;
    w->polls += in->flags & EMU_STRONG;
    struct emu_access x = {.bytes = (uint32_t)in->size * in->vec, .store = store}, part[3];
    ks_emu_addresses(w, in->a, is_wide(in), in->imm, mask, &x);
    ks_emu_split_generic(w, &x, part);
    for (int s = 0; s < 3; s++) {
        if (!part[s].mask)
            continue;
        if (!resolve_part(w, in, &part[s], s))
            return;
        if (store) {
            static const enum ptx_space spaces[] = {PTX_GLOBAL, PTX_SHARED, PTX_LOCAL};
            store_lanes(w, in, &part[s]);
            if (w->n_undef)
                ks_emu_undef_store(w, in, &part[s], spaces[s]);
        } else {
            load_lanes(w, in, &part[s]);
        }
    }
}
static void ld_generic(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    generic(w, in, mask, false);
}
static void st_generic(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    generic(w, in, mask, true);
}

static void nothing(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    (void)w;
    (void)in;
    (void)mask;
}
static void fence(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    (void)mask;
    if (w->worker->launch->checks & KS_EMU_CHECK_RACE)
        ks_emu_race_release(w, in->flags & EMU_CTA);
}
/* isspacep: sub 1: shared, 2: local, 0: global. */
static void isspacep(struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    const uint64_t *a = R64(in->a);
    uint64_t base = (uint64_t)(uintptr_t)w->worker->launch->emu->arena;
    uint32_t r = 0;
    FOR_LANES(i)
    {
        uint64_t off = a[i] - base;
        int space = off < EMU_LOCAL_WINDOW ? 1 : off < EMU_FIRST_ALLOC ? 2 : 0;
        r |= (uint32_t)(space == in->sub) << i;
    }
    emu_set_pred(&RP(in->d), r, mask);
}

const struct emu_row ks_emu_rows_mem[] = {{"ld.global", ld_global},   {"st.global", st_global},   {"ld.shared", ld_shared},
                                          {"st.shared", st_shared},   {"ld.local", ld_local},     {"st.local", st_local},
                                          {"ld.generic", ld_generic}, {"st.generic", st_generic}, {"nothing", nothing},
                                          {"fence", fence},           {"isspacep", isspacep},     {NULL, NULL}};
