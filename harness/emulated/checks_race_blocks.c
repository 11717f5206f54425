#include "harness/emulated/async.h"

#include <sys/mman.h>

/* Blocks that cannot wait for each other need no order between them: any two accesses of theirs to a byte, one a plain write, are
 * a race.  So each is checked for itself, on any host thread, in records of its worker's; when it ends, what it reached is
 * compared with the records of all blocks before it and goes into them, block after block in the order of their starts.  Findings
 * therefore do not depend on the number of threads. */

bool ks_emu_race_space_init(struct emu_race_space *s, size_t bytes, bool of_block)
{
    size_t n_words = bytes / 4;
    uint32_t *p = ks_emu_plane_map(of_block ? (n_words / EMU_RACE_PART + 1) * sizeof(*p) : EMU_RACE_SLOTS * bytes);
    if (!p)
        return false;
    *s = (struct emu_race_space){.n_words = n_words, .first = 1, .index = of_block ? p : NULL, .enough = 8192};
    for (int k = 0; !of_block && k < EMU_RACE_SLOTS; k++)
        s->slot[k] = p + (size_t)k * n_words;
    return true;
}

void ks_emu_race_space_release(struct emu_race_space *s)
{
    if (s->index)
        (void)munmap(s->index, (s->n_words / EMU_RACE_PART + 1) * sizeof(*s->index));
    else if (s->slot[0])
        (void)munmap(s->slot[0], EMU_RACE_SLOTS * s->n_words * sizeof(*s->slot[0]));
    ks_vec_release(&s->parts);
    ks_vec_release(&s->events);
    *s = (struct emu_race_space){0};
}

void ks_emu_race_space_pass(struct emu_race_space *s)
{
    s->first += (uint32_t)s->events.n;
    s->events.n = 0;
    if (s->first < EV_LIMIT)
        return;
    if (s->index)
        ks_vec_release(&s->parts);
    else
        (void)madvise(s->slot[0], EMU_RACE_SLOTS * s->n_words * sizeof(*s->slot[0]), MADV_DONTNEED);
    s->first = 1;
    s->generation++;
}

uint32_t ks_emu_race_new_part(struct emu_race_space *s, uint64_t at)
{
    struct emu_race_part fresh = {0};
    if (s->n_parts == s->parts.n)
        ks_vec_push(&s->parts, fresh);
    for (int k = 0; k < EMU_RACE_SLOTS; k++)
        s->slot[k] = s->parts.data[0].slot[k];
    struct emu_race_part *part = &s->parts.data[s->n_parts++];
    part->words = 0;
    part->at = at;
    s->index[at] = (uint32_t)s->n_parts;
    return s->index[at];
}

/* ------------------------------------------------------------------------------------------------ a block among the others */

struct joining {
    struct emu_block *b;
    struct emu_race_space *own, *all;
    uint32_t *number;        /* of each own event among all, 0: not there yet */
    uint32_t last, last_met; /* the pair reported last: one report stands for the words that the two instructions share */
};

static void meet(struct joining *j, uint32_t rec, uint32_t other, uint64_t word)
{
    if (other >> 5 < j->all->first)
        return;
    const struct emu_race_event *e = ks_emu_race_event(j->own, rec), *o = ks_emu_race_event(j->all, other);
    uint32_t bytes = ks_emu_race_bytes(e) & ks_emu_race_bytes(o);
    if (!bytes || !((e->what | o->what) & EV_WRITE) || ks_emu_race_both_strong(e->what, o->what, false))
        return;
    if (j->last == rec >> 5 && j->last_met == other >> 5)
        return;
    j->last = rec >> 5;
    j->last_met = other >> 5;
    ks_emu_race_report(&j->b->warps[e->warp], ks_emu_race_lane(e, rec, bytes), e, o, ks_emu_race_lane(o, other, bytes),
                       (uint64_t)(uintptr_t)j->b->launch->emu->arena + 4 * word + (uint32_t)__builtin_ctz(bytes), "global");
}

static uint32_t among_all(struct joining *j, uint32_t rec)
{
    uint32_t *number = &j->number[(rec >> 5) - j->own->first];
    if (!*number) {
        *number = j->all->first + (uint32_t)j->all->events.n;
        ks_vec_push(&j->all->events, *ks_emu_race_event(j->own, rec));
    }
    return *number << 5 | (rec & 31);
}

static bool is_plain_write(const struct emu_race_space *s, uint32_t rec)
{
    return rec >> 5 >= s->first && !(ks_emu_race_event(s, rec)->what & EV_STRONG);
}

static void join_word(struct joining *j, const struct emu_race_part *part, int at)
{
    struct emu_race_space *own = j->own, *all = j->all;
    uint64_t word = part->at * EMU_RACE_PART + (uint64_t)at;
    for (int k = 0; k < EMU_RACE_SLOTS; k++) {
        uint32_t rec = part->slot[k][at];
        if (rec >> 5 < own->first)
            continue;
        bool write = ks_emu_race_event(own, rec)->what & EV_WRITE;
        for (int o = 0; o < EMU_RACE_SLOTS; o++)
            if (o != EMU_RACE_READER || write)
                meet(j, rec, all->slot[o][word], word);
    }
    for (int k = 0; k < EMU_RACE_SLOTS; k++) {
        uint32_t rec = part->slot[k][at];
        if (rec >> 5 < own->first)
            continue;
        /* any reader stands for those before it; an atomic must not hide a plain store that others may still race with */
        const struct emu_race_event *e = ks_emu_race_event(own, rec);
        bool keep = e->what & EV_STRONG && is_plain_write(all, all->slot[EMU_RACE_WRITER][word]);
        int to = !(e->what & EV_WRITE) ? EMU_RACE_READER : keep ? EMU_RACE_READER2 : EMU_RACE_WRITER;
        all->slot[to][word] = among_all(j, rec);
    }
}

void ks_emu_race_block_end(struct emu_block *b)
{
    struct emu_launch *l = b->launch;
    struct emu_race_turns *turns = l->race_turns;
    struct emu_race_space *own = b->worker->race;
    if (!turns)
        return;
    (void)pthread_mutex_lock(&turns->lock);
    while (turns->turn != b->order)
        (void)pthread_cond_wait(&turns->changed, &turns->lock);
    (void)pthread_mutex_unlock(&turns->lock);
    KS_AUTO_FREE uint32_t *number = ks_xcalloc(own->events.n + 1, sizeof(*number));
    struct joining j = {.b = b, .own = own, .all = &l->emu->race, .number = number};
    bool counts = b->cluster->unit <= l->stop_after;
    for (size_t i = 0; i < own->n_parts; i++) {
        const struct emu_race_part *part = &own->parts.data[i];
        for (uint64_t left = part->words; counts && left; left &= left - 1)
            join_word(&j, part, __builtin_ctzll(left));
        own->index[part->at] = 0;
    }
    own->n_parts = 0;
    if (own->parts.n > own->enough)
        ks_vec_release(&own->parts);
    if (l->emu->race.first + l->emu->race.events.n >= EV_LIMIT) /* what was before is forgotten */
        ks_emu_race_space_pass(&l->emu->race);
    ks_emu_race_space_pass(own);
    (void)pthread_mutex_lock(&turns->lock);
    turns->turn++;
    (void)pthread_cond_broadcast(&turns->changed);
    (void)pthread_mutex_unlock(&turns->lock);
}
