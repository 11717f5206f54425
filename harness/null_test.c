/* Places that trials run at: what is remembered of them, and the null test that a node of a cluster has to pass.
 *
 * On a GPU here, or on one host, the A/A control with which a session opens is the null test.  On a cluster each trial may meet
 * another node than the one where the original was looked at; there the original is judged as a candidate, once a day and node,
 * and before a node comes back from quarantine.  Where two nodes disagree nobody can tell which of them is right, and the one
 * that the session began on has the word; when a second one disagrees and none agrees, it is the first that is not to be trusted.
 */
#include "harness/session_impl.h"

#include "harness/health.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NULL_LIMIT 0.05 /* as far from 1 as the A/A control may be */

static void place_here(char *out, size_t size)
{
    const char *device;
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    int n = ks_device_first(&device);
    snprintf(out, size, "%s:gpu%.*s", host, n, device);
}

static void place_now(const struct ks_session_options *opt, char *out, size_t size)
{
    if (opt->remote)
        snprintf(out, size, "%s", ks_remote_place(opt->remote));
    else
        place_here(out, size);
}

static bool is_remembered(const struct ks_session_options *opt)
{
    return opt->health_dir && (opt->remote || opt->device == KS_DEVICE_CUDA);
}

static void note(const struct ks_session *s, enum ks_health_what what, double aa, const char *why)
{
    char place[160];
    if (!is_remembered(&s->opt))
        return;
    place_now(&s->opt, place, sizeof place);
    ks_health_note(s->opt.health_dir, place, what, aa, why);
}

void ks_place_opened(struct ks_session *s, enum ks_code control, const struct ks_err *why)
{
    place_now(&s->opt, s->places.first, sizeof s->places.first);
    if (s->control && control == KS_OK)
        note(s, KS_HEALTH_NULL_PASSED, ks_json_get_num(s->control, "aa_ratio", 0), NULL);
    else if (s->control && !(s->opt.remote && ks_remote_lost(s->opt.remote)))
        note(s, KS_HEALTH_NULL_FAILED, ks_json_get_num(s->control, "aa_ratio", 0), why->message);
}

void ks_place_judged(struct ks_session *s)
{
    note(s, KS_HEALTH_TRIAL, 0, NULL);
}

void ks_place_lost(const struct ks_session_options *opt)
{
    if (is_remembered(opt) && ks_remote_blames_place(opt->remote))
        ks_health_note(opt->health_dir, ks_remote_place(opt->remote), KS_HEALTH_LOST, 0, ks_remote_lost(opt->remote));
}

/* ---- the original as a candidate ------------------------------------------------------------------------------------ */

/* A failure of an earlier gate is one of the text, and says nothing about the place. */
static bool speaks_against(const struct ks_verdict *v, struct ks_str *why)
{
    enum ks_gate gate = ks_verdict_failed_gate(v);
    if (gate == KS_GATE_NUMERICS || gate == KS_GATE_SAFETY)
        ks_str_addf(why, "%s: %.200s", ks_gate_text(gate), v->gates[gate].reason ? v->gates[gate].reason : "");
    else if (v->speedup > 0 && fabs(v->speedup - 1) > NULL_LIMIT && (v->speedup_lo > 1 || v->speedup_hi < 1))
        ks_str_addf(why, "time: the original against itself gives a ratio of %.3f", v->speedup);
    return why->len > 0;
}

/* As a trial is made, and leaves no trace in what the session knows of trials. */
static enum ks_code judge_original(struct ks_session *s, struct ks_verdict *ret, struct ks_err *err)
{
    void (*on_gate)(const char *, bool) = s->opt.on_gate;
    struct ks_args known = s->known;
    unsigned n_trials = s->n_trials;
    if (on_gate)
        on_gate("null test", false);
    s->opt.on_gate = NULL;
    ks_args_init(&s->known);
    enum ks_code code = ks_trial_once(s, s->opt.source, s->opt.source_len, false, ret, err);
    ks_args_release(&s->known);
    s->known = known;
    s->opt.on_gate = on_gate;
    s->n_trials = n_trials;
    return code;
}

static void say(const struct ks_session *s, const char *place, const char *why)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_addf(&text, "'%s' fails its null test and is in quarantine: %s", place, why);
    if (s->opt.on_place)
        s->opt.on_place(text.data);
}

static enum ks_code failed(struct ks_session *s, const char *place, const struct ks_verdict *v, const char *why,
                           struct ks_err *err)
{
    struct ks_places *p = &s->places;
    if (p->n_agree == 0 && p->failed[0] && strcmp(p->failed, place) != 0) {
        KS_AUTO_STR struct ks_str first = KS_STR_INIT;
        ks_str_addf(&first, "neither '%s' nor '%s' agrees with it on the original", p->failed, place);
        p->first_is_at_fault = true;
        ks_health_note(s->opt.health_dir, p->failed, KS_HEALTH_RELEASED, 0, NULL);
        ks_health_note(s->opt.health_dir, p->first, KS_HEALTH_NULL_FAILED, 0, first.data);
        say(s, p->first, first.data);
        return ks_place_check(s, err);
    }
    ks_health_note(s->opt.health_dir, place, KS_HEALTH_NULL_FAILED, v->speedup, why);
    snprintf(p->failed, sizeof p->failed, "%s", place);
    say(s, place, why);
    return ks_fail(err, KS_ERR_DEVICE, "'%s' fails its null test: %s", place, why);
}

enum ks_code ks_place_check(struct ks_session *s, struct ks_err *err)
{
    struct ks_places *p = &s->places;
    struct ks_health h = {0};
    struct ks_verdict v;
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    if (p->first_is_at_fault)
        return ks_fail(err, KS_ERR_MISMATCH, "trust what was seen of the original on '%s': two other places do not agree with it",
                       p->first);
    if (!is_remembered(&s->opt) || !s->opt.remote || !ks_remote_is_by_trial(s->opt.remote))
        return KS_OK;
    char place[160];
    place_now(&s->opt, place, sizeof place);
    (void)ks_health_read(s->opt.health_dir, place, &h); /* unknown: all zeros */
    if (strcmp(place, p->first) == 0 || !ks_health_null_due(&h, (int64_t)time(NULL)))
        return KS_OK;
    KS_TRY(judge_original(s, &v, err));
    enum ks_code code = KS_OK;
    if (ks_remote_lost(s->opt.remote))
        code = ks_fail(err, KS_ERR_DEVICE, "%s", ks_remote_lost(s->opt.remote));
    else if (speaks_against(&v, &why))
        code = failed(s, place, &v, why.data, err);
    else {
        p->n_agree++;
        ks_health_note(s->opt.health_dir, place, KS_HEALTH_NULL_PASSED, v.speedup, NULL);
    }
    ks_verdict_release(&v);
    return code;
}
