#include "harness/remote/remote.h"

#include "harness/remote/step.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONNECT_MS 120000
#define GRACE_MS   60000 /* for the way there and back, beyond the step's own limit */
#define STOP_MS    200
#define END_MS     5000 /* that a program may take to end */
#define MAX_OBJECT (1ull << 30)
#define LAST_WORDS 400
#define MAX_ENDING 16

struct ks_remote {
    const struct ks_remote_via *via;
    pid_t pid;                /* 0: not connected */
    pid_t ending[MAX_ENDING]; /* of connections by trial that are done: they put away what was theirs; 0: none */
    int to_fd, from_fd, words_fd;
    unsigned connection;
    bool met;
    uint32_t next_lane, next_number;
    struct ks_args sent;         /* hashes of objects that are there */
    char lost[LAST_WORDS + 200]; /* "": not */
    char place[160];             /* "": not connected yet */
    char card[320];              /* name and architecture of the device of the first worker; "": not known */
};

struct ks_remote *ks_remote_new(const struct ks_remote_via *via)
{
    struct ks_remote *r = ks_xcalloc(1, sizeof *r);
    r->via = via;
    r->to_fd = r->from_fd = r->words_fd = -1;
    ks_args_init(&r->sent);
    return r;
}

static void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static bool has_ended(pid_t pid)
{
    pid_t got = waitpid(pid, NULL, WNOHANG);
    return got == pid || (got < 0 && errno != EINTR);
}

/* Between a batch system and us a program may have to wait for the batch system; the next trial need not wait for it. */
static void let_end(struct ks_remote *r)
{
    for (int ms = 0;; ms += 10) {
        for (size_t i = 0; i < MAX_ENDING; i++) {
            if (r->ending[i] && has_ended(r->ending[i]))
                r->ending[i] = 0;
            if (!r->ending[i]) {
                r->ending[i] = r->pid;
                return;
            }
        }
        if (ms >= END_MS)
            break;
        usleep(10000);
    }
    kill(r->pid, SIGTERM);
}

/* What still has not ended then hears of our own end, and goes on with it. */
static void await_ends(struct ks_remote *r)
{
    for (int ms = 0; ms < END_MS; ms += 10) {
        bool all = true;
        for (size_t i = 0; i < MAX_ENDING; i++) {
            if (r->ending[i] && has_ended(r->ending[i]))
                r->ending[i] = 0;
            all &= !r->ending[i];
        }
        if (all)
            return;
        usleep(10000);
    }
}

/* Closing its input is how a runner is told to end; one that does not is killed. */
static void disconnect(struct ks_remote *r)
{
    struct ks_exit e;
    struct ks_err ignored;
    fd_close(&r->to_fd);
    if (r->pid > 0 && r->via->by_trial)
        let_end(r);
    else if (r->pid > 0 && ks_process_wait(r->pid, END_MS, true, &e, &ignored) != KS_OK)
        kill(-r->pid, SIGKILL);
    r->pid = 0;
    fd_close(&r->from_fd);
    fd_close(&r->words_fd);
    ks_args_release(&r->sent);
    ks_args_init(&r->sent);
}

void ks_remote_free(struct ks_remote *r)
{
    if (!r)
        return;
    disconnect(r);
    await_ends(r);
    ks_args_release(&r->sent);
    free(r);
}

const char *ks_remote_lost(const struct ks_remote *r)
{
    return r->lost[0] ? r->lost : NULL;
}

const char *ks_remote_name(const struct ks_remote *r)
{
    return r->via->name;
}

const char *ks_remote_place(const struct ks_remote *r)
{
    return r->place[0] ? r->place : r->via->name;
}

bool ks_remote_blames_place(const struct ks_remote *r)
{
    return r->lost[0] && (!r->via->node_prefix || r->place[0]) && (!r->via->blames_place || r->via->blames_place(r->lost));
}

/* What the program said on its standard error, on one line. */
static void last_words(struct ks_remote *r, char *out, size_t size)
{
    char text[4096];
    size_t n = 0;
    ssize_t got;
    while (r->words_fd >= 0 && n < sizeof text - 1 && (got = read(r->words_fd, text + n, sizeof text - 1 - n)) > 0)
        n += (size_t)got;
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    text[n] = 0;
    for (char *p = text; *p; p++)
        *p = (unsigned char)*p < ' ' ? ' ' : *p;
    snprintf(out, size, "%.*s", LAST_WORDS, n > LAST_WORDS ? text + n - LAST_WORDS : text);
}

/* Ends the connection; everything on it is void. */
static enum ks_code lose(struct ks_remote *r, struct ks_err *err)
{
    char words[LAST_WORDS + 1] = "", why[160];
    snprintf(why, sizeof why, "%.150s", err->message);
    fd_close(&r->to_fd);
    if (r->pid > 0 && err->code == KS_ERR_TIMEOUT)
        kill(-r->pid, SIGTERM);
    if (r->pid > 0) { /* its last words come with its end */
        siginfo_t info = {0};
        for (int ms = 0; ms < END_MS && waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
             ms += 10)
            usleep(10000);
        last_words(r, words, sizeof words);
    }
    disconnect(r);
    snprintf(r->lost, sizeof r->lost, "%s%s%s", why, words[0] ? ": " : "", words);
    return ks_fail(err, KS_ERR_DEVICE, "lost the connection to %s: %s", r->via->name, r->lost);
}

/* The runner may be long in coming; a person may have thought better of it. */
static enum ks_code arrival_await(struct ks_remote *r, struct ks_err *err)
{
    while (r->via->stop) {
        struct pollfd p = {.fd = r->from_fd, .events = POLLIN};
        if (poll(&p, 1, STOP_MS) > 0)
            break;
        if (r->via->stop()) {
            disconnect(r);
            return ks_fail(err, KS_ERR_INTERRUPTED, "reach %s: stopped while it was waited for", r->via->name);
        }
    }
    return KS_OK;
}

static enum ks_code frame_exchange(struct ks_remote *r, enum ks_step_kind kind, uint32_t lane, const struct ks_str *payload,
                                   int64_t timeout_ms, struct ks_str *answer, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str frame = KS_STR_INIT;
    struct ks_frame f = {0};
    bool end = false;
    uint32_t number = r->next_number++;
    ks_frame_put(&frame, kind, lane, number, ks_str_cstr(payload), payload->len);
    if (ks_frame_send(r->to_fd, &frame, err) != KS_OK)
        return lose(r, err);
    if (kind == KS_STEP_OBJECT)
        return KS_OK;
    if (kind == KS_STEP_HEAD)
        KS_TRY(arrival_await(r, err));
    int64_t deadline_ns = ks_clock_ns() + (timeout_ms + GRACE_MS) * 1000000;
    if (ks_frame_recv(r->from_fd, deadline_ns, &f, answer, &end, err) != KS_OK)
        return lose(r, err);
    if (end) {
        ks_fail(err, KS_ERR_IO, "the other side has closed");
        return lose(r, err);
    }
    if (f.kind != kind || f.lane != lane || f.number != number) {
        ks_fail(err, KS_ERR_PROTOCOL, "the answer is to another step");
        return lose(r, err);
    }
    return KS_OK;
}

static enum ks_code program_start(struct ks_remote *r, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    ks_args_init(&argv);
    KS_TRY(r->via->command(r->via->context, &argv, err));
    int in[2], out[2], words[2];
    if (pipe2(in, O_CLOEXEC) != 0)
        return ks_fail_errno(err, KS_ERR_IO, "make a pipe");
    if (pipe2(out, O_CLOEXEC) != 0) {
        close(in[0]), close(in[1]);
        return ks_fail_errno(err, KS_ERR_IO, "make a pipe");
    }
    if (pipe2(words, O_CLOEXEC) != 0) {
        close(in[0]), close(in[1]), close(out[0]), close(out[1]);
        return ks_fail_errno(err, KS_ERR_IO, "make a pipe");
    }
    fcntl(words[0], F_SETFL, O_NONBLOCK); /* a program that lives on in the background may keep its end open */
    struct ks_spawn s;
    ks_spawn_init(&s);
    s.argv = argv.v;
    s.stdin_fd = in[0];
    s.stdout_fd = out[1];
    s.stderr_fd = words[1];
    s.own_group = true; /* a Ctrl-C of the user is ours to answer */
    s.die_with_parent = true;
    enum ks_code code = ks_process_start(&s, &r->pid, err);
    close(in[0]), close(out[1]), close(words[1]);
    r->to_fd = in[1];
    r->from_fd = out[0];
    r->words_fd = words[0];
    if (code != KS_OK)
        disconnect(r);
    return code;
}

/* The name that the runner's node has for itself. */
static void place_take(struct ks_remote *r, const char *node)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (r->via->node_prefix)
        snprintf(r->place, sizeof r->place, "%.60s%.*s", r->via->node_prefix, (int)strspn(node, letters), node);
}

enum ks_code ks_remote_connect(struct ks_remote *r, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str hello = KS_STR_INIT, answer = KS_STR_INIT;
    if (r->pid > 0)
        return KS_OK;
    r->lost[0] = r->place[0] = 0;
    KS_TRY(program_start(r, err));
    r->connection++;
    r->next_lane = r->next_number = 0;
    ks_str_add(&hello, ks_step_version());
    int64_t connect_ms = r->via->connect_ms ? r->via->connect_ms : CONNECT_MS;
    if (frame_exchange(r, KS_STEP_HEAD, 0, &hello, connect_ms - GRACE_MS, &answer, err) == KS_ERR_INTERRUPTED)
        return KS_ERR_INTERRUPTED;
    if (r->lost[0])
        return ks_fail(err, KS_ERR_DEVICE, "reach %s: %s", r->via->name, r->lost);
    size_t len = strcspn(ks_str_cstr(&answer), "\n");
    if (ks_step_version_check(ks_str_cstr(&answer), len, err) != KS_OK) {
        disconnect(r);
        return ks_wrap(err, "%s", r->via->name);
    }
    place_take(r, answer.len > len ? answer.data + len + 1 : "");
    r->met = true;
    return KS_OK;
}

/* Another version, or a program that is not there, is not waited for. */
enum ks_code ks_remote_reconnect(struct ks_remote *r, struct ks_err *err)
{
    enum ks_code code = KS_OK;
    unsigned max_s = r->via->max_pause_s ? (unsigned)r->via->max_pause_s : 8;
    for (unsigned pause_s = 0; pause_s <= max_s; pause_s = pause_s ? pause_s * 2 : 1) {
        sleep(pause_s);
        if (pause_s && r->via->stop && r->via->stop())
            return ks_fail(err, KS_ERR_INTERRUPTED, "reach %s: stopped while it was waited for", r->via->name);
        code = ks_remote_connect(r, err);
        if (code != KS_ERR_DEVICE)
            break;
    }
    return code;
}

int ks_remote_max_breaks(const struct ks_remote *r)
{
    return r->via->max_breaks ? r->via->max_breaks : 3;
}

bool ks_remote_met(const struct ks_remote *r)
{
    return r->met;
}

bool ks_remote_is_by_trial(const struct ks_remote *r)
{
    return r->via->by_trial;
}

void ks_remote_rest(struct ks_remote *r)
{
    if (r->via->by_trial && r->pid > 0)
        disconnect(r);
}

/* ---- lanes ---------------------------------------------------------------------------------------------------------- */

/* One step of a lane.  The answer's parts: res, text; its ranges go to the lane's memory. */
static enum ks_code step(struct ks_lane *l, enum ks_step_kind kind, const struct ks_str *payload, int64_t timeout_ms,
                         const struct ks_range *wanted, size_t n_wanted, struct ks_step_result *res, struct ks_str *text,
                         struct ks_err *err)
{
    KS_AUTO_STR struct ks_str answer = KS_STR_INIT;
    KS_TRY(frame_exchange(l->remote, kind, l->number, payload, timeout_ms, &answer, err));
    bool whole = answer.len >= sizeof *res;
    if (whole)
        memcpy(res, answer.data, sizeof *res);
    size_t rest = whole ? answer.len - sizeof *res : 0;
    whole = whole && res->code < KS_N_CODES && res->text_bytes <= KS_WIRE_REPORT_BYTES && res->text_bytes <= rest;
    if (!whole) {
        ks_fail(err, KS_ERR_PROTOCOL, "the answer is cut short");
        return lose(l->remote, err);
    }
    res->message[sizeof res->message - 1] = 0;
    l->alive = res->alive != 0;
    l->threads = res->threads;
    l->wall_ns = res->wall_ns;
    if (res->code != KS_OK)
        return ks_fail(err, (enum ks_code)res->code, "%s", res->message);
    ks_str_addn(text, answer.data + sizeof *res, (size_t)res->text_bytes);
    size_t used = sizeof *res + (size_t)res->text_bytes;
    if (res->n_ranges != n_wanted)
        ks_fail(err, KS_ERR_PROTOCOL, "the answer brings %u contents where %zu were asked for", res->n_ranges, n_wanted);
    else if (ks_ranges_take(answer.data + used, answer.len - used, n_wanted, wanted, l->shm, l->shm_bytes, err) == KS_OK)
        return KS_OK;
    return lose(l->remote, err);
}

/* Times of two kinds of cards are no measure of each other: what came on another one than the first is void. */
static enum ks_code card_check(struct ks_remote *r, const struct ks_str *device_text, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *j = NULL;
    char card[sizeof r->card];
    struct ks_err ignored;
    if (ks_json_parse(ks_str_cstr(device_text), device_text->len, "device", &j, &ignored) != KS_OK)
        return KS_OK; /* whoever wants to know more of it says so */
    snprintf(card, sizeof card, "%.200s %.100s", ks_json_get_str(j, "name", ""), ks_json_get_str(j, "arch", ""));
    if (!r->card[0])
        memcpy(r->card, card, sizeof card);
    if (strcmp(r->card, card) == 0)
        return KS_OK;
    ks_fail(err, KS_ERR_DEVICE, "the device is another one, '%.60s' and not '%.60s'", card, r->card);
    return lose(r, err);
}

enum ks_code ks_lane_start(struct ks_lane *l, const struct ks_worker_options *opt, struct ks_str *ret_device_text,
                           struct ks_err *err)
{
    struct ks_remote *r = l->remote;
    KS_AUTO_FREE struct ks_step_start *start = ks_xcalloc(1, sizeof *start);
    KS_AUTO_FREE struct ks_step_result *res = ks_xcalloc(1, sizeof *res);
    KS_AUTO_STR struct ks_str payload = KS_STR_INIT;
    KS_TRY(r->lost[0] ? ks_fail(err, KS_ERR_DEVICE, "lost the connection to %s: %s", r->via->name, r->lost) : KS_OK);
    KS_TRY(ks_remote_connect(r, err));
    l->number = r->next_lane++;
    l->connection = r->connection;
    start->walls = opt->walls;
    start->timeout_ms = opt->timeout_ms;
    start->memory_limit_bytes = opt->memory_limit_bytes;
    start->hello = opt->hello;
    if (start->hello.runtime_path[0])
        snprintf(start->hello.runtime_path, sizeof start->hello.runtime_path, "%s", KS_STEP_RUNTIME);
    ks_str_addn(&payload, start, sizeof *start);
    KS_TRY(step(l, KS_STEP_START, &payload, opt->timeout_ms, NULL, 0, res, ret_device_text, err));
    return card_check(r, ret_device_text, err);
}

enum ks_code ks_remote_object_send(struct ks_remote *r, char *path, size_t size, struct ks_err *err)
{
    char hash[65];
    KS_AUTO_STR struct ks_str object = KS_STR_INIT, answer = KS_STR_INIT;
    KS_TRY(ks_file_read(path, MAX_OBJECT, &object, err));
    ks_hash_hex(object.data, object.len, hash);
    bool there = false;
    for (size_t i = 0; i < r->sent.n; i++)
        there |= strcmp(r->sent.v[i], hash) == 0;
    if (!there)
        KS_TRY(frame_exchange(r, KS_STEP_OBJECT, 0, &object, 0, &answer, err));
    if (!there)
        ks_args_add(&r->sent, hash);
    snprintf(path, size, "%s%s", KS_STEP_OBJECT_REF, hash);
    return KS_OK;
}

enum ks_code ks_lane_ask(struct ks_lane *l, const struct ks_wire_command *asked, int64_t timeout_ms,
                         struct ks_wire_reply *ret_reply, struct ks_err *err)
{
    struct ks_range ranges[KS_MAX_PARAMS];
    KS_AUTO_FREE struct ks_wire_command *c = ks_xcalloc(1, sizeof *c);
    KS_AUTO_FREE struct ks_step_result *res = ks_xcalloc(1, sizeof *res);
    KS_AUTO_STR struct ks_str payload = KS_STR_INIT, text = KS_STR_INIT;
    struct ks_step_ask head = {.timeout_ms = timeout_ms,
                               .command_bytes = (uint32_t)ks_wire_command_bytes((enum ks_wire_op)asked->op)};
    if (!l->alive || l->connection != l->remote->connection || l->remote->lost[0]) {
        l->alive = false;
        return ks_fail(err, KS_ERR_DEVICE, "ask a worker that is gone%s%s", l->remote->lost[0] ? ": " : "", l->remote->lost);
    }
    memcpy(c, asked, head.command_bytes);
    if (c->op == KS_OP_LOAD)
        KS_TRY(ks_remote_object_send(l->remote, c->u.load.path, sizeof c->u.load.path, err));
    size_t n = c->op == KS_OP_PREPARE ? ks_ranges_of_prepare(&c->u.prepare, ranges) : 0;
    head.n_ranges = (uint32_t)n;
    ks_str_addn(&payload, &head, sizeof head);
    ks_str_addn(&payload, c, head.command_bytes);
    ks_ranges_put(&payload, l->shm, ranges, n);
    n = c->op == KS_OP_FETCH ? ks_ranges_of_fetch(&c->u.fetch, &l->placed, ranges) : 0;
    enum ks_code code = step(l, KS_STEP_ASK, &payload, timeout_ms, ranges, n, res, &text, err);
    if (code != KS_OK) {
        l->alive &= !l->remote->lost[0];
        return code;
    }
    if (c->op == KS_OP_PREPARE)
        l->placed = c->u.prepare;
    *ret_reply = res->reply;
    ret_reply->text[sizeof ret_reply->text - 1] = 0;
    if (c->op == KS_OP_LOAD || c->op == KS_OP_REPORT) { /* where a worker here would have left it */
        memcpy(l->shm + KS_WIRE_HEAD_BYTES, ks_str_cstr(&text), text.len);
        ret_reply->value[0] = (double)text.len;
    }
    return KS_OK;
}

void ks_lane_stop(struct ks_lane *l)
{
    struct ks_remote *r = l->remote;
    struct ks_err ignored;
    KS_AUTO_STR struct ks_str nothing = KS_STR_INIT, answer = KS_STR_INIT;
    if (r->pid > 0 && l->connection == r->connection && !r->lost[0] &&
        frame_exchange(r, KS_STEP_STOP, l->number, &nothing, 10000, &answer, &ignored) != KS_OK)
        l->alive = false; /* it is noted as lost */
    l->alive = false;
}

void ks_remote_lock(struct ks_remote *r, uint32_t how)
{
    struct ks_err ignored;
    KS_AUTO_STR struct ks_str payload = KS_STR_INIT, answer = KS_STR_INIT;
    ks_str_addn(&payload, &how, sizeof how);
    if (r->pid > 0 && !r->lost[0] && frame_exchange(r, KS_STEP_LOCK, 0, &payload, 3600000, &answer, &ignored) != KS_OK)
        return; /* noted as lost */
}

/* ---- steps of no lane ------------------------------------------------------------------------------------------------ */

static enum ks_code plain_step(struct ks_remote *r, enum ks_step_kind kind, const struct ks_str *payload, int64_t timeout_ms,
                               struct ks_str *text, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str answer = KS_STR_INIT;
    KS_AUTO_FREE struct ks_step_result *res = ks_xcalloc(1, sizeof *res);
    KS_TRY(r->lost[0] ? ks_fail(err, KS_ERR_DEVICE, "lost the connection to %s: %s", r->via->name, r->lost) : KS_OK);
    KS_TRY(ks_remote_connect(r, err));
    KS_TRY(frame_exchange(r, kind, 0, payload, timeout_ms, &answer, err));
    if (answer.len >= sizeof *res)
        memcpy(res, answer.data, sizeof *res);
    if (answer.len < sizeof *res || res->code >= KS_N_CODES || res->text_bytes != answer.len - sizeof *res) {
        ks_fail(err, KS_ERR_PROTOCOL, "the answer is cut short");
        return lose(r, err);
    }
    res->message[sizeof res->message - 1] = 0;
    if (res->code != KS_OK)
        return ks_fail(err, (enum ks_code)res->code, "%s", res->message);
    ks_str_addn(text, answer.data + sizeof *res, (size_t)res->text_bytes);
    return KS_OK;
}

/* Each tool that was asked for has its report, and no other. */
static bool reports_read(const struct ks_json *all, unsigned mask, struct ks_tool_report *ret)
{
    for (size_t i = 0; i < ks_json_len(all); i++) {
        const struct ks_json *one = ks_json_at(all, i);
        int64_t tool = ks_json_get_i64(one, "tool", -1), kind = ks_json_get_i64(one, "kind", -1);
        if (tool < 0 || tool >= KS_N_TOOLS || !(mask >> tool & 1) || kind < KS_EXIT_STATUS || kind > KS_EXIT_OUTPUT_LIMIT)
            return false;
        mask &= ~(1u << tool);
        ret[tool].ran = ks_json_get_bool(one, "ran", false);
        ret[tool].exit.kind = (enum ks_exit_kind)kind;
        ret[tool].exit.status = (int)ks_json_get_i64(one, "status", -1);
        ks_str_add(&ret[tool].out, ks_json_get_str(one, "out", ""));
        ks_str_add(&ret[tool].errout, ks_json_get_str(one, "err", ""));
    }
    return mask == 0;
}

/* Those of one replay. */
static enum ks_code tools_step(struct ks_remote *r, const struct ks_tools_task *task, const char *path, unsigned mask,
                               struct ks_tool_report *ret, struct ks_err *err)
{
    struct ks_step_tools head = {.mask = task->mask & mask, .sealed = task->sealed, .timeout_ms = task->timeout_ms};
    KS_AUTO_STR struct ks_str replay = KS_STR_INIT, payload = KS_STR_INIT, text = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *all = NULL;
    if (!head.mask)
        return KS_OK;
    KS_TRY(ks_file_read(path, MAX_OBJECT, &replay, err));
    ks_str_addn(&payload, &head, sizeof head);
    ks_str_addn(&payload, ks_str_cstr(&replay), replay.len);
    KS_TRY(plain_step(r, KS_STEP_TOOLS, &payload, task->timeout_ms, &text, err));
    if (ks_json_parse(ks_str_cstr(&text), text.len, "the tools' reports", &all, err) != KS_OK)
        return lose(r, err);
    if (reports_read(all, head.mask, ret))
        return KS_OK;
    ks_fail(err, KS_ERR_PROTOCOL, "the answer brings other reports than were asked for");
    return lose(r, err);
}

enum ks_code ks_remote_tools(struct ks_remote *r, const struct ks_tools_task *task, struct ks_tool_report *ret,
                             struct ks_err *err)
{
    const unsigned sizes = 1u << KS_TOOL_SIZES;
    KS_TRY(tools_step(r, task, task->replay, ~sizes, ret, err));
    return tools_step(r, task, task->sizes, sizes, ret, err);
}

struct ks_nvml_sample ks_remote_clocks(struct ks_remote *r)
{
    struct ks_nvml_sample sample = {0};
    struct ks_err ignored;
    KS_AUTO_STR struct ks_str nothing = KS_STR_INIT, text = KS_STR_INIT;
    if (plain_step(r, KS_STEP_CLOCKS, &nothing, 10000, &text, &ignored) == KS_OK && text.len == sizeof sample)
        memcpy(&sample, text.data, sizeof sample);
    return sample;
}
