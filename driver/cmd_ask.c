/* kscc ask: the next question about a unit, for a person at a keyboard; no agent, no device. */

#include "base/file.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/looked.h"
#include "driver/paths.h"
#include "driver/roofline.h"
#include "driver/say.h"
#include "driver/search.h"
#include "questions/bank.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUNNERS_UP 3

/* What `kscc ask` has asked about this unit, in questions.json of the store: one object a question, with what came of it. */
struct history {
    struct ks_json *json; /* owned: {"asked": [{"unit", "question", "layer", "gain"}, ...]} */
    const char *unit;
    KS_VEC(struct ks_trial_record) trials;
    KS_VEC(struct ks_asked_record) asked;
};

struct asking {
    struct ks_looked l;
    struct ks_bank bank;
    struct ks_memory *memory;
    struct history history;
    struct ks_hypotheses hypotheses;
    struct ks_json *found, *counters; /* owned */
    struct ks_str roofline;           /* "": not known */
    char *dir, *file, *memory_file, *gain_word;
    bool why, forget, claims_limit;
};

static void asking_release(struct asking *a)
{
    ks_json_free(a->history.json);
    ks_vec_release(&a->history.trials);
    ks_vec_release(&a->history.asked);
    ks_json_free(a->found);
    ks_json_free(a->counters);
    ks_str_release(&a->roofline);
    ks_memory_free(a->memory);
    free(a->dir);
    free(a->file);
    free(a->memory_file);
    free(a->gain_word);
    ks_looked_release(&a->l);
}

/* ---- history -------------------------------------------------------------------------------------------------------------- */

static enum ks_code history_read(struct asking *a, struct ks_err *err)
{
    struct history *h = &a->history;
    h->unit = a->l.unit.path;
    if (!a->forget && ks_file_exists(a->file))
        KS_TRY(ks_json_read_file(a->file, &h->json, err));
    if (!ks_json_is_array(ks_json_get(h->json, "asked"))) {
        ks_json_free(h->json);
        h->json = ks_json_object();
        ks_json_set(h->json, "asked", ks_json_array());
    }
    const struct ks_json *list = ks_json_get(h->json, "asked");
    for (size_t i = 0; i < ks_json_len(list); i++) {
        const struct ks_json *j = ks_json_at(list, i);
        struct ks_trial_record t = {0};
        struct ks_asked_record asked = {ks_json_get_str(j, "question", ""), h->trials.n};
        if (!ks_streq(ks_json_get_str(j, "unit", ""), h->unit) || !ks_layer_parse(ks_json_get_str(j, "layer", ""), &t.layer))
            continue;
        t.measured = ks_json_get_num(j, "gain", 0);
        t.improved = t.accepted = t.measured > 1.0;
        ks_vec_push(&h->asked, asked);
        ks_vec_push(&h->trials, t);
    }
    return KS_OK;
}

/* "--gain=1.4": what came of the last question; it goes into its record and into the memory. */
static enum ks_code note_gain(struct asking *a, struct ks_err *err)
{
    char *end;
    struct history *h = &a->history;
    if (!a->gain_word)
        return KS_OK;
    double gain = strtod(a->gain_word, &end);
    if (*end || !(gain > 0.0 && gain < 1e6))
        return ks_fail(err, KS_ERR_USAGE, "--gain takes a speed-up, 1 for none, not '%s'", a->gain_word);
    if (h->trials.n == 0)
        return ks_fail(err, KS_ERR_USAGE, "no question about '%s' has been asked that --gain could answer", h->unit);
    struct ks_json *list = ks_json_get(h->json, "asked"), *last = NULL;
    for (size_t i = 0; i < ks_json_len(list); i++)
        if (ks_streq(ks_json_get_str(ks_json_at(list, i), "unit", ""), h->unit))
            last = ks_json_at(list, i);
    ks_json_set_num(last, "gain", gain);
    struct ks_trial_record *t = &h->trials.data[h->trials.n - 1];
    t->measured = gain;
    t->improved = t->accepted = gain > 1.0;
    ks_memory_record(a->memory, h->asked.data[h->asked.n - 1].question_id, t->layer, ks_search_family(a->l.facts), log(gain));
    return ks_memory_save(a->memory, a->memory_file, err);
}

static enum ks_code history_add(struct asking *a, const struct ks_question *q, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (a->forget)
        return KS_OK;
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "unit", a->history.unit);
    ks_json_set_str(j, "question", q->id);
    ks_json_set_str(j, "layer", ks_layer_text(q->layer));
    ks_json_push(ks_json_get(a->history.json, "asked"), j);
    KS_TRY(ks_dir_make(a->dir, err));
    ks_json_print_pretty(a->history.json, &text);
    return ks_file_write_atomic(a->file, ks_str_cstr(&text), text.len, 0644, err);
}

/* ---- the question --------------------------------------------------------------------------------------------------------- */

static enum ks_decision_point point_of(const struct asking *a)
{
    const struct history *h = &a->history;
    if (a->claims_limit)
        return KS_POINT_CLAIMED_LIMIT;
    return h->trials.n == 0 ? KS_POINT_START : KS_POINT_NO_GAIN;
}

static void print_choice(const struct ks_choice *c, enum ks_decision_point point, bool why)
{
    printf("%s\n", c->question->text);
    if (!why)
        return;
    printf("  %s, a %s; asked at '%s'\n", c->question->id, c->question->kind == KS_QUESTION_REDIRECT ? "redirect" : "challenge",
           ks_decision_point_text(point));
    if (*c->because)
        printf("  because %s\n", c->because);
    printf("  score %.3f = need of the layer %.2f x fit of the kind %.2f x freshness %.2f x promise from memory %.2f\n", c->score,
           c->need, c->fit, c->freshness, c->promise);
    printf("  origin: %s\n", c->question->origin);
}

static struct ks_json *choice_json(const struct ks_choice *c, enum ks_decision_point point)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "point", ks_decision_point_text(point));
    ks_json_set_str(j, "id", c->question->id);
    ks_json_set_str(j, "layer", ks_layer_text(c->question->layer));
    ks_json_set_str(j, "kind", c->question->kind == KS_QUESTION_REDIRECT ? "redirect" : "challenge");
    ks_json_set_str(j, "text", c->question->text);
    ks_json_set_str(j, "because", c->because);
    ks_json_set_str(j, "origin", c->question->origin);
    ks_json_set_num(j, "score", c->score);
    ks_json_set_num(j, "need", c->need);
    ks_json_set_num(j, "fit", c->fit);
    ks_json_set_num(j, "freshness", c->freshness);
    ks_json_set_num(j, "promise", c->promise);
    return j;
}

static void print_all(const struct asking *a, const struct ks_choice *choices, size_t n, enum ks_decision_point point)
{
    if (a->l.json) {
        KS_AUTO_JSON struct ks_json *j = choice_json(&choices[0], point);
        if (a->roofline.len)
            ks_json_set_str(j, "roofline", ks_str_cstr(&a->roofline));
        ks_command_print(j);
        return;
    }
    print_choice(&choices[0], point, a->why);
    if (a->why && a->roofline.len)
        printf("  roofline: %s\n", ks_str_cstr(&a->roofline));
    for (size_t i = 1; a->why && i < n && i <= RUNNERS_UP; i++)
        printf("%s  %.3f %s: %s\n", i == 1 ? "  next in line:\n" : "", choices[i].score, choices[i].question->id,
               choices[i].question->text);
}

static enum ks_code open_all(struct asking *a, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str bank = KS_STR_INIT, path = KS_STR_INIT;
    const struct ks_settings *s = &a->l.settings;
    ks_paths_bank(&bank);
    KS_TRY(ks_bank_load(s->bank ? s->bank : ks_str_cstr(&bank), &a->l.arena, &a->bank, err));
    a->dir = ks_xstrdup(s->dir ? s->dir : ".kscc");
    ks_path_join(&path, a->dir, "questions.json");
    a->file = ks_xstrdup(ks_str_cstr(&path));
    ks_path_join(&path, a->dir, "memory.json");
    a->memory_file = ks_xstrdup(ks_str_cstr(&path));
    KS_TRY(ks_memory_load(a->memory_file, &a->memory, err));
    KS_TRY(history_read(a, err));
    return note_gain(a, err);
}

static enum ks_code ask(struct asking *a, const struct ks_json *profile, struct ks_err *err)
{
    struct ks_choice *choices;
    if (a->l.facts->n_kernels == 0)
        return ks_fail(err, KS_ERR_NOT_FOUND, "found no kernel in '%s' to ask about", a->l.unit.path);
    KS_TRY(open_all(a, err));
    ks_look_derive(&a->l, profile, &a->hypotheses);
    (void)ks_roofline_text(profile, &a->roofline);
    a->found = ks_hypotheses_to_json(&a->hypotheses, a->l.facts);
    struct ks_picker_view v = {.hypotheses = a->found,
                               .trials = a->history.trials.data,
                               .n_trials = a->history.trials.n,
                               .asked = a->history.asked.data,
                               .n_asked = a->history.asked.n,
                               .agent_claims_limit = a->claims_limit,
                               .family = ks_search_family(a->l.facts)};
    enum ks_decision_point point = point_of(a);
    size_t n = ks_bank_rank(&a->bank, a->memory, point, &v, &a->l.arena, &choices);
    if (n == 0)
        return ks_fail(err, KS_ERR_NOT_FOUND, "found no question about '%s' that fits now", a->l.unit.path);
    print_all(a, choices, n, point);
    return history_add(a, choices[0].question, err);
}

int ks_cmd_ask(char *const *argv)
{
    struct asking a = {.roofline = KS_STR_INIT};
    struct ks_err err;
    const struct ks_json *profile = NULL;
    KS_AUTO_ARGS struct ks_args words;
    ks_args_init(&words);
    for (size_t i = 0; argv[i]; i++)
        ks_args_add(&words, argv[i]);
    a.why = ks_command_flag(&words, "--why");
    a.forget = ks_command_flag(&words, "--no-history");
    a.claims_limit = ks_command_flag(&words, "--limit");
    a.gain_word = ks_command_value(&words, "--gain");
    bool ok = ks_look(words.v, &a.l) && ks_look_parse(&a.l) && ks_look_counters(&a.l, &a.counters, &profile);
    if (ok && ask(&a, profile, &err) != KS_OK) {
        ks_say_error(&err);
        ok = false;
    }
    int status = ok ? 0 : a.l.refusal;
    asking_release(&a);
    return status;
}
