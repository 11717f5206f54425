#include "driver/try_serve.h"

#include "base/file.h"
#include "base/limits.h"
#include "driver/certificate.h"
#include "driver/search_state.h"
#include "driver/stop.h"
#include "driver/trace_print.h"
#include "driver/try_client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

struct serve {
    struct ks_sitting *s;
    struct ks_str in;       /* read and not yet taken */
    struct ks_json *id;     /* of the open request, owned */
    struct ks_json *finish; /* id of a request for the end, owned: the run must end first */
    bool closed;
};

static void reply(struct serve *v, struct ks_json *id, const struct ks_json *content, bool refused)
{
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    struct ks_err err;
    ks_json_set(j, "id", id ? id : ks_json_null());
    ks_json_set(j, "content", ks_json_copy(content));
    ks_json_set_bool(j, "refused", refused);
    if (ks_line_write(STDOUT_FILENO, j, &err) != KS_OK) /* nobody listens: no more calls */
        v->closed = true;
}

static void refuse(struct serve *v, struct ks_json *id, const char *why)
{
    KS_AUTO_JSON struct ks_json *content = ks_json_object();
    ks_json_set_str(content, "error", why);
    reply(v, id, content, true);
}

/* The next line of stdin; false: there is none. */
static bool next_line(struct serve *v, struct ks_str *line)
{
    while (!v->closed && !ks_stop_asked()) {
        char *end = v->in.len ? memchr(v->in.data, '\n', v->in.len) : NULL;
        if (end) {
            size_t len = (size_t)(end - v->in.data);
            ks_str_clear(line);
            ks_str_addn(line, v->in.data, len);
            memmove(v->in.data, end + 1, v->in.len - len - 1);
            v->in.len -= len + 1;
            return true;
        }
        char buf[1 << 16];
        struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
        if (poll(&p, 1, 1000) == 0)
            continue;
        ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || v->in.len + (size_t)n > KS_MAX_JSON_BYTES)
            return false;
        ks_str_addn(&v->in, buf, (size_t)n);
    }
    return false;
}

static bool next(void *ctx, char **ret_tool, struct ks_json **ret_arguments)
{
    struct serve *v = ctx;
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    while (next_line(v, &line)) {
        KS_AUTO_JSON struct ks_json *request = NULL;
        struct ks_err err;
        if (line.len == 0)
            continue;
        if (ks_json_parse(ks_str_cstr(&line), line.len, "request", &request, &err) != KS_OK) {
            refuse(v, NULL, "the line is no JSON");
            continue;
        }
        const char *tool = ks_json_get_str(request, "tool", NULL);
        const struct ks_json *id = ks_json_get(request, "id"), *arguments = ks_json_get(request, "arguments");
        if (!tool) {
            refuse(v, id ? ks_json_copy(id) : NULL, "the request names no tool");
            continue;
        }
        if (strcmp(tool, "finish") == 0) {
            v->finish = id ? ks_json_copy(id) : ks_json_null();
            return false;
        }
        ks_json_free(v->id);
        v->id = id ? ks_json_copy(id) : NULL;
        *ret_tool = ks_xstrdup(tool);
        *ret_arguments = arguments ? ks_json_copy(arguments) : NULL;
        return true;
    }
    v->closed = true;
    return false;
}

static void answer(void *ctx, const struct ks_json *content, bool refused)
{
    struct serve *v = ctx;
    reply(v, ks_steal(v->id), content, refused);
}

/* ---- what the table does not have ----------------------------------------------------------------------------------- */

static struct ks_json *report(struct serve *v)
{
    struct ks_json *j = ks_json_object();
    struct ks_trace_file t;
    struct ks_err err;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    ks_sitting_path(v->s, KS_TRACE_FILE ".part", &path); /* of this very run */
    if (ks_trace_read(ks_str_cstr(&path), &t, &err) != KS_OK) {
        ks_json_set_str(j, "error", err.message);
        return j;
    }
    ks_trace_show(&t, false, &text);
    ks_json_set_str(j, "report", ks_str_cstr(&text));
    ks_json_set(j, "stats", ks_trace_stats(&t));
    ks_trace_file_release(&t);
    return j;
}

static struct ks_json *analyze(struct serve *v)
{
    struct ks_json *j = ks_json_object();
    struct ks_agent_view view;
    ks_search_view(v->s->search, &view);
    ks_json_set_str(j, "unit", v->s->o->unit.path);
    ks_json_set_str(j, "entry", view.entry);
    ks_json_set_str(j, "device", v->s->o->device.label);
    ks_json_set_i64(j, "candidate", view.best);
    ks_json_set(j, "hypotheses", ks_json_copy(view.hypotheses));
    ks_json_set(j, "contract", ks_json_copy(view.contract));
    if (view.question) {
        struct ks_json *q = ks_json_object();
        ks_json_set_str(q, "layer", ks_layer_text(view.question_layer));
        ks_json_set_str(q, "text", view.question);
        ks_json_set(j, "question", q);
    }
    return j;
}

static struct ks_json *best_text(struct serve *v)
{
    struct ks_json *j = ks_json_object();
    struct ks_agent_view view;
    const char *text = v->s->o->unit.source;
    ks_search_view(v->s->search, &view);
    for (size_t i = 0; i < view.n_attempts; i++)
        if (view.attempts[i].improved)
            text = view.attempts[i].source;
    ks_json_set_str(j, "text", text);
    return j;
}

static bool extra(void *ctx, const char *tool, const struct ks_json *arguments, struct ks_json **ret, bool *ret_refused)
{
    static const struct {
        const char *tool;
        struct ks_json *(*make)(struct serve *v);
    } own[] = {{"analyze", analyze}, {"best_text", best_text}, {"report", report}};
    (void)arguments;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (strcmp(tool, own[i].tool) != 0)
            continue;
        *ret = own[i].make(ctx);
        *ret_refused = ks_json_get(*ret, "error") != NULL;
        return true;
    }
    return false;
}

static enum ks_code finish(struct serve *v, struct ks_err *err)
{
    KS_AUTO_FREE char *line = NULL;
    KS_AUTO_JSON struct ks_json *content = ks_json_object();
    bool confirmed = false;
    struct ks_err why;
    (void)err;
    if (ks_sitting_finish(v->s, "operator", &confirmed, &line, &why) != KS_OK) {
        refuse(v, ks_steal(v->finish), why.message);
        return KS_OK;
    }
    ks_json_set_bool(content, "confirmed", confirmed);
    ks_json_set_str(content, "text", line);
    if (confirmed)
        ks_json_set_str(content, "key", v->s->key);
    reply(v, ks_steal(v->finish), content, false);
    return KS_OK;
}

static enum ks_code say_ready(struct serve *v, struct ks_err *err)
{
    const struct ks_sitting *s = v->s;
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_json_set_bool(j, "ready", true);
    ks_json_set_str(j, "unit", s->o->unit.path);
    ks_json_set_str(j, "entry", s->contract->entry);
    ks_json_set_str(j, "device", s->o->device.label);
    ks_json_set_str(j, "key", s->key);
    ks_json_set_str(j, "dir", s->dir);
    ks_json_set_bool(j, "began", s->began);
    ks_json_set_str(j, "original", s->o->unit.text_path);
    ks_sitting_path(s, KS_TRACE_FILE ".part", &path);
    ks_json_set_str(j, "trace", ks_str_cstr(&path));
    return ks_line_write(STDOUT_FILENO, j, err);
}

enum ks_code ks_try_serve(struct ks_sitting *s, struct ks_err *err)
{
    struct serve v = {.s = s};
    const struct ks_operator_port port = {.ctx = &v, .next = next, .answer = answer, .extra = extra};
    enum ks_code code = say_ready(&v, err);
    while (code == KS_OK && !v.closed && !ks_stop_asked()) {
        code = ks_sitting_run(s, "operator", &port, err);
        if (code == KS_OK && v.finish)
            code = finish(&v, err);
    }
    ks_json_free(v.id);
    ks_json_free(v.finish);
    ks_str_release(&v.in);
    return code;
}
