/* Life of a session: build and examine the baseline, then judge candidates one by one. */
#include "harness/ptx_facts.h"
#include "harness/roofline.h"
#include "harness/session_impl.h"

#include "harness/cgroup.h"
#include "harness/confine.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/process.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_TRIAL_TIMEOUT_MS 120000

static size_t memory_present(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* The caller's strings need not outlive the call. */
static void options_copy(struct ks_session *s, const struct ks_session_options *opt)
{
    struct ks_arena *a = &s->arena;
    s->opt = *opt;
    s->opt.confined_to = NULL; /* the original is the user's own */
    s->opt.unit_path = ks_arena_strdup(a, opt->unit_path);
    s->opt.source = ks_arena_strndup(a, opt->source, opt->source_len);
    size_t n = 0;
    while (opt->nvcc_argv[n])
        n++;
    char **argv = KS_ARENA_ARRAY(a, char *, n + 1);
    for (size_t i = 0; i < n; i++)
        argv[i] = ks_arena_strdup(a, opt->nvcc_argv[i]);
    s->opt.nvcc_argv = argv;
    s->opt.recording = opt->recording ? ks_arena_strdup(a, opt->recording) : NULL;
    s->opt.arch = ks_arena_strdup(a, opt->arch);
    s->opt.work_dir = ks_arena_strdup(a, opt->work_dir);
    s->opt.bin_dir = ks_arena_strdup(a, opt->bin_dir);
    s->opt.health_dir = opt->health_dir ? ks_arena_strdup(a, opt->health_dir) : NULL;
    if (s->opt.trial_timeout_ms <= 0)
        s->opt.trial_timeout_ms = DEFAULT_TRIAL_TIMEOUT_MS;
    if (s->opt.memory_limit_bytes == 0)
        s->opt.memory_limit_bytes = memory_present() / 2;
    memcpy(s->secret, opt->secret, sizeof s->secret);
    s->opt.secret = s->secret;
    s->c = opt->contract;
}

static enum ks_code programs_find(struct ks_session *s, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_path_join(&path, s->opt.bin_dir, "kscc-worker");
    s->worker_path = ks_arena_strdup(&s->arena, path.data);
    if (!ks_file_is_executable(s->worker_path))
        return ks_fail(err, KS_ERR_NOT_FOUND, "find the worker '%s'", s->worker_path);
    if (s->opt.device != KS_DEVICE_EMULATED)
        return KS_OK;
    static const char *const places[] = {"../lib/emulated/libcudart.so.13", "../lib/kscc/emulated/libcudart.so.13"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        ks_path_join(&path, s->opt.bin_dir, places[i]);
        if (ks_file_exists(path.data)) {
            s->runtime_path = ks_arena_strdup(&s->arena, path.data);
            return KS_OK;
        }
    }
    return ks_fail(err, KS_ERR_NOT_FOUND, "find the emulated device's library '%s'", path.data);
}

/* Shared memory and device arena must hold the largest call. */
static enum ks_code sizes_find(struct ks_session *s, struct ks_err *err)
{
    size_t limit = s->opt.memory_limit_bytes;
    s->shm_bytes = KS_WIRE_DATA_OFF + ((size_t)1 << 20);
    s->arena_bytes = (size_t)1 << 20;
    for (size_t i = 0; i < s->c->n_times; i++) {
        struct ks_layout l;
        KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
        ks_shape_print(s->c, &s->c->times[i].shape, &shape);
        if (ks_layout_make(s, &s->c->times[i].shape, KS_SET_DECLARED, 0, &l, err) != KS_OK)
            return ks_wrap(err, "timing point %s", ks_str_cstr(&shape));
        if (s->opt.device == KS_DEVICE_EMULATED && l.data_bytes > limit)
            return ks_fail(err, KS_ERR_LIMIT, "timing point %s needs %zu MiB of buffers, the limit is %zu MiB",
                           ks_str_cstr(&shape), l.data_bytes >> 20, limit >> 20);
        s->shm_bytes = l.shm_bytes > s->shm_bytes ? l.shm_bytes : s->shm_bytes;
        s->arena_bytes = l.arena_bytes > s->arena_bytes ? l.arena_bytes : s->arena_bytes;
    }
    /* Fuzzed shapes stay below their own byte limit; red zones and page rounding come on top. */
    size_t fuzz = ((s->opt.device == KS_DEVICE_CUDA ? (size_t)16 << 20 : KS_LARGE_SHAPE_BYTES)) + s->c->n_buffers * (64u << 10) +
                  ((size_t)2 << 20);
    size_t spread = fuzz + s->c->n_buffers * KS_PLACE_BYTES;
    s->shm_bytes = s->shm_bytes > KS_WIRE_DATA_OFF + fuzz ? s->shm_bytes : KS_WIRE_DATA_OFF + fuzz;
    s->arena_bytes = s->arena_bytes > spread ? s->arena_bytes : spread;
    return KS_OK;
}

void ks_session_enter(struct ks_session *s, bool alone)
{
    int64_t start_ns = ks_clock_ns();
    if (s->opt.remote && s->opt.device == KS_DEVICE_CUDA)
        ks_remote_lock(s->opt.remote, alone ? 2 : 1);
    else if (alone)
        ks_device_lock_alone(&s->lock);
    else
        ks_device_lock_shared(&s->lock);
    s->waited_ns += ks_clock_ns() - start_ns;
}

void ks_session_leave(struct ks_session *s)
{
    if (s->opt.remote && s->opt.device == KS_DEVICE_CUDA)
        ks_remote_lock(s->opt.remote, 0);
    else
        ks_device_lock_leave(&s->lock);
}

void ks_trial_enter(struct ks_trial *t, bool alone)
{
    int64_t before_ns = t->s->waited_ns;
    ks_session_enter(t->s, alone);
    t->deadline_ns += t->s->waited_ns - before_ns;
}

/* The device in its own words, once the first worker has opened it. */
static enum ks_code device_describe(struct ks_session *s, struct ks_err *err)
{
    KS_TRY(ks_arm_start(s, &s->base, err));
    const char *text = ks_worker_device_text(s->base.worker);
    return ks_json_parse(text, strlen(text), "device description", &s->device, err);
}

static enum ks_code session_open(struct ks_session *s, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str log = KS_STR_INIT;
    KS_TRY(programs_find(s, err));
    ks_bindings_make(s);
    if (s->c->n_buffers > KS_MAX_PARAMS)
        return ks_fail(err, KS_ERR_LIMIT, "use a contract of %zu buffers (at most %d)", s->c->n_buffers, KS_MAX_PARAMS);
    if (s->c->oracle && !s->opt.signature->oracle)
        return ks_fail(err, KS_ERR_MISMATCH, "use the oracle '%s': its parameters are not known", s->c->oracle);
    KS_TRY(sizes_find(s, err));
    KS_TRY(ks_recorded_load(s, err));
    if (s->opt.remote) /* a host that is not there costs no compilation */
        KS_TRY(ks_remote_connect(s->opt.remote, err));
    if (ks_build(&s->opt, s->opt.source, s->opt.source_len, "baseline", 600000, &s->baseline, &log, err) != KS_OK)
        return ks_wrap(err, "the original does not build as a workload");
    if (!ks_object_symbol(&s->baseline->object, s->opt.signature->symbol))
        return ks_fail(err, KS_ERR_BUILD, "find the entry '%s' (symbol '%s') in the original's object: is it static or inline?",
                       s->c->entry, s->opt.signature->symbol);
    s->base.built = s->baseline;
    ks_constants_read(&s->baseline->object, &s->base_constants);
    KS_AUTO_STR struct ks_str deps = KS_STR_INIT;
    ks_str_addf(&deps, "%s.d", s->baseline->object_path);
    ks_confine_paths(&s->opt, deps.data, &s->confined_to);
    s->opt.confined_to = &s->confined_to;
    if (s->opt.device == KS_DEVICE_CUDA && !s->opt.remote)
        ks_device_lock_open(&s->lock);
    ks_session_enter(s, false);
    KS_TRY(device_describe(s, err));
    ks_session_leave(s);
    ks_standby_allow(s);
    KS_TRY(ks_cases_make(s, 0, s->cases, &s->n_cases, err));
    KS_TRY(ks_selftest(s, err));
    ks_capture_baseline(s);
    KS_TRY(ks_safety_baseline(s, err));
    KS_TRY(s->opt.device == KS_DEVICE_CUDA ? ks_perturb_baseline(s, err) : KS_OK);
    KS_TRY(ks_time_baseline(s, err));
    ks_session_enter(s, true);
    enum ks_code control = s->opt.device == KS_DEVICE_CUDA ? ks_time_control(s, err) : KS_OK;
    ks_place_opened(s, control, err);
    KS_TRY(control);
    ks_session_leave(s);
    return KS_OK;
}

static enum ks_code session_make(const struct ks_session_options *opt, struct ks_session **ret_session, struct ks_err *err)
{
    struct ks_session *s = ks_xcalloc(1, sizeof *s);
    s->lock.gate_fd = s->lock.lock_fd = -1;
    ks_arena_init(&s->arena);
    ks_args_init(&s->confined_to);
    ks_args_init(&s->known);
    options_copy(s, opt);
    ks_cgroup_sweep();
    enum ks_code code = session_open(s, err);
    if (s->opt.device == KS_DEVICE_EMULATED)
        ks_arm_stop(&s->base); /* all that it has to say is known */
    if (code != KS_OK) {
        ks_session_free(s);
        return code;
    }
    *ret_session = s;
    return KS_OK;
}

/* Between two trials nobody has a device that goes by trial. */
static void remote_rest(struct ks_session *s)
{
    if (!s->opt.remote)
        return;
    if (ks_remote_is_by_trial(s->opt.remote))
        ks_arm_stop(&s->base);
    ks_remote_rest(s->opt.remote);
}

enum ks_code ks_session_new(const struct ks_session_options *opt, struct ks_session **ret_session, struct ks_err *err)
{
    enum ks_code code = session_make(opt, ret_session, err);
    for (int breaks = 0; code == KS_ERR_DEVICE && opt->remote && ks_remote_lost(opt->remote); breaks++) {
        if (breaks == ks_remote_max_breaks(opt->remote) || !ks_remote_met(opt->remote))
            break;
        ks_place_lost(opt);
        KS_TRY(ks_remote_reconnect(opt->remote, err));
        code = session_make(opt, ret_session, err);
    }
    if (code == KS_OK && opt->remote)
        remote_rest(*ret_session);
    return code;
}

void ks_session_free(struct ks_session *s)
{
    if (!s)
        return;
    ks_grave_wait(s);
    ks_arm_stop(&s->base);
    ks_parked_drop(s);
    ks_standby_drop(s);
    ks_device_lock_close(&s->lock);
    ks_cases_release(s->cases, s->n_cases);
    for (size_t i = 0; i < s->n_builds; i++)
        ks_built_free(s->builds[i]);
    ks_built_free(s->baseline);
    ks_constants_release(&s->base_constants);
    ks_args_release(&s->confined_to);
    ks_args_release(&s->known);
    free(s->unconfined_why);
    ks_str_release(&s->walls_why);
    ks_json_free(s->base_counters);
    ks_json_free(s->base_findings);
    ks_json_free(s->device);
    ks_json_free(s->sandbox);
    ks_json_free(s->control);
    ks_arena_release(&s->arena);
    free(s);
}

static void build_failed(struct ks_trial *t, const struct ks_str *log, const struct ks_err *err)
{
    struct ks_json *details = ks_json_object();
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_addn(&text, ks_str_cstr(log), log->len < 8000 ? log->len : 8000);
    ks_json_set_str(details, "log", ks_str_cstr(&text));
    ks_gate_fail(t, KS_GATE_BUILD, details, "%s", err->message);
}

static void gate_run(struct ks_trial *t, enum ks_gate gate, void (*run)(struct ks_trial *))
{
    int64_t start_ns = ks_clock_ns();
    if (t->s->opt.on_gate)
        t->s->opt.on_gate(ks_gate_text(gate), t->confirm);
    run(t);
    t->v->gate_ns[gate] += ks_clock_ns() - start_ns;
}

static void perturb(struct ks_trial *t)
{
    bool passed = ks_perturb_check(t) && ks_capture_check(t); /* else it has said so; the sanitizers come last */
    (void)passed;
}

void ks_session_know(struct ks_session *s, const char *code_hash, const char *source_hash)
{
    if (strlen(code_hash) != 64 || strlen(source_hash) != 64)
        return;
    ks_args_add(&s->known, code_hash);
    ks_args_add(&s->known, source_hash);
}

void ks_session_on_code(struct ks_session *s, ks_code_asked_fn ask, void *ctx)
{
    s->ask_code = ask;
    s->ask_code_ctx = ctx;
}

static bool known_as(const struct ks_session *s, const char *code_hash, char ret_source_hash[65])
{
    for (size_t i = 0; i + 1 < s->known.n; i += 2)
        if (strcmp(s->known.v[i], code_hash) == 0) {
            memcpy(ret_source_hash, s->known.v[i + 1], 65);
            return true;
        }
    return false;
}

static bool known_to_others(struct ks_trial *t, const char *code_hash)
{
    struct ks_session *s = t->s;
    if (known_as(s, code_hash, t->v->same_as))
        return true;
    if (!s->ask_code)
        return false;
    int64_t start_ns = ks_clock_ns();
    bool known = s->ask_code(s->ask_code_ctx, code_hash, t->v->same_as);
    t->deadline_ns += ks_clock_ns() - start_ns;
    return known;
}

/* Not while others are timed: they would feel a context that goes away. */
static void arm_end(struct ks_trial *t)
{
    if (!t->arm.worker && t->s->n_parked == 0)
        return;
    ks_trial_enter(t, false);
    if (t->s->standby_allowed) { /* and the lock with it */
        ks_arm_bury(t->s, &t->arm);
        return;
    }
    ks_arm_stop(&t->arm);
    ks_session_leave(t->s);
}

static void judge(struct ks_trial *t, struct ks_build_job *job, const char *source, size_t len)
{
    struct ks_session *s = t->s;
    struct ks_built *b = NULL;
    KS_AUTO_STR struct ks_str interface = KS_STR_INIT, admission = KS_STR_INIT;
    ks_hash_hex(source, len, t->v->source_hash);
    if (ks_build_wait(job, &b) != KS_OK) {
        build_failed(t, &job->log, &job->err);
        return;
    }
    ks_gate_pass(t, KS_GATE_BUILD, NULL);
    t->arm.built = b;
    t->v->build_ns = b->build_ns;
    memcpy(t->v->object_hash, b->object_hash, sizeof t->v->object_hash);
    memcpy(t->v->code_hash, b->code_hash, sizeof t->v->code_hash);
    if (!t->confirm && known_to_others(t, b->code_hash))
        return;
    if (ks_admit_interface(s, b, &interface))
        ks_gate_pass(t, KS_GATE_INTERFACE, NULL);
    else
        ks_gate_fail(t, KS_GATE_INTERFACE, NULL, "%s", ks_str_cstr(&interface));
    if (ks_admit_object(s, b, source, len, &admission)) {
        struct ks_json *details = ks_json_object();
        if (!s->baseline->host_text)
            ks_json_set_str(details, "host_text", "not seen: the host compiler leaves no preprocessed text");
        if (s->sandbox)
            ks_json_set(details, "sandbox", ks_json_copy(s->sandbox));
        ks_gate_pass(t, KS_GATE_ADMISSION, details);
    } else {
        ks_gate_fail(t, KS_GATE_ADMISSION, NULL, "%s", ks_str_cstr(&admission));
    }
    if (ks_verdict_failed_gate(t->v) != KS_N_GATES) /* such an object is never linked or loaded */
        return;
    bool emulated = s->opt.device == KS_DEVICE_EMULATED;
    t->ran = true;
    gate_run(t, KS_GATE_NUMERICS, ks_gate_numerics);
    if (emulated && t->v->gates[KS_GATE_ADMISSION].state != KS_GATE_FAIL) /* why a wrong answer is wrong, if a check can tell */
        gate_run(t, KS_GATE_SAFETY, ks_gate_safety);
    gate_run(t, KS_GATE_RESOURCES, ks_gate_resources);
    if (!emulated && ks_verdict_failed_gate(t->v) == KS_N_GATES)
        gate_run(t, KS_GATE_SAFETY, perturb);
    if (ks_verdict_failed_gate(t->v) == KS_N_GATES) {
        ks_trial_enter(t, true);
        gate_run(t, KS_GATE_TIME, ks_gate_time);
        if (!t->arm.worker) /* it did not start again */
            ks_session_leave(s);
    }
    arm_end(t);
    if (!emulated && ks_verdict_failed_gate(t->v) == KS_N_GATES) /* sanitizers take seconds: only for what would be accepted */
        gate_run(t, KS_GATE_SAFETY, ks_gate_safety);
    if (ks_verdict_failed_gate(t->v) == KS_N_GATES)
        ks_gate_skip(t, KS_GATE_POLICY, "decided where the object is emitted");
}

static enum ks_outcome outcome(const struct ks_verdict *v)
{
    bool time_failed = v->gates[KS_GATE_TIME].state == KS_GATE_FAIL;
    for (int g = 0; g < KS_N_GATES; g++)
        if (g != KS_GATE_TIME && v->gates[g].state == KS_GATE_FAIL)
            return KS_OUTCOME_REJECTED;
    return time_failed || v->gates[KS_GATE_TIME].state != KS_GATE_PASS ? KS_OUTCOME_NO_GAIN : KS_OUTCOME_ACCEPTED;
}

/* While the compiler works; what goes wrong here goes wrong again where it is reported. */
static void worker_early(struct ks_trial *t)
{
    struct ks_err ignored;
    ks_trial_enter(t, false);
    enum ks_code code = ks_arm_open(t->s, &t->arm, &ignored);
    ks_standby_fill(t->s);
    ks_session_leave(t->s);
    (void)code;
}

enum ks_code ks_trial_once(struct ks_session *s, const char *source, size_t len, bool confirm, struct ks_verdict *ret_verdict,
                           struct ks_err *err)
{
    struct ks_verdict v;
    struct ks_case *fresh = NULL;
    struct ks_build_job job;
    struct ks_trial t = {.s = s, .v = &v, .confirm = confirm, .cases = s->cases, .n_cases = s->n_cases};
    int64_t start_ns = ks_clock_ns();
    double busy_ns = s->busy_ns;
    memset(&v, 0, sizeof v);
    t.deadline_ns = start_ns + s->opt.trial_timeout_ms * 1000000 * (confirm ? 4 : 1);
    if (!confirm)
        s->n_trials++;
    ks_build_start(s, source, len, ks_trial_left_ms(&t), &job);
    if (confirm || s->opt.device == KS_DEVICE_CUDA) { /* contents and shapes that no trial has seen */
        fresh = ks_xcalloc(KS_MAX_CASES, sizeof *fresh);
        int64_t waited_ns = s->waited_ns;
        /* The emulated device's answers must not depend on how many trials went before. */
        uint64_t round = (confirm ? KS_ROUND_CONFIRM : 0) + (s->opt.device == KS_DEVICE_CUDA ? s->n_trials : 0);
        enum ks_code code = ks_cases_make(s, round, fresh, &t.n_cases, err);
        t.deadline_ns += s->waited_ns - waited_ns;
        if (code != KS_OK) {
            ks_build_end(&job);
            free(fresh);
            return code;
        }
        t.cases = fresh;
        if (s->opt.device == KS_DEVICE_EMULATED)
            ks_arm_stop(&s->base);
        else
            worker_early(&t);
    }
    v.beside_ns = (int64_t)(s->busy_ns - busy_ns);
    judge(&t, &job, source, len);
    ks_build_end(&job);
    arm_end(&t);
    v.device_ns = (int64_t)(s->busy_ns - busy_ns);
    v.outcome = outcome(&v);
    if (v.outcome == KS_OUTCOME_REJECTED && t.ran) { /* a device that a candidate has hurt is opened anew */
        ks_trial_enter(&t, false);
        ks_standby_drop(s);
        ks_session_leave(s);
    }
    v.wall_ns = ks_clock_ns() - start_ns;
    if (fresh)
        ks_cases_release(fresh, t.n_cases);
    free(fresh);
    ks_vec_release(&t.sized);
    *ret_verdict = v;
    return KS_OK;
}

/* A connection that broke says nothing about the candidate: what was judged until then is forgotten, and the trial runs again
 * from its beginning.  Errors: KS_ERR_DEVICE when the device cannot be reached again. */
static enum ks_code trial(struct ks_session *s, const char *source, size_t len, bool confirm, struct ks_verdict *ret_verdict,
                          struct ks_err *err)
{
    unsigned n_trials = s->n_trials;
    for (int breaks = 0;; breaks++) {
        struct ks_err unfit = {0};
        if (s->opt.remote) /* the time in a queue is not the trial's */
            KS_TRY(ks_remote_reconnect(s->opt.remote, err));
        enum ks_code code = ks_place_check(s, &unfit);
        bool fit = code == KS_OK;
        if (fit)
            code = ks_trial_once(s, source, len, confirm, ret_verdict, err);
        const char *lost = s->opt.remote ? ks_remote_lost(s->opt.remote) : NULL;
        if (fit && !lost) {
            ks_place_judged(s);
            remote_rest(s);
            return code;
        }
        if (!fit && code != KS_ERR_DEVICE) {
            *err = unfit;
            return code;
        }
        if (fit && code == KS_OK)
            ks_verdict_release(ret_verdict);
        else if (code != KS_ERR_DEVICE)
            return code;
        if (lost)
            ks_place_lost(&s->opt);
        s->n_trials = n_trials;
        ks_arm_stop(&s->base);
        remote_rest(s);
        if (breaks == ks_remote_max_breaks(s->opt.remote))
            return ks_fail(err, KS_ERR_DEVICE, "keep a place on %s, which were %d in one trial, the last one: %s",
                           ks_remote_name(s->opt.remote), breaks + 1, lost ? lost : unfit.message);
    }
}

enum ks_code ks_session_try(struct ks_session *s, const char *source, size_t len, struct ks_verdict *ret_verdict,
                            struct ks_err *err)
{
    return trial(s, source, len, false, ret_verdict, err);
}

enum ks_code ks_session_confirm(struct ks_session *s, const char *source, size_t len, struct ks_verdict *ret_verdict,
                                struct ks_err *err)
{
    return trial(s, source, len, true, ret_verdict, err);
}

enum ks_code ks_session_check_state(const struct ks_session *s, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str reason = KS_STR_INIT;
    if (ks_device_state_check(&s->baseline->object, &reason) &&
        (!s->recorded || ks_state_check(NULL, &s->baseline->object, &reason))) /* else it has been asked of the unit's object */
        return KS_OK;
    return ks_fail(err, KS_ERR_UNSUPPORTED, "the unit %s, which two versions cannot share", ks_str_cstr(&reason));
}

/* Of every timing point, and of the one that weighs most in time (or at all, where times are not known yet) once more. */
static void add_rooflines(const struct ks_session *s, struct ks_json *profile)
{
    struct ks_json *points = ks_json_get(profile, "points");
    double most = -1;
    for (size_t i = 0; i < s->c->n_times; i++) {
        struct ks_json *point = ks_json_at(points, i);
        double ns = ks_json_get_num(point, "modelled_ns", 0), weight = s->c->times[i].weight * (ns > 0 ? ns : 1);
        struct ks_json *r = ks_roofline(s->c, &s->c->times[i].shape, s->device, ks_json_get(point, "kernels"), ns);
        if (!r)
            return;
        if (weight > most)
            ks_json_set(profile, "roofline", ks_json_copy(r));
        most = fmax(most, weight);
        if (point)
            ks_json_set(point, "roofline", r);
        else
            ks_json_free(r);
    }
}

enum ks_code ks_session_profile(struct ks_session *s, struct ks_json **ret_profile, struct ks_err *err)
{
    (void)err;
    struct ks_json *j = ks_counters_object(s, s->base_counters ? ks_json_copy(s->base_counters) : ks_json_array()),
                   *kernels = ks_json_array();
    ks_ptx_facts_add(ks_json_get(j, "kernels"), s->baseline->object.ptx.data, s->baseline->object.ptx.len);
    add_rooflines(s, j);
    ks_json_set(j, "device", ks_json_copy(s->device));
    ks_json_set_bool(j, "modelled", s->opt.device == KS_DEVICE_EMULATED);
    for (size_t i = 0; i < s->baseline->n_kernels; i++) {
        const struct ks_kernel_resources *r = &s->baseline->kernels[i];
        struct ks_json *k = ks_json_object();
        ks_json_set_str(k, "kernel", r->name);
        ks_json_set_i64(k, "registers", r->registers);
        ks_json_set_i64(k, "spill_store_bytes", r->spill_store_bytes);
        ks_json_set_i64(k, "spill_load_bytes", r->spill_load_bytes);
        ks_json_set_i64(k, "shared_bytes", r->shared_bytes);
        ks_json_push(kernels, k);
    }
    ks_json_set(j, "resources", kernels);
    ks_json_set_str(j, "ptxas", s->baseline->ptxas_text ? s->baseline->ptxas_text : "");
    *ret_profile = j;
    return KS_OK;
}

struct ks_json *ks_session_device_json(struct ks_session *s)
{
    struct ks_json *j = ks_json_copy(s->device);
    if (s->sandbox)
        ks_json_set(j, "sandbox", ks_json_copy(s->sandbox));
    if (s->walls_known && s->walls != KS_WALLS_OWN)
        ks_json_set_str(j, "walls_left_out_because", ks_str_cstr(&s->walls_why));
    if (s->opt.remote)
        ks_json_set_str(j, "where", ks_remote_name(s->opt.remote));
    ks_json_set_str(j, "builds", s->unconfined_why ? s->unconfined_why : "confined");
    if (s->control)
        ks_json_set(j, "control", ks_json_copy(s->control));
    return j;
}
