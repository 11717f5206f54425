#ifndef KS_HARNESS_EMULATED_RACE_H
#define KS_HARNESS_EMULATED_RACE_H

/* Records of the race check: who reached a word last.  checks_race.c holds the order and the test, checks_race_blocks.c what is
 * done where every block has records of its own. */

#include "base/str.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct emu_warp;

/* What one instruction of one warp did between two advances of the warp's clock. */
struct emu_race_event {
    uint32_t block, warp, clock;
    uint32_t what; /* pc 20, bytes of the word 8, flags 4 */
};
#define EV_PC(e)    ((e)->what >> 12)
#define EV_BYTES(e) ((e)->what >> 4 & 255u)
#define EV_WRITE    1u
#define EV_STRONG   2u
#define EV_CTA      4u /* strong among the threads of its block only */
#define EV_ATOMIC   8u

/* Bytes of the word that an event reached: 1 to 15 as bits, by the record's lane; or by several lanes of the warp, */
#define EV_HALVES 16u /* two bytes each, the record's lane first */
#define EV_EACH   17u /* a byte each */
#define EV_MIXED  32u /* in some other way; the bits are added */

/* A record is an event's number and five bits of lane; 0: nobody.  Numbers below `first` are of the past: whatever they did is
 * ordered before. */
enum emu_race_slot { EMU_RACE_WRITER, EMU_RACE_READER, EMU_RACE_READER2, EMU_RACE_SLOTS };

/* The records of 64 neighbouring words. */
#define EMU_RACE_PART 64
struct emu_race_part {
    uint32_t slot[EMU_RACE_SLOTS][EMU_RACE_PART];
    uint64_t words; /* that the running block reached */
    uint64_t at;    /* the first, / 64 */
};

struct emu_race_space {
    uint32_t *slot[EMU_RACE_SLOTS]; /* by word */
    size_t n_words;
    uint32_t first, generation; /* generation: numbers began anew */
    KS_VEC(struct emu_race_event) events;
    /* of a worker's space, which holds what the running block reached: its parts, slot[] points into the first; where each is, +
     * 1; how many are in use, and how many are kept for the next block */
    KS_VEC(struct emu_race_part) parts;
    uint32_t *index;
    size_t n_parts, enough;
};

/* An event that a warp may use again. */
#define EMU_RACE_LAST 8
struct emu_race_last {
    uint32_t what, clock, number, generation;
};

#define EV_LIMIT (1u << 26) /* two such numbers fit in a record beside its lane */

static inline const struct emu_race_event *ks_emu_race_event(const struct emu_race_space *s, uint32_t rec)
{
    return &s->events.data[(rec >> 5) - s->first];
}

/* The lane that reached the lowest of `bytes`, which the event reached. */
static inline int ks_emu_race_lane(const struct emu_race_event *e, uint32_t rec, uint32_t bytes)
{
    int lane = (int)(rec & 31), byte = __builtin_ctz(bytes);
    return EV_BYTES(e) == EV_HALVES ? lane + byte / 2 : EV_BYTES(e) == EV_EACH ? lane + byte : lane;
}

static inline uint32_t ks_emu_race_bytes(const struct emu_race_event *e)
{
    return EV_BYTES(e) == EV_HALVES || EV_BYTES(e) == EV_EACH ? 15 : EV_BYTES(e) & 15;
}

/* Both synchronise, and the scope of both is enough for them. */
static inline bool ks_emu_race_both_strong(uint32_t a, uint32_t b, bool same_block)
{
    return a & b & EV_STRONG && (same_block || !((a | b) & EV_CTA));
}

void ks_emu_race_report(struct emu_warp *w, int lane, const struct emu_race_event *mine, const struct emu_race_event *other,
                        int other_lane, uint64_t address, const char *space);

/* Blocks of this launch are checked each for itself on any host thread, and then against those before them, in order. */
struct emu_race_turns {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t turn; /* the unit, by the order of their starts, that may go next */
};

/* False: no address space. */
bool ks_emu_race_space_init(struct emu_race_space *s, size_t bytes, bool of_block);
void ks_emu_race_space_release(struct emu_race_space *s);
/* Makes all its records records of the past. */
void ks_emu_race_space_pass(struct emu_race_space *s);
/* Where in the slots n words are, which lie in one part. */
uint32_t ks_emu_race_new_part(struct emu_race_space *s, uint64_t at);
static inline uint64_t ks_emu_race_place(struct emu_race_space *s, uint64_t word, uint32_t n)
{
    if (!s->index)
        return word;
    uint32_t part = s->index[word / EMU_RACE_PART], first = (uint32_t)(word % EMU_RACE_PART);
    if (!part)
        part = ks_emu_race_new_part(s, word / EMU_RACE_PART);
    s->parts.data[part - 1].words |= (n == EMU_RACE_PART ? UINT64_MAX : (1ull << n) - 1) << first;
    return (part - 1) * (sizeof(struct emu_race_part) / sizeof(uint32_t)) + first;
}

#endif
