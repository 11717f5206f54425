#include "harness/emulated/device.h"

#include <sys/mman.h>
#include <unistd.h>

/* Device memory is closed to the host.  The arena lies in the process's own address space, and a device pointer that host code
 * follows would work here where a GPU's host gets a segmentation fault.  So its pages are inaccessible except while the emulator
 * itself reads or writes them; pinned and managed memory, which the host may use, is left out of that. */

static void protect(const struct ks_emu *emu, uint8_t *from, uint8_t *end, int how)
{
    for (size_t i = 0; i <= emu->host_stretches.n && from < end; i++) {
        const struct emu_stretch *s = i < emu->host_stretches.n ? &emu->host_stretches.data[i] : NULL;
        uint8_t *to = s && s->from < end ? s->from : end;
        if (to > from)
            KS_BUG(mprotect(from, (size_t)(to - from), how) != 0);
        if (s && s->to > from)
            from = s->to;
    }
}

void ks_emu_memory_open(struct ks_emu *emu)
{
    if (emu->open_depth++ == 0)
        protect(emu, emu->arena, emu->arena + emu->arena_bytes, PROT_READ | PROT_WRITE);
}

void ks_emu_memory_close(struct ks_emu *emu)
{
    if (--emu->open_depth == 0)
        protect(emu, emu->arena, emu->arena + emu->arena_bytes, PROT_NONE);
}

/* The kernel visits every page that is there: where buffers are large, all of them for each copy is most of a trial's time. */
static void protect_part(const struct ks_emu *emu, const void *p, size_t n, int how)
{
    size_t from = (size_t)((const uint8_t *)p - emu->arena) & ~(size_t)4095;
    size_t to = ((size_t)((const uint8_t *)p - emu->arena) + n + 4095) & ~(size_t)4095;
    if (n > 0 && emu->open_depth == 0)
        protect(emu, emu->arena + from, emu->arena + to, how);
}

void ks_emu_part_open(struct ks_emu *emu, const void *p, size_t n)
{
    protect_part(emu, p, n, PROT_READ | PROT_WRITE);
}

void ks_emu_part_close(struct ks_emu *emu, const void *p, size_t n)
{
    protect_part(emu, p, n, PROT_NONE);
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

/* ------------------------------------------------------------------------------------------------ adopted host memory */

/* One file in memory, seen at both addresses. */
static bool share(uint8_t *host, uint8_t *device, size_t n)
{
    KS_AUTO_FD int fd = memfd_create("kscc-registered", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)n) != 0)
        return false;
    for (size_t done = 0; done < n;) {
        ssize_t part = pwrite(fd, host + done, n - done, (off_t)done);
        if (part <= 0)
            return false;
        done += (size_t)part;
    }
    const int how = PROT_READ | PROT_WRITE, fixed = MAP_SHARED | MAP_FIXED;
    if (mmap(device, n, how, fixed, fd, 0) == MAP_FAILED)
        return false;
    KS_BUG(mmap(host, n, how, fixed, fd, 0) == MAP_FAILED);
    return true;
}

static void pages_around(const void *p, size_t n, uint8_t **ret_from, size_t *ret_n)
{
    uintptr_t from = (uintptr_t)p & ~(uintptr_t)4095, to = ((uintptr_t)p + n + 4095) & ~(uintptr_t)4095;
    *ret_from = (uint8_t *)from;
    *ret_n = to - from;
}

bool ks_emu_host_adopt(struct ks_emu *emu, void *p, size_t size_bytes, void **ret_base)
{
    uint8_t *from;
    size_t n;
    struct ks_err ignored;
    pages_around(p, size_bytes, &from, &n);
    uint8_t *device = ks_emu_malloc(emu, n, "registered host memory");
    if (!device)
        return false;
    ks_emu_mark_init(emu, device, n, true);
    ks_emu_host_visible(emu, device);
    if (!share(from, device, n)) {
        (void)!ks_emu_mfree(emu, device, &ignored);
        return false;
    }
    struct emu_adopted a = {(uintptr_t)from, (uintptr_t)from + n, (uintptr_t)device - (uintptr_t)from};
    ks_vec_push(&emu->adopted, a);
    *ret_base = device + ((uint8_t *)p - from);
    return true;
}

/* Both become private memory again, the host's with what is in it. */
void ks_emu_host_return(struct ks_emu *emu, void *p, size_t size_bytes, void *base)
{
    uint8_t *from, *device = (uint8_t *)((uintptr_t)base & ~(uintptr_t)4095);
    size_t n;
    struct ks_err ignored;
    const int how = PROT_READ | PROT_WRITE, fresh = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    pages_around(p, size_bytes, &from, &n);
    for (size_t i = 0; i < emu->adopted.n; i++)
        if (emu->adopted.data[i].from == (uintptr_t)from)
            emu->adopted.data[i] = emu->adopted.data[--emu->adopted.n];
    uint8_t *copy = ks_xmalloc(n);
    memcpy(copy, from, n);
    KS_BUG(mmap(from, n, how, fresh, -1, 0) == MAP_FAILED);
    memcpy(from, copy, n);
    free(copy);
    KS_BUG(mmap(device, n, how, fresh | MAP_NORESERVE, -1, 0) == MAP_FAILED);
    (void)!ks_emu_mfree(emu, device, &ignored);
}
