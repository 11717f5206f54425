/* The safety gate on a GPU: compute-sanitizer's four tools over a replay of small cases by kscc-worker. */
#include "harness/session_impl.h"

#include "harness/remote/remote.h"
#include "harness/remote/step.h"
#include "harness/sanitizer_tool.h"
#include "base/file.h"
#include "base/process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REPLAY_CPU_S 900
#define AGAIN_MS     180000
#define NOT_ENDED    (-2)
/* How many calls are replayed, and how large: of each call, of all. */
struct replay_limit {
    size_t calls, call_bytes, bytes;
};
static const struct replay_limit small_limit = {4, (size_t)4 << 20, (size_t)16 << 20};
static const struct replay_limit sizes_limit = {272, (size_t)1 << 30, (size_t)4 << 30};

static enum ks_code command_write(int fd, struct ks_wire_command *c, struct ks_err *err)
{
    size_t n = ks_wire_command_bytes((enum ks_wire_op)c->op);
    c->magic = KS_WIRE_MAGIC;
    if (write(fd, c, n) != (ssize_t)n)
        return ks_fail_errno(err, KS_ERR_IO, "write the replay");
    return KS_OK;
}

/* The calls of one arm that the tools watch, and what is printed after each. */
struct replay {
    struct ks_str path;
    const struct replay_limit *limit;
    size_t bytes;
    KS_VEC(struct nonce { uint32_t word[2]; }) done;
};

static void replay_release(struct replay *r)
{
    ks_str_release(&r->path);
    ks_vec_release(&r->done);
}

static enum ks_code case_write(struct ks_session *s, int fd, struct ks_wire_command *c, const struct ks_layout *l,
                               const uint32_t nonce[2], struct ks_err *err)
{
    c->op = KS_OP_PREPARE;
    memset(&c->u, 0, sizeof c->u);
    c->u.prepare.n = (uint32_t)l->n;
    for (size_t i = 0; i < l->n; i++) {
        struct ks_wire_buffer *w = &c->u.prepare.buffers[i];
        w->bytes = l->buf[i].bytes;
        w->source = ks_buffer_is_input(&s->c->buffers[i]) ? KS_SOURCE_GENERATE : KS_SOURCE_POISON;
        ks_layout_gen(s, l, i, &w->gen);
        snprintf(w->name, sizeof w->name, "%s", s->c->buffers[i].name);
    }
    KS_TRY(command_write(fd, c, err));
    c->op = KS_OP_CALL;
    c->u.call = l->args;
    KS_TRY(command_write(fd, c, err));
    c->op = KS_OP_REPORT; /* the number comes after the call: a call that ends the process has not seen it */
    memset(&c->u, 0, sizeof c->u);
    c->seq = nonce[0];
    c->pad = nonce[1];
    enum ks_code code = command_write(fd, c, err);
    c->seq = c->pad = 0;
    return code;
}

/* One call more, if it is within the limits. */
static enum ks_code call_add(struct ks_session *s, int fd, struct ks_wire_command *c, const struct ks_shape *shape, uint64_t call,
                             struct replay *r, struct ks_err *err)
{
    struct ks_layout l;
    struct nonce nonce;
    if (r->done.n == r->limit->calls)
        return KS_OK;
    KS_TRY(ks_layout_make(s, shape, KS_SET_DECLARED, call, &l, err));
    if (l.data_bytes > r->limit->call_bytes || l.data_bytes > r->limit->bytes - r->bytes)
        return KS_OK;
    for (uint32_t k = 0; k < 2; k++)
        nonce.word[k] = (uint32_t)ks_inputs_choice(s->secret, call, 6000 + k, 0);
    KS_TRY(case_write(s, fd, c, &l, nonce.word, err));
    ks_vec_push(&r->done, nonce);
    r->bytes += l.data_bytes;
    return KS_OK;
}

/* Start, load, and the calls: the smallest cases, or the timing points and what the trial made at sizes that the code names. */
static enum ks_code replay_write(struct ks_trial *t, const struct ks_built *built, bool sizes, const char *name, struct replay *r,
                                 struct ks_err *err)
{
    struct ks_session *s = t->s;
    r->limit = sizes ? &sizes_limit : &small_limit;
    ks_path_join(&r->path, s->opt.work_dir, name);
    KS_AUTO_FD int fd = open(r->path.data, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return ks_fail_errno(err, KS_ERR_IO, "open '%s'", r->path.data);
    KS_AUTO_FREE struct ks_wire_command *c = ks_xcalloc(1, sizeof *c);
    c->op = KS_OP_HELLO;
    c->u.hello.device = s->opt.device;
    c->u.hello.shm_bytes = KS_WIRE_DATA_OFF;
    c->u.hello.cpu_limit_s = REPLAY_CPU_S;
    snprintf(c->u.hello.arch, sizeof c->u.hello.arch, "%s", s->opt.arch);
    if (s->runtime_path)
        snprintf(c->u.hello.runtime_path, sizeof c->u.hello.runtime_path, "%s",
                 s->opt.remote ? KS_STEP_RUNTIME : s->runtime_path);
    KS_TRY(command_write(fd, c, err));
    c->op = KS_OP_LOAD;
    memset(&c->u, 0, sizeof c->u);
    snprintf(c->u.load.path, sizeof c->u.load.path, "%s", built->shared_path);
    if (s->opt.remote)
        KS_TRY(ks_remote_object_send(s->opt.remote, c->u.load.path, sizeof c->u.load.path, err));
    snprintf(c->u.load.symbol, sizeof c->u.load.symbol, "%s", s->opt.signature->symbol);
    KS_TRY(command_write(fd, c, err));
    for (size_t i = 0; i < t->n_cases; i++)
        if (t->cases[i].set == KS_SET_DECLARED && (!sizes || t->cases[i].point > 0))
            KS_TRY(call_add(s, fd, c, &t->cases[i].shape, t->cases[i].call, r, err));
    for (size_t i = 0; sizes && i < t->sized.n; i++)
        KS_TRY(call_add(s, fd, c, &t->sized.data[i].shape, t->sized.data[i].call, r, err));
    return r->done.n || sizes ? KS_OK : ks_fail(err, KS_ERR_LIMIT, "find a case below %zu MiB", r->limit->call_bytes >> 20);
}

/* First line of a report that says what is wrong, without the tool's "=========". */
static void first_finding(const struct ks_str *out, struct ks_str *ret)
{
    for (const char *p = ks_str_cstr(out); *p;) {
        const char *end = strchrnul(p, '\n');
        size_t n = (size_t)(end - p);
        bool named = memmem(p, n, "Invalid", 7) || memmem(p, n, "Uninitialized", 13) || memmem(p, n, "Error", 5) ||
                     memmem(p, n, "hazard", 6) || memmem(p, n, "Barrier", 7) || memmem(p, n, "Divergent", 9) ||
                     memmem(p, n, "Leaked", 6);
        if (named && ks_str_starts(p, "=========")) {
            p += strspn(p, "= ");
            ks_str_addn(ret, p, (size_t)(end - p));
            return;
        }
        p = *end ? end + 1 : end;
    }
}

/* How many calls of the replay say that they are done. */
static size_t records(const struct ks_str *out, const struct replay *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->done.n; i++) {
        char line[64];
        const struct nonce *nonce = &r->done.data[i];
        snprintf(line, sizeof line, KS_REPLAY_RECORD, (unsigned)nonce->word[0], (unsigned)nonce->word[1]);
        n += strstr(ks_str_cstr(out), line) != NULL;
    }
    return n;
}

/* What is replayed of one arm: `calls` by all tools but sizecheck. */
struct replays {
    struct replay calls, sizes;
};

static const struct replay *replay_of(const struct replays *r, size_t tool)
{
    return tool == KS_TOOL_SIZES ? &r->sizes : &r->calls;
}

static enum ks_code replays_write(struct ks_trial *t, const struct ks_built *built, bool is_candidate, struct replays *ret,
                                  struct ks_err *err)
{
    KS_TRY(replay_write(t, built, false, is_candidate ? "replay-candidate" : "replay-baseline", &ret->calls, err));
    return t->confirm ? replay_write(t, built, true, is_candidate ? "sizes-candidate" : "sizes-baseline", &ret->sizes, err)
                      : KS_OK;
}

static void replays_release(struct replays *r)
{
    replay_release(&r->calls);
    replay_release(&r->sizes);
}

/* What a tool's report says: 0 clean, 1 something found (what: in ret_text), -1 it makes no statement (why: in ret_text),
 * NOT_ENDED too. */
static int report_read(const struct ks_tool_report *report, const struct replay *replay, struct ks_str *ret_text)
{
    ks_str_clear(ret_text);
    if (!report->ran) {
        ks_str_add(ret_text, ks_str_cstr(&report->errout));
        return -1;
    }
    if (ks_exit_ok(&report->exit)) {
        size_t done = records(&report->out, replay);
        if (done == replay->done.n)
            return 0;
        ks_str_addf(ret_text, "ends after %zu of %zu calls", done, replay->done.n);
        return -1;
    }
    bool found = report->exit.kind == KS_EXIT_STATUS && report->exit.status == KS_TOOL_ERROR_STATUS;
    first_finding(&report->out, ret_text);
    if (ret_text->len == 0)
        ks_exit_describe(&report->exit, ret_text);
    if (!found && report->errout.len)
        ks_str_addf(ret_text, ": %.200s", report->errout.data);
    return found ? 1 : report->exit.kind == KS_EXIT_TIMEOUT ? NOT_ENDED : -1;
}

/* Where the device is.  Errors: KS_ERR_NOT_FOUND (no compute-sanitizer there), or the connection's. */
static enum ks_code tools_run(const struct ks_session *s, const char *sanitizer, const struct replays *replays, unsigned mask,
                              bool sealed, int64_t timeout_ms, struct ks_tool_report *ret, struct ks_err *err)
{
    struct ks_tools_task task = {.sanitizer = sanitizer,
                                 .worker = s->worker_path,
                                 .replay = replays->calls.path.data,
                                 .sizes = replays->sizes.path.data,
                                 .sealed = sealed,
                                 .timeout_ms = timeout_ms};
    for (size_t i = 0; i < KS_N_TOOLS; i++)
        task.mask |= mask & (replay_of(replays, i)->done.n ? 1u << i : 0);
    if (s->opt.remote)
        return ks_remote_tools(s->opt.remote, &task, ret, err);
    ks_tools_run(&task, ret);
    return KS_OK;
}

/* One of them, waited for. */
static int tool_ask(const struct ks_session *s, const char *sanitizer, size_t tool, const struct replays *replays, bool sealed,
                    struct ks_str *ret_text)
{
    struct ks_tool_report reports[KS_N_TOOLS] = {0};
    struct ks_err err;
    int errors = -1;
    ks_str_clear(ret_text);
    if (tools_run(s, sanitizer, replays, 1u << tool, sealed, AGAIN_MS, reports, &err) == KS_OK)
        errors = report_read(&reports[tool], replay_of(replays, tool), ret_text);
    else
        ks_str_add(ret_text, err.message);
    ks_tool_reports_release(reports);
    return errors;
}

/* Large calls are slow under the tool: that one does not end is no finding, but no proof either. */
static void sizes_not_ended(struct ks_trial *t, const struct replay *sizes, struct ks_json *details)
{
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    ks_json_set_str(details, ks_tool_name(KS_TOOL_SIZES), "no statement: it did not end in time");
    if (t->v->approval)
        return;
    ks_str_addf(&why, "compute-sanitizer did not come to the end of %zu calls at timing points and at sizes that the code names",
                sizes->done.n);
    t->v->approval = ks_str_detach(&why, NULL);
}

/* What the reports amount to. */
static void safety_judge(struct ks_trial *t, const char *sanitizer, const struct replays *candidate, const struct replays *base,
                         const struct ks_tool_report *reports)
{
    struct ks_session *s = t->s;
    struct ks_json *details = ks_json_object();
    KS_AUTO_STR struct ks_str silent = KS_STR_INIT;
    size_t n_clean = 0;
    for (size_t i = 0; i < KS_N_TOOLS; i++) {
        KS_AUTO_STR struct ks_str base_text = KS_STR_INIT, said = KS_STR_INIT;
        if (replay_of(candidate, i)->done.n == 0)
            continue;
        int errors = report_read(&reports[i], replay_of(candidate, i), &said);
        if (i == KS_TOOL_SIZES && errors == NOT_ENDED) {
            sizes_not_ended(t, &candidate->sizes, details);
            continue;
        }
        bool sealed = true;
        int base_errors = 0; /* what the original does, too, is not held against the candidate */
        if (errors != 0)
            base_errors = tool_ask(s, sanitizer, i, base, sealed, &base_text);
        if (base_errors < 0) { /* it may be the sandbox that the tool cannot work in */
            sealed = false;
            ks_str_clear(&base_text);
            errors = tool_ask(s, sanitizer, i, candidate, sealed, &said);
            base_errors = 0;
            if (errors != 0)
                base_errors = tool_ask(s, sanitizer, i, base, sealed, &base_text);
        }
        const char *text = ks_str_cstr(&said);
        if (errors == 0) {
            ks_json_set_str(details, ks_tool_name(i), sealed ? "clean" : "clean (without Landlock and seccomp)");
            n_clean++;
            continue;
        }
        if (errors > 0 && base_errors == 0) {
            ks_gate_fail(t, KS_GATE_SAFETY, details, "compute-sanitizer %s: %s", ks_tool_name(i), text);
            return;
        }
        if (errors < 0 && base_errors == 0) {
            ks_gate_fail(t, KS_GATE_SAFETY, details, "under compute-sanitizer %s the candidate %s", ks_tool_name(i), text);
            return;
        }
        KS_AUTO_STR struct ks_str why = KS_STR_INIT;
        ks_str_addf(&why, "no statement: the original fails too (%s)", ks_str_cstr(&base_text));
        ks_json_set_str(details, ks_tool_name(i), ks_str_cstr(&why));
        ks_str_clear(&silent);
        ks_str_add(&silent, ks_str_cstr(&base_text));
    }
    if (n_clean > 0) {
        ks_gate_pass(t, KS_GATE_SAFETY, details);
        return;
    }
    ks_json_free(details);
    ks_gate_skip(t, KS_GATE_SAFETY, "compute-sanitizer makes no statement, the original fails under it: %s",
                 ks_str_cstr(&silent));
}

void ks_safety_sanitizer(struct ks_trial *t)
{
    struct ks_session *s = t->s;
    struct ks_err err;
    KS_AUTO_FREE char *sanitizer = NULL;
    if (s->recorded) { /* its replay makes contents itself */
        ks_gate_skip(t, KS_GATE_SAFETY, "compute-sanitizer is not run on recorded contents");
        return;
    }
    if (!s->opt.remote && !ks_tool_find(s->opt.nvcc_argv[0], &sanitizer)) {
        ks_gate_skip(t, KS_GATE_SAFETY, "compute-sanitizer is neither on PATH nor beside nvcc");
        return;
    }
    struct replays candidate = {0}, base = {0};
    struct ks_tool_report reports[KS_N_TOOLS] = {0};
    if (replays_write(t, t->arm.built, true, &candidate, &err) != KS_OK ||
        replays_write(t, s->baseline, false, &base, &err) != KS_OK) {
        ks_gate_skip(t, KS_GATE_SAFETY, "%s", err.message);
    } else {
        ks_trial_enter(t, false);
        int64_t start_ns = ks_clock_ns();
        enum ks_code code = tools_run(s, sanitizer, &candidate, ~0u, true, ks_trial_left_ms(t) + 60000, reports, &err);
        ks_trial_enter(t, false); /* lets in who waits to be alone */
        if (code == KS_OK)
            safety_judge(t, sanitizer, &candidate, &base, reports);
        else
            ks_gate_skip(t, KS_GATE_SAFETY, "%s", err.message);
        t->v->tools_ns += ks_clock_ns() - start_ns;
        ks_session_leave(s);
    }
    ks_tool_reports_release(reports);
    replays_release(&candidate);
    replays_release(&base);
}
