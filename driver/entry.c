#include "driver/entry.h"

#include "base/file.h"
#include "base/hash.h"
#include "driver/agent_command.h"
#include "driver/agent_open.h"
#include "driver/certificate.h"
#include "driver/crew.h"
#include "driver/entry_session.h"
#include "driver/human.h"
#include "driver/known.h"
#include "driver/live.h"
#include "driver/paths.h"
#include "driver/proof_device.h"
#include "driver/say.h"
#include "driver/search.h"
#include "driver/signed.h"
#include "driver/stats.h"
#include "driver/stop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the search ----------------------------------------------------------------------------------------------------- */

/* Everything a search needs that must be given back. */
struct running {
    const struct ks_entry_context *x;
    const struct ks_contract *contract;
    const struct ks_signature *signature;
    const struct ks_json *contract_json;
    const char *key;
    struct ks_entry_session judge;
    int lock_fd; /* of the key; -1: not held */
    struct ks_agent *agent;
    struct ks_agent_place place;
    struct ks_memory *memory;
    struct ks_bank bank;
    struct ks_human *human;
    struct ks_trace *trace;
    struct ks_journal journal;
    struct ks_search search;
    struct ks_search_result result;
};

static enum ks_code open_agent(struct running *r, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str conversation = KS_STR_INIT;
    ks_store_path(r->x->store, r->key, KS_CONVERSATION_FILE, &conversation);
    r->place = (struct ks_agent_place){
        .unit = r->x->unit, .search = &r->search, .conversation = ks_arena_strdup(r->x->unit->arena, ks_str_cstr(&conversation))};
    return ks_agent_open(&r->place, &r->agent, err);
}

/* Where nobody can be asked the search goes on without questions. */
static enum ks_code open_human(struct running *r, struct ks_err *err)
{
    if (ks_human_open(r->x->unit->settings->ask.file, &r->human, err) != KS_OK)
        ks_say_instead(err, "the search goes on without questions");
    return KS_OK;
}

static enum ks_code open_bank(struct running *r, struct ks_err *err)
{
    const struct ks_settings *s = r->x->unit->settings;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    if (s->ask.who == KS_ASK_HUMAN)
        return open_human(r, err);
    if (s->ask.who == KS_ASK_OFF)
        return KS_OK;
    ks_paths_bank(&path);
    KS_TRY(ks_bank_load(s->bank ? s->bank : ks_str_cstr(&path), r->x->unit->arena, &r->bank, err));
    ks_path_join(&path, r->x->store->dir, "memory.json");
    return ks_memory_load(ks_str_cstr(&path), &r->memory, err);
}

static enum ks_code open_trace(struct running *r, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str trace = KS_STR_INIT, wall = KS_STR_INIT, journal = KS_STR_INIT;
    KS_TRY(ks_store_make(r->x->store, r->key, err));
    ks_store_path(r->x->store, r->key, KS_TRACE_FILE, &trace);
    ks_store_path(r->x->store, r->key, KS_WALL_FILE, &wall);
    ks_store_path(r->x->store, r->key, KS_JOURNAL_FILE, &journal);
    if (r->x->unit->settings->fresh) {
        KS_TRY(ks_file_write_atomic(ks_str_cstr(&journal), "", 0, 0644, err));
        KS_TRY(ks_file_write_atomic(r->place.conversation, "", 0, 0600, err));
        ks_journal_clock_write(ks_str_cstr(&journal), 0);
    }
    ks_journal_read(ks_str_cstr(&journal), &r->journal);
    if (r->journal.n)
        ks_say_progress("resuming: %zu verdict%s in the journal of an earlier run", r->journal.n, ks_plural_s(r->journal.n));
    return ks_trace_open(ks_str_cstr(&trace), ks_str_cstr(&wall), r->x->unit->settings->trace, ks_path_base(r->x->unit->path),
                         &r->trace, err);
}

static void trace_start(struct running *r)
{
    struct ks_json *j = ks_json_object();
    char source[65];
    ks_hash_hex(r->x->unit->source, r->x->unit->source_len, source);
    ks_json_set_str(j, "key", r->key);
    ks_json_set_str(j, "source", source);
    ks_json_set_str(j, "entry", r->contract->entry);
    ks_json_set(j, "contract", ks_json_copy(r->contract_json));
    ks_json_set(j, "device", ks_json_repeatable(r->judge.device));
    ks_json_set_str(j, "agent", r->agent->name);
    ks_trace_event(r->trace, "start", j);
    struct ks_json *profile = ks_json_object();
    ks_json_set(profile, "profile", ks_json_repeatable(r->judge.profile));
    ks_trace_event(r->trace, "profile", profile);
}

static enum ks_code search(struct running *r, struct ks_err *err)
{
    const struct ks_entry_context *x = r->x;
    enum ks_ask asks = x->unit->settings->ask.who;
    if (asks == KS_ASK_HUMAN && !r->human)
        asks = KS_ASK_OFF;
    KS_AUTO_STR struct ks_str journal = KS_STR_INIT;
    ks_store_path(x->store, r->key, KS_JOURNAL_FILE, &journal);
    r->search = (struct ks_search){.unit = x->unit,
                                   .contract = r->contract,
                                   .contract_json = r->contract_json,
                                   .parse = x->parse,
                                   .session = r->judge.session,
                                   .crew = r->judge.crew,
                                   .agent = r->agent,
                                   .asks = asks,
                                   .bank = r->bank.n ? &r->bank : NULL,
                                   .human = r->human,
                                   .memory = r->memory,
                                   .trace = r->trace,
                                   .journal = &r->journal,
                                   .journal_path = ks_str_cstr(&journal),
                                   .profile = r->judge.profile,
                                   .arch = x->device->arch,
                                   .family = ks_search_family(x->facts),
                                   .facts = x->facts,
                                   .budget = x->unit->settings->budget};
    ks_agent_command_attach(r->agent, r->trace, &r->search);
    enum ks_code code = ks_search_run(&r->search, &r->result, err);
    ks_agent_command_end(r->agent);
    if (code != KS_OK)
        return code;
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "stopped_by", r->result.stopped_by);
    ks_json_set_i64(j, "trials", r->result.n_trials);
    ks_json_set_i64(j, "accepted", r->result.n_accepted);
    ks_trace_event(r->trace, "end", j);
    return KS_OK;
}

static bool has_certificate(const struct running *r)
{
    KS_AUTO_JSON struct ks_json *certificate = NULL;
    struct ks_err err;
    return ks_store_certificate(r->x->store, r->key, &certificate, &err) == KS_OK;
}

/* Adds what this search has learnt to what others have written in the meantime. */
static enum ks_code keep_memory(struct running *r, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_FD int lock_fd = -1;
    struct ks_memory *all = NULL;
    if (!r->memory)
        return KS_OK;
    ks_path_join(&path, r->x->store->dir, "memory.json");
    KS_TRY(ks_store_lock(r->x->store, "memory", NULL, NULL, &lock_fd, err));
    KS_TRY(ks_memory_load(ks_str_cstr(&path), &all, err));
    ks_search_remembered(&r->search, all);
    enum ks_code code = ks_memory_save(all, ks_str_cstr(&path), err);
    ks_memory_free(all);
    return code;
}

static enum ks_code keep_finding(struct running *r, struct ks_err *err)
{
    struct ks_finding f = {.unit = r->x->unit,
                           .key = r->key,
                           .contract = r->contract,
                           .contract_json = r->contract_json,
                           .device = r->judge.device,
                           .result = &r->result,
                           .budget = r->search.budget,
                           .agent = r->x->unit->settings->agent};
    /* how the builds went is known by now */
    struct ks_json *device = r->judge.crew ? ks_crew_device_json(r->judge.crew) : ks_session_device_json(r->judge.session);
    if (device) {
        ks_json_free(r->judge.device);
        f.device = r->judge.device = device;
    }
    struct ks_trace *trace = ks_steal(r->trace);
    if (!r->result.confirm && has_certificate(r)) { /* its files stay as they are */
        ks_trace_abandon(trace);
        return KS_OK;
    }
    KS_TRY(ks_trace_close(trace, f.trace_hash, err));
    KS_TRY(keep_memory(r, err));
    return ks_finding_store(r->x->store, &f, err);
}

static void running_release(struct running *r)
{
    ks_search_release(&r->search);
    ks_entry_session_close(&r->judge);
    if (r->agent)
        r->agent->free(r->agent);
    ks_agent_place_release(&r->place);
    ks_memory_free(r->memory);
    ks_human_free(r->human);
    if (r->trace)
        ks_trace_abandon(r->trace);
    ks_journal_release(&r->journal);
    if (r->lock_fd >= 0)
        close(r->lock_fd);
}

static void say_waiting(void)
{
    ks_say_progress("waiting: another kscc is searching for the same thing");
}

/* One session, or, for an agent that can be asked for several texts at once, one for each device. */
static enum ks_code open_judge(struct running *r, struct ks_err *err)
{
    const struct ks_device_chosen *d = r->x->device;
    int64_t asked = r->x->unit->settings->n_devices, n = asked ? asked : d->count;
    if (d->kind == KS_DEVICE_CUDA && n > d->count)
        n = d->count;
    if (n > KS_MAX_DEVICES)
        n = KS_MAX_DEVICES;
    if (n > 1 && !r->agent->several)
        n = 1;
    if (asked > n)
        ks_say_progress("%lld device%s used, not %lld: %s", (long long)n, n == 1 ? " is" : "s are", (long long)asked,
                        !r->agent->several ? "this agent wants a verdict before it goes on" : "there are no more");
    if (n < 2)
        return ks_entry_session_open(r->x, r->contract, r->signature, r->key, &r->judge, err);
    KS_TRY(
        ks_crew_open(r->x, r->contract, r->signature, r->key, (int)n, &r->judge.crew, &r->judge.device, &r->judge.profile, err));
    ks_say_progress("%d devices try candidates at once", ks_crew_size(r->judge.crew));
    return KS_OK;
}

/* A remark, so that no build takes the object for the end of the search (again.c). */
static void say_resume(const struct running *r)
{
    const char *rest = r->x->store->temporary ? "nothing is kept, because there is no store that can be written"
                                              : "the same command goes on from here, and --kscc-fresh begins anew";
    ks_say(KS_SEV_REMARK, "%s: %s: interrupted by SIG%s after %lld trial%s, with the best text so far; %s [kscc-interrupted]",
           r->x->unit->path, r->contract->entry, ks_stop_signal_name(), (long long)r->result.n_trials,
           ks_plural_s(r->result.n_trials), rest);
}

/* Opens everything, searches, keeps what was found.  False: something failed, and it has been said. */
static bool run_search(struct running *r)
{
    struct ks_err err;
    KS_AUTO_STR struct ks_str title = KS_STR_INIT;
    ks_str_addf(&title, "%s: entry %s on %s%s", r->x->unit->path, r->contract->entry, r->x->device->label,
                r->x->device->kind == KS_DEVICE_EMULATED ? " (times are modelled)" : "");
    if (r->x->unit->settings->ask.who != KS_ASK_HUMAN) /* who is asked at the terminal reads and writes there */
        ks_say_block(ks_str_cstr(&title));
    if (!ks_live_on()) /* the block is headed by it */
        ks_say_result("%s", ks_str_cstr(&title));
    ks_live_stage("the original: building, running, timing");
    enum ks_code code = open_agent(r, &err);
    if (code == KS_OK)
        code = open_bank(r, &err);
    if (code == KS_OK)
        code = open_judge(r, &err);
    if (code == KS_OK)
        code = open_trace(r, &err);
    if (code == KS_OK) {
        trace_start(r);
        code = search(r, &err);
    }
    ks_live_end();
    if (code == KS_OK)
        code = keep_finding(r, &err);
    if (code == KS_OK && ks_streq(r->result.stopped_by, "signal"))
        say_resume(r);
    if (code == KS_OK)
        return true;
    ks_wrap(&err, "entry '%s'", r->contract->entry);
    ks_err_place(&err, r->contract->path, r->contract->entry_line, r->contract->entry_col);
    ks_say_instead(&err, has_certificate(r) ? "emitting what an earlier search proved" : KS_KEEP_BASELINE);
    return false;
}

static void say_no_gain(const struct ks_entry_context *x, const struct ks_contract *contract, const char *key, const char *before)
{
    struct ks_diags d;
    KS_AUTO_STR struct ks_str trials = KS_STR_INIT;
    ks_diags_init(&d);
    ks_report_trials(x->store, key, &trials);
    ks_diags_add(&d, KS_SEV_REMARK, contract->path, contract->entry_line, contract->entry_col, (uint32_t)strlen(contract->entry),
                 "gate", "no candidate of '%s' passed the gate%s (%s), %s", contract->entry, before, ks_str_cstr(&trials),
                 KS_KEEP_BASELINE);
    bool in_source = strcmp(contract->path, x->unit->path) == 0;
    ks_say_diags(&d, in_source ? x->unit->source : NULL, in_source ? x->unit->source_len : 0);
    ks_diags_release(&d);
}

/* ---- one entry ------------------------------------------------------------------------------------------------------ */

/* The certificate once more, for what it says about the judged object.  False: it has been said why not. */
static bool fill_emission(const struct ks_entry_context *x, const struct ks_signature *sig, const struct ks_json *contract,
                          const char *key, struct ks_emission *ret, const struct ks_entry *entry)
{
    struct ks_arena *a = x->unit->arena;
    struct ks_err err;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *certificate = NULL;
    if (ks_store_certificate_of(x->store, key, x->unit->source, x->unit->source_len, &certificate, &err) != KS_OK) {
        ks_say_instead(&err, KS_KEEP_BASELINE);
        return false;
    }
    const struct ks_json *confirmation = ks_json_get(certificate, "confirmation");
    const char *judged = ks_json_get_str(confirmation, KS_JUDGED_CODE, ""),
               *unusual = ks_json_get_str(confirmation, "needs_approval", NULL);
    if (unusual && ks_approval_check(x->store, key, x->allowed_signers, &err) != KS_OK) {
        if (x->store->temporary)
            ks_say(
                KS_SEV_REMARK,
                "%s: what was found for '%s' needs approval: %s; it is not kept, because there is no store that can be written "
                "(--kscc-dir=DIR names one), %s [kscc-approval]",
                x->unit->path, sig->entry, unusual, KS_KEEP_BASELINE);
        else
            ks_say(KS_SEV_REMARK,
                   "%s: certificate %.12s waits for approval: %s; look at it and run 'kscc approve %.12s' there, then "
                   "compile again, %s [kscc-approval]",
                   x->unit->path, key, unusual, key, KS_KEEP_BASELINE);
        return false;
    }
    struct ks_signature *copy = KS_ARENA_NEW(a, struct ks_signature);
    *copy = *sig;
    ks_store_path(x->store, key, KS_CANDIDATE_FILE, &path);
    *ret = (struct ks_emission){.signature = copy,
                                .contract = contract,
                                .candidate_path = ks_arena_strdup(a, ks_str_cstr(&path)),
                                .candidate_is_kept = !x->store->temporary,
                                .judged = ks_arena_strdup(a, judged),
                                .key = ks_arena_strdup(a, key),
                                .arch = x->device->arch};
    if (ks_inner_asks(x->facts, entry, sig)) {
        struct ks_inner *inner = KS_ARENA_NEW(a, struct ks_inner);
        *inner = (struct ks_inner){x->facts, entry, copy, ks_arena_printf(a, "__kscc_try_%.8s", key)};
        ret->inner = inner;
    }
    return true;
}

static enum ks_known look_up(const struct ks_entry_context *x, const struct running *r)
{
    enum ks_known known = ks_known_look_up(x, r->key, r->contract->entry, r->contract_json);
    if (known == KS_KNOWN_NO_GAIN)
        say_no_gain(x, r->contract, r->key, " in an earlier search (--kscc-fresh searches again)");
    return known;
}

/* True: there is a certificate that may be emitted; *ret_where: what to read it by. */
static bool find_certificate(struct running *r, struct ks_entry_context *ret_where)
{
    const struct ks_entry_context *x = r->x;
    enum ks_known known = KS_KNOWN_NOTHING;
    *ret_where = *x;
    if (x->shared) {
        ret_where->store = x->shared;
        if (ks_known_certificate(ret_where, r->key)) {
            ks_stats_count(KS_STAT_HITS);
            return true;
        }
        *ret_where = *x;
    }
    if (x->read_only) {
        ret_where->store = x->read_only;
        known = look_up(ret_where, r);
    }
    if (known == KS_KNOWN_NOTHING) {
        *ret_where = *x;
        known = look_up(x, r);
    }
    struct ks_err err;
    if (known == KS_KNOWN_NOTHING && ks_store_lock(x->store, r->key, ks_stop_asked, say_waiting, &r->lock_fd, &err) != KS_OK) {
        ks_say_instead(&err, KS_KEEP_BASELINE);
        return false;
    }
    if (known == KS_KNOWN_NOTHING && !x->unit->settings->fresh) /* somebody may have found it while we waited */
        known = look_up(x, r);
    if (known != KS_KNOWN_NOTHING) {
        ks_stats_count(known == KS_KNOWN_CERTIFICATE ? KS_STAT_HITS
                       : known == KS_KNOWN_NO_GAIN   ? KS_STAT_KNOWN_NO_GAIN
                                                     : KS_STAT_NOT_ALLOWED);
        return known == KS_KNOWN_CERTIFICATE;
    }
    if (!x->unit->settings->fresh)
        ks_known_say_stale(x, r->contract->entry, r->contract_json);
    ks_stats_count(KS_STAT_AGENT_RUNS);
    bool ran = run_search(r);
    ks_stats_count(!ran ? KS_STAT_AGENT_FAILED : r->result.confirm ? KS_STAT_GATE_PASSED : KS_STAT_NO_GAIN);
    if (!ran || !r->result.confirm) {
        if (ks_known_older(x, r->key))
            return true;
        if (ran)
            say_no_gain(x, r->contract, r->key, "");
        return false;
    }
    KS_AUTO_STR struct ks_str line = KS_STR_INIT, report = KS_STR_INIT;
    ks_trial_speedup(r->result.confirm, &line);
    ks_store_path(x->store, r->key, KS_REPORT_FILE, &report);
    ks_say_result("gate passed: %s: %s", r->contract->entry, ks_str_cstr(&line));
    if (!x->store->temporary) /* else it is deleted with the store */
        ks_say_result("report: %s", ks_str_cstr(&report));
    return true;
}

/* ---- the whole ------------------------------------------------------------------------------------------------------ */

bool ks_entry_optimise(const struct ks_entry_context *x, const struct ks_contract *contract, struct ks_emission *ret)
{
    struct ks_signature signature;
    char key[65];
    ks_stats_count(KS_STAT_ENTRIES);
    if (!ks_entry_bind(x, contract, KS_KEEP_BASELINE, &signature)) {
        ks_stats_count(KS_STAT_MISFIT);
        return false;
    }
    struct ks_json *contract_json = ks_contract_to_json(contract);
    struct ks_entry_context here = *x;
    here.device = ks_proof_device(x, contract->entry, contract_json);
    x = &here;
    ks_entry_key(x, contract_json, key);
    struct running r = {
        .x = x, .contract = contract, .signature = &signature, .contract_json = contract_json, .key = key, .lock_fd = -1};
    struct ks_entry_context where;
    bool found = find_certificate(&r, &where);
    running_release(&r);
    found = found && fill_emission(&where, &signature, contract_json, key, ret,
                                   ks_facts_entry(x->facts, contract->entry, NULL)); /* hands contract_json over */
    if (!found)
        ks_json_free(contract_json);
    return found;
}
