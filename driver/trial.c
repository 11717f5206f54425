#include "driver/trial.h"

#include "base/file.h"
#include "base/limits.h"
#include "driver/trace.h"

#include <string.h>

static const char *const outcome_texts[] = {
    [KS_OUTCOME_ACCEPTED] = "accepted", [KS_OUTCOME_REJECTED] = "rejected", [KS_OUTCOME_NO_GAIN] = "no gain"};

static char *copy_or_null(const char *s)
{
    return s ? ks_xstrdup(s) : NULL;
}

static char *repeatable_or_null(const char *s)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    if (!s)
        return NULL;
    ks_text_repeatable(s, &out);
    return ks_str_detach(&out, NULL);
}

void ks_trial_from_verdict(const struct ks_verdict *v, const struct ks_contract *c, struct ks_trial *ret)
{
    enum ks_gate failed = ks_verdict_failed_gate(v);
    KS_AUTO_JSON struct ks_json *whole = ks_verdict_to_json(v, c);
    *ret = (struct ks_trial){
        .outcome = v->outcome,
        .correct = v->outcome != KS_OUTCOME_REJECTED || failed >= KS_GATE_TIME,
        .failed_gate = failed < KS_N_GATES ? ks_xstrdup(ks_gate_text(failed)) : NULL,
        .reason = failed < KS_N_GATES ? repeatable_or_null(v->gates[failed].reason) : NULL,
        .speedup = v->speedup,
        .speedup_lo = v->speedup_lo,
        .speedup_hi = v->speedup_hi,
        .modelled = v->modelled,
        .verdict = ks_json_repeatable(whole),
        .counters = v->counters ? ks_json_repeatable(v->counters) : NULL,
    };
}

void ks_trial_copy(const struct ks_trial *t, struct ks_trial *ret)
{
    *ret = *t;
    ret->failed_gate = copy_or_null(t->failed_gate);
    ret->reason = copy_or_null(t->reason);
    ret->verdict = ks_json_copy(t->verdict);
    ret->counters = t->counters ? ks_json_copy(t->counters) : NULL;
}

void ks_trial_release(struct ks_trial *t)
{
    free(t->failed_gate);
    free(t->reason);
    ks_json_free(t->verdict);
    ks_json_free(t->counters);
    *t = (struct ks_trial){0};
}

void ks_trial_speedup(const struct ks_trial *t, struct ks_str *out)
{
    if (t->modelled)
        ks_str_addf(out, "%.2fx modelled", t->speedup);
    else
        ks_str_addf(out, "%.2fx [%.2f, %.2f]", t->speedup, t->speedup_lo, t->speedup_hi);
}

static void add_speedup(const struct ks_trial *t, struct ks_str *out)
{
    if (t->speedup > 0) {
        ks_str_add(out, ": ");
        ks_trial_speedup(t, out);
    }
}

void ks_trial_describe(const struct ks_trial *t, struct ks_str *out)
{
    switch (t->outcome) {
    case KS_OUTCOME_ACCEPTED:
        ks_str_add(out, "accepted");
        add_speedup(t, out);
        break;
    case KS_OUTCOME_NO_GAIN:
        ks_str_add(out, "correct, no gain");
        add_speedup(t, out);
        break;
    case KS_OUTCOME_REJECTED:
        ks_str_addf(out, "rejected by %s: %s", t->failed_gate ? t->failed_gate : "?", t->reason ? t->reason : "no reason given");
        break;
    }
}

void ks_trial_gates(const struct ks_trial *t, struct ks_str *out)
{
    const struct ks_json *gates = ks_json_get(t->verdict, "gates");
    for (size_t i = 0; i < ks_json_len(gates); i++) {
        const struct ks_json *g = ks_json_at(gates, i);
        const char *state = ks_json_get_str(g, "state", "not run");
        if (strcmp(state, "not run") != 0 && strcmp(state, "skipped") != 0)
            ks_str_addf(out, "%s%s %s", out->len ? ", " : "", ks_json_key(g), state);
    }
}

/* ---- journal -------------------------------------------------------------------------------------------------------- */

struct ks_json *ks_trial_to_json(const struct ks_trial *t)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "outcome", outcome_texts[t->outcome]);
    ks_json_set_bool(j, "correct", t->correct);
    ks_json_set_str(j, "failed_gate", t->failed_gate);
    ks_json_set_str(j, "reason", t->reason);
    ks_json_set_num(j, "speedup", t->speedup);
    ks_json_set_num(j, "speedup_lo", t->speedup_lo);
    ks_json_set_num(j, "speedup_hi", t->speedup_hi);
    ks_json_set_bool(j, "modelled", t->modelled);
    ks_json_set(j, "verdict", ks_json_copy(t->verdict));
    if (t->counters)
        ks_json_set(j, "counters", ks_json_copy(t->counters));
    return j;
}

bool ks_trial_from_json(const struct ks_json *j, struct ks_trial *ret)
{
    const char *outcome = ks_json_get_str(j, "outcome", "");
    const struct ks_json *counters = ks_json_get(j, "counters"), *verdict = ks_json_get(j, "verdict");
    for (int i = 0; verdict && i < 3; i++) {
        if (strcmp(outcome, outcome_texts[i]) != 0)
            continue;
        *ret = (struct ks_trial){
            .outcome = (enum ks_outcome)i,
            .correct = ks_json_get_bool(j, "correct", false),
            .failed_gate = copy_or_null(ks_json_get_str(j, "failed_gate", NULL)),
            .reason = copy_or_null(ks_json_get_str(j, "reason", NULL)),
            .speedup = ks_json_get_num(j, "speedup", 0),
            .speedup_lo = ks_json_get_num(j, "speedup_lo", 0),
            .speedup_hi = ks_json_get_num(j, "speedup_hi", 0),
            .modelled = ks_json_get_bool(j, "modelled", false),
            .verdict = ks_json_copy(verdict),
            .counters = counters ? ks_json_copy(counters) : NULL,
        };
        return true;
    }
    return false;
}

enum ks_code ks_journal_append(const char *path, const char *phase, const char *candidate_hash, const struct ks_trial *t,
                               struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    ks_json_set_str(j, "phase", phase);
    ks_json_set_str(j, "candidate", candidate_hash);
    ks_json_set(j, "trial", ks_trial_to_json(t));
    ks_json_print(j, &line);
    return ks_file_append_line(path, ks_str_cstr(&line), err);
}

void ks_journal_read(const char *path, struct ks_journal *ret)
{
    KS_VEC(struct ks_json *) lines = {0};
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err err;
    if (ks_file_read(path, KS_MAX_JSON_BYTES, &text, &err) != KS_OK)
        ks_str_clear(&text); /* none yet, or not readable: the trials run again */
    for (const char *p = ks_str_cstr(&text), *end; (end = strchr(p, '\n')); p = end + 1) {
        struct ks_json *j;
        if (ks_json_parse(p, (size_t)(end - p), path, &j, &err) == KS_OK)
            ks_vec_push(&lines, j);
    }
    *ret = (struct ks_journal){lines.data, lines.n};
}

void ks_journal_release(struct ks_journal *j)
{
    for (size_t i = 0; i < j->n; i++)
        ks_json_free(j->lines[i]);
    free(j->lines);
    *j = (struct ks_journal){0};
}

static void clock_path(const char *journal_path, struct ks_str *out)
{
    ks_str_addf(out, "%s.clock", journal_path);
}

void ks_journal_clock_write(const char *journal_path, int64_t elapsed_ms)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    struct ks_err ignored; /* a clock that is a little behind costs nothing but time */
    clock_path(journal_path, &path);
    ks_str_addf(&text, "%lld\n", (long long)elapsed_ms);
    (void)!ks_file_write_atomic(ks_str_cstr(&path), ks_str_cstr(&text), text.len, 0644, &ignored);
}

int64_t ks_journal_clock_read(const char *journal_path)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    struct ks_err ignored;
    clock_path(journal_path, &path);
    if (ks_file_read(ks_str_cstr(&path), 64, &text, &ignored) != KS_OK)
        return 0;
    long long ms = strtoll(ks_str_cstr(&text), NULL, 10);
    return ms > 0 && ms < (1LL << 50) ? ms : 0;
}

bool ks_journal_find(const struct ks_journal *j, const char *phase, const char *candidate_hash, struct ks_trial *ret)
{
    for (size_t i = 0; i < j->n; i++)
        if (ks_streq(ks_json_get_str(j->lines[i], "phase", NULL), phase) &&
            ks_streq(ks_json_get_str(j->lines[i], "candidate", NULL), candidate_hash))
            return ks_trial_from_json(ks_json_get(j->lines[i], "trial"), ret);
    return false;
}
