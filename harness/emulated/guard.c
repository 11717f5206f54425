#include "harness/emulated/device.h"

#include <sys/mman.h>

/* Device memory is closed to the host.  The arena lies in the process's own address space, and a device pointer that host code
 * follows would work here where a GPU's host gets a segmentation fault.  So its pages are inaccessible except while the emulator
 * itself reads or writes them; pinned and managed memory, which the host may use, is left out of that. */

static void protect(const struct ks_emu *emu, int how)
{
    uint8_t *from = emu->arena;
    for (size_t i = 0; i <= emu->host_stretches.n; i++) {
        const struct emu_stretch *s = i < emu->host_stretches.n ? &emu->host_stretches.data[i] : NULL;
        uint8_t *to = s ? s->from : emu->arena + emu->arena_bytes;
        if (to > from)
            KS_BUG(mprotect(from, (size_t)(to - from), how) != 0);
        from = s ? s->to : to;
    }
}

void ks_emu_memory_open(struct ks_emu *emu)
{
    if (emu->open_depth++ == 0)
        protect(emu, PROT_READ | PROT_WRITE);
}

void ks_emu_memory_close(struct ks_emu *emu)
{
    if (--emu->open_depth == 0)
        protect(emu, PROT_NONE);
}

/* Allocations start on pages of their own. */
static struct emu_stretch pages_of(const struct emu_alloc *a)
{
    uint8_t *to = a->base + (a->size + 4095) / 4096 * 4096;
    return (struct emu_stretch){a->base, to};
}

void ks_emu_host_visible(struct ks_emu *emu, void *p)
{
    const struct emu_alloc *a = ks_emu_alloc_find(emu, (uintptr_t)p);
    if (!a || !a->live || a->size == 0)
        return;
    struct emu_stretch s = pages_of(a);
    size_t at = emu->host_stretches.n;
    while (at > 0 && emu->host_stretches.data[at - 1].from > s.from)
        at--;
    if (at > 0 && emu->host_stretches.data[at - 1].from == s.from)
        return;
    ks_vec_push(&emu->host_stretches, s);
    memmove(emu->host_stretches.data + at + 1, emu->host_stretches.data + at, (emu->host_stretches.n - 1 - at) * sizeof s);
    emu->host_stretches.data[at] = s;
    KS_BUG(mprotect(s.from, (size_t)(s.to - s.from), PROT_READ | PROT_WRITE) != 0);
}

void ks_emu_host_forget(struct ks_emu *emu, const struct emu_alloc *a)
{
    for (size_t i = 0; i < emu->host_stretches.n; i++) {
        struct emu_stretch s = emu->host_stretches.data[i];
        if (s.from != a->base)
            continue;
        memmove(emu->host_stretches.data + i, emu->host_stretches.data + i + 1, (emu->host_stretches.n - 1 - i) * sizeof s);
        emu->host_stretches.n--;
        if (emu->open_depth == 0)
            KS_BUG(mprotect(s.from, (size_t)(s.to - s.from), PROT_NONE) != 0);
        return;
    }
}
