#include "harness/emulated/device.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define ALLOC_ALIGN 256u
#define ALLOC_GAP   4096u
#define POISON      0xcdcdcdcdu

void *ks_emu_plane_map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    (void)madvise(p, bytes, MADV_NOHUGEPAGE); /* little of it is touched, here and there */
    return p;
}

static bool cpu_is_enough(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
           __builtin_cpu_supports("bmi2");
#else
    return true;
#endif
}

/* Counts all live memory as written: its history is unknown. */
static void forget_history(struct ks_emu *emu)
{
    for (size_t i = 0; i < emu->allocs.n; i++)
        if (emu->allocs.data[i].live)
            ks_emu_mark_init(emu, emu->allocs.data[i].base, emu->allocs.data[i].size, true);
    emu->unchecked_launch = false;
}

/* Planes that the chosen checks need.  False: no address space. */
static bool map_planes(struct ks_emu *emu)
{
    if (emu->config.checks & KS_EMU_CHECK_INIT && !emu->init_plane) {
        emu->init_plane = ks_emu_plane_map(emu->arena_bytes / 8);
        if (!emu->init_plane)
            return false;
        forget_history(emu);
    }
    if (emu->config.checks & KS_EMU_CHECK_RACE && !emu->race.slot[0] &&
        !ks_emu_race_space_init(&emu->race, emu->arena_bytes, false))
        return false;
    if (emu->config.counters && !emu->read_plane) {
        emu->read_plane = ks_emu_plane_map(emu->arena_bytes / EMU_SECTOR / 8);
        emu->write_plane = ks_emu_plane_map(emu->arena_bytes / EMU_SECTOR / 8);
        if (!emu->read_plane || !emu->write_plane)
            return false;
    }
    return true;
}

static void release_planes(struct ks_emu *emu)
{
    const struct {
        void *plane;
        size_t bytes;
    } all[] = {{emu->init_plane, emu->arena_bytes / 8},
               {emu->read_plane, emu->arena_bytes / EMU_SECTOR / 8},
               {emu->write_plane, emu->arena_bytes / EMU_SECTOR / 8}};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (all[i].plane)
            (void)munmap(all[i].plane, all[i].bytes);
    emu->init_plane = emu->read_plane = emu->write_plane = NULL;
    ks_emu_race_space_release(&emu->race);
}

enum ks_code ks_emu_new(const struct ks_emu_config *config, struct ks_emu **ret_emu, struct ks_err *err)
{
    const struct emu_arch *arch = ks_emu_arch_find(config->arch);
    if (!arch)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "emulate architecture '%s': not in arch.def",
                       config->arch ? config->arch : "(none)");
    if (!cpu_is_enough())
        return ks_fail(err, KS_ERR_UNSUPPORTED, "run the emulated device: this processor lacks AVX2, FMA, F16C or BMI2");
    struct ks_emu *emu = ks_xcalloc(1, sizeof(*emu));
    emu->config = *config;
    (void)snprintf(emu->arch_name, sizeof(emu->arch_name), "%s", config->arch);
    emu->config.arch = emu->arch_name;
    emu->arch = arch;
    (void)pthread_mutex_init(&emu->lock, NULL);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t host = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)4 << 30;
    size_t device = (size_t)(arch->memory_gib * 1073741824.0);
    emu->capacity_bytes = device < host / 2 ? device : host / 2;
    /* addresses are not reused, so the arena is larger than the memory; a limited address space shrinks it */
    for (emu->arena_bytes = (size_t)256 << 30; emu->arena_bytes >= (size_t)1 << 30; emu->arena_bytes /= 2) {
        void *p = ks_emu_plane_map(emu->arena_bytes);
        if (!p)
            continue;
        emu->arena = p;
        if (map_planes(emu))
            break;
        release_planes(emu);
        (void)munmap(p, emu->arena_bytes);
        emu->arena = NULL;
    }
    if (!emu->arena) {
        ks_emu_free(emu);
        return ks_fail_errno(err, KS_ERR_MEMORY_LIMIT, "reserve address space for the emulated device");
    }
    if (emu->capacity_bytes > emu->arena_bytes / 2)
        emu->capacity_bytes = emu->arena_bytes / 2;
    emu->next_off = EMU_FIRST_ALLOC + ALLOC_GAP;
    ks_emu_memory_open(emu);
    ks_emu_memory_close(emu);
    *ret_emu = emu;
    return KS_OK;
}

void ks_emu_free(struct ks_emu *emu)
{
    if (!emu)
        return;
    while (emu->modules.n)
        ks_emu_module_unload(emu, emu->modules.data[0]);
    ks_vec_release(&emu->modules);
    for (size_t i = 0; i < emu->textures.n; i++)
        free(emu->textures.data[i]);
    ks_vec_release(&emu->textures);
    ks_emu_findings_clear(emu);
    ks_vec_release(&emu->findings);
    ks_vec_release(&emu->carried);
    ks_emu_counters_clear(emu);
    ks_vec_release(&emu->counters);
    for (size_t i = 0; i < emu->allocs.n; i++)
        free(emu->allocs.data[i].name);
    ks_vec_release(&emu->allocs);
    ks_vec_release(&emu->host_stretches);
    ks_vec_release(&emu->adopted);
    ks_vec_release(&emu->conditions);
    if (emu->arena)
        (void)munmap(emu->arena, emu->arena_bytes);
    release_planes(emu);
    (void)pthread_mutex_destroy(&emu->lock);
    free(emu);
}

void ks_emu_configure(struct ks_emu *emu, const struct ks_emu_config *config)
{
    emu->config = *config;
    emu->config.arch = emu->arch_name;
    if (!map_planes(emu)) /* without the address space for a shadow its check stays off */
        emu->config.checks &= ~((emu->init_plane ? 0 : KS_EMU_CHECK_INIT) | (emu->race.slot[0] ? 0 : KS_EMU_CHECK_RACE));
    if ((emu->config.checks & KS_EMU_CHECK_INIT) && emu->unchecked_launch) /* kernels wrote without a record of it */
        forget_history(emu);
    if (!emu->read_plane || !emu->write_plane)
        emu->config.counters = false;
}

/* ------------------------------------------------------------------------------------------------ allocations */

static void fill_pattern(void *dst, size_t n, uint32_t pattern)
{
    uint8_t *d = dst;
    size_t i = 0;
    if (pattern == (pattern & 0xffu) * 0x01010101u) {
        memset(dst, (int)(pattern & 0xffu), n);
        return;
    }
    for (; i + 4 <= n; i += 4)
        memcpy(d + i, &pattern, 4);
    for (; i < n; i++)
        d[i] = (uint8_t)(pattern >> (i & 3) * 8);
}

void *ks_emu_malloc_at(struct ks_emu *emu, size_t size_bytes, size_t align_bytes, size_t off_byte, const char *name)
{
    size_t rounded = (size_bytes + ALLOC_ALIGN - 1) / ALLOC_ALIGN * ALLOC_ALIGN;
    uintptr_t next = (uintptr_t)emu->arena + emu->next_off;
    uintptr_t at = (next + align_bytes - 1) / align_bytes * align_bytes + off_byte;
    size_t off = at - (uintptr_t)emu->arena;
    if (size_bytes > emu->capacity_bytes || emu->live_bytes + rounded > emu->capacity_bytes ||
        off + rounded + ALLOC_GAP > emu->arena_bytes)
        return NULL;
    struct emu_alloc a = {.base = emu->arena + off, .size = size_bytes, .name = name ? ks_xstrdup(name) : NULL, .live = true};
    emu->next_off = (off + rounded + ALLOC_GAP + 4095) / 4096 * 4096;
    emu->live_bytes += rounded;
    ks_vec_push(&emu->allocs, a);
    ks_emu_part_open(emu, a.base, size_bytes);
    fill_pattern(a.base, size_bytes, POISON);
    ks_emu_part_close(emu, a.base, size_bytes);
    return a.base;
}

void *ks_emu_malloc(struct ks_emu *emu, size_t size_bytes, const char *name)
{
    return ks_emu_malloc_at(emu, size_bytes, ALLOC_ALIGN, 0, name);
}

struct emu_alloc *ks_emu_alloc_find(struct ks_emu *emu, uintptr_t address)
{
    size_t lo = 0, hi = emu->allocs.n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if ((uintptr_t)emu->allocs.data[mid].base <= address)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0)
        return NULL;
    struct emu_alloc *a = &emu->allocs.data[lo - 1];
    size_t size = a->size ? a->size : 1;
    return address < (uintptr_t)a->base + size ? a : NULL;
}

enum ks_code ks_emu_mfree(struct ks_emu *emu, void *p, struct ks_err *err)
{
    struct emu_alloc *a = ks_emu_alloc_find(emu, (uintptr_t)p);
    if (!a || a->base != p)
        return ks_fail(err, KS_ERR_RANGE, "free device memory: not the start of an allocation");
    if (!a->live)
        return ks_fail(err, KS_ERR_RANGE, "free device memory '%s': freed before", a->name ? a->name : "");
    a->live = false;
    ks_emu_host_forget(emu, a);
    emu->live_bytes -= (a->size + ALLOC_ALIGN - 1) / ALLOC_ALIGN * ALLOC_ALIGN;
    uintptr_t from = ((uintptr_t)a->base + 4095) & ~(uintptr_t)4095, to = ((uintptr_t)a->base + a->size) & ~(uintptr_t)4095;
    if (to > from)
        (void)madvise((void *)from, to - from, MADV_DONTNEED);
    return KS_OK;
}

bool ks_emu_find(struct ks_emu *emu, const void *p, void **ret_base, size_t *ret_size_bytes)
{
    const struct emu_alloc *a = ks_emu_alloc_find(emu, (uintptr_t)p);
    if (!a || !a->live)
        return false;
    if (ret_base)
        *ret_base = a->base;
    if (ret_size_bytes)
        *ret_size_bytes = a->size;
    return true;
}

size_t ks_emu_free_bytes(const struct ks_emu *emu)
{
    size_t arena = emu->arena_bytes - emu->next_off, memory = emu->capacity_bytes - emu->live_bytes;
    return arena < memory ? arena : memory;
}

size_t ks_emu_live_bytes(const struct ks_emu *emu)
{
    return emu->live_bytes;
}

void ks_emu_declare_input(struct ks_emu *emu, void *p, bool is_input)
{
    struct emu_alloc *a = ks_emu_alloc_find(emu, (uintptr_t)p);
    if (a)
        a->is_input = is_input;
}

uint64_t ks_emu_condition_new(struct ks_emu *emu, uint32_t value)
{
    ks_vec_push(&emu->conditions, value);
    return emu->conditions.n;
}

bool ks_emu_condition_set(struct ks_emu *emu, uint64_t handle, uint32_t value)
{
    if (handle < 1 || handle > emu->conditions.n)
        return false;
    emu->conditions.data[handle - 1] = value;
    return true;
}

uint32_t ks_emu_condition(const struct ks_emu *emu, uint64_t handle)
{
    return handle >= 1 && handle <= emu->conditions.n ? emu->conditions.data[handle - 1] : 0;
}

void ks_emu_set_name(struct ks_emu *emu, void *p, const char *name)
{
    struct emu_alloc *a = ks_emu_alloc_find(emu, (uintptr_t)p);
    if (!a)
        return;
    free(a->name);
    a->name = name ? ks_xstrdup(name) : NULL;
}

/* ------------------------------------------------------------------------------------------------ initialised bytes */

void ks_emu_mark_init(struct ks_emu *emu, const void *p, size_t n, bool init)
{
    if (!emu->init_plane || n == 0)
        return;
    size_t bit = (size_t)((const uint8_t *)p - emu->arena), end = bit + n;
    uint8_t *plane = emu->init_plane;
    while (bit < end && (bit & 7)) {
        plane[bit >> 3] = (uint8_t)(init ? plane[bit >> 3] | 1u << (bit & 7) : plane[bit >> 3] & ~(1u << (bit & 7)));
        bit++;
    }
    size_t whole = (end - bit) / 8;
    memset(plane + (bit >> 3), init ? 0xff : 0, whole);
    bit += whole * 8;
    for (; bit < end; bit++)
        plane[bit >> 3] = (uint8_t)(init ? plane[bit >> 3] | 1u << (bit & 7) : plane[bit >> 3] & ~(1u << (bit & 7)));
}

bool ks_emu_is_init(const struct ks_emu *emu, const void *p, size_t n, size_t *ret_first_bad)
{
    size_t bit = (size_t)((const uint8_t *)p - emu->arena);
    for (size_t i = 0; i < n; i++, bit++) {
        if (emu->init_plane[bit >> 3] >> (bit & 7) & 1u)
            continue;
        if (ret_first_bad)
            *ret_first_bad = i;
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------ host access */

static enum ks_code inside(struct ks_emu *emu, const void *p, size_t n, const char *what, struct ks_err *err)
{
    const struct emu_alloc *a = ks_emu_alloc_find(emu, (uintptr_t)p);
    if (n == 0)
        return KS_OK;
    if (!a || !a->live)
        return ks_fail(err, KS_ERR_RANGE, "%s device memory: %s", what, a ? "freed before" : "no allocation there");
    size_t off = (size_t)((const uint8_t *)p - a->base);
    if (n > a->size - off)
        return ks_fail(err, KS_ERR_RANGE, "%s device memory '%s': %zu bytes at offset %zu of %zu", what, a->name ? a->name : "",
                       n, off, a->size);
    return KS_OK;
}

bool ks_emu_unwritten(struct ks_emu *emu, const void *p, size_t n, size_t *ret_first)
{
    struct ks_err ignored;
    return (emu->config.checks & KS_EMU_CHECK_INIT) && emu->init_plane && inside(emu, p, n, "read", &ignored) == KS_OK &&
           !ks_emu_is_init(emu, p, n, ret_first);
}

enum ks_code ks_emu_write(struct ks_emu *emu, void *dst, const void *src, size_t n, struct ks_err *err)
{
    KS_TRY(inside(emu, dst, n, "write", err));
    ks_emu_part_open(emu, dst, n);
    memmove(dst, src, n);
    ks_emu_part_close(emu, dst, n);
    ks_emu_mark_init(emu, dst, n, true);
    return KS_OK;
}

enum ks_code ks_emu_read(struct ks_emu *emu, void *dst, const void *src, size_t n, struct ks_err *err)
{
    KS_TRY(inside(emu, src, n, "read", err));
    if (emu->carried.n)
        ks_emu_carried_read(emu, src, n);
    ks_emu_part_open(emu, src, n);
    memmove(dst, src, n);
    ks_emu_part_close(emu, src, n);
    return KS_OK;
}

enum ks_code ks_emu_fill(struct ks_emu *emu, void *dst, int byte, size_t n, struct ks_err *err)
{
    KS_TRY(inside(emu, dst, n, "fill", err));
    ks_emu_part_open(emu, dst, n);
    memset(dst, byte, n);
    ks_emu_part_close(emu, dst, n);
    ks_emu_mark_init(emu, dst, n, true);
    return KS_OK;
}

enum ks_code ks_emu_copy(struct ks_emu *emu, void *dst, const void *src, size_t n, struct ks_err *err)
{
    KS_TRY(inside(emu, dst, n, "copy to", err));
    KS_TRY(inside(emu, src, n, "copy from", err));
    ks_emu_part_open(emu, dst, n);
    ks_emu_part_open(emu, src, n);
    memmove(dst, src, n);
    ks_emu_part_close(emu, dst, n);
    ks_emu_part_close(emu, src, n);
    if (!emu->init_plane)
        return KS_OK;
    if (ks_emu_is_init(emu, src, n, NULL)) {
        ks_emu_mark_init(emu, dst, n, true);
        return KS_OK;
    }
    KS_AUTO_FREE bool *state = ks_xcalloc(n + 1, 1);
    for (size_t i = 0; i < n; i++)
        state[i] = ks_emu_is_init(emu, (const uint8_t *)src + i, 1, NULL);
    for (size_t i = 0; i < n; i++)
        ks_emu_mark_init(emu, (uint8_t *)dst + i, 1, state[i]);
    return KS_OK;
}

void ks_emu_poison(struct ks_emu *emu, void *dst, size_t n, uint32_t pattern)
{
    ks_emu_part_open(emu, dst, n);
    fill_pattern(dst, n, pattern);
    ks_emu_part_close(emu, dst, n);
    ks_emu_mark_init(emu, dst, n, false);
}
