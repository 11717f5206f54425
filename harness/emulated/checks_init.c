#include "harness/emulated/exec_mem.h"

/* Reads of bytes nobody has written.  Global memory has one bit per byte in the init plane; shared and local memory one byte per
 * byte. */

void ks_emu_check_init_global(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x)
{
    struct ks_emu *emu = w->worker->launch->emu;
    uint64_t base = (uint64_t)(uintptr_t)emu->arena;
    uint32_t bad = 0;
    FOR_LANES(i)
    {
        uint64_t bit = x->ad[i] - base;
        uint64_t word;
        /* 8 bytes of the plane cover any access of up to 32 bytes: it is aligned, so it starts within the first byte's bits */
        memcpy(&word, emu->init_plane + (bit >> 3), 8);
        uint64_t want = (x->bytes >= 64 ? UINT64_MAX : (1ull << x->bytes) - 1) << (bit & 7);
        bad |= (uint32_t)((word & want) != want) << i;
    }
    bad &= x->mask;
    if (!bad)
        return;
    if (ks_emu_undef_load(w, in, x, NULL))
        return;
    int lane = __builtin_ctz(bad);
    size_t first = 0;
    (void)ks_emu_is_init(emu, (const void *)(uintptr_t)x->ad[lane], x->bytes, &first);
    ks_emu_report(w, "uninitialised", lane, ks_emu_pc(w, in), x->atomic ? "atomic" : "load", x->ad[lane] + first, "global", NULL,
                  "%u-byte %s of global memory that was never written", x->bytes, x->atomic ? "atomic" : "load");
}

void ks_emu_mark_init_global(struct emu_warp *w, const struct emu_access *x)
{
    struct ks_emu *emu = w->worker->launch->emu;
    uint64_t base = (uint64_t)(uintptr_t)emu->arena;
    FOR_LANES(i)
    {
        uint64_t bit = x->ad[i] - base;
        uint8_t *p = emu->init_plane + (bit >> 3);
        if (x->bytes < 8) {
            uint8_t want = (uint8_t)(((1u << x->bytes) - 1) << (bit & 7));
            if ((__atomic_load_n(p, __ATOMIC_RELAXED) & want) != want)
                __atomic_fetch_or(p, want, __ATOMIC_RELAXED);
        } else {
            memset(p, 0xff, x->bytes / 8);
        }
    }
}

/* Lanes that touch a byte whose shadow is not EMU_SHADOW_WRITTEN. */
static uint32_t unwritten(const struct emu_access *x, const uint8_t *shadow)
{
    uint32_t bad = 0;
    if (x->bytes == 4) {
        FOR_LANES(i)
        {
            uint32_t v;
            memcpy(&v, shadow + x->ad[i], 4);
            bad |= (uint32_t)(v != 0x01010101u) << i;
        }
        return bad & x->mask;
    }
    if (x->bytes % 8 == 0) {
        for (uint32_t k = 0; k < x->bytes; k += 8) {
            FOR_LANES(i)
            {
                uint64_t v;
                memcpy(&v, shadow + x->ad[i] + k, 8);
                bad |= (uint32_t)(v != 0x0101010101010101ull) << i;
            }
        }
        return bad & x->mask;
    }
    FOR_LANES(i)
    for (uint32_t k = 0; k < x->bytes; k++)
        bad |= (uint32_t)(shadow[x->ad[i] + k] != EMU_SHADOW_WRITTEN) << i;
    return bad & x->mask;
}

/* The copy that writes the byte of shared memory at `offset`, NULL: none. */
static const struct emu_async *pending_at(const struct emu_block *b, uint32_t offset)
{
    for (size_t k = b->async.n; k-- > 0;)
        if (offset - b->async.data[k].offset < b->async.data[k].bytes)
            return &b->async.data[k];
    return NULL;
}

static void report_pending(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, int lane, uint64_t at)
{
    const struct emu_async *a = pending_at(w->block, (uint32_t)at);
    struct emu_party other = {0};
    if (a)
        other = ks_emu_party(&w->block->warps[a->warp], (int)a->lane, a->pc, "cp.async");
    ks_emu_report(w, "async-pending", lane, ks_emu_pc(w, in), x->atomic ? "atomic" : "load", at, "shared", &other,
                  "%u-byte load of shared memory that an asynchronous copy may still be writing: nobody has waited for it",
                  x->bytes);
}

void ks_emu_check_init_bytes(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, const uint8_t *shadow,
                             const char *space)
{
    uint32_t bad = unwritten(x, shadow), carried = 0;
    if (!bad)
        return;
    for (; bad; bad &= bad - 1) {
        int i = __builtin_ctz(bad);
        uint32_t k = 0;
        while (shadow[x->ad[i] + k] == EMU_SHADOW_WRITTEN)
            k++;
        uint64_t at = x->ad[i] + k - (space[0] == 'l' ? (uint64_t)i * w->local_bytes : 0);
        if (shadow[x->ad[i] + k] == EMU_SHADOW_ASYNC) {
            report_pending(w, in, x, i, at);
            return;
        }
        carried |= 1u << i;
    }
    if (ks_emu_undef_load(w, in, x, shadow))
        return;
    int i = __builtin_ctz(carried);
    ks_emu_report(w, "uninitialised", i, ks_emu_pc(w, in), x->atomic ? "atomic" : "load",
                  x->ad[i] - (space[0] == 'l' ? (uint64_t)i * w->local_bytes : 0), space, NULL,
                  "%u-byte %s of %s memory that was never written", x->bytes, x->atomic ? "atomic" : "load", space);
}

void ks_emu_mark_init_bytes(const struct emu_access *x, uint8_t *shadow)
{
    const uint32_t ones = 0x01010101u;
    if (x->bytes == 4) {
        FOR_LANES(i) memcpy(shadow + x->ad[i], &ones, 4);
        return;
    }
    FOR_LANES(i) memset(shadow + x->ad[i], 1, x->bytes);
}

void ks_emu_check_async_leak(struct emu_warp *w, uint32_t lanes)
{
    struct emu_block *b = w->block;
    size_t kept = 0;
    for (size_t k = 0; k < b->async.n; k++) {
        struct emu_async a = b->async.data[k];
        if (a.warp != w->id || !emu_lane(lanes, (int)a.lane)) {
            b->async.data[kept++] = a;
            continue;
        }
        struct emu_party other = ks_emu_party(w, (int)a.lane, a.pc, "cp.async");
        ks_emu_report(w, "async-unwaited", (int)a.lane, w->pc, "exit", a.offset, "shared", &other,
                      "thread ends with a cp.async of %u bytes that nobody waited for", a.bytes);
    }
    b->async.n = kept;
}
