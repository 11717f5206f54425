#include "driver/trace_replay.h"

#include "base/hash.h"
#include "driver/command_args.h"
#include "driver/opened.h"
#include "driver/say.h"
#include "driver/stop.h"
#include "driver/trace_read.h"
#include "driver/trial.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct replay {
    struct ks_trace_file trace;
    struct ks_opened o;
    const struct ks_contract *contract;
    struct ks_entry_context x;
    struct ks_signature signature;
    struct ks_entry_session judge;
    struct ks_json *results; /* owned */
    int n, n_hold;
};

static enum ks_code open_all(struct replay *r, struct ks_err *err)
{
    char hash[65];
    char key[65];
    const struct ks_json *start = ks_trace_first(&r->trace, "start");
    KS_TRY(ks_opened_read(&r->o, NULL, err));
    KS_TRY(ks_opened_contract(&r->o, ks_json_get_str(start, "entry", NULL), &r->contract, err));
    r->x = ks_opened_context(&r->o);
    ks_hash_hex(r->o.unit.source, r->o.unit.source_len, hash);
    if (!ks_streq(hash, ks_json_get_str(start, "source", hash)))
        return ks_fail(err, KS_ERR_MISMATCH, "'%s' is not the source that the trace began with (%.12s, not %.12s)",
                       r->o.unit.path, hash, ks_json_get_str(start, "source", ""));
    if (!ks_entry_bind(&r->x, r->contract, "nothing is replayed", &r->signature))
        return ks_fail(err, KS_ERR_MISMATCH, "the contract of '%s' does not fit", r->contract->entry);
    KS_AUTO_JSON struct ks_json *contract = ks_contract_to_json(r->contract);
    ks_entry_key(&r->x, contract, key);
    return ks_entry_session_open(&r->x, r->contract, &r->signature, key, &r->judge, err);
}

static void keep_result(struct replay *r, const char *candidate, const struct ks_json *before, const struct ks_trial *now,
                        const char *trouble)
{
    struct ks_json *j = ks_json_object();
    bool holds = now && now->outcome == KS_OUTCOME_ACCEPTED;
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    ks_json_set_str(j, "candidate", candidate);
    ks_json_set_num(j, "speedup_before", ks_json_get_num(before, "speedup", 0));
    ks_json_set_bool(j, "modelled_before", ks_json_get_bool(before, "modelled", false));
    ks_json_set_bool(j, "holds", holds);
    ks_json_set_str(j, "trouble", trouble);
    if (now)
        ks_json_set(j, "verdict", ks_json_copy(now->verdict));
    ks_json_push(r->results, j);
    r->n++;
    r->n_hold += holds;
    if (now)
        ks_trial_describe(now, &line);
    ks_say_progress("%.12s: was %.2fx%s, now %s", candidate, ks_json_get_num(before, "speedup", 0),
                    ks_json_get_bool(before, "modelled", false) ? " modelled" : "", now ? ks_str_cstr(&line) : trouble);
}

/* One accepted candidate.  Errors: the session cannot go on. */
static enum ks_code replay_one(struct replay *r, const char *candidate, const struct ks_json *before, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_verdict v = {0};
    struct ks_trial now;
    struct ks_err why;
    if (ks_trace_text(&r->trace, candidate, r->o.unit.source, r->o.unit.source_len, &text, &why) != KS_OK) {
        keep_result(r, candidate, before, NULL, why.message);
        return KS_OK;
    }
    KS_TRY(ks_session_try(r->judge.session, ks_str_cstr(&text), text.len, &v, err));
    ks_trial_from_verdict(&v, r->contract, &now);
    ks_verdict_release(&v);
    keep_result(r, candidate, before, &now, NULL);
    ks_trial_release(&now);
    return KS_OK;
}

static enum ks_code replay_all(struct replay *r, struct ks_err *err)
{
    for (size_t i = 0; i < r->trace.n; i++) {
        const struct ks_json *e = r->trace.events[i], *v = ks_json_get(e, "verdict");
        if (!ks_trace_event_is(e, "verdict") || !ks_streq(ks_json_get_str(e, "phase", NULL), "trial") ||
            !ks_streq(ks_json_get_str(v, "outcome", NULL), "accepted"))
            continue;
        if (ks_stop_asked())
            return ks_fail(err, KS_ERR_INTERRUPTED, "interrupted");
        KS_TRY(replay_one(r, ks_json_get_str(e, "candidate", ""), v, err));
    }
    return KS_OK;
}

static void print_result(const struct replay *r, bool json)
{
    if (!json) {
        printf("%d accepted edit%s replayed on %s: %d hold%s\n", r->n, ks_plural_s(r->n), r->o.device.label, r->n_hold,
               r->n_hold == 1 ? "s" : "");
        return;
    }
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "trace", r->trace.path);
    ks_json_set(j, "device", ks_json_copy(r->judge.device));
    ks_json_set_i64(j, "accepted", r->n);
    ks_json_set_i64(j, "hold", r->n_hold);
    ks_json_set(j, "edits", ks_json_copy(r->results));
    ks_command_print(j);
}

static int run(struct replay *r, const char *trace, bool json)
{
    struct ks_err err;
    const char *path;
    KS_AUTO_STR struct ks_str store = KS_STR_INIT;
    enum ks_code code = ks_opened_input(&r->o, &path, &err);
    if (code == KS_OK)
        code = ks_opened_store(&r->o, &err); /* where a key is looked for */
    if (code == KS_OK)
        code = ks_trace_find(trace, r->o.store.dir, &r->trace, &err);
    if (code == KS_OK)
        code = open_all(r, &err);
    if (code == KS_OK)
        code = replay_all(r, &err);
    if (code != KS_OK) {
        ks_say_error(&err);
        return code == KS_ERR_USAGE ? 2 : 1;
    }
    print_result(r, json);
    return r->n == r->n_hold ? 0 : 1;
}

int ks_trace_replay(char *const *argv)
{
    struct replay r = {.results = ks_json_array(), .judge = {.work = {.lock_fd = -1}}};
    ks_stop_install();
    bool ok = ks_opened_words(&r.o, argv);
    bool json = ok && ks_command_flag(&r.o.words, "--json");
    int status = 2;
    if (ok && r.o.words.n < 3) {
        ks_command_usage("trace");
    } else if (ok) {
        KS_AUTO_FREE char *trace = r.o.words.v[1];
        memmove(r.o.words.v + 1, r.o.words.v + 2, (r.o.words.n - 1) * sizeof(*r.o.words.v)); /* with the NULL at the end */
        r.o.words.n--;
        status = run(&r, trace, json);
    }
    ks_entry_session_close(&r.judge);
    ks_opened_release(&r.o);
    ks_trace_file_release(&r.trace);
    ks_json_free(r.results);
    return status;
}
