#include "harness/emulated/device.h"

/* Recursion.  A function's registers have one place in the register file of a warp, so an activation that is entered while
 * another of the same function is suspended would overwrite them: calls of functions on a cycle of the call graph save what is
 * there and returns put it back, lane by lane. */

struct emu_saved {
    KS_VEC(uint64_t) lane[EMU_LANES];
};

static uint64_t *lane_of(const struct emu_warp *w, const struct emu_slot *s, int lane, uint32_t plane)
{
    return (uint64_t *)(void *)(w->base[0] + s->offset + (plane * EMU_LANES + (uint32_t)lane) * 8);
}

void ks_emu_saved_push(struct emu_warp *w, uint32_t func, int lane)
{
    const struct emu_func *f = &w->worker->launch->program->funcs[func];
    if (!w->saved)
        w->saved = ks_xcalloc(1, sizeof(*w->saved));
    for (uint32_t i = 0; i < f->n_slots; i++) {
        const struct emu_slot *s = &f->slots[i];
        const uint8_t *at = w->base[0] + s->offset;
        uint64_t v = 0;
        if (s->lane_bytes == 1)
            v = *(const uint32_t *)(const void *)at >> lane & 1u;
        else if (s->lane_bytes < 8)
            memcpy(&v, at + (size_t)lane * s->lane_bytes, s->lane_bytes);
        else
            v = *lane_of(w, s, lane, 0);
        ks_vec_push(&w->saved->lane[lane], v);
        if (s->lane_bytes == 16)
            ks_vec_push(&w->saved->lane[lane], *lane_of(w, s, lane, 1));
    }
}

void ks_emu_saved_pop(struct emu_warp *w, uint32_t func, int lane)
{
    const struct emu_func *f = &w->worker->launch->program->funcs[func];
    for (uint32_t i = f->n_slots; i-- > 0;) {
        const struct emu_slot *s = &f->slots[i];
        uint8_t *at = w->base[0] + s->offset;
        ks_emu_undef_restored(w, s->offset, lane);
        if (s->lane_bytes == 16)
            *lane_of(w, s, lane, 1) = w->saved->lane[lane].data[--w->saved->lane[lane].n];
        uint64_t v = w->saved->lane[lane].data[--w->saved->lane[lane].n];
        if (s->lane_bytes == 1)
            emu_set_pred((uint32_t *)(void *)at, v ? EMU_FULL : 0, 1u << lane);
        else if (s->lane_bytes < 8)
            memcpy(at + (size_t)lane * s->lane_bytes, &v, s->lane_bytes);
        else
            *lane_of(w, s, lane, 0) = v;
    }
}

void ks_emu_saved_reset(struct emu_warp *w)
{
    for (int i = 0; w->saved && i < EMU_LANES; i++)
        w->saved->lane[i].n = 0;
}

void ks_emu_saved_free(struct emu_warp *w)
{
    for (int i = 0; w->saved && i < EMU_LANES; i++)
        ks_vec_release(&w->saved->lane[i]);
    free(w->saved);
    w->saved = NULL;
}
