#include "harness/remote/runner.h"

#include "harness/client.h"
#include "harness/device_lock.h"
#include "harness/nvml.h"
#include "harness/sanitizer_tool.h"
#include "base/file.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct lane {
    struct ks_worker *worker; /* NULL: ended */
    size_t shm_bytes;
    struct ks_wire_prepare placed;
};

struct ks_runner {
    char *program, *scratch;
    bool greeted;
    struct ks_device_lock lock;
    struct lane *lanes[KS_MAX_LANES]; /* by number % KS_MAX_LANES: so many may live at once */
};

enum ks_code ks_runner_new(const char *program, struct ks_runner **ret, struct ks_err *err)
{
    char *scratch;
    KS_TRY(ks_dir_make_temp("kscc-runner", &scratch, err));
    struct ks_runner *r = ks_xcalloc(1, sizeof *r);
    r->program = ks_xstrdup(program);
    r->scratch = scratch;
    r->lock.gate_fd = r->lock.lock_fd = -1;
    *ret = r;
    return KS_OK;
}

static void lane_end(struct ks_runner *r, uint32_t number)
{
    struct lane **l = &r->lanes[number % KS_MAX_LANES];
    if (*l)
        ks_worker_stop((*l)->worker);
    free(*l);
    *l = NULL;
}

void ks_runner_free(struct ks_runner *r)
{
    struct ks_err ignored;
    if (!r)
        return;
    for (uint32_t i = 0; i < KS_MAX_LANES; i++)
        lane_end(r, i);
    ks_device_lock_close(&r->lock);
    (void)!ks_dir_remove(r->scratch, &ignored);
    free(r->program);
    free(r->scratch);
    free(r);
}

static enum ks_code object_keep(struct ks_runner *r, const struct ks_str *payload, struct ks_err *err)
{
    char hash[65];
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_hash_hex(payload->data, payload->len, hash);
    ks_path_join(&path, r->scratch, hash);
    return ks_file_write_atomic(path.data, payload->data, payload->len, 0600, err);
}

/* "object:HASH" becomes the path of what was sent; no other path is taken from a parent. */
static enum ks_code object_path(const struct ks_runner *r, char *path, size_t size, struct ks_err *err)
{
    size_t n = strlen(KS_STEP_OBJECT_REF);
    path[size - 1] = 0;
    char *hash = path + n;
    if (!ks_str_starts(path, KS_STEP_OBJECT_REF) || strspn(hash, "0123456789abcdef") != 64 || hash[64])
        return ks_fail(err, KS_ERR_PROTOCOL, "load an object: '%.100s' names none", path);
    KS_AUTO_STR struct ks_str full = KS_STR_INIT;
    ks_path_join(&full, r->scratch, hash);
    if (!ks_file_exists(full.data))
        return ks_fail(err, KS_ERR_PROTOCOL, "load an object: '%s' was not sent", hash);
    snprintf(path, size, "%s", full.data);
    return KS_OK;
}

static enum ks_code runtime_path(const struct ks_runner *r, char *path, size_t size, struct ks_err *err)
{
    static const char *const places[] = {"../lib/emulated/libcudart.so.13", "../lib/kscc/emulated/libcudart.so.13"};
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, full = KS_STR_INIT;
    path[size - 1] = 0;
    if (!path[0])
        return KS_OK;
    if (strcmp(path, KS_STEP_RUNTIME) != 0)
        return ks_fail(err, KS_ERR_PROTOCOL, "start a worker: '%.100s' is no library of ours", path);
    ks_path_dir(&dir, r->program);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        ks_path_join(&full, dir.data, places[i]);
        if (ks_file_exists(full.data)) {
            snprintf(path, size, "%s", full.data);
            return KS_OK;
        }
    }
    return ks_fail(err, KS_ERR_NOT_FOUND, "find the emulated device's library '%s'", full.data);
}

static enum ks_code worker_start(struct ks_runner *r, uint32_t number, const struct ks_str *payload, struct ks_str *text,
                                 struct ks_err *err)
{
    struct ks_step_start start;
    if (payload->len != sizeof start)
        return ks_fail(err, KS_ERR_PROTOCOL, "start a worker: %zu bytes", payload->len);
    memcpy(&start, payload->data, sizeof start);
    if (start.walls > KS_WALLS_PLAIN || start.hello.shm_bytes < KS_WIRE_DATA_OFF || start.hello.shm_bytes > KS_MAX_FRAME_BYTES)
        return ks_fail(err, KS_ERR_PROTOCOL, "start a worker: %llu bytes of memory", (unsigned long long)start.hello.shm_bytes);
    KS_TRY(runtime_path(r, start.hello.runtime_path, sizeof start.hello.runtime_path, err));
    lane_end(r, number);
    KS_AUTO_FREE struct ks_worker_options *o = ks_xcalloc(1, sizeof *o);
    o->program = r->program;
    o->hello = start.hello;
    o->memory_limit_bytes = (size_t)start.memory_limit_bytes;
    o->walls = (enum ks_worker_walls)start.walls;
    o->timeout_ms = start.timeout_ms;
    struct ks_worker *w;
    KS_TRY(ks_worker_start(o, &w, err));
    struct lane *l = ks_xcalloc(1, sizeof *l);
    l->worker = w;
    l->shm_bytes = (size_t)start.hello.shm_bytes;
    r->lanes[number % KS_MAX_LANES] = l;
    ks_str_add(text, ks_worker_device_text(w));
    return KS_OK;
}

/* The report of a loaded object says what walls there are; the control group, which is ours to see, is added here. */
static void sandbox_text(const struct lane *l, struct ks_str *text)
{
    struct ks_json *j;
    struct ks_err ignored;
    if (ks_json_parse(ks_str_cstr(text), text->len, "sandbox report", &j, &ignored) != KS_OK)
        return;
    ks_worker_cgroup(l->worker, j);
    ks_str_clear(text);
    ks_json_print(j, text);
    ks_json_free(j);
}

static enum ks_code ask(struct ks_runner *r, struct lane *l, const struct ks_str *payload, struct ks_step_result *res,
                        struct ks_str *text, struct ks_str *ranges, struct ks_err *err)
{
    struct ks_step_ask head;
    KS_AUTO_FREE struct ks_wire_command *c = ks_xcalloc(1, sizeof *c);
    if (payload->len < sizeof head)
        return ks_fail(err, KS_ERR_PROTOCOL, "ask: cut short");
    memcpy(&head, payload->data, sizeof head);
    if (head.command_bytes > sizeof *c || head.command_bytes < offsetof(struct ks_wire_command, u) ||
        payload->len - sizeof head < head.command_bytes || head.n_ranges > KS_MAX_PARAMS)
        return ks_fail(err, KS_ERR_PROTOCOL, "ask: cut short");
    memcpy(c, payload->data + sizeof head, head.command_bytes);
    if (c->op == KS_OP_HELLO || c->op >= KS_OP_QUIT || head.command_bytes != ks_wire_command_bytes((enum ks_wire_op)c->op))
        return ks_fail(err, KS_ERR_PROTOCOL, "ask: command %u", c->op);
    size_t used = sizeof head + head.command_bytes;
    KS_TRY(ks_ranges_take(payload->data + used, payload->len - used, head.n_ranges, NULL, ks_worker_shm(l->worker), l->shm_bytes,
                          err));
    if (c->op == KS_OP_LOAD)
        KS_TRY(object_path(r, c->u.load.path, sizeof c->u.load.path, err));
    enum ks_code code = ks_worker_ask(l->worker, c, head.timeout_ms, &res->reply, err);
    res->wall_ns = ks_worker_last_wall_ns(l->worker);
    KS_TRY(code);
    if (c->op == KS_OP_PREPARE)
        l->placed = c->u.prepare;
    if (c->op == KS_OP_LOAD || c->op == KS_OP_REPORT)
        ks_worker_text(l->worker, &res->reply, text);
    if (c->op == KS_OP_LOAD)
        sandbox_text(l, text);
    if (c->op == KS_OP_FETCH) {
        struct ks_range list[KS_MAX_PARAMS];
        size_t n = ks_ranges_of_fetch(&c->u.fetch, &l->placed, list);
        ks_ranges_put(ranges, ks_worker_shm(l->worker), list, n);
        res->n_ranges = (uint32_t)n;
    }
    return KS_OK;
}

static enum ks_code lock(struct ks_runner *r, const struct ks_str *payload, struct ks_err *err)
{
    uint32_t how;
    if (payload->len != sizeof how)
        return ks_fail(err, KS_ERR_PROTOCOL, "lock the device: %zu bytes", payload->len);
    memcpy(&how, payload->data, sizeof how);
    if (r->lock.gate_fd < 0) /* its files stay, as those of a kscc there would */
        ks_device_lock_open(&r->lock);
    if (how == 0)
        ks_device_lock_leave(&r->lock);
    else if (how == 1)
        ks_device_lock_shared(&r->lock);
    else
        ks_device_lock_alone(&r->lock);
    return KS_OK;
}

/* The replay is of our own paths now.  Only what a parent writes into one is obeyed. */
static enum ks_code replay_take(const struct ks_runner *r, const char *data, size_t len, const char *path, struct ks_err *err)
{
    KS_AUTO_FREE struct ks_wire_command *c = ks_xcalloc(1, sizeof *c);
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    for (size_t at = 0, n; at < len; at += n) {
        n = offsetof(struct ks_wire_command, u);
        if (len - at >= n)
            memcpy(c, data + at, n);
        bool known = len - at >= n && (c->op == KS_OP_HELLO || c->op == KS_OP_LOAD || c->op == KS_OP_PREPARE ||
                                       c->op == KS_OP_CALL || c->op == KS_OP_REPORT);
        n = known ? ks_wire_command_bytes((enum ks_wire_op)c->op) : 0;
        if (!known || len - at < n)
            return ks_fail(err, KS_ERR_PROTOCOL, "run tools: the replay is none, at byte %zu", at);
        memcpy(c, data + at, n);
        if (c->op == KS_OP_HELLO)
            KS_TRY(runtime_path(r, c->u.hello.runtime_path, sizeof c->u.hello.runtime_path, err));
        if (c->op == KS_OP_LOAD)
            KS_TRY(object_path(r, c->u.load.path, sizeof c->u.load.path, err));
        ks_str_addn(&out, c, n);
    }
    return ks_file_write_atomic(path, ks_str_cstr(&out), out.len, 0600, err);
}

static void reports_text(const struct ks_tool_report *reports, unsigned mask, struct ks_str *text)
{
    KS_AUTO_JSON struct ks_json *all = ks_json_array();
    for (size_t i = 0; i < KS_N_TOOLS; i++) {
        struct ks_json *one = mask >> i & 1 ? ks_json_object() : NULL;
        if (!one)
            continue;
        ks_json_set_i64(one, "tool", (int64_t)i);
        ks_json_set_bool(one, "ran", reports[i].ran);
        ks_json_set_i64(one, "kind", reports[i].exit.kind);
        ks_json_set_i64(one, "status", reports[i].exit.status);
        ks_json_set_str(one, "out", ks_str_cstr(&reports[i].out));
        ks_json_set_str(one, "err", ks_str_cstr(&reports[i].errout));
        ks_json_push(all, one);
    }
    ks_json_print(all, text);
}

static enum ks_code tools(struct ks_runner *r, const struct ks_str *payload, struct ks_str *text, struct ks_err *err)
{
    struct ks_step_tools head;
    struct ks_tool_report reports[KS_N_TOOLS] = {0};
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_FREE char *sanitizer = NULL;
    if (payload->len < sizeof head)
        return ks_fail(err, KS_ERR_PROTOCOL, "run tools: cut short");
    memcpy(&head, payload->data, sizeof head);
    head.mask &= (1u << KS_N_TOOLS) - 1;
    if (!ks_tool_find("nvcc", &sanitizer) && !ks_tool_find("/usr/local/cuda/bin/nvcc", &sanitizer))
        return ks_fail(err, KS_ERR_NOT_FOUND, "compute-sanitizer is neither on PATH nor beside nvcc where the device is");
    ks_path_join(&path, r->scratch, "replay");
    KS_TRY(replay_take(r, payload->data + sizeof head, payload->len - sizeof head, path.data, err));
    ks_tools_run(
        &(struct ks_tools_task){sanitizer, r->program, path.data, path.data, head.mask, head.sealed != 0, head.timeout_ms},
        reports);
    reports_text(reports, head.mask, text);
    ks_tool_reports_release(reports);
    return KS_OK;
}

static void clocks(struct ks_str *text)
{
    struct ks_nvml_sample sample = ks_nvml_read();
    ks_str_addn(text, &sample, sizeof sample);
}

/* Slurm's name for the node is what its programs take. */
static void greeting(struct ks_str *out)
{
    const char *node = getenv("SLURMD_NODENAME");
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    ks_str_addf(out, "%s\n%s", ks_step_version(), node && *node ? node : host);
}

enum ks_code ks_runner_step(struct ks_runner *r, const struct ks_frame *f, const struct ks_str *payload, struct ks_str *answer,
                            struct ks_err *err)
{
    struct ks_err why = {0};
    KS_AUTO_FREE struct ks_step_result *res = ks_xcalloc(1, sizeof *res);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, ranges = KS_STR_INIT, whole = KS_STR_INIT;
    struct lane *l = r->lanes[f->lane % KS_MAX_LANES];
    enum ks_code code = KS_OK;
    switch ((enum ks_step_kind)f->kind) {
    case KS_STEP_HEAD:
        KS_TRY(ks_step_version_check(ks_str_cstr(payload), payload->len, err));
        r->greeted = true;
        greeting(&text);
        ks_frame_put(answer, KS_STEP_HEAD, 0, f->number, text.data, text.len);
        return KS_OK;
    case KS_STEP_OBJECT:
        return r->greeted ? object_keep(r, payload, err) : ks_fail(err, KS_ERR_PROTOCOL, "obey before the version is known");
    case KS_STEP_START:
        code = r->greeted ? worker_start(r, f->lane, payload, &text, &why)
                          : ks_fail(&why, KS_ERR_PROTOCOL, "obey before the version is known");
        l = r->lanes[f->lane % KS_MAX_LANES];
        break;
    case KS_STEP_ASK:
        code = l ? ask(r, l, payload, res, &text, &ranges, &why) : ks_fail(&why, KS_ERR_PROTOCOL, "ask a worker that is gone");
        break;
    case KS_STEP_STOP:
        lane_end(r, f->lane);
        l = NULL;
        break;
    case KS_STEP_LOCK:
        code = r->greeted ? lock(r, payload, &why) : ks_fail(&why, KS_ERR_PROTOCOL, "obey before the version is known");
        break;
    case KS_STEP_TOOLS:
        code = r->greeted ? tools(r, payload, &text, &why) : ks_fail(&why, KS_ERR_PROTOCOL, "obey before the version is known");
        l = NULL;
        break;
    case KS_STEP_CLOCKS:
        clocks(&text);
        l = NULL;
        break;
    case KS_N_STEPS:
        return ks_fail(err, KS_ERR_PROTOCOL, "obey step %u", f->kind);
    }
    res->code = code;
    if (code != KS_OK)
        snprintf(res->message, sizeof res->message, "%s", why.message);
    res->alive = l && ks_worker_alive(l->worker);
    res->threads = res->alive ? ks_worker_threads(l->worker) : 0;
    res->text_bytes = text.len;
    ks_str_addn(&whole, res, sizeof *res);
    ks_str_addn(&whole, ks_str_cstr(&text), text.len);
    ks_str_addn(&whole, ks_str_cstr(&ranges), ranges.len);
    ks_frame_put(answer, (enum ks_step_kind)f->kind, f->lane, f->number, whole.data, whole.len);
    return KS_OK;
}

enum ks_code ks_runner_serve(struct ks_runner *r, int in_fd, int out_fd, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str payload = KS_STR_INIT, answer = KS_STR_INIT;
    for (;;) {
        struct ks_frame f;
        bool end;
        KS_TRY(ks_frame_recv(in_fd, 0, &f, &payload, &end, err));
        if (end)
            return KS_OK;
        ks_str_clear(&answer);
        enum ks_code code = ks_runner_step(r, &f, &payload, &answer, err);
        if (code == KS_ERR_UNSUPPORTED) /* our own version is the answer that tells the parent */
            ks_frame_put(&answer, KS_STEP_HEAD, 0, f.number, ks_step_version(), strlen(ks_step_version()));
        if (answer.len)
            KS_TRY(ks_frame_send(out_fd, &answer, code == KS_OK ? err : &(struct ks_err){0}));
        KS_TRY(code);
    }
}
