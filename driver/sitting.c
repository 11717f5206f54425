#include "driver/sitting.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"
#include "driver/certificate.h"
#include "driver/paths.h"
#include "driver/say.h"
#include "driver/search_state.h"
#include "driver/stop.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#define SITTING_FILE "sitting.json"
#define LOG_FILE     "log.jsonl"
#define MEMORY_FILE  "memory.json"
#define NO_LIMIT     1000000 /* trials: the operator decides */

void ks_sitting_path(const struct ks_sitting *s, const char *name, struct ks_str *out)
{
    ks_path_join(out, s->dir, name);
}

/* ---- the folder ----------------------------------------------------------------------------------------------------- */

static void say_waiting(void)
{
    ks_say_progress("waiting: another kscc is at work on this file");
}

static enum ks_code find_folder(struct ks_sitting *s, const char *path, const char *entry, struct ks_err *err)
{
    char real[PATH_MAX], hash[65];
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, folder = KS_STR_INIT;
    ks_path_dir(&folder, path); /* the name stays as it is called: it is part of the content key */
    if (!ks_file_exists(path) || !realpath(ks_str_cstr(&folder), real))
        return ks_fail_errno(err, KS_ERR_NOT_FOUND, "cannot find '%s'", path);
    ks_str_addf(&text, "%s/%s\n%s", real, ks_path_base(path), entry ? entry : "");
    ks_hash_hex(ks_str_cstr(&text), text.len, hash);
    ks_str_clear(&text);
    ks_str_addf(&text, "sitting-%.16s", hash);
    KS_TRY(ks_store_lock(&s->o->store, ks_str_cstr(&text), ks_stop_asked, say_waiting, &s->lock_fd, err));
    ks_str_clear(&text);
    ks_str_addf(&text, "%s/sittings/%.16s", s->o->store.dir, hash);
    s->dir = ks_str_detach(&text, NULL);
    return KS_OK;
}

static void original_path(const struct ks_sitting *s, const char *unit, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str name = KS_STR_INIT;
    ks_str_addf(&name, "original/%s", ks_path_base(unit));
    ks_sitting_path(s, ks_str_cstr(&name), out);
}

/* Keeps the original and what is known about questions; sitting.json comes when the rest is read. */
static enum ks_code begin(struct ks_sitting *s, const char *unit, const char *baseline, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, path = KS_STR_INIT, memory = KS_STR_INIT, folder = KS_STR_INIT;
    struct ks_err none;
    s->began = true;
    if (ks_file_exists(s->dir))
        KS_TRY(ks_dir_remove(s->dir, err));
    ks_sitting_path(s, "original", &folder);
    KS_TRY(ks_dir_make(ks_str_cstr(&folder), err));
    KS_TRY(ks_file_read(baseline ? baseline : unit, KS_MAX_SOURCE_BYTES, &text, err));
    original_path(s, unit, &path);
    KS_TRY(ks_file_write_atomic(ks_str_cstr(&path), ks_str_cstr(&text), text.len, 0644, err));
    ks_path_join(&memory, s->o->store.dir, MEMORY_FILE);
    ks_sitting_path(s, MEMORY_FILE, &path);
    enum ks_code copied = ks_file_copy(ks_str_cstr(&memory), ks_str_cstr(&path), &none);
    (void)copied; /* there may be none yet */
    return KS_OK;
}

static enum ks_code write_sitting(const struct ks_sitting *s, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, path = KS_STR_INIT;
    char real[PATH_MAX];
    ks_json_set_str(j, "path", realpath(s->o->unit.path, real) ? real : s->o->unit.path);
    ks_json_set_str(j, "entry", s->contract->entry);
    ks_json_set_str(j, "key", s->key);
    ks_json_set_str(j, "device", s->o->device.label);
    ks_json_print_pretty(j, &text);
    ks_sitting_path(s, SITTING_FILE, &path);
    return ks_file_write_atomic(ks_str_cstr(&path), ks_str_cstr(&text), text.len, 0644, err);
}

/* The baseline must stay what it was, or verdicts would not be comparable. */
static enum ks_code check_key(const struct ks_sitting *s, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *j = NULL;
    ks_sitting_path(s, SITTING_FILE, &path);
    KS_TRY(ks_json_read_file(ks_str_cstr(&path), &j, err));
    if (ks_streq(ks_json_get_str(j, "key", NULL), s->key))
        return KS_OK;
    return ks_fail(
        err, KS_ERR_MISMATCH,
        "the sitting over '%s' began with other flags, another toolkit, contract or device (%s), or another version of an "
        "included file; --restart begins a new one",
        s->o->unit.path, ks_json_get_str(j, "device", "?"));
}

static enum ks_code read_folder(struct ks_sitting *s, const char *unit, const struct ks_sitting_options *opt, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_TRY(find_folder(s, unit, opt->entry, err));
    ks_sitting_path(s, SITTING_FILE, &path);
    if (opt->restart || !ks_file_exists(ks_str_cstr(&path)))
        KS_TRY(begin(s, unit, opt->baseline, err));
    else if (opt->baseline)
        return ks_fail(err, KS_ERR_USAGE, "the sitting over '%s' has its baseline already; --restart begins a new one", unit);
    original_path(s, unit, &path);
    return ks_opened_read(s->o, ks_str_cstr(&path), err);
}

static enum ks_code open_bank(struct ks_sitting *s, struct ks_err *err)
{
    const struct ks_settings *settings = &s->o->settings;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    if (settings->ask.who == KS_ASK_OFF || settings->ask.who == KS_ASK_HUMAN)
        return KS_OK;
    ks_paths_bank(&path);
    return ks_bank_load(settings->bank ? settings->bank : ks_str_cstr(&path), &s->o->arena, &s->bank, err);
}

static enum ks_code sit_down(struct ks_sitting *s, const struct ks_sitting_options *opt, struct ks_err *err)
{
    struct ks_opened *o = s->o;
    KS_TRY(ks_opened_store(o, err));
    KS_TRY(read_folder(s, o->cmdline.inputs.data[0].path, opt, err));
    KS_TRY(ks_opened_contract(o, opt->entry, &s->contract, err));
    s->x = ks_opened_context(o);
    if (!ks_entry_bind(&s->x, s->contract, "nothing is tried", &s->signature))
        return ks_fail(err, KS_ERR_MISMATCH, "the contract of '%s' does not fit", s->contract->entry);
    s->contract_json = ks_contract_to_json(s->contract);
    ks_entry_key(&s->x, s->contract_json, s->key);
    if (!s->began)
        KS_TRY(check_key(s, err));
    KS_TRY(open_bank(s, err));
    ks_say_progress("%s: entry %s on %s%s", o->unit.path, s->contract->entry, o->device.label,
                    o->device.kind == KS_DEVICE_EMULATED ? " (times are modelled)" : "");
    KS_TRY(ks_entry_session_open(&s->x, s->contract, &s->signature, s->key, &s->judge, err));
    return s->began ? write_sitting(s, err) : KS_OK;
}

/* One that came to nothing leaves no folder. */
enum ks_code ks_sitting_open(struct ks_opened *o, const struct ks_sitting_options *opt, struct ks_sitting *ret,
                             struct ks_err *err)
{
    *ret = (struct ks_sitting){.o = o, .lock_fd = -1, .judge = {.work = {.lock_fd = -1}}};
    enum ks_code code = sit_down(ret, opt, err);
    struct ks_err ignored;
    enum ks_code removed = code != KS_OK && ret->began ? ks_dir_remove(ret->dir, &ignored) : KS_OK;
    (void)removed;
    return code;
}

void ks_sitting_close(struct ks_sitting *s)
{
    ks_entry_session_close(&s->judge);
    ks_json_free(s->contract_json);
    free(s->dir);
    if (s->lock_fd >= 0)
        close(s->lock_fd);
    *s = (struct ks_sitting){.lock_fd = -1, .judge = {.work = {.lock_fd = -1}}};
}

/* ---- running -------------------------------------------------------------------------------------------------------- */

/* One pass over log and port. */
struct pass {
    struct ks_agent *agent;
    struct ks_trace *trace;
    struct ks_journal journal;
    struct ks_memory *memory;
    struct ks_search search;
    struct ks_search_result result;
    char trace_hash[65];
};

static void pass_release(struct pass *p)
{
    ks_search_release(&p->search);
    if (p->agent)
        p->agent->free(p->agent);
    if (p->trace)
        ks_trace_abandon(p->trace);
    ks_journal_release(&p->journal);
    ks_memory_free(p->memory);
}

static void trace_start(const struct ks_sitting *s, struct pass *p)
{
    char source[65];
    struct ks_json *j = ks_json_object(), *profile = ks_json_object();
    ks_hash_hex(s->o->unit.source, s->o->unit.source_len, source);
    ks_json_set_str(j, "key", s->key);
    ks_json_set_str(j, "source", source);
    ks_json_set_str(j, "entry", s->contract->entry);
    ks_json_set(j, "contract", ks_json_copy(s->contract_json));
    ks_json_set(j, "device", ks_json_repeatable(s->judge.device));
    ks_json_set_str(j, "agent", p->agent->name);
    ks_trace_event(p->trace, "start", j);
    ks_json_set(profile, "profile", ks_json_repeatable(s->judge.profile));
    ks_trace_event(p->trace, "profile", profile);
}

/* trace_path, wall_path: where this pass writes its trace. */
static enum ks_code pass_run(struct ks_sitting *s, struct pass *p, const char *name, const struct ks_operator_port *port,
                             const char *trace_path, const char *wall_path, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str log = KS_STR_INIT, journal = KS_STR_INIT, memory = KS_STR_INIT;
    const struct ks_settings *settings = &s->o->settings;
    ks_sitting_path(s, LOG_FILE, &log);
    ks_sitting_path(s, KS_JOURNAL_FILE, &journal);
    ks_sitting_path(s, MEMORY_FILE, &memory);
    struct ks_operator_options opt = {
        .name = name, .unit_path = s->o->unit.path, .log_path = ks_str_cstr(&log), .port = *port, .quiet = settings->quiet};
    KS_TRY(ks_agent_operator_new(&opt, &p->agent, err));
    if (s->bank.n)
        KS_TRY(ks_memory_load(ks_str_cstr(&memory), &p->memory, err));
    ks_journal_read(ks_str_cstr(&journal), &p->journal);
    KS_TRY(ks_trace_open(trace_path, wall_path, settings->trace, ks_path_base(s->o->unit.path), &p->trace, err));
    trace_start(s, p);
    p->search = (struct ks_search){.unit = &s->o->unit,
                                   .contract = s->contract,
                                   .contract_json = s->contract_json,
                                   .parse = &s->o->parse,
                                   .session = s->judge.session,
                                   .agent = p->agent,
                                   /* who sits here asks without our help */
                                   .asks = settings->ask.who == KS_ASK_HUMAN ? KS_ASK_OFF : settings->ask.who,
                                   .bank = s->bank.n ? &s->bank : NULL,
                                   .memory = p->memory,
                                   .trace = p->trace,
                                   .journal = &p->journal,
                                   .journal_path = ks_str_cstr(&journal),
                                   .profile = s->judge.profile,
                                   .arch = s->o->device.arch,
                                   .family = ks_search_family(s->o->facts),
                                   .facts = s->o->facts,
                                   .budget = settings->budget,
                                   .open_ended = true};
    if (p->search.budget.trials == 0)
        p->search.budget.trials = NO_LIMIT;
    ks_agent_operator_attach(p->agent, p->trace, &p->search);
    s->search = &p->search;
    enum ks_code code = ks_search_run(&p->search, &p->result, err);
    s->search = NULL;
    const char *why = code != KS_OK ? err->message : p->result.stopped_by;
    KS_AUTO_STR struct ks_str refusal = KS_STR_INIT;
    ks_str_addf(&refusal, "the trial did not come to an end: %s", why);
    ks_agent_operator_end(p->agent, ks_str_cstr(&refusal));
    p->search.journal_path = NULL; /* ends with this function */
    return code;
}

enum ks_code ks_sitting_run(struct ks_sitting *s, const char *name, const struct ks_operator_port *port, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str trace = KS_STR_INIT, wall = KS_STR_INIT;
    struct pass p = {0};
    ks_sitting_path(s, KS_TRACE_FILE, &trace);
    ks_sitting_path(s, KS_WALL_FILE, &wall);
    enum ks_code code = pass_run(s, &p, name, port, ks_str_cstr(&trace), ks_str_cstr(&wall), err);
    struct ks_trace *t = ks_steal(p.trace);
    if (t && code == KS_OK)
        code = ks_trace_close(t, p.trace_hash, err);
    else if (t)
        ks_trace_abandon(t);
    pass_release(&p);
    return code;
}

/* ---- the end -------------------------------------------------------------------------------------------------------- */

static bool no_more(void *ctx, char **ret_tool, struct ks_json **ret_arguments)
{
    (void)ctx;
    (void)ret_tool;
    (void)ret_arguments;
    return false;
}

static void nobody(void *ctx, const struct ks_json *content, bool refused)
{
    (void)ctx;
    (void)content;
    (void)refused;
}

/* What questions led to, for everybody's memory. */
static enum ks_code keep_memory(const struct ks_sitting *s, const struct pass *p, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_FD int lock_fd = -1;
    struct ks_memory *all = NULL;
    if (!p->memory)
        return KS_OK;
    ks_path_join(&path, s->o->store.dir, MEMORY_FILE);
    KS_TRY(ks_store_lock(&s->o->store, "memory", NULL, NULL, &lock_fd, err));
    KS_TRY(ks_memory_load(ks_str_cstr(&path), &all, err));
    ks_search_remembered(&p->search, all);
    enum ks_code code = ks_memory_save(all, ks_str_cstr(&path), err);
    ks_memory_free(all);
    return code;
}

static enum ks_code store_finding(struct ks_sitting *s, struct pass *p, const char *name, struct ks_err *err)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "stopped_by", p->result.stopped_by);
    ks_json_set_i64(j, "trials", p->result.n_trials);
    ks_json_set_i64(j, "accepted", p->result.n_accepted);
    ks_trace_event(p->trace, "end", j);
    ks_json_free(s->judge.device); /* how the builds went is known by now */
    s->judge.device = ks_session_device_json(s->judge.session);
    struct ks_finding f = {.unit = &s->o->unit,
                           .key = s->key,
                           .contract = s->contract,
                           .contract_json = s->contract_json,
                           .device = s->judge.device,
                           .result = &p->result,
                           .budget = p->search.budget,
                           .agent = name};
    KS_TRY(ks_trace_close(ks_steal(p->trace), f.trace_hash, err));
    KS_TRY(keep_memory(s, p, err));
    return ks_finding_store(&s->o->store, &f, err);
}

static enum ks_code finish(struct ks_sitting *s, struct pass *p, const char *name, bool *ret_confirmed, char **ret_line,
                           struct ks_err *err)
{
    const struct ks_operator_port port = {.next = no_more, .answer = nobody};
    KS_AUTO_STR struct ks_str trace = KS_STR_INIT, wall = KS_STR_INIT, journal = KS_STR_INIT, line = KS_STR_INIT;
    ks_store_path(&s->o->store, s->key, KS_TRACE_FILE, &trace);
    ks_store_path(&s->o->store, s->key, KS_WALL_FILE, &wall);
    ks_sitting_path(s, KS_JOURNAL_FILE, &journal);
    KS_TRY(ks_store_make(&s->o->store, s->key, err));
    KS_TRY(pass_run(s, p, name, &port, ks_str_cstr(&trace), ks_str_cstr(&wall), err));
    p->search.journal_path = ks_str_cstr(&journal);
    KS_TRY(ks_search_confirm(&p->search, &p->result, err));
    if (!p->result.confirm) {
        ks_str_addf(&line, "nothing to keep: %lld trial%s, %lld accepted, none confirmed", (long long)p->result.n_trials,
                    ks_plural_s(p->result.n_trials), (long long)p->result.n_accepted);
        *ret_line = ks_str_detach(&line, NULL);
        *ret_confirmed = false;
        return KS_OK;
    }
    KS_TRY(store_finding(s, p, name, err));
    ks_str_addf(&line, "certificate %.12s: %s, ", s->key, s->contract->entry);
    ks_trial_speedup(p->result.confirm, &line);
    *ret_line = ks_str_detach(&line, NULL);
    *ret_confirmed = true;
    return KS_OK;
}

enum ks_code ks_sitting_finish(struct ks_sitting *s, const char *name, bool *ret_confirmed, char **ret_line, struct ks_err *err)
{
    KS_AUTO_FD int lock_fd = -1;
    struct pass p = {0};
    KS_TRY(ks_store_lock(&s->o->store, s->key, ks_stop_asked, say_waiting, &lock_fd, err));
    enum ks_code code = finish(s, &p, name, ret_confirmed, ret_line, err);
    pass_release(&p);
    return code;
}
