#include "rewriter/agent.h"

#include "rewriter/transform.h"

#include <math.h>
#include <string.h>

/* The builtin agent: enumerates the sites of all transformations over the best verified text, orders them by the question, the
 * hypotheses and what past trials taught, and proposes the first one whose text was not tried yet.  It keeps no state: everything
 * it knows is in the view, so a resumed run proposes what an uninterrupted one would have. */

void ks_proposal_release(struct ks_proposal *p)
{
    if (!p)
        return;
    free(p->hypothesis);
    free(p->transform);
    free(p->source);
    ks_json_free(p->log);
    *p = (struct ks_proposal){.layer = KS_N_LAYERS};
}

/* What past trials say about one site. */
struct lesson {
    bool wrong;          /* an edit of this kind was incorrect here */
    int label_trials;    /* trials of exactly this label */
    int variants_failed; /* trials of other variants here that gained nothing */
};

/* A site with what orders it. */
struct choice {
    const struct ks_site *site;
    const char *label;
    double score;
    size_t index; /* order of enumeration, the last criterion */
};

/* True when label is name(where) or name(where;...). */
static bool same_place(const char *label, const struct ks_site *site)
{
    size_t n = strlen(site->transform->name), w = strlen(site->where);
    return label && strncmp(label, site->transform->name, n) == 0 && label[n] == '(' &&
           strncmp(label + n + 1, site->where, w) == 0 && (label[n + 1 + w] == ';' || label[n + 1 + w] == ')');
}

/* Gates whose failure says that the idea is wrong here; the others (build, resources, time) may hang on the parameters. */
static bool is_wrong_idea(const char *gate)
{
    static const char *const gates[] = {"interface", "admission", "numerics", "safety"};
    for (size_t i = 0; gate && i < sizeof gates / sizeof gates[0]; i++)
        if (strcmp(gate, gates[i]) == 0)
            return true;
    return false;
}

static struct lesson learn(const struct ks_agent_view *v, const struct ks_site *site, const char *label)
{
    struct lesson l = {0};
    for (size_t i = 0; i < v->n_attempts; i++) {
        const struct ks_attempt *a = &v->attempts[i];
        if (!same_place(a->transform, site))
            continue;
        if (strcmp(a->transform, label) == 0)
            l.label_trials++;
        if (a->accepted)
            continue;
        bool precision = site->retry_numerics && ks_streq(a->failed_gate, "numerics") && strcmp(a->transform, label) != 0;
        if (!a->correct && is_wrong_idea(a->failed_gate) && !precision)
            l.wrong = true;
        else
            l.variants_failed++;
    }
    return l;
}

/* Score in [0,1] of the strongest hypothesis that names the site's layer (and its kernel, where the hypothesis names a kernel).
 */
static double hypothesis_score(const struct ks_agent_view *v, const struct ks_site *site)
{
    double best = 0.0;
    for (size_t i = 0; i < ks_json_len(v->hypotheses); i++) {
        const struct ks_json *h = ks_json_at(v->hypotheses, i);
        if (!ks_streq(ks_json_get_str(h, "layer", NULL), ks_layer_text(site->transform->layer)))
            continue;
        const char *kernel = ks_json_get_str(h, "kernel", NULL);
        bool elsewhere = kernel && site->kernel && strcmp(kernel, site->kernel->name) != 0 && strcmp(kernel, v->entry) != 0;
        double score = ks_json_get_num(h, "score", 0.0) * (elsewhere ? 0.5 : 1.0);
        best = score > best ? score : best;
    }
    return best;
}

static int choice_compare(const void *pa, const void *pb)
{
    const struct choice *a = pa, *b = pb;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* A place is tried in at most this many variants that gain nothing, and one label at most twice (on different texts). */
#define MAX_FAILED_VARIANTS 4
#define MAX_LABEL_TRIALS    2
#define QUESTION_WEIGHT     4.0

/* Once a fusion was accepted, launches under a condition are what it kept for shapes outside its own. */
static bool is_fallback(const struct ks_agent_view *v, const struct ks_site *site)
{
    bool fused = false;
    for (size_t i = 0; i < v->n_attempts; i++)
        fused = fused || (v->attempts[i].accepted && v->attempts[i].transform &&
                          ks_str_starts(v->attempts[i].transform, "fuse-attention("));
    return fused && site->launch && site->launch->conditional;
}

static size_t rank(const struct ks_agent_view *v, const struct ks_sites *sites, struct ks_arena *arena, struct choice *out)
{
    size_t n = 0;
    for (size_t i = 0; i < sites->n; i++) {
        const struct ks_site *s = &sites->data[i];
        const char *label = ks_site_label(s, arena);
        struct lesson l = learn(v, s, label);
        if (is_fallback(v, s) || l.wrong || l.label_trials >= MAX_LABEL_TRIALS || l.variants_failed >= MAX_FAILED_VARIANTS)
            continue;
        /* The logarithm of the predicted gain, weighted with how strongly the evidence points to the layer; each variant that
         * gained nothing here makes the next one less likely to. */
        double score = log(s->predicted > 1.0 ? s->predicted : 1.0) * (0.5 + 0.5 * hypothesis_score(v, s));
        for (int k = 0; k < l.variants_failed + l.label_trials; k++)
            score *= 0.6;
        /* The question's layer comes first, unless there is nothing of weight in it: a small change can spoil the pattern of a
         * large one. */
        if (v->question_layer == s->transform->layer)
            score *= QUESTION_WEIGHT;
        out[n++] = (struct choice){s, label, score, i};
    }
    qsort(out, n, sizeof *out, choice_compare);
    return n;
}

static bool was_tried(const struct ks_agent_view *v, const struct ks_str *text)
{
    if (text->len == v->source_len && memcmp(text->data, v->source, text->len) == 0)
        return true;
    for (size_t i = 0; i < v->n_attempts; i++)
        if (ks_streq(v->attempts[i].source, ks_str_cstr(text)))
            return true;
    return false;
}

/* Hands the first untried text of the ranked choices over to ret; KS_OK with source == NULL when there is none. */
static enum ks_code pick(const struct ks_agent_view *v, const struct ks_rewrite_view *rv, const struct choice *choices, size_t n,
                         struct ks_proposal *ret, struct ks_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const struct choice *c = &choices[i];
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        struct ks_err why;
        enum ks_code code = ks_site_apply(rv, c->site, &text, &why);
        if (code == KS_ERR_UNSUPPORTED)
            continue;
        if (code != KS_OK) {
            if (err)
                *err = why;
            return ks_wrap(err, "transformation '%s'", c->label);
        }
        if (was_tried(v, &text))
            continue;
        ret->layer = c->site->transform->layer;
        ret->hypothesis = ks_xstrdup(c->site->hypothesis);
        ret->predicted_speedup = c->site->predicted;
        ret->transform = ks_xstrdup(c->label);
        ret->source = ks_str_detach(&text, &ret->source_len);
        return KS_OK;
    }
    return KS_OK;
}

static struct ks_json *log_choices(const struct choice *choices, size_t n)
{
    struct ks_json *log = ks_json_object();
    struct ks_json *list = ks_json_array();
    for (size_t i = 0; i < n && i < 32; i++) {
        struct ks_json *c = ks_json_object();
        ks_json_set_str(c, "transform", choices[i].label);
        ks_json_set_num(c, "predicted", choices[i].site->predicted);
        ks_json_set_num(c, "score", choices[i].score);
        ks_json_push(list, c);
    }
    ks_json_set_i64(log, "n_choices", (int64_t)n);
    ks_json_set(log, "choices", list);
    return log;
}

static enum ks_code builtin_propose(struct ks_agent *self, const struct ks_agent_view *v, struct ks_proposal *ret,
                                    struct ks_err *err)
{
    (void)self;
    *ret = (struct ks_proposal){.layer = KS_N_LAYERS};
    const struct ks_entry *entry = ks_facts_entry(v->facts, v->entry);
    if (!entry)
        return ks_fail(err, KS_ERR_NOT_FOUND, "find no entry '%s' in '%s'", v->entry, v->path);
    struct ks_arena arena;
    ks_arena_init(&arena);
    struct ks_rewrite_view rv = {v->facts, entry, v->contract, v->counters, v->arch, &arena};
    struct ks_sites sites = {0};
    ks_sites_enumerate(&rv, &sites);
    struct choice *choices = KS_ARENA_ARRAY(&arena, struct choice, sites.n + 1);
    size_t n = rank(v, &sites, &arena, choices);
    enum ks_code code = pick(v, &rv, choices, n, ret, err);
    if (code == KS_OK)
        ret->log = log_choices(choices, n);
    ks_sites_release(&sites);
    ks_arena_release(&arena);
    return code;
}

static void builtin_free(struct ks_agent *self)
{
    free(self);
}

struct ks_agent *ks_agent_builtin_new(void)
{
    struct ks_agent *a = ks_xcalloc(1, sizeof *a);
    *a = (struct ks_agent){"builtin", builtin_propose, builtin_free};
    return a;
}
