#include "harness/emulated/async.h"
#include "harness/emulated/exec_mem.h"

/* Races: two accesses to the same byte, at least one a write, not both synchronising, and neither ordered before the other.
 *
 * Order inside a block comes from vector clocks, one entry per warp: a warp that arrives at a barrier leaves its clock there, and
 * one that waits takes over what was left until the barrier completed; warp operations (bar.warp.sync, shuffles, votes) advance
 * the clock of their warp, and lanes of one warp are ordered by that alone.  A fence publishes what its warp has seen; an atomic
 * or a strong load takes over what others published.  Between blocks the same holds with one published clock per block, unless
 * the fence or the access has the scope of its block only.  Both are generous: atomics are not told apart by address, so a
 * program that synchronises correctly is never accused.
 *
 * What an instruction does between two advances of its warp's clock is an event with a number; every word of memory has three
 * records, of 27 bits of number and five of lane (race.h).  Records of earlier launches need no clearing: their numbers are old.
 * Shared memory has events of its own, which end with the block.  Blocks that cannot wait for each other keep their records apart
 * (checks_race_blocks.c); all others run on one host thread, in order, so findings do not depend on timing. */

struct published {
    uint64_t time;              /* of the first fence; 0: none */
    uint32_t clock[EMU_VECTOR]; /* accesses before it are visible */
    uint64_t told_time;         /* of the first strong store without one */
    uint32_t told[EMU_VECTOR];  /* loads before it are over */
};

struct emu_race_state {
    struct published **blocks; /* by linear index; NULL: each is checked for itself */
    uint64_t time;
};

bool ks_emu_race_each_for_itself(const struct emu_launch *l)
{
    const struct emu_program *p = l->program;
    return !p->ordered && !p->may_spin && !l->cooperative && l->cluster_size == 1 && l->n_units >= 16;
}

int ks_emu_race_begin(struct emu_launch *l, struct emu_worker *workers, int n)
{
    struct ks_emu *emu = l->emu;
    bool apart = ks_emu_race_each_for_itself(l);
    l->races = ks_xcalloc(1, sizeof(*l->races));
    for (int i = 0; apart && i < n; i++) {
        workers[i].race = ks_xcalloc(1, sizeof(*workers[i].race));
        apart = ks_emu_race_space_init(workers[i].race, (emu->next_off + 4095) & ~(size_t)4095, true);
        size_t share = emu->live_bytes / 64 / sizeof(struct emu_race_part) / (size_t)n; /* of the program's memory for all */
        if (apart && share > workers[i].race->enough)
            workers[i].race->enough = share;
    }
    if (apart) {
        l->race_turns = ks_xcalloc(1, sizeof(*l->race_turns));
        (void)pthread_mutex_init(&l->race_turns->lock, NULL);
        (void)pthread_cond_init(&l->race_turns->changed, NULL);
        return n;
    }
    for (int i = 0; i < n; i++)
        ks_emu_race_worker_end(&workers[i]);
    workers[0].race = &emu->race;
    l->races->blocks = ks_xcalloc(l->n_blocks + 1, sizeof(*l->races->blocks));
    return 1;
}

void ks_emu_race_worker_end(struct emu_worker *wk)
{
    if (wk->race && wk->race != &wk->launch->emu->race) {
        ks_emu_race_space_release(wk->race);
        free(wk->race);
    }
    wk->race = NULL;
}

void ks_emu_race_end(struct emu_launch *l)
{
    if (!l->races)
        return;
    ks_emu_race_space_pass(&l->emu->race);
    for (uint64_t i = 0; l->races->blocks && i < l->n_blocks; i++)
        free(l->races->blocks[i]);
    free(l->races->blocks);
    free(l->races);
    l->races = NULL;
    if (l->race_turns) {
        (void)pthread_mutex_destroy(&l->race_turns->lock);
        (void)pthread_cond_destroy(&l->race_turns->changed);
        free(l->race_turns);
        l->race_turns = NULL;
    }
}

static void advance(struct emu_warp *w)
{
    w->block->vc[w->id][w->id] = ++w->clock;
}

static void shared_clear(struct emu_race_space *s)
{
    memset(s->slot[0], 0, EMU_RACE_SLOTS * s->n_words * sizeof(*s->slot[0]));
    s->first = 1;
    s->events.n = 0;
    s->generation++;
}

void ks_emu_race_block_new(struct emu_block *b)
{
    struct emu_race_space *s = &b->shared_race;
    s->n_words = b->shared_bytes / 4 + 1;
    s->slot[0] = ks_xcalloc(EMU_RACE_SLOTS * s->n_words, sizeof(*s->slot[0]));
    for (int k = 1; k < EMU_RACE_SLOTS; k++)
        s->slot[k] = s->slot[0] + (size_t)k * s->n_words;
}

void ks_emu_race_block_free(struct emu_block *b)
{
    free(b->shared_race.slot[0]);
    ks_vec_release(&b->shared_race.events);
}

void ks_emu_race_block_start(struct emu_block *b)
{
    memset(b->vc, 0, sizeof(*b->vc) * (b->n_warps + 1 + EMU_MAX_BARS));
    shared_clear(&b->shared_race);
    b->order = b->worker->order;
    for (uint32_t k = 0; k < b->n_warps; k++)
        advance(&b->warps[k]);
}

void ks_emu_race_warp_sync(struct emu_warp *w)
{
    advance(w);
}

static void join(uint32_t *to, const uint32_t *from, uint32_t n)
{
    for (uint32_t v = 0; v < n; v++)
        to[v] = from[v] > to[v] ? from[v] : to[v];
    to += EMU_MAX_WARPS;
    from += EMU_MAX_WARPS;
    for (uint32_t v = 0; v < n; v++)
        to[v] = from[v] > to[v] ? from[v] : to[v];
}

/* What a barrier has been told since it last completed. */
static uint32_t *barrier_clock(struct emu_block *b, uint32_t id)
{
    return b->vc[b->n_warps + 1 + id];
}

void ks_emu_race_arrive(struct emu_warp *w, uint32_t id)
{
    advance(w);
    join(barrier_clock(w->block, id), w->block->vc[w->id], w->block->n_warps);
}

void ks_emu_race_barrier(struct emu_block *b, uint32_t id, uint64_t waiting)
{
    uint32_t *clock = barrier_clock(b, id);
    for (uint32_t k = 0; k < b->n_warps; k++)
        if (waiting >> k & 1u)
            join(b->vc[k], clock, b->n_warps);
    memset(clock, 0, sizeof(*b->vc));
    uint64_t all = b->n_warps == 64 ? UINT64_MAX : (1ull << b->n_warps) - 1;
    if (waiting == all && b->cluster->n_blocks == 1 &&
        b->shared_race.first < EV_LIMIT) { /* what has been is ordered before everything to come */
        b->shared_race.first += (uint32_t)b->shared_race.events.n;
        b->shared_race.events.n = 0;
        b->shared_race.generation++;
    }
}

void ks_emu_race_release(struct emu_warp *w, bool block_only)
{
    struct emu_block *b = w->block;
    struct emu_race_state *s = w->worker->launch->races;
    advance(w);
    join(b->vc[b->n_warps], b->vc[w->id], b->n_warps);
    if (block_only || !s->blocks)
        return;
    struct published **p = &s->blocks[b->linear];
    if (!*p)
        *p = ks_xcalloc(1, sizeof(**p));
    s->time++;
    if (!(*p)->time)
        (*p)->time = s->time;
    join((*p)->clock, b->vc[w->id], b->n_warps);
}

/* A strong store tells other blocks something without a fence.  What was loaded before it counts as over, for what it tells
 * mostly depends on that (decoupled look-back over an array in place); what was stored does not. */
static void tell(struct emu_warp *w)
{
    struct emu_block *b = w->block;
    struct emu_race_state *s = w->worker->launch->races;
    if (!s->blocks)
        return;
    advance(w);
    struct published **p = &s->blocks[b->linear];
    if (!*p)
        *p = ks_xcalloc(1, sizeof(**p));
    s->time++;
    if (!(*p)->told_time)
        (*p)->told_time = s->time;
    join((*p)->told, b->vc[w->id], b->n_warps);
}

void ks_emu_race_acquire(struct emu_warp *w, bool block_only)
{
    struct emu_block *b = w->block;
    uint32_t *sync = b->vc[b->n_warps], *mine = b->vc[w->id];
    for (uint32_t v = 0; v < b->n_warps; v++)
        if (v != w->id) {
            mine[v] = sync[v] > mine[v] ? sync[v] : mine[v];
            uint32_t t = EMU_MAX_WARPS + v;
            mine[t] = sync[t] > mine[t] ? sync[t] : mine[t];
        }
    if (!block_only)
        b->acquired_time = w->worker->launch->races->time;
}

/* ------------------------------------------------------------------------------------------------ the test */

enum order {
    BEFORE, /* ordered before this access, whatever the lane */
    SAME,   /* by this warp, since its clock advanced: before, if by this lane */
    LOOSE
};

struct me {
    struct emu_warp *w;
    struct emu_race_space *s;
    const struct emu_insn *in;
    const struct emu_access *x;
    uint32_t pc, flags; /* EV_... */
    struct {
        uint32_t number;
        enum order order;
    } known[EMU_RACE_SLOTS]; /* looked up last */
    bool reported;
    const char *space;
    int cached; /* which of the warp's numbers are of this space; -1: none */
};

static enum order order_of(struct me *m, uint32_t rec, int slot)
{
    uint32_t number = rec >> 5;
    if (number < m->s->first)
        return BEFORE;
    if (number == m->known[slot].number)
        return m->known[slot].order;
    const struct emu_block *b = m->w->block;
    const struct emu_race_event *e = ks_emu_race_event(m->s, rec);
    enum order order;
    if (e->block == (uint32_t)b->linear) {
        order = e->warp == m->w->id && e->clock == m->w->clock ? SAME : e->clock < b->vc[m->w->id][e->warp] ? BEFORE : LOOSE;
    } else {
        const struct emu_race_state *races = m->w->worker->launch->races;
        const struct published *p = races->blocks ? races->blocks[e->block] : NULL;
        bool seen = p && p->time && b->acquired_time >= p->time && e->clock < p->clock[e->warp];
        bool over = p && p->told_time && b->acquired_time >= p->told_time && e->clock < p->told[e->warp];
        order = seen || (over && !(e->what & EV_WRITE)) ? BEFORE : LOOSE;
    }
    m->known[slot].number = number;
    m->known[slot].order = order;
    return order;
}

/* Two lanes of one store to one address: only a race when they write different values. */
static bool same_value(const struct me *m, int a, int b)
{
    const struct emu_insn *in = m->in;
    if (m->x->atomic || !m->x->store || in->flow == EMU_FLOW_WARPSYNC)
        return true;
    for (uint32_t v = 0; v < in->vec; v++) {
        const uint8_t *r = emu_at(m->w, in->vec == 1 ? in->b : in->ext[v]);
        if (memcmp(r + (size_t)in->rsize * (size_t)a, r + (size_t)in->rsize * (size_t)b, in->rsize) != 0)
            return false;
    }
    return true;
}

static bool conflicts(struct me *m, uint32_t rec, int slot, int lane, uint32_t bytes)
{
    if (rec >> 5 < m->s->first)
        return false;
    const struct emu_race_event *e = ks_emu_race_event(m->s, rec);
    bool same_block = e->block == (uint32_t)m->w->block->linear;
    bytes &= ks_emu_race_bytes(e);
    if (!bytes || ks_emu_race_both_strong(m->flags, e->what, same_block))
        return false;
    switch (order_of(m, rec, slot)) {
    case BEFORE:
        return false;
    case SAME:
        for (; bytes && !(EV_BYTES(e) & EV_MIXED); bytes &= bytes - 1) {
            int owner = ks_emu_race_lane(e, rec, bytes);
            if (owner != lane && (EV_PC(e) != m->pc || !same_value(m, lane, owner)))
                return true;
        }
        return false;
    case LOOSE:
        return true;
    }
    return false;
}

static const char *access_of(const struct emu_race_event *e)
{
    return e->what & EV_ATOMIC ? "atomic" : e->what & EV_WRITE ? "store" : "load";
}

void ks_emu_race_report(struct emu_warp *w, int lane, const struct emu_race_event *mine, const struct emu_race_event *other,
                        int other_lane, uint64_t address, const char *space)
{
    const struct emu_launch *l = w->worker->launch;
    uint32_t t = other->warp * EMU_LANES + (uint32_t)other_lane;
    struct emu_party party = {.valid = true, .block = other->block, .pc = EV_PC(other), .access = access_of(other)};
    party.thread[0] = t % l->block[0];
    party.thread[1] = t / l->block[0] % l->block[1];
    party.thread[2] = t / l->block[0] / l->block[1];
    bool same_block = other->block == mine->block;
    bool same_insn = same_block && other->warp == mine->warp && other->clock == mine->clock && EV_PC(other) == EV_PC(mine);
    ks_emu_report(w, space[0] == 's' ? "shared-race" : "global-race", lane, EV_PC(mine), access_of(mine), address, space, &party,
                  same_insn    ? "lanes of one warp store different values to the same address in one instruction"
                  : same_block ? "%s races with a %s by another thread of the block: no barrier between them"
                  : mine->what & other->what & EV_STRONG
                      ? "%s races with a %s by another block: the scope of one of them is its block"
                      : "%s races with a %s by another block",
                  access_of(mine), party.access);
}

static struct emu_race_event event_of(const struct me *m, uint32_t bytes)
{
    return (struct emu_race_event){(uint32_t)m->w->block->linear, m->w->id, m->w->clock, m->pc << 12 | bytes << 4 | m->flags};
}

static void report(struct me *m, uint32_t rec, int lane, uint32_t bytes, uint64_t address)
{
    if (m->reported)
        return;
    m->reported = true;
    struct emu_race_event mine = event_of(m, bytes);
    const struct emu_race_event *other = ks_emu_race_event(m->s, rec);
    ks_emu_race_report(m->w, lane, &mine, other, ks_emu_race_lane(other, rec, bytes & ks_emu_race_bytes(other)), address,
                       m->space);
}

/* The record of this instruction, without a lane. */
static uint32_t record_of(struct me *m, uint32_t bytes)
{
    struct emu_race_event e = event_of(m, bytes);
    struct emu_race_last none = {0}, *last = &none;
    if (m->cached >= 0)
        last = &m->w->race_last[m->cached][(m->pc ^ bytes) % EMU_RACE_LAST];
    if (last->number && last->what == e.what && last->clock == e.clock && last->generation == m->s->generation)
        return last->number << 5;
    if (m->s->first + m->s->events.n >= EV_LIMIT) { /* what was before is forgotten */
        if (m->space[0] == 's')
            shared_clear(m->s);
        else
            ks_emu_race_space_pass(m->s);
        memset(m->known, 0, sizeof(m->known));
    }
    *last = (struct emu_race_last){e.what, e.clock, m->s->first + (uint32_t)m->s->events.n, m->s->generation};
    ks_vec_push(&m->s->events, e);
    return last->number << 5;
}

static void check_word(struct me *m, uint64_t word, int lane, uint32_t bytes, uint64_t address)
{
    for (int k = 0; k < EMU_RACE_SLOTS; k++) {
        uint32_t rec = m->s->slot[k][word];
        if (rec >> 5 >= m->s->first && (ks_emu_race_event(m->s, rec)->what | m->flags) & EV_WRITE &&
            conflicts(m, rec, k, lane, bytes))
            report(m, rec, lane, bytes, address);
    }
}

static void put(struct me *m, uint64_t word, uint32_t rec)
{
    uint32_t *const *slot = m->s->slot, writer = slot[EMU_RACE_WRITER][word], reader = slot[EMU_RACE_READER][word];
    if (m->flags & EV_WRITE) {
        /* an atomic must not hide a plain store that others may still race with */
        bool keep = m->flags & EV_STRONG && writer >> 5 >= m->s->first && !(ks_emu_race_event(m->s, writer)->what & EV_STRONG);
        slot[keep ? EMU_RACE_READER2 : EMU_RACE_WRITER][word] = rec;
        return;
    }
    /* keep two readers of different warps, or lanes, where they are not ordered: a later writer can be only one of them */
    enum order order = order_of(m, reader, EMU_RACE_READER);
    if (order == LOOSE) {
        slot[EMU_RACE_READER2][word] = rec;
        return;
    }
    if (order == SAME && (reader ^ rec) & 31)
        slot[EMU_RACE_READER2][word] = reader;
    slot[EMU_RACE_READER][word] = rec;
}

/* ------------------------------------------------------------------------------------------------ many words at once */

#define STRETCH 32

/* The order of n records that are alike, LOOSE also where they are not: of one event, or all of the past; of SAME, too, each by
 * the lane that `mine` has there. */
static inline enum order order_of_all(struct me *m, int slot, uint64_t word, uint32_t n, const uint32_t *mine, bool *ret_alike)
{
    const uint32_t *r = m->s->slot[slot] + word;
    uint32_t most = 0, differ = 0, lanes = 0, one = r[0];
    for (uint32_t i = 0; i < n; i++) {
        most = r[i] > most ? r[i] : most;
        differ |= r[i] ^ one;
        lanes |= r[i] ^ mine[i];
    }
    *ret_alike = true;
    if (most >> 5 < m->s->first)
        return BEFORE;
    enum order order = differ >> 5 ? LOOSE : order_of(m, r[0], slot);
    *ret_alike = !(differ >> 5) && !(order == SAME && lanes & 31);
    return *ret_alike ? order : LOOSE;
}

/* Neighbouring words that this instruction reaches in whole; mine: their records.  Nearly all of a correct program comes by here
 * and needs no look at single words. */
static void stretch(struct me *m, uint64_t word, uint32_t n, const uint32_t *mine, uint64_t address)
{
    uint32_t *const *slot = m->s->slot;
    bool alike[EMU_RACE_SLOTS], checked = false;
    enum order order[EMU_RACE_SLOTS];
    for (int k = 0; k < EMU_RACE_SLOTS; k++)
        order[k] =
            n == STRETCH ? order_of_all(m, k, word, STRETCH, mine, &alike[k]) : order_of_all(m, k, word, n, mine, &alike[k]);
    if (m->flags & EV_WRITE) {
        checked = !(m->flags & EV_STRONG) && order[0] != LOOSE && order[1] != LOOSE && order[2] != LOOSE;
        if (checked)
            memcpy(slot[EMU_RACE_WRITER] + word, mine, n * sizeof(*mine));
    } else {
        uint32_t second = slot[EMU_RACE_READER2][word];
        checked =
            order[EMU_RACE_WRITER] != LOOSE && (order[EMU_RACE_READER2] == BEFORE ||
                                                (alike[EMU_RACE_READER2] && !(ks_emu_race_event(m->s, second)->what & EV_WRITE)));
        if (checked && alike[EMU_RACE_READER]) {
            memcpy(slot[order[EMU_RACE_READER] == LOOSE ? EMU_RACE_READER2 : EMU_RACE_READER] + word, mine, n * sizeof(*mine));
            return;
        }
        for (uint32_t i = 0; checked && i < n; i++)
            put(m, word + i, mine[i]);
    }
    for (uint32_t i = 0; !checked && i < n; i++) {
        check_word(m, word + i, (int)(mine[i] & 31), 15, address + 4 * (uint64_t)i);
        put(m, word + i, mine[i]);
    }
}

/* Halves or bytes: the lanes of `mask` that meet lane `lane` in its word, as one record.  Returns those. */
static uint32_t part_of_word(struct me *m, uint32_t mask, int lane, uint64_t base)
{
    const struct emu_access *x = m->x;
    uint64_t word = (x->ad[lane] - base) / 4, at = ks_emu_race_place(m->s, word, 1);
    uint32_t group = 0, bytes = 0, form = 0, own[EMU_LANES];
    for (uint32_t left = mask; left; left &= left - 1) {
        int i = __builtin_ctz(left);
        if ((x->ad[i] - base) / 4 != word)
            continue;
        own[i] = ((1u << x->bytes) - 1) << ((x->ad[i] - base) & 3);
        check_word(m, at, i, own[i], x->ad[i]);
        for (uint32_t with = group; with && bytes & own[i] && m->flags & EV_WRITE; with &= with - 1) {
            int k = __builtin_ctz(with);
            if (own[k] & own[i] && !same_value(m, i, k) && !m->reported) {
                struct emu_race_event e = event_of(m, own[i]);
                m->reported = true;
                ks_emu_race_report(m->w, i, &e, &e, k, x->ad[i], m->space);
            }
        }
        group |= 1u << i;
        bytes |= own[i];
    }
    int n = __builtin_popcount(group);
    form = n == 1 ? bytes : EV_MIXED | bytes;
    if (group == 3u << lane && x->bytes == 2 && own[lane] == 3 && own[lane + 1] == 12)
        form = EV_HALVES;
    if (group == 15u << lane && x->bytes == 1 && own[lane] == 1 && own[lane + 1] == 2 && own[lane + 2] == 4 && own[lane + 3] == 8)
        form = EV_EACH;
    put(m, at, record_of(m, form) | (uint32_t)lane);
    return group;
}

/* Where all lanes load one address, two of them stand for all. */
static uint32_t lanes_of(const struct emu_access *x)
{
    uint64_t same = 0;
    FOR_LANES(i) same |= x->ad[i] ^ x->ad[0];
    return !same && !x->store && !x->atomic ? (1u << __builtin_ctz(x->mask)) | (1u << (31 - __builtin_clz(x->mask))) : x->mask;
}

/* Words one after the other, 2^shift by a lane. */
static void walk(struct me *m, uint64_t word, uint32_t n, uint32_t rec, uint32_t shift, uint64_t address)
{
    uint32_t mine[STRETCH];
    for (uint32_t done = 0, some; done < n; done += some) {
        uint32_t left = EMU_RACE_PART - (uint32_t)((word + done) % EMU_RACE_PART);
        some = n - done < STRETCH ? n - done : STRETCH;
        some = left < some ? left : some;
        for (uint32_t i = 0; i < STRETCH; i++)
            mine[i] = rec + ((done + i) >> shift);
        stretch(m, ks_emu_race_place(m->s, word + done, some), some, mine, address + 4 * (uint64_t)done);
    }
}

/* Lanes from `lane` on, all of `mask`, that reach words one after the other. */
static uint32_t run_of(const struct emu_access *x, uint32_t mask, uint32_t lane)
{
    uint32_t n = 1;
    while (lane + n < EMU_LANES && mask >> (lane + n) & 1u && x->ad[lane + n] == x->ad[lane] + n * (uint64_t)x->bytes)
        n++;
    return n;
}

static void reach(struct me *m, uint64_t base)
{
    const struct emu_access *x = m->x;
    uint64_t bad = 0;
    uint32_t mask = lanes_of(x), n;
    FOR_LANES(i) bad |= x->ad[i] ^ (x->ad[0] + (uint64_t)i * x->bytes);
    bool row = x->mask == EMU_FULL && !bad;
    if (x->bytes < 4) {
        while (mask)
            mask &= ~part_of_word(m, mask, __builtin_ctz(mask), base);
        return;
    }
    uint32_t rec = record_of(m, 15), words = x->bytes / 4, shift = words > 4 ? 31 : words / 2;
    for (; mask; mask &= ~(uint32_t)(((1ull << n) - 1) << __builtin_ctz(mask))) {
        uint32_t lane = (uint32_t)__builtin_ctz(mask);
        uint64_t word = (x->ad[lane] - base) / 4;
        n = row ? EMU_LANES : run_of(x, mask, lane);
        if (n * words >= 8) {
            walk(m, word, n * words, rec | lane, shift, x->ad[lane]);
            continue;
        }
        n = 1;
        if (!x->store && !x->atomic && lane > 0 && x->ad[lane] == x->ad[lane - 1] && mask >> lane >> 1 & 1u &&
            x->ad[lane] == x->ad[lane + 1]) /* of lanes that load one address the first and the last stand for all */
            continue;
        for (uint32_t k = 0; k < words; k++) {
            uint64_t at = ks_emu_race_place(m->s, word + k, 1);
            check_word(m, at, (int)lane, 15, x->ad[lane] + 4 * (uint64_t)k);
            put(m, at, rec | lane);
        }
    }
}

static struct me begin(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, const char *space)
{
    bool block_only = in->flags & EMU_CTA;
    struct me m = {.w = w,
                   .in = in,
                   .x = x,
                   .pc = ks_emu_pc(w, in),
                   .flags = (x->store || x->atomic ? EV_WRITE : 0) | (in->flags & EMU_STRONG ? EV_STRONG : 0) |
                            (block_only ? EV_CTA : 0) | (x->atomic ? EV_ATOMIC : 0),
                   .space = space};
    if (in->flags & EMU_RELEASE)
        ks_emu_race_release(w, block_only);
    else if (space[0] == 'g' && m.flags & EV_WRITE && m.flags & EV_STRONG && !block_only)
        tell(w);
    if (in->flags & EMU_ACQUIRE)
        ks_emu_race_acquire(w, block_only);
    return m;
}

void ks_emu_race_global(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x)
{
    struct me m = begin(w, in, x, "global");
    m.s = w->worker->race;
    reach(&m, (uint64_t)(uintptr_t)w->worker->launch->emu->arena);
}

void ks_emu_race_shared(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x, struct emu_block *b)
{
    struct me m = begin(w, in, x, "shared");
    m.s = &b->shared_race;
    m.cached = b == w->block ? 1 : -1;
    reach(&m, 0);
}
