#include "rewriter/agent.h"

#include "rewriter/transform.h"

#include <math.h>
#include <string.h>

/* The builtin agent: enumerates the sites of all transformations over the best verified text, orders them by the question, the
 * hypotheses and what past trials taught, and proposes the first one whose text was not tried yet.  A site comes in variants
 * (tile sizes, say); once one of them is accepted its text no longer shows the place where the others could go, so the agent
 * keeps the texts of the others when it proposes one, and tries the most promising of them before it goes on.  Apart from those
 * it has no state: what it does is a function of the views it was given. */

/* What past trials say about one site. */
struct lesson {
    bool wrong;          /* an edit of this kind was incorrect here */
    bool dull;           /* this very label was tried and made nothing faster */
    int label_trials;    /* trials of exactly this label */
    int variants_failed; /* trials of other variants here that gained nothing */
};

/* A site with what orders it. */
struct choice {
    bool first; /* answers the question, or is too large a step to come behind it */
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

/* A candidate that passes the gate against the baseline may still be no faster than what it was made from. */
#define LEAST_GAIN 1.005

static struct lesson learn(const struct ks_agent_view *v, const struct ks_site *site, const char *label)
{
    struct lesson l = {0};
    double best = 1.0;
    for (size_t i = 0; i < v->n_attempts; i++) {
        const struct ks_attempt *a = &v->attempts[i];
        bool gained = a->accepted && a->speedup >= best * LEAST_GAIN;
        if (a->accepted && a->speedup > best)
            best = a->speedup;
        if (!same_place(a->transform, site))
            continue;
        bool same_label = strcmp(a->transform, label) == 0;
        l.label_trials += same_label;
        if (gained || a->pending)
            continue;
        bool precision = site->retry_numerics && ks_streq(a->failed_gate, "numerics") && !same_label;
        if (!a->correct && is_wrong_idea(a->failed_gate) && !precision)
            l.wrong = true;
        else
            l.variants_failed++;
        l.dull = l.dull || (same_label && a->correct);
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
    if (a->first != b->first)
        return a->first ? -1 : 1;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

/* A place is tried in at most this many variants that gain nothing, and one label at most twice (on different texts). */
#define MAX_FAILED_VARIANTS 4
#define MAX_LABEL_TRIALS    2
#define QUESTION_WEIGHT     4.0
#define SMALL_STEP          1.1
#define LARGE_STEP          2.5

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
        /* Small steps are not worth a second trial each time something else changed. */
        bool spent = l.dull && s->predicted < SMALL_STEP;
        if (is_fallback(v, s) || spent || l.wrong || l.label_trials >= MAX_LABEL_TRIALS ||
            l.variants_failed >= MAX_FAILED_VARIANTS)
            continue;
        /* The logarithm of the predicted gain, weighted with how strongly the evidence points to the layer; each variant that
         * gained nothing here makes the next one less likely to. */
        double score = log(s->predicted > 1.0 ? s->predicted : 1.0) * (0.5 + 0.5 * hypothesis_score(v, s));
        for (int k = 0; k < l.variants_failed + l.label_trials; k++)
            score *= 0.6;
        /* The question's layer comes first; but a small change there can spoil the pattern of a large step elsewhere. */
        bool answers = v->question_layer == s->transform->layer && !s->comes_last;
        if (answers)
            score *= QUESTION_WEIGHT;
        out[n++] = (struct choice){answers || s->predicted >= LARGE_STEP, s, label, score, i};
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

/* ---- variants of what was proposed last -------------------------------------------------------------------------------- */

#define MAX_VARIANTS 3 /* of one site, the proposed one included */

struct variant {
    struct ks_proposal proposal; /* owned */
    bool proposed;
};

struct builtin {
    struct ks_agent base;
    struct variant variants[MAX_VARIANTS]; /* texts from one parent, [0] the one proposed first */
    size_t n_variants;
};

static void forget_variants(struct builtin *b)
{
    for (size_t i = 0; i < b->n_variants; i++)
        ks_proposal_release(&b->variants[i].proposal);
    b->n_variants = 0;
}

static struct ks_proposal copy_proposal(const struct ks_proposal *p)
{
    struct ks_proposal copy = *p;
    copy.hypothesis = ks_xstrdup(p->hypothesis);
    copy.transform = ks_xstrdup(p->transform);
    copy.source = ks_xstrndup(p->source, p->source_len);
    copy.log = NULL;
    return copy;
}

static struct ks_proposal make_proposal(const struct choice *c, struct ks_str *text)
{
    struct ks_proposal p = {.layer = c->site->transform->layer, .predicted_speedup = c->site->predicted};
    p.hypothesis = ks_xstrdup(c->site->hypothesis);
    p.transform = ks_xstrdup(c->label);
    p.source = ks_str_detach(text, &p.source_len);
    return p;
}

/* Keeps the proposal and the texts of its best siblings: same transformation, same place, other parameters. */
static void keep_variants(struct builtin *b, const struct ks_agent_view *v, const struct ks_rewrite_view *rv,
                          const struct choice *choices, size_t n, const struct choice *chosen, const struct ks_proposal *proposal)
{
    forget_variants(b);
    b->variants[b->n_variants++] = (struct variant){copy_proposal(proposal), true};
    for (size_t i = 0; i < n && b->n_variants < MAX_VARIANTS && !chosen->site->retry_numerics; i++) {
        const struct choice *c = &choices[i];
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        struct ks_err why;
        if (c == chosen || c->site->transform != chosen->site->transform || strcmp(c->site->where, chosen->site->where) != 0 ||
            ks_site_apply(rv, c->site, &text, &why) != KS_OK || was_tried(v, &text))
            continue;
        b->variants[b->n_variants++] = (struct variant){make_proposal(c, &text), false};
    }
}

static bool same_text(const struct ks_proposal *p, const char *text, size_t len)
{
    return p->source_len == len && memcmp(p->source, text, len) == 0;
}

/* The best text is this one, or might be when its verdict is in. */
static bool may_be_best(const struct ks_agent_view *v, const struct ks_proposal *p)
{
    bool best = same_text(p, v->source, v->source_len);
    for (size_t i = 0; i < v->n_attempts && !best; i++)
        best = v->attempts[i].pending && same_text(p, v->attempts[i].source, strlen(v->attempts[i].source));
    return best;
}

/* The next sibling, while the best text is still one of them. */
static bool next_variant(struct builtin *b, const struct ks_agent_view *v, struct ks_proposal *ret)
{
    bool is_best = false;
    for (size_t i = 0; i < b->n_variants; i++)
        is_best = is_best || (b->variants[i].proposed && may_be_best(v, &b->variants[i].proposal));
    for (size_t i = 0; is_best && i < b->n_variants; i++) {
        if (b->variants[i].proposed)
            continue;
        b->variants[i].proposed = true;
        *ret = copy_proposal(&b->variants[i].proposal);
        /* Against a sibling that works, not against their common parent. */
        ret->predicted_speedup = 1.05;
        return true;
    }
    return false;
}

/* Hands the first untried text of the ranked choices over to ret; KS_OK with source == NULL when there is none. */
static enum ks_code pick(struct builtin *b, const struct ks_agent_view *v, const struct ks_rewrite_view *rv,
                         const struct choice *choices, size_t n, struct ks_proposal *ret, struct ks_err *err)
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
        *ret = make_proposal(c, &text);
        keep_variants(b, v, rv, choices, n, c, ret);
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
    struct builtin *b = (struct builtin *)self;
    *ret = (struct ks_proposal){.layer = KS_N_LAYERS, .parent = KS_PARENT_BEST};
    if (next_variant(b, v, ret))
        return KS_OK;
    const struct ks_entry *entry = ks_facts_entry(v->facts, v->entry, NULL);
    if (!entry)
        return ks_fail(err, KS_ERR_NOT_FOUND, "found no entry '%s' in '%s'", v->entry, v->path);
    struct ks_arena arena;
    ks_arena_init(&arena);
    struct ks_rewrite_view rv = {v->facts, entry, v->contract, v->counters, v->arch, &arena};
    struct ks_sites sites = {0};
    ks_sites_enumerate(&rv, &sites);
    struct choice *choices = KS_ARENA_ARRAY(&arena, struct choice, sites.n + 1);
    size_t n = rank(v, &sites, &arena, choices);
    enum ks_code code = pick(b, v, &rv, choices, n, ret, err);
    if (code == KS_OK)
        ret->log = log_choices(choices, n);
    ks_sites_release(&sites);
    ks_arena_release(&arena);
    return code;
}

/* The layer of what it would try first if nobody asked. */
static enum ks_layer builtin_own_layer(struct ks_agent *self, const struct ks_agent_view *v)
{
    struct ks_proposal p;
    struct builtin scratch = {0};
    struct ks_agent_view unasked = *v;
    (void)self;
    unasked.question_layer = KS_N_LAYERS;
    enum ks_code code = builtin_propose(&scratch.base, &unasked, &p, NULL);
    enum ks_layer layer = code == KS_OK && p.source ? p.layer : KS_N_LAYERS;
    ks_proposal_release(&p);
    forget_variants(&scratch);
    return layer;
}

static void builtin_free(struct ks_agent *self)
{
    forget_variants((struct builtin *)self);
    free(self);
}

struct ks_agent *ks_agent_builtin_new(void)
{
    struct builtin *b = ks_xcalloc(1, sizeof *b);
    b->base = (struct ks_agent){.name = "builtin",
                                .several = true,
                                .propose = builtin_propose,
                                .own_layer = builtin_own_layer,
                                .free = builtin_free};
    return &b->base;
}
