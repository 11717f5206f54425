/* A bandit's memory.  One arm per question and kernel family keeps a decayed count and a decayed sum of the log gains that
 * followed.  The file is an array sorted by family, layer and question, so that people can read, edit, compare and merge it. */

#include "questions/memory.h"
#include "base/file.h"

#include <math.h>
#include <string.h>

#define DECAY        0.97 /* per recorded answer in the family */
#define PRIOR_GAIN   0.1  /* log gain expected of a question that nothing is known about */
#define PRIOR_COUNT  2.0  /* asked that often in our imagination */
#define PRIOR_SPREAD 0.25 /* standard deviation of log gains */
#define OPTIMISM     0.5  /* standard deviations added for what is not known yet */
#define OTHER_FAMILY 0.25 /* what was learnt in another family counts this much */
#define LEAST        0.02 /* no question is ever hopeless */
#define MAX_LOG_GAIN 3.0

struct arm {
    char *question;
    char *family;
    enum ks_layer layer;
    double weight;   /* decayed count */
    double gain_sum; /* decayed sum of log gains */
    int64_t n_asked;
};

struct ks_memory {
    KS_VEC(struct arm) arms;
};

void ks_memory_free(struct ks_memory *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->arms.n; i++) {
        free(m->arms.data[i].question);
        free(m->arms.data[i].family);
    }
    ks_vec_release(&m->arms);
    free(m);
}

static enum ks_code read_arm(struct ks_memory *m, const struct ks_json *j, const char *path, size_t index, struct ks_err *err)
{
    struct arm a = {0};
    const char *question = ks_json_get_str(j, "question", NULL), *family = ks_json_get_str(j, "family", NULL);
    if (!question || !family || !ks_layer_parse(ks_json_get_str(j, "layer", ""), &a.layer))
        return ks_fail(err, KS_ERR_SYNTAX, "cannot read memory '%s': entry %zu lacks a question, family or layer", path,
                       index + 1);
    a.weight = ks_json_get_num(j, "weight", -1);
    a.gain_sum = ks_json_get_num(j, "log_gain_sum", NAN);
    a.n_asked = ks_json_get_i64(j, "asked", 0);
    if (!(a.weight >= 0 && a.weight < 1e6) || !(fabs(a.gain_sum) <= MAX_LOG_GAIN * a.weight + 1e-9))
        return ks_fail(err, KS_ERR_SYNTAX, "cannot read memory '%s': entry %zu has an impossible weight or log_gain_sum", path,
                       index + 1);
    a.question = ks_xstrdup(question);
    a.family = ks_xstrdup(family);
    ks_vec_push(&m->arms, a);
    return KS_OK;
}

enum ks_code ks_memory_load(const char *path, struct ks_memory **ret, struct ks_err *err)
{
    struct ks_memory *m = ks_xcalloc(1, sizeof *m);
    KS_AUTO_JSON struct ks_json *json = NULL;
    enum ks_code code = KS_OK;
    if (path && ks_file_exists(path)) {
        code = ks_json_read_file(path, &json, err);
        const struct ks_json *list = ks_json_get(json, "answers");
        if (code == KS_OK && !ks_json_is_array(list))
            code = ks_fail(err, KS_ERR_SYNTAX, "cannot read memory '%s': 'answers' is missing or no array", path);
        for (size_t i = 0; code == KS_OK && i < ks_json_len(list); i++)
            code = read_arm(m, ks_json_at(list, i), path, i, err);
    }
    if (code == KS_OK)
        *ret = m;
    else
        ks_memory_free(m);
    return code;
}

static int compare_arms(const void *pa, const void *pb)
{
    const struct arm *a = pa, *b = pb;
    int order = strcmp(a->family, b->family);
    if (order == 0)
        order = (a->layer > b->layer) - (a->layer < b->layer);
    return order ? order : strcmp(a->question, b->question);
}

enum ks_code ks_memory_save(const struct ks_memory *m, const char *path, struct ks_err *err)
{
    if (!path)
        return KS_OK;
    KS_AUTO_JSON struct ks_json *json = ks_json_object();
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_AUTO_FREE struct arm *sorted = ks_xcalloc(m->arms.n, sizeof *sorted);
    struct ks_json *list = ks_json_array();
    if (m->arms.n)
        memcpy(sorted, m->arms.data, m->arms.n * sizeof *sorted);
    qsort(sorted, m->arms.n, sizeof *sorted, compare_arms);
    for (size_t i = 0; i < m->arms.n; i++) {
        struct ks_json *j = ks_json_object();
        ks_json_set_str(j, "family", sorted[i].family);
        ks_json_set_str(j, "layer", ks_layer_text(sorted[i].layer));
        ks_json_set_str(j, "question", sorted[i].question);
        ks_json_set_i64(j, "asked", sorted[i].n_asked);
        ks_json_set_num(j, "weight", sorted[i].weight);
        ks_json_set_num(j, "log_gain_sum", sorted[i].gain_sum);
        ks_json_push(list, j);
    }
    ks_json_set(json, "answers", list);
    ks_json_print_pretty(json, &text);
    return ks_file_write_atomic(path, ks_str_cstr(&text), text.len, 0644, err);
}

size_t ks_memory_answers(const struct ks_memory *m)
{
    return m->arms.n;
}

void ks_memory_merge(struct ks_memory *m, const struct ks_memory *other)
{
    size_t before = m->arms.n;
    for (size_t i = 0; i < other->arms.n; i++) {
        const struct arm *o = &other->arms.data[i];
        struct arm *same = NULL;
        for (size_t k = 0; k < before && !same; k++) {
            struct arm *a = &m->arms.data[k];
            same = strcmp(a->family, o->family) == 0 && strcmp(a->question, o->question) == 0 ? a : NULL;
        }
        if (same) {
            same->weight += o->weight;
            same->gain_sum += o->gain_sum;
            same->n_asked += o->n_asked;
            continue;
        }
        struct arm copy = *o;
        copy.question = ks_xstrdup(o->question);
        copy.family = ks_xstrdup(o->family);
        ks_vec_push(&m->arms, copy);
    }
}

void ks_memory_record(struct ks_memory *m, const char *question_id, enum ks_layer layer, const char *family, double log_gain)
{
    struct arm *arm = NULL;
    const char *name = family ? family : "";
    if (!(fabs(log_gain) <= MAX_LOG_GAIN)) /* NaN counts as no gain */
        log_gain = log_gain > 0 ? MAX_LOG_GAIN : log_gain < 0 ? -MAX_LOG_GAIN : 0;
    for (size_t i = 0; i < m->arms.n; i++) {
        struct arm *a = &m->arms.data[i];
        if (strcmp(a->family, name) != 0)
            continue;
        a->weight *= DECAY;
        a->gain_sum *= DECAY;
        if (strcmp(a->question, question_id) == 0)
            arm = a;
    }
    if (!arm) {
        struct arm fresh = {.question = ks_xstrdup(question_id), .family = ks_xstrdup(name), .layer = layer};
        ks_vec_push(&m->arms, fresh);
        arm = &m->arms.data[m->arms.n - 1];
    }
    arm->weight += 1;
    arm->gain_sum += log_gain;
    arm->n_asked++;
}

double ks_memory_promise(const struct ks_memory *m, const char *question_id, enum ks_layer layer, const char *family)
{
    double layer_weight = 0, layer_sum = 0, weight = 0, sum = 0;
    for (size_t i = 0; m && i < m->arms.n; i++) {
        const struct arm *a = &m->arms.data[i];
        double share = strcmp(a->family, family ? family : "") == 0 ? 1.0 : OTHER_FAMILY;
        if (strcmp(a->question, question_id) == 0) {
            weight += share * a->weight;
            sum += share * a->gain_sum;
        }
        if (a->layer == layer) {
            layer_weight += share * a->weight;
            layer_sum += share * a->gain_sum;
        }
    }
    double layer_gain = (PRIOR_COUNT * PRIOR_GAIN + layer_sum) / (PRIOR_COUNT + layer_weight);
    double expected = (PRIOR_GAIN + layer_gain) / 2; /* before this question itself was asked */
    double gain = (PRIOR_COUNT * expected + sum) / (PRIOR_COUNT + weight);
    double hope = gain + OPTIMISM * PRIOR_SPREAD / sqrt(1 + weight);
    return fmax(hope, LEAST) / (PRIOR_GAIN + OPTIMISM * PRIOR_SPREAD);
}
