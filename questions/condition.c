#include "questions/condition.h"

#include <math.h>
#include <string.h>

/* ---- what holds ----------------------------------------------------------------------------------------------------------- */

double ks_view_layer_score(const struct ks_picker_view *v, enum ks_layer layer)
{
    double best = 0;
    for (size_t i = 0; i < ks_json_len(v->hypotheses); i++) {
        const struct ks_json *h = ks_json_at(v->hypotheses, i);
        enum ks_layer l;
        if (ks_layer_parse(ks_json_get_str(h, "layer", ""), &l) && l == layer)
            best = fmax(best, ks_json_get_num(h, "score", 0));
    }
    return best;
}

size_t ks_view_trials_without_gain(const struct ks_picker_view *v)
{
    size_t n = 0;
    while (n < v->n_trials && !v->trials[v->n_trials - 1 - n].improved)
        n++;
    return n;
}

static bool evidence_holds(const struct ks_condition *c, const struct ks_picker_view *v)
{
    double largest = -INFINITY;
    for (size_t i = 0; i < ks_json_len(v->hypotheses); i++) {
        const struct ks_json *list = ks_json_get(ks_json_at(v->hypotheses, i), "evidence");
        for (size_t k = 0; k < ks_json_len(list); k++) {
            const struct ks_json *e = ks_json_at(list, k);
            if (strcmp(ks_json_get_str(e, "key", ""), c->name) == 0)
                largest = fmax(largest, ks_json_get_num(e, "value", -INFINITY));
        }
    }
    return largest > -INFINITY && largest >= c->min && largest <= c->max;
}

static bool failed_gate_holds(const struct ks_condition *c, const struct ks_picker_view *v)
{
    const char *last = NULL;
    double n = 0;
    for (size_t i = 0; i < v->n_trials; i++)
        if (v->trials[i].failed_gate) {
            last = v->trials[i].failed_gate;
            n += strcmp(last, c->name) == 0;
        }
    return last && strcmp(last, c->name) == 0 && n >= c->min;
}

static bool children_hold(const struct ks_condition *c, bool all, enum ks_decision_point point, const struct ks_picker_view *v)
{
    for (size_t i = 0; i < c->n_children; i++)
        if (ks_condition_holds(c->children[i], point, v) != all)
            return !all;
    return all;
}

bool ks_condition_holds(const struct ks_condition *when, enum ks_decision_point point, const struct ks_picker_view *v)
{
    if (!when)
        return true;
    double score;
    switch (when->kind) {
    case KS_COND_EVIDENCE:
        return evidence_holds(when, v);
    case KS_COND_LAYER_SCORE:
        score = ks_view_layer_score(v, when->layer);
        return score >= when->min && score <= when->max;
    case KS_COND_FAILED_GATE:
        return failed_gate_holds(when, v);
    case KS_COND_WITHOUT_GAIN:
        return (double)ks_view_trials_without_gain(v) >= when->min;
    case KS_COND_LAST_LAYER:
        return v->n_trials && v->trials[v->n_trials - 1].layer == when->layer;
    case KS_COND_POINT:
        return point == when->point;
    case KS_COND_ALL:
        return children_hold(when, true, point, v);
    case KS_COND_ANY:
        return children_hold(when, false, point, v);
    case KS_COND_NOT:
        return !ks_condition_holds(when->children[0], point, v);
    }
    KS_BUG(true);
    return false;
}

/* ---- why it holds -----------------------------------------------------------------------------------------------------------
 */

/* The heaviest piece of evidence of this key. */
static void evidence_because(const struct ks_condition *c, const struct ks_picker_view *v, struct ks_str *out)
{
    const struct ks_json *best = NULL, *of = NULL;
    double largest = -INFINITY;
    for (size_t i = 0; i < ks_json_len(v->hypotheses); i++) {
        const struct ks_json *h = ks_json_at(v->hypotheses, i), *list = ks_json_get(h, "evidence");
        for (size_t k = 0; k < ks_json_len(list); k++) {
            const struct ks_json *e = ks_json_at(list, k);
            double value = ks_json_get_num(e, "value", -INFINITY);
            if (strcmp(ks_json_get_str(e, "key", ""), c->name) == 0 && value > largest) {
                largest = value;
                best = e;
                of = h;
            }
        }
    }
    int64_t line = ks_json_get_i64(best, "line", 0);
    ks_str_addf(out, "%s: ", ks_json_get_str(of, "kernel", ""));
    ks_str_addf(out, "%s (%s = %g", ks_json_get_str(best, "text", c->name), c->name, largest);
    if (line > 0)
        ks_str_addf(out, ", line %lld", (long long)line);
    ks_str_addc(out, ')');
}

void ks_condition_because(const struct ks_condition *when, enum ks_decision_point point, const struct ks_picker_view *v,
                          struct ks_str *out)
{
    if (!when || !ks_condition_holds(when, point, v))
        return;
    const char *comma = out->len ? "; " : "";
    switch (when->kind) {
    case KS_COND_EVIDENCE:
        ks_str_add(out, comma);
        evidence_because(when, v, out);
        break;
    case KS_COND_LAYER_SCORE:
        ks_str_addf(out, "%s%s scores %.2f", comma, ks_layer_text(when->layer), ks_view_layer_score(v, when->layer));
        break;
    case KS_COND_FAILED_GATE:
        ks_str_addf(out, "%sthe last rejected trial failed the gate '%s'", comma, when->name);
        break;
    case KS_COND_WITHOUT_GAIN:
        ks_str_addf(out, "%s%zu trial%s without gain", comma, ks_view_trials_without_gain(v),
                    ks_plural_s((int64_t)ks_view_trials_without_gain(v)));
        break;
    case KS_COND_LAST_LAYER:
        ks_str_addf(out, "%sthe last trial worked on %s", comma, ks_layer_text(when->layer));
        break;
    case KS_COND_POINT:
        ks_str_addf(out, "%sthe moment is '%s'", comma, ks_decision_point_text(point));
        break;
    case KS_COND_ALL:
    case KS_COND_ANY:
        for (size_t i = 0; i < when->n_children; i++)
            ks_condition_because(when->children[i], point, v, out);
        break;
    case KS_COND_NOT:
        break;
    }
}

/* ---- reading -------------------------------------------------------------------------------------------------------------- */

static bool fault(struct ks_str *why, const char *fmt, ...) KS_PRINTF(2, 3);
static bool fault(struct ks_str *why, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    ks_str_vaddf(why, fmt, ap);
    va_end(ap);
    return false;
}

/* "min" and "max" of j, of which at least one must be there. */
static bool read_bounds(const struct ks_json *j, struct ks_condition *c, struct ks_str *why)
{
    const struct ks_json *min = ks_json_get(j, "min"), *max = ks_json_get(j, "max");
    if ((min && !ks_json_is_number(min)) || (max && !ks_json_is_number(max)))
        return fault(why, "'min' and 'max' are numbers");
    if (!min && !max)
        return fault(why, "'min' or 'max' is missing");
    c->min = ks_json_num(min, -INFINITY);
    c->max = ks_json_num(max, INFINITY);
    return c->min <= c->max || fault(why, "no value is between 'min' and 'max'");
}

static bool read_name(const struct ks_json *j, const char *head, struct ks_arena *arena, struct ks_condition *c,
                      struct ks_str *why)
{
    if (!ks_json_str(j) || !ks_json_str(j)[0])
        return fault(why, "'%s' is no name", head);
    c->name = ks_arena_strdup(arena, ks_json_str(j));
    return true;
}

static bool read_layer(const struct ks_json *j, struct ks_condition *c, struct ks_str *why)
{
    const char *text = ks_json_str(j);
    return (text && ks_layer_parse(text, &c->layer)) || fault(why, "'%s' is no layer", text ? text : "");
}

static bool read_point(const struct ks_json *j, struct ks_condition *c, struct ks_str *why)
{
    const char *text = ks_json_str(j) ? ks_json_str(j) : "";
    for (int p = KS_POINT_START; p <= KS_POINT_BUDGET; p++)
        if (strcmp(text, ks_decision_point_text((enum ks_decision_point)p)) == 0) {
            c->point = (enum ks_decision_point)p;
            return true;
        }
    return fault(why, "'%s' is no decision point", text);
}

static bool read_children(const struct ks_json *list, const char *head, struct ks_arena *arena, struct ks_condition *c,
                          struct ks_str *why)
{
    if (!ks_json_is_array(list) || ks_json_len(list) == 0)
        return fault(why, "'%s' takes an array of conditions", head);
    c->n_children = ks_json_len(list);
    c->children = KS_ARENA_ARRAY(arena, const struct ks_condition *, c->n_children);
    for (size_t i = 0; i < c->n_children; i++)
        if (!ks_condition_read(ks_json_at(list, i), arena, &c->children[i], why))
            return false;
    return true;
}

/* The first member that is the head of a condition, and the members that may stand beside it. */
static const struct head {
    const char *name;
    enum ks_condition_kind kind;
    bool min, max;
} heads[] = {
    {"evidence", KS_COND_EVIDENCE, true, true},
    {"layer_score", KS_COND_LAYER_SCORE, false, false},
    {"failed_gate", KS_COND_FAILED_GATE, true, false},
    {"trials_without_gain", KS_COND_WITHOUT_GAIN, false, false},
    {"last_layer", KS_COND_LAST_LAYER, false, false},
    {"point", KS_COND_POINT, false, false},
    {"all", KS_COND_ALL, false, false},
    {"any", KS_COND_ANY, false, false},
    {"not", KS_COND_NOT, false, false},
};

static const struct head *find_head(const struct ks_json *json, struct ks_str *why)
{
    const struct head *head = NULL;
    for (size_t h = 0; h < sizeof heads / sizeof heads[0] && !head; h++)
        if (ks_json_get(json, heads[h].name))
            head = &heads[h];
    for (size_t i = 0; i < ks_json_len(json); i++) {
        const char *key = ks_json_key(ks_json_at(json, i));
        if (!head || (strcmp(key, head->name) != 0 && !(head->min && strcmp(key, "min") == 0) &&
                      !(head->max && strcmp(key, "max") == 0))) {
            fault(why, "'%s' %s%s%s", key, head ? "does not go with '" : "is no condition", head ? head->name : "",
                  head ? "'" : "");
            return NULL;
        }
    }
    if (!head)
        fault(why, "a condition is empty");
    return head;
}

bool ks_condition_read(const struct ks_json *json, struct ks_arena *arena, const struct ks_condition **ret, struct ks_str *why)
{
    if (!ks_json_is_object(json))
        return fault(why, "a condition is an object");
    const struct head *head = find_head(json, why);
    if (!head)
        return false;
    const struct ks_json *j = ks_json_get(json, head->name);
    struct ks_condition *c = KS_ARENA_NEW(arena, struct ks_condition);
    c->kind = head->kind;
    bool ok = false;
    switch (c->kind) {
    case KS_COND_EVIDENCE:
        ok = read_name(j, head->name, arena, c, why) && read_bounds(json, c, why);
        break;
    case KS_COND_LAYER_SCORE:
        ok = read_layer(ks_json_get(j, "layer"), c, why) && read_bounds(j, c, why);
        break;
    case KS_COND_FAILED_GATE:
        c->min = ks_json_get_num(json, "min", 1);
        ok = read_name(j, head->name, arena, c, why);
        break;
    case KS_COND_WITHOUT_GAIN:
        c->min = ks_json_num(j, 0);
        ok = c->min >= 1 || fault(why, "'%s' is a number from 1", head->name);
        break;
    case KS_COND_LAST_LAYER:
        ok = read_layer(j, c, why);
        break;
    case KS_COND_POINT:
        ok = read_point(j, c, why);
        break;
    case KS_COND_ALL:
    case KS_COND_ANY:
        ok = read_children(j, head->name, arena, c, why);
        break;
    case KS_COND_NOT:
        c->n_children = 1;
        c->children = KS_ARENA_ARRAY(arena, const struct ks_condition *, 1);
        ok = ks_condition_read(j, arena, &c->children[0], why);
        break;
    }
    if (ok)
        *ret = c;
    return ok;
}
