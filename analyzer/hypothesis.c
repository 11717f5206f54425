#include "analyzer/hypothesis.h"

#include "analyzer/evidence.h"
#include "analyzer/shares.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Counters alone give a hypothesis from this share on. */
#define KS_SHARE_SPEAKS    0.3
#define KS_SCORE_CONST     0.0
#define KS_SCORE_SUSPICION 0.6
#define KS_SCORE_SHARE     0.9
/* Notes under one remark. */
#define KS_MAX_NOTES       3
#define KS_MIN_NOTE_WEIGHT 0.05

/* ---- one case ---- */

static void place_of(const struct ks_facts *f, const struct ks_node *n, uint32_t *line, uint32_t *col, uint32_t *len)
{
    *line = n->line;
    *col = n->col;
    uint32_t end = n->span.begin;
    while (end < n->span.end && f->source[end] != '\n')
        end++;
    *len = end > n->span.begin ? end - n->span.begin : 1;
}

/* The name in a function's head, which is what a remark about the whole function points at. */
static void place_of_name(const struct ks_facts *f, const struct ks_node *function, uint32_t *line, uint32_t *col, uint32_t *len)
{
    size_t name_len = strlen(function->name);
    for (size_t i = function->span.begin; i + name_len <= function->span.end; i++) {
        if (f->source[i] == '{')
            break;
        if (strncmp(f->source + i, function->name, name_len) == 0) {
            ks_offset_to_line_col(f->source, f->source_len, i, line, col);
            *len = (uint32_t)name_len;
            return;
        }
    }
    place_of(f, function, line, col, len);
}

void ks_case_add(struct ks_case *c, const char *key, double value, double weight, const struct ks_node *node, const char *fmt,
                 ...)
{
    weight = ks_clamp(weight, 0.0, 0.95);
    struct ks_evidence e = {.key = ks_arena_strdup(c->arena, key), .value = value, .weight = weight};
    const struct ks_node *function = c->kernel ? c->kernel->node : c->entry->node;
    if (node && !node->header)
        place_of(c->facts, node, &e.line, &e.col, &e.len);
    else
        place_of_name(c->facts, function, &e.line, &e.col, &e.len);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    ks_str_vaddf(&text, fmt, ap);
    va_end(ap);
    e.text = ks_arena_strdup(c->arena, ks_str_cstr(&text));
    ks_vec_push(&c->evidence, e);
    c->doubt *= 1.0 - weight;
    if (weight > c->heaviest) {
        c->heaviest = weight;
        c->heaviest_at = c->evidence.n - 1;
    }
}

/* ---- small services for the layers ---- */

double ks_clamp(double v, double lo, double hi)
{
    return !(v > lo) ? lo : v > hi ? hi : v;
}

bool ks_loop_is_long(const struct ks_loop *l)
{
    return l->trip_count < 0 || l->trip_count >= 8;
}

bool ks_access_is_global(const struct ks_access *a)
{
    return a->space == KS_SPACE_GLOBAL;
}

bool ks_node_in_loop(const struct ks_node *n)
{
    while (n && !ks_node_is_loop(n))
        n = n->parent;
    return n != NULL;
}

bool ks_node_inside(const struct ks_node *n, const struct ks_node *around)
{
    for (; n; n = n->parent) {
        if (n == around)
            return true;
    }
    return false;
}

/* ---- all cases ---- */

typedef void case_fn(struct ks_case *c);

static case_fn *const layer_functions[KS_N_LAYERS] = {
    [KS_LAYER_OPERATOR_BOUNDARY] = ks_case_operator_boundary,
    [KS_LAYER_DATA_MOVEMENT] = ks_case_data_movement,
    [KS_LAYER_MEMORY_ACCESS] = ks_case_memory_access,
    [KS_LAYER_SYNCHRONIZATION] = ks_case_synchronization,
    [KS_LAYER_PARALLEL_DECOMPOSITION] = ks_case_parallel_decomposition,
    [KS_LAYER_COMPUTE] = ks_case_compute,
    [KS_LAYER_COMPILATION] = ks_case_compilation,
};

struct ranked {
    struct ks_hypothesis h;
    size_t order; /* kernel order, then layer order */
};

struct deriving {
    const struct ks_facts *facts;
    const struct ks_ptxas_info *ptxas;
    size_t n_ptxas;
    const struct ks_json *profile;
    double total_ns;
    struct ks_arena *arena;
    KS_VEC(struct ranked) found;
};

/* ptxas names instances of templates: the mangled name holds the length and the name of the template. */
static const struct ks_ptxas_info *ptxas_of(const struct deriving *d, const struct ks_kernel *k)
{
    char part[256];
    snprintf(part, sizeof part, "%zu%sI", strlen(k->name), k->name);
    for (size_t i = 0; i < d->n_ptxas; i++) {
        if (ks_streq(d->ptxas[i].mangled, k->mangled) || (k->is_template && strstr(d->ptxas[i].mangled, part)))
            return &d->ptxas[i];
    }
    return NULL;
}

/* Amdahl: the kernel is `share` of the time and gets `gain` times as fast. */
static double bound_of_entry(double share, double gain)
{
    if (!(gain > 1.0) || !(share > 0.0))
        return 0.0;
    return 1.0 / (1.0 - share + share / gain);
}

/* ---- scores ---- */

static double log_odds(double p)
{
    p = ks_clamp(p, 0.01, 0.99);
    return log(p / (1.0 - p));
}

/* One number of two opinions: what was seen (suspicion) and what the counters' model of time says (share).  The constants come
 * from the labelled kernels by tests/diagnosis/calibrate.py; docs/EVIDENCE.md says how good they are. */
static double calibrated(double suspicion, double share)
{
    if (!(share >= 0.0))
        return suspicion;
    double z = KS_SCORE_CONST + KS_SCORE_SUSPICION * log_odds(suspicion) + KS_SCORE_SHARE * log_odds(share);
    return 1.0 / (1.0 + exp(-z));
}

/* What would vanish if the layer were free, and the resource that says so. */
static double share_of(struct ks_case *c, enum ks_layer layer)
{
    const char *resource = "";
    double alone = 0.0;
    struct ks_share_hints hints = {.local_free = c->handicap,
                                   .matrix_units = c->matrix_units,
                                   .own_traffic = c->own_traffic,
                                   .max_warps = ks_counters_max_warps(c->profile)};
    double share = ks_share_if_free(&c->counters, layer, &hints, &resource, &alone);
    if (!(share >= 0.0))
        return NAN;
    size_t speaker = c->heaviest_at;
    ks_case_add(c, "share_if_free", share, 0.0, NULL, "%.0f %% of the time would vanish if this layer were free%s%s%s",
                share * 100.0, *resource ? ", most of it " : "", resource, *resource ? "'s" : "");
    if (*resource && alone > 0.0)
        ks_case_add(c, "bound_ratio", alone, 0.0, NULL, "%s alone would take %.0f %% of the time", resource, alone * 100.0);
    if (c->heaviest <= 0.0 && share >= KS_SHARE_SPEAKS) { /* the source shows nothing, the counters do */
        ks_case_add(c, "unexplained_share", share, 0.05, NULL,
                    "%s would take %.0f %% of the time alone, and the text does not say why", resource, alone * 100.0);
        speaker = c->heaviest_at;
    }
    c->heaviest_at = speaker;
    c->local_gain = 1.0 / (1.0 - ks_clamp(share, 0.0, 0.95));
    return share;
}

static void keep(struct deriving *d, struct ks_case *c, enum ks_layer layer, double share_of_unit, double share, size_t order)
{
    double suspicion = 1.0 - c->doubt;
    double score =
        calibrated(suspicion, share) * (0.25 + 0.75 * share_of_unit); /* a kernel that takes no time is not worth a round */
    if (fmax(score, suspicion) < KS_MIN_SCORE || c->heaviest <= 0.0)
        return;
    struct ranked r = {.order = order};
    const struct ks_evidence *main = &c->evidence.data[c->heaviest_at];
    r.h = (struct ks_hypothesis){.layer = layer,
                                 .kernel = c->kernel ? c->kernel->name : c->entry->name,
                                 .score = score,
                                 .suspicion = suspicion,
                                 .share = share,
                                 .line = main->line,
                                 .col = main->col,
                                 .len = main->len};
    r.h.gain_bound = c->kernel ? bound_of_entry(share_of_unit, c->local_gain) : c->local_gain;
    r.h.text = ks_arena_printf(d->arena, "%s", main->text);
    r.h.n_evidence = c->evidence.n;
    r.h.evidence = KS_ARENA_ARRAY(d->arena, struct ks_evidence, c->evidence.n);
    memcpy(r.h.evidence, c->evidence.data, c->evidence.n * sizeof *r.h.evidence);
    ks_vec_push(&d->found, r);
}

static void judge(struct deriving *d, enum ks_layer layer, const struct ks_kernel *k, const struct ks_entry *e, size_t order)
{
    struct ks_case c = {.facts = d->facts, .kernel = k, .entry = e, .arena = d->arena, .doubt = 1.0, .profile = d->profile};
    double share_of_unit = 1.0, share = NAN;
    if (k) {
        c.ptxas = ptxas_of(d, k);
        ks_counters_read(d->profile, k->name, k->mangled, &c.counters);
        if (d->total_ns > 0.0 && c.counters.total_ns >= 0.0)
            share_of_unit = c.counters.total_ns / d->total_ns;
    }
    layer_functions[layer](&c);
    if (k)
        share = share_of(&c, layer);
    else
        share = c.entry_share > 0.0 ? c.entry_share : (double)NAN;
    keep(d, &c, layer, share_of_unit, share, order);
    ks_vec_release(&c.evidence);
}

static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->h.score != y->h.score)
        return x->h.score > y->h.score ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void ks_hypotheses_derive(const struct ks_facts *facts, const struct ks_ptxas_info *ptxas, size_t n_ptxas,
                          const struct ks_json *counters, struct ks_arena *arena, struct ks_hypotheses *ret)
{
    struct deriving d = {.facts = facts, .ptxas = ptxas, .n_ptxas = n_ptxas, .profile = counters, .arena = arena};
    d.total_ns = ks_counters_total_time(counters);
    size_t order = 0;
    for (size_t i = 0; i < facts->n_entries; i++)
        judge(&d, KS_LAYER_OPERATOR_BOUNDARY, NULL, &facts->entries[i], order++);
    for (size_t i = 0; i < facts->n_kernels; i++) {
        for (int layer = 0; layer < KS_N_LAYERS && !facts->kernels[i].has_error; layer++) {
            if (layer != KS_LAYER_OPERATOR_BOUNDARY)
                judge(&d, (enum ks_layer)layer, &facts->kernels[i], NULL, order++);
        }
    }
    if (d.found.n)
        qsort(d.found.data, d.found.n, sizeof *d.found.data, compare_ranked);
    ret->n = d.found.n;
    ret->data = KS_ARENA_ARRAY(arena, struct ks_hypothesis, d.found.n + 1);
    for (size_t i = 0; i < d.found.n; i++)
        ret->data[i] = d.found.data[i].h;
    ks_vec_release(&d.found);
}

/* ---- output ---- */

/* The heaviest piece after `last` that is not the remark itself; equal weights go by their order. */
static const struct ks_evidence *next_note(const struct ks_hypothesis *h, const struct ks_evidence *last)
{
    const struct ks_evidence *best = NULL;
    for (size_t i = 0; i < h->n_evidence; i++) {
        const struct ks_evidence *e = &h->evidence[i];
        bool comes_later = !last || e->weight < last->weight || (e->weight == last->weight && e > last);
        bool is_worth_it = e->line && e->weight >= KS_MIN_NOTE_WEIGHT && !ks_streq(e->text, h->text);
        if (comes_later && is_worth_it && (!best || e->weight > best->weight))
            best = e;
    }
    return best;
}

void ks_hypotheses_to_diags(const struct ks_hypotheses *h, const struct ks_facts *facts, struct ks_diags *out)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct ks_hypothesis *x = &h->data[i];
        if (x->score < KS_MIN_SCORE) /* its evidence is there for questions; as a remark it would mislead */
            continue;
        ks_diags_add(out, KS_SEV_REMARK, facts->path, x->line, x->col, x->len, ks_layer_text(x->layer), "%s: %s", x->kernel,
                     x->text);
        const struct ks_evidence *e = next_note(x, NULL);
        for (int n = 0; e && n < KS_MAX_NOTES; n++, e = next_note(x, e))
            ks_diags_add(out, KS_SEV_NOTE, facts->path, e->line, e->col, e->len, "evidence", "%s", e->text);
    }
}

static struct ks_json *evidence_to_json(const struct ks_evidence *e)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "key", e->key);
    ks_json_set_num(j, "value", e->value);
    ks_json_set_num(j, "weight", round(e->weight * 1000.0) / 1000.0);
    ks_json_set_i64(j, "line", e->line);
    ks_json_set_i64(j, "col", e->col);
    ks_json_set_str(j, "text", e->text);
    return j;
}

struct ks_json *ks_hypotheses_to_json(const struct ks_hypotheses *h, const struct ks_facts *facts)
{
    struct ks_json *list = ks_json_array();
    for (size_t i = 0; i < h->n; i++) {
        const struct ks_hypothesis *x = &h->data[i];
        struct ks_json *j = ks_json_object(), *evidence = ks_json_array();
        ks_json_set_str(j, "layer", ks_layer_text(x->layer));
        ks_json_set_str(j, "kernel", x->kernel);
        ks_json_set_num(j, "score", round(x->score * 1000.0) / 1000.0);
        ks_json_set_num(j, "suspicion", round(x->suspicion * 1000.0) / 1000.0);
        if (x->share >= 0.0)
            ks_json_set_num(j, "share_if_free", round(x->share * 1000.0) / 1000.0);
        if (x->gain_bound > 0.0)
            ks_json_set_num(j, "gain_bound", round(x->gain_bound * 100.0) / 100.0);
        else
            ks_json_set(j, "gain_bound", ks_json_null());
        ks_json_set_str(j, "text", x->text);
        ks_json_set_str(j, "file", facts->path);
        ks_json_set_i64(j, "line", x->line);
        ks_json_set_i64(j, "col", x->col);
        for (size_t k = 0; k < x->n_evidence; k++)
            ks_json_push(evidence, evidence_to_json(&x->evidence[k]));
        ks_json_set(j, "evidence", evidence);
        ks_json_push(list, j);
    }
    return list;
}
