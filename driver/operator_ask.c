#include "driver/operator_ask.h"

#include "driver/search_state.h"

/* The part of the bank that is about `layer`; data is the arena's. */
static struct ks_bank only(const struct ks_bank *bank, enum ks_layer layer, struct ks_arena *arena)
{
    struct ks_bank part = {.data = KS_ARENA_ARRAY(arena, struct ks_question, bank->n + 1)};
    for (size_t i = 0; i < bank->n; i++)
        if (layer == KS_N_LAYERS || bank->data[i].layer == layer)
            part.data[part.n++] = bank->data[i];
    return part;
}

struct ks_json *ks_operator_question(struct ks_search *s, enum ks_layer layer)
{
    /* conditions may name the point: the first of these at which a question fits */
    static const enum ks_decision_point points[] = {KS_POINT_NO_GAIN, KS_POINT_START, KS_POINT_CLAIMED_LIMIT};
    struct ks_search_state *st = s->state;
    struct ks_json *j = ks_json_object();
    if (!s->bank)
        return j;
    struct ks_picker_view v = {.hypotheses = st->hypotheses,
                               .trials = st->records.data,
                               .n_trials = st->records.n,
                               .asked = st->asked.data,
                               .n_asked = st->asked.n,
                               .family = s->family};
    struct ks_bank part = only(s->bank, layer, &st->arena);
    const struct ks_question *q = NULL;
    for (size_t i = 0; !q && i < sizeof(points) / sizeof(points[0]); i++)
        q = ks_bank_pick(&part, s->memory, points[i], &v);
    if (!q)
        return j;
    struct ks_asked_record asked = {q->id, st->records.n};
    ks_vec_push(&st->asked, asked);
    ks_json_set_str(j, "id", q->id);
    ks_json_set_str(j, "layer", ks_layer_text(q->layer));
    ks_json_set_str(j, "text", q->text);
    return j;
}
