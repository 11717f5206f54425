#include "harness/emulated/async.h"
#include "harness/emulated/exec_mem.h"
#include "harness/emulated/warpgroup.h"

void ks_emu_addresses(struct emu_warp *w, uint32_t ref, bool wide, int64_t imm, uint32_t mask, struct emu_access *x)
{
    x->mask = mask;
    if (ref == EMU_NONE) {
        FOR_LANES(i) x->ad[i] = (uint64_t)imm;
        return;
    }
    if (wide) {
        const uint64_t *a = R64(ref);
        FOR_LANES(i) x->ad[i] = a[i] + (uint64_t)imm;
    } else {
        const uint32_t *a = R32(ref);
        FOR_LANES(i) x->ad[i] = (uint32_t)(a[i] + (uint32_t)imm);
    }
    if (mask != EMU_FULL) {
        uint64_t lead = x->ad[__builtin_ctz(mask)];
        FOR_LANES(i) x->ad[i] = (mask >> i & 1u) ? x->ad[i] : lead;
    }
}

static inline const char *access_name(const struct emu_access *x)
{
    return x->atomic ? "atomic" : x->store ? "store" : "load";
}

/* ad[i] == ad[0] + i * stride in every lane. */
static inline bool is_affine(const struct emu_access *x, int64_t *ret_stride)
{
    uint64_t base = x->ad[0], stride = x->ad[1] - base, bad = 0;
    FOR_LANES(i) bad |= x->ad[i] ^ (base + (uint64_t)i * stride);
    *ret_stride = (int64_t)stride;
    return bad == 0;
}

static bool misaligned(struct emu_warp *w, const struct emu_access *x, const char *space, uint32_t size)
{
    uint64_t low = 0;
    FOR_LANES(i) low |= x->ad[i];
    if ((low & (size - 1)) == 0)
        return false;
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(x->mask, i) || (x->ad[i] & (size - 1)) == 0)
            continue;
        ks_emu_fault(w, KS_ERR_DEVICE, "misaligned", i, access_name(x), x->ad[i], space,
                     "%u-byte %s at an address that is no multiple of %u", size, access_name(x), size);
        return true;
    }
    return false;
}

/* ------------------------------------------------------------------------------------------------ counting */

static void mark_plane(uint8_t *plane, uint64_t sector, uint64_t n)
{
    while (n > 0) {
        uint32_t bit = sector & 7, take = n < 8 - bit ? (uint32_t)n : 8 - bit;
        uint8_t bits = (uint8_t)(((1u << take) - 1) << bit), *p = &plane[sector >> 3];
        if ((__atomic_load_n(p, __ATOMIC_RELAXED) & bits) != bits)
            __atomic_fetch_or(p, bits, __ATOMIC_RELAXED);
        sector += take;
        n -= take;
    }
}

static bool was_set(uint8_t *p, uint8_t bit)
{
    return __atomic_fetch_or(p, bit, __ATOMIC_RELAXED) & bit;
}

/* Once for each unit that touches it, a sector goes up from plane to plane: `first`, seen by two, seen by three. */
static void mark_unit(struct emu_worker *wk, bool write, uint8_t *first, uint64_t sector, uint64_t n)
{
    for (uint64_t s = sector; s < sector + n; s++) {
        uint8_t *p = &wk->unit_plane[write][s >> 3], bit = (uint8_t)(1u << (s & 7));
        if (*p & bit)
            continue;
        if (!*p)
            ks_vec_push(&wk->unit_bytes, s >> 3 << 1 | write);
        *p |= bit;
        (void)(was_set(&first[s >> 3], bit) && was_set(&wk->launch->seen[write][0][s >> 3], bit) &&
               was_set(&wk->launch->seen[write][1][s >> 3], bit));
    }
}

void ks_emu_unit_forget(struct emu_worker *wk)
{
    for (size_t i = 0; i < wk->unit_bytes.n; i++)
        wk->unit_plane[wk->unit_bytes.data[i] & 1][wk->unit_bytes.data[i] >> 1] = 0;
    wk->unit_bytes.n = 0;
}

static void mark_sectors(struct emu_worker *wk, uint32_t pc, bool write, uint64_t sector, uint64_t n)
{
    const struct ks_emu *emu = wk->launch->emu;
    uint8_t *plane = write ? emu->write_plane : emu->read_plane;
    if (wk->unit_plane[0])
        mark_unit(wk, write, plane, sector, n);
    else
        mark_plane(plane, sector, n);
    if (wk->launch->line_planes && wk->launch->line_planes[pc])
        mark_plane(wk->launch->line_planes[pc], sector, n);
}

/* Sectors of a load that the block's L1 (emptied between blocks) does not hold: the model's traffic to L2. */
static uint64_t l1_misses(struct emu_warp *w, uint64_t sector, uint64_t n)
{
    uint64_t misses = 0, tag = (w->block->linear + 1) << 40;
    for (uint64_t s = sector; s < sector + n; s++) {
        uint64_t *entry = &w->worker->l1[s & (EMU_L1_SECTORS - 1)];
        misses += *entry != (tag | s);
        *entry = tag | s;
    }
    return misses;
}

/* Atomics: how often each sector of the request has to be updated one after the other, by lanes on one address; the parts of L2.
 * Lanes that add one value to one address for no result are joined by the compiler. */
static void count_atomic(struct emu_worker *wk, struct emu_mem_count *c, const struct emu_insn *in, const struct emu_access *x,
                         uint64_t base, bool unused)
{
    uint64_t sector[EMU_LANES];
    uint32_t times[EMU_LANES], n = 0;
    bool joined = unused && in->vec == 1 && ks_ptx_type_class((enum ptx_type)in->type) != PTX_CLASS_F;
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(x->mask, i))
            continue;
        uint64_t s = (x->ad[i] - base) / EMU_SECTOR;
        uint32_t same = 0, k = 0;
        c->slices |= 1ull << (s / 16 & 63);
        for (int j = 0; j <= i; j++)
            same += emu_lane(x->mask, j) && x->ad[j] == x->ad[i];
        while (k < n && sector[k] != s)
            k++;
        if (k == n) {
            sector[n] = s;
            times[n++] = 0;
        }
        times[k] = same > times[k] ? same : times[k];
    }
    if (joined && n == 1 && times[0] == (uint32_t)__builtin_popcount(x->mask))
        times[0] = 1;
    for (uint32_t k = 0; k < n; k++) {
        c->serial += times[k];
        for (uint32_t row = 0; row < EMU_HOT_ROWS; row++)
            wk->hot[row * EMU_HOT_SLOTS + ks_emu_mix(sector[k] * EMU_HOT_ROWS + row) % EMU_HOT_SLOTS] += times[k];
    }
}

static void count_scattered(struct emu_warp *w, uint32_t pc, const struct emu_access *x, uint64_t base)
{
    struct emu_mem_count *c = &w->worker->mem[pc];
    uint64_t seen[EMU_LANES * 2];
    uint32_t n = 0;
    FOR_LANES(i)
    {
        if (!emu_lane(x->mask, i))
            continue;
        uint64_t s0 = (x->ad[i] - base) / EMU_SECTOR, s1 = (x->ad[i] + x->bytes - 1 - base) / EMU_SECTOR;
        for (uint64_t s = s0; s <= s1; s++) {
            bool sector = true, line = true, missing = false;
            for (uint32_t k = 0; k < n; k++) {
                sector &= seen[k] != s;
                line &= seen[k] >> 2 != s >> 2;
            }
            if (!sector)
                continue;
            seen[n++] = s;
            missing = x->store || x->atomic || l1_misses(w, s, 1);
            c->g_misses += missing;
            c->g_lines += line;
            c->g_miss_lines += line && missing;
            mark_sectors(w->worker, pc, x->store || x->atomic, s, 1);
        }
    }
    c->g_sectors += n;
}

static void note_range(struct emu_mem_count *c, const struct emu_access *x, uint64_t base)
{
    uint64_t lo = c->hi ? c->lo : UINT64_MAX, hi = c->hi;
    FOR_LANES(i)
    {
        uint64_t at = x->ad[i] - base;
        lo = at < lo ? at : lo;
        hi = at > hi ? at : hi;
    }
    c->lo = lo;
    c->hi = hi;
}

static void count_global(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x)
{
    struct emu_worker *wk = w->worker;
    struct ks_emu *emu = wk->launch->emu;
    uint32_t pc = ks_emu_pc(w, in);
    struct emu_mem_count *c = &wk->mem[pc];
    uint64_t base = (uint64_t)(uintptr_t)emu->arena;
    c->g_requests++;
    c->g_bytes += (uint64_t)__builtin_popcount(x->mask) * x->bytes;
    if (!x->store && !x->atomic)
        note_range(c, x, base);
    int64_t stride;
    if (x->atomic)
        count_atomic(wk, c, in, x, base, wk->launch->program->info[pc].unused);
    if (!is_affine(x, &stride) || stride < -32 || stride > 32) {
        count_scattered(w, pc, x, base);
        return;
    }
    uint64_t first = stride >= 0 ? x->ad[0] : x->ad[31], last = stride >= 0 ? x->ad[31] : x->ad[0];
    uint64_t s0 = (first - base) / EMU_SECTOR, s1 = (last + x->bytes - 1 - base) / EMU_SECTOR, lines = (s1 >> 2) - (s0 >> 2) + 1;
    uint64_t misses = x->store || x->atomic ? s1 - s0 + 1 : l1_misses(w, s0, s1 - s0 + 1);
    c->g_sectors += s1 - s0 + 1;
    c->g_lines += lines;
    c->g_misses += misses;
    c->g_miss_lines += misses < lines ? misses : lines;
    mark_sectors(wk, pc, x->store || x->atomic, s0, s1 - s0 + 1);
}

/* 32 banks of 4 bytes.  Accesses of 8 and 16 bytes go in 2 and 4 phases of consecutive lanes; lanes that read the same word
 * share. */
uint32_t ks_emu_wavefronts(const struct emu_access *x, uint32_t *ret_ideal)
{
    uint32_t words = (x->bytes + 3) / 4, lanes = EMU_LANES / words, total = 0, ideal = 0;
    if (lanes == 0)
        lanes = 1;
    int64_t stride;
    if (x->mask == EMU_FULL && is_affine(x, &stride)) {
        if (stride == (int64_t)x->bytes && x->bytes >= 4) {
            *ret_ideal = words;
            return words;
        }
        if (stride == 0) {
            *ret_ideal = 1;
            return 1;
        }
    }
    for (uint32_t from = 0; from < EMU_LANES; from += lanes) {
        uint64_t word_of[EMU_LANES][8];
        uint8_t n_of[EMU_LANES] = {0};
        uint32_t worst = 0;
        uint64_t extra = 0;
        for (uint32_t i = from; i < from + lanes; i++) {
            if (!emu_lane(x->mask, (int)i))
                continue;
            for (uint32_t k = 0; k < words; k++) {
                uint64_t word = x->ad[i] / 4 + k;
                uint32_t bank = word & 31, j = 0, n = n_of[bank], kept = n < 8 ? n : 8;
                while (j < kept && word_of[bank][j] != word)
                    j++;
                if (j < kept)
                    continue;
                if (n < 8)
                    word_of[bank][n] = word;
                else if (extra++ && word == word_of[bank][7])
                    continue;
                n_of[bank]++;
                worst = n_of[bank] > worst ? n_of[bank] : worst;
            }
        }
        total += worst;
        ideal += worst > 0;
    }
    *ret_ideal = ideal;
    return total;
}

static void count_shared(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x)
{
    struct emu_mem_count *c = &w->worker->mem[ks_emu_pc(w, in)];
    uint32_t ideal;
    c->s_requests++;
    c->s_bytes += (uint64_t)__builtin_popcount(x->mask) * x->bytes;
    c->s_wavefronts += ks_emu_wavefronts(x, &ideal);
    c->s_ideal += ideal;
    if (x->atomic) {
        uint32_t worst = 1;
        FOR_LANES(i)
        {
            uint32_t same = 0;
            for (int j = 0; j <= i; j++)
                same += emu_lane(x->mask, j) && x->ad[j] == x->ad[i];
            worst = emu_lane(x->mask, i) && same > worst ? same : worst;
        }
        c->serial += worst;
    }
}

/* x: addresses not yet resolved, all in one space; what lies outside of every space is left to the access itself. */
void ks_emu_count(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x)
{
    struct emu_access part[3] = {*x, *x, {.mask = 0}};
    if (in->space == PTX_GENERIC)
        ks_emu_split_generic(w, x, part);
    else
        part[in->space == PTX_SHARED ? 0 : 1].mask = 0;
    uint64_t base = (uint64_t)(uintptr_t)w->worker->launch->emu->arena, bytes = w->worker->launch->emu->arena_bytes, out = 0;
    FOR_LANES(i) out |= part[0].ad[i] - base >= bytes - x->bytes;
    if (part[0].mask && !out)
        count_global(w, in, &part[0]);
    if (part[1].mask)
        count_shared(w, in, &part[1]);
}

/* Before lanes are told apart: equal offsets of all lanes lie side by side in hardware. */
static void count_local(struct emu_warp *w, const struct emu_access *x)
{
    struct emu_mem_count *c = &w->worker->mem[w->pc];
    uint64_t other = 0;
    FOR_LANES(i) other += x->ad[i] != x->ad[0] + (uint64_t)i * w->local_bytes;
    c->l_requests += 1 + other / 3; /* about three offsets a clock */
    c->l_bytes += (uint64_t)__builtin_popcount(x->mask) * x->bytes;
}

/* ------------------------------------------------------------------------------------------------ bounds */

static void out_of_bounds(struct emu_warp *w, const struct emu_access *x, int lane)
{
    struct ks_emu *emu = w->worker->launch->emu;
    uint64_t ad = x->ad[lane];
    const struct emu_alloc *a = ks_emu_alloc_find(emu, (uintptr_t)ad);
    if (a && !a->live) {
        ks_emu_fault(w, KS_ERR_DEVICE, "use-after-free", lane, access_name(x), ad, "global", "%u-byte %s of freed memory",
                     x->bytes, access_name(x));
        return;
    }
    if (a) {
        ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", lane, access_name(x), ad, "global",
                     "%u-byte %s at offset %llu of %zu bytes", x->bytes, access_name(x),
                     (unsigned long long)(ad - (uintptr_t)a->base), a->size);
        return;
    }
    /* nearest allocation below: the usual overrun */
    const struct emu_alloc *below = NULL;
    for (size_t i = 0; i < emu->allocs.n; i++)
        if (emu->allocs.data[i].live && (uintptr_t)emu->allocs.data[i].base <= ad)
            below = &emu->allocs.data[i];
    if (below && ad - (uintptr_t)below->base < below->size + (1u << 20))
        ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", lane, access_name(x), ad, "global",
                     "%u-byte %s %llu bytes past the end of '%s' (%zu bytes)", x->bytes, access_name(x),
                     (unsigned long long)(ad - (uintptr_t)below->base - below->size), below->name ? below->name : "an allocation",
                     below->size);
    else
        ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", lane, access_name(x), ad, "global",
                     "%u-byte %s at an address in no allocation%s", x->bytes, access_name(x), ad < 4096 ? " (null pointer)" : "");
}

/* A kernel that was given the host's own address of registered memory. */
static void adopt_addresses(const struct ks_emu *emu, struct emu_access *x)
{
    for (size_t k = 0; k < emu->adopted.n; k++) {
        const struct emu_adopted *a = &emu->adopted.data[k];
        FOR_LANES(i) x->ad[i] += x->ad[i] >= a->from && x->ad[i] < a->to ? a->delta : 0;
    }
}

static bool in_bounds_slow(struct emu_warp *w, const struct emu_access *x, struct emu_range *cache)
{
    struct ks_emu *emu = w->worker->launch->emu;
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(x->mask, i))
            continue;
        uintptr_t ad = (uintptr_t)x->ad[i];
        if (ad >= cache->lo && ad <= cache->hi && ad + x->bytes <= cache->hi)
            continue;
        struct emu_alloc *a = ks_emu_alloc_find(emu, ad);
        if (!a || !a->live || ad + x->bytes > (uintptr_t)a->base + a->size) {
            out_of_bounds(w, x, i);
            return false;
        }
        if (a->read_only && (x->store || x->atomic)) {
            ks_emu_fault(w, KS_ERR_DEVICE, "read-only", i, access_name(x), ad, "global", "%s of read-only memory '%s'",
                         access_name(x), a->name ? a->name : "");
            return false;
        }
        __atomic_store_n(&a->touched, w->worker->launch->number, __ATOMIC_RELAXED);
        if (a->is_input && (x->store || x->atomic)) {
            if (w->worker->launch->checks & KS_EMU_CHECK_OUTPUTS)
                ks_emu_report(w, "undeclared-write", i, w->pc, access_name(x), ad, "global", NULL,
                              "%u-byte %s of '%s', which is declared as an input", x->bytes, access_name(x),
                              a->name ? a->name : "");
        } else if (!a->read_only || !(x->store || x->atomic)) {
            *cache = (struct emu_range){(uintptr_t)a->base, (uintptr_t)a->base + a->size};
        }
    }
    return true;
}

bool ks_emu_resolve_global(struct emu_warp *w, const struct emu_insn *in, struct emu_access *x)
{
    struct emu_worker *wk = w->worker;
    const struct emu_launch *l = wk->launch;
    uint32_t pc = ks_emu_pc(w, in);
    w->pc = pc;
    struct emu_range *cache = &wk->cache[x->store || x->atomic][pc & 15];
    uint64_t lo = UINT64_MAX, hi = 0, low = 0;
    FOR_LANES(i)
    {
        lo = x->ad[i] < lo ? x->ad[i] : lo;
        hi = x->ad[i] > hi ? x->ad[i] : hi;
        low |= x->ad[i];
    }
    if ((low & ((uint64_t)in->size * in->vec - 1)) && misaligned(w, x, "global", (uint32_t)in->size * in->vec))
        return false;
    if (!(lo >= cache->lo && hi <= cache->hi && hi + x->bytes <= cache->hi)) {
        adopt_addresses(l->emu, x);
        if (!in_bounds_slow(w, x, cache))
            return false;
    }
    if (l->counting && !x->uncounted)
        count_global(w, in, x);
    if (l->checks & KS_EMU_CHECK_INIT) {
        if (!x->store)
            ks_emu_check_init_global(w, in, x);
        if (x->store || x->atomic)
            ks_emu_mark_init_global(w, x);
    }
    if (l->checks & KS_EMU_CHECK_RACE)
        ks_emu_race_global(w, in, x);
    return true;
}

/* The lanes' addresses are offsets into the shared memory of block b. */
static bool resolve_in_block(struct emu_warp *w, const struct emu_insn *in, struct emu_access *x, struct emu_block *b)
{
    uint64_t lo = UINT64_MAX, hi = 0, low = 0;
    FOR_LANES(i)
    {
        lo = x->ad[i] < lo ? x->ad[i] : lo;
        hi = x->ad[i] > hi ? x->ad[i] : hi;
        low |= x->ad[i];
    }
    if ((low & ((uint64_t)in->size * in->vec - 1)) && misaligned(w, x, "shared", (uint32_t)in->size * in->vec))
        return false;
    if (hi > b->shared_bytes || hi + x->bytes > b->shared_bytes) {
        for (int i = 0; i < EMU_LANES; i++) {
            if (emu_lane(x->mask, i) && (x->ad[i] > b->shared_bytes || x->ad[i] + x->bytes > b->shared_bytes)) {
                ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", i, access_name(x), x->ad[i], "shared",
                             "%u-byte %s at shared address %llu of %u bytes", x->bytes, access_name(x),
                             (unsigned long long)x->ad[i], b->shared_bytes);
                return false;
            }
        }
    }
    const struct emu_launch *l = w->worker->launch;
    if (lo < b->mbarrier_hi && hi + x->bytes > b->mbarrier_lo && (l->checks & KS_EMU_CHECK_SYNC))
        ks_emu_mbarrier_touch(w, w->pc, x, b);
    if (l->counting && !x->uncounted)
        count_shared(w, in, x);
    if (b->proxy && (x->store || x->atomic)) {
        ks_emu_proxy_store(b, x);
        ks_emu_wgmma_check_stores(w, x, b, lo, hi + x->bytes);
    }
    if (l->checks & KS_EMU_CHECK_INIT) {
        if (!x->store)
            ks_emu_check_init_bytes(w, in, x, b->shared_init, "shared");
        if (x->store || x->atomic)
            ks_emu_mark_init_bytes(x, b->shared_init);
    }
    if (l->checks & KS_EMU_CHECK_RACE)
        ks_emu_race_shared(w, in, x, b);
    FOR_LANES(i) x->ad[i] += (uint64_t)(uintptr_t)b->shared;
    return true;
}

/* Addresses of a kernel that uses clusters carry the rank of a block: each is looked up there. */
static bool resolve_in_cluster(struct emu_warp *w, const struct emu_insn *in, struct emu_access *x)
{
    struct emu_access part = *x;
    uint32_t todo = x->mask;
    while (todo) {
        int lead = __builtin_ctz(todo);
        uint64_t rank = x->ad[lead] >> 24;
        uint32_t offset;
        struct emu_block *b = w->block;
        if (rank != b->rank) {
            b = ks_emu_shared_at(w, lead, x->ad[lead], false, 0, 1, access_name(x), &offset);
            if (!b)
                return false;
        }
        part.mask = 0;
        FOR_LANES(i) part.mask |= (uint32_t)(x->ad[i] >> 24 == rank) << i;
        part.mask &= todo;
        todo &= ~part.mask;
        FOR_LANES(i) part.ad[i] = (emu_lane(part.mask, i) ? x->ad[i] : x->ad[lead]) & 0xffffffu;
        uint32_t mine = part.mask;
        if (!resolve_in_block(w, in, &part, b))
            return false;
        if (mine == x->mask && todo == 0) {
            memcpy(x->ad, part.ad, sizeof(x->ad));
            return true;
        }
        FOR_LANES(i) x->ad[i] = emu_lane(mine, i) ? part.ad[i] : x->ad[i];
    }
    uint64_t lead = x->ad[__builtin_ctz(x->mask)];
    FOR_LANES(i) x->ad[i] = emu_lane(x->mask, i) ? x->ad[i] : lead;
    return true;
}

bool ks_emu_resolve_shared(struct emu_warp *w, const struct emu_insn *in, struct emu_access *x)
{
    w->pc = ks_emu_pc(w, in);
    return w->worker->launch->program->clustered ? resolve_in_cluster(w, in, x) : resolve_in_block(w, in, x, w->block);
}

void ks_emu_count_bulk(struct emu_warp *w, const struct emu_insn *in, uint64_t address, uint32_t bytes, bool store)
{
    struct ks_emu *emu = w->worker->launch->emu;
    uint32_t pc = ks_emu_pc(w, in);
    struct emu_mem_count *c = &w->worker->mem[pc];
    uint64_t base = (uint64_t)(uintptr_t)emu->arena, s0 = (address - base) / EMU_SECTOR,
             s1 = (address + bytes - 1 - base) / EMU_SECTOR;
    c->g_requests++;
    c->g_bytes += bytes;
    c->g_sectors += s1 - s0 + 1;
    c->g_misses += s1 - s0 + 1;
    mark_sectors(w->worker, pc, store, s0, s1 - s0 + 1);
}

bool ks_emu_resolve_local(struct emu_warp *w, const struct emu_insn *in, struct emu_access *x)
{
    w->pc = ks_emu_pc(w, in);
    if (misaligned(w, x, "local", (uint32_t)in->size * in->vec))
        return false;
    for (int i = 0; i < EMU_LANES; i++) {
        if (emu_lane(x->mask, i) && (x->ad[i] > w->local_bytes || x->ad[i] + x->bytes > w->local_bytes)) {
            ks_emu_fault(w, KS_ERR_DEVICE, "out-of-bounds", i, access_name(x), x->ad[i], "local",
                         "%u-byte %s at local address %llu of %u bytes", x->bytes, access_name(x), (unsigned long long)x->ad[i],
                         w->local_bytes);
            return false;
        }
    }
    /* lane i's memory follows lane i-1's; inactive lanes get their own copy of an active offset */
    FOR_LANES(i) x->ad[i] += (uint64_t)(uint32_t)i * w->local_bytes;
    const struct emu_launch *l = w->worker->launch;
    if (l->counting)
        count_local(w, x);
    if (l->checks & KS_EMU_CHECK_INIT) {
        if (!x->store)
            ks_emu_check_init_bytes(w, in, x, w->local_init, "local");
        if (x->store || x->atomic)
            FOR_LANES(i)
        if (emu_lane(x->mask, i))
            memset(w->local_init + x->ad[i], 1, x->bytes);
    }
    FOR_LANES(i) x->ad[i] += (uint64_t)(uintptr_t)w->local;
    return true;
}

void ks_emu_split_generic(struct emu_warp *w, const struct emu_access *x, struct emu_access out[3])
{
    uint64_t base = (uint64_t)(uintptr_t)w->worker->launch->emu->arena;
    uint32_t mask[3] = {0, 0, 0};
    uint64_t window = 0;
    FOR_LANES(i) window |= x->ad[i] - base < EMU_FIRST_ALLOC;
    if (!window) {
        out[0] = *x;
        out[1].mask = out[2].mask = 0;
        return;
    }
    FOR_LANES(i)
    {
        uint64_t off = x->ad[i] - base;
        int space = off < EMU_LOCAL_WINDOW ? 1 : off < EMU_FIRST_ALLOC ? 2 : 0;
        mask[space] |= x->mask & 1u << i;
    }
    for (int s = 0; s < 3; s++) {
        out[s].mask = mask[s];
        if (!mask[s])
            continue;
        out[s] = *x;
        out[s].mask = mask[s];
        uint64_t sub = s == 0 ? 0 : s == 1 ? base : base + EMU_LOCAL_WINDOW;
        uint64_t lead = x->ad[__builtin_ctz(mask[s])] - sub;
        FOR_LANES(i) out[s].ad[i] = emu_lane(mask[s], i) ? x->ad[i] - sub : lead;
    }
}
