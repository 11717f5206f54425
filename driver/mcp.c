#include "driver/mcp.h"

#include "base/process.h"
#include "driver/say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define META_VERSION      "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define TELL_EVERY_NS     2000000000ll
#define MAX_JOBS          64
#define MAX_ID            9007199254740991.0 /* 2^53 - 1: beyond it a double has no neighbour of its own */

static const char instructions[] = "kscc judges edits of CUDA source: correct, safe, and faster beyond noise, or rejected with "
                                   "the reason. Begin with analyze. Edit the "
                                   "working text, state_hypothesis (layer, why, predicted speed-up), then evaluate. No "
                                   "statement, no trial. Questions redirect or doubt; they "
                                   "never say how. report with finish confirms the best candidate and stores its certificate.";

/* ---- jobs ----------------------------------------------------------------------------------------------------------- */

static void job_release(struct ks_mcp_job *j)
{
    ks_json_free(j->id);
    ks_json_free(j->token);
    ks_json_free(j->arguments);
    free(j->tool);
    free(j->uri);
}

static void drop_job(struct ks_mcp *m, size_t i)
{
    job_release(&m->jobs.data[i]);
    memmove(m->jobs.data + i, m->jobs.data + i + 1, (m->jobs.n - i - 1) * sizeof(*m->jobs.data));
    m->jobs.n--;
    if (i == 0)
        m->sent = false;
}

/* Answers the first job with what came of it, and drops it. */
static void end_job(struct ks_mcp *m, const struct ks_json *content, bool refused)
{
    struct ks_mcp_job *j = &m->jobs.data[0];
    if (!j->uri) {
        ks_mcp_result(m, ks_steal(j->id), ks_mcp_tool_result(j->tool, content, refused));
    } else if (refused) {
        ks_mcp_error(ks_steal(j->id), KS_RPC_INTERNAL, NULL, "%s", ks_json_get_str(content, "error", "?"));
    } else {
        struct ks_json *result = ks_json_object();
        ks_json_set(result, "contents", ks_mcp_contents(j->uri, "text/x-cuda", ks_json_get_str(content, "text", "")));
        ks_mcp_list_result(m, ks_steal(j->id), result);
    }
    drop_job(m, 0);
}

static void fail_job(struct ks_mcp *m, const char *why)
{
    KS_AUTO_JSON struct ks_json *content = ks_json_object();
    ks_json_set_str(content, "error", why);
    end_job(m, content, true);
}

static void add_job(struct ks_mcp *m, struct ks_json *id, const char *tool, const struct ks_json *arguments, const char *uri,
                    const struct ks_json *token)
{
    if (m->jobs.n == MAX_JOBS) {
        ks_mcp_error(id, KS_RPC_INTERNAL, NULL, "%d calls are waiting already", MAX_JOBS);
        return;
    }
    struct ks_mcp_job j = {.id = id,
                           .token = token ? ks_json_copy(token) : NULL,
                           .tool = ks_xstrdup(tool),
                           .arguments = arguments ? ks_json_copy(arguments) : NULL,
                           .uri = uri ? ks_xstrdup(uri) : NULL};
    ks_vec_push(&m->jobs, j);
}

void ks_mcp_release(struct ks_mcp *m)
{
    while (m->jobs.n)
        drop_job(m, m->jobs.n - 1);
    ks_vec_release(&m->jobs);
    ks_mcp_engine_release(&m->engine);
}

/* analyze may take the server to another unit.  False: the job was answered. */
static bool turn_to_unit(struct ks_mcp *m, const struct ks_json *arguments)
{
    KS_AUTO_ARGS struct ks_args line;
    KS_AUTO_FREE char *why = NULL;
    ks_args_init(&line);
    if (!ks_mcp_analyze_line(arguments, &line, &why)) {
        fail_job(m, why);
        return false;
    }
    if (line.n == 0)
        return true;
    ks_mcp_engine_stop(&m->engine, 2000);
    ks_json_free(ks_steal(m->engine.about));
    ks_args_release(&m->engine.line);
    ks_args_add_all(&m->engine.line, line.v);
    return true;
}

void ks_mcp_step(struct ks_mcp *m)
{
    struct ks_err err;
    while (m->jobs.n && !m->sent) {
        struct ks_mcp_job *j = &m->jobs.data[0];
        if (m->engine.pid && !m->engine.ready)
            return; /* it is starting */
        if (!m->began_ns) {
            m->began_ns = m->told_ns = ks_clock_ns();
            m->progress = 0;
            if (strcmp(j->tool, "analyze") == 0 && !turn_to_unit(m, j->arguments)) {
                m->began_ns = 0;
                continue;
            }
        }
        if (m->engine.line.n == 0) {
            fail_job(m, "no unit yet: call analyze with the file, or name one when the server is started");
        } else if (!m->engine.pid) {
            if (ks_mcp_engine_start(&m->engine, &err) == KS_OK)
                return;
            fail_job(m, err.message);
        } else if (ks_mcp_engine_send(&m->engine, j->tool, j->arguments, &err) == KS_OK) {
            m->sent = true;
            return;
        } else {
            ks_mcp_engine_kill(&m->engine); /* once more with another one would do the same */
            fail_job(m, err.message);
        }
        m->began_ns = 0;
    }
}

void ks_mcp_answer(struct ks_mcp *m, const struct ks_json *answer)
{
    if (ks_json_get_bool(answer, "ready", false)) {
        m->engine.ready = true;
        ks_json_free(m->engine.about);
        m->engine.about = ks_json_copy(answer);
    } else if (m->sent) {
        end_job(m, ks_json_get(answer, "content"), ks_json_get_bool(answer, "refused", false));
        m->began_ns = 0;
    }
}

void ks_mcp_engine_ended(struct ks_mcp *m, const char *why)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    bool expected = m->jobs.n == 0 || (!m->sent && m->engine.ready);
    ks_str_addf(&text, "%s%s%s", why, m->engine.said.len ? ":\n" : "", ks_str_cstr(&m->engine.said));
    ks_mcp_engine_kill(&m->engine);
    if (expected)
        return;
    fail_job(m, ks_str_cstr(&text));
    m->began_ns = 0;
}

/* ---- progress ------------------------------------------------------------------------------------------------------- */

void ks_mcp_progress(struct ks_mcp *m, const char *message)
{
    if (!m->jobs.n || !m->began_ns || !m->jobs.data[0].token)
        return;
    int64_t now = ks_clock_ns();
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (!message && now - m->told_ns < TELL_EVERY_NS)
        return;
    m->told_ns = now;
    if (message)
        ks_str_add(&text, ks_str_starts(message, "kscc: ") ? message + 6 : message);
    else
        ks_str_addf(&text, "%s, %.0f s so far", m->sent ? m->jobs.data[0].tool : "building and checking the original",
                    (double)(now - m->began_ns) / 1e9);
    struct ks_json *params = ks_json_object();
    ks_json_set(params, "progressToken", ks_json_copy(m->jobs.data[0].token));
    ks_json_set_i64(params, "progress", ++m->progress);
    ks_json_set_str(params, "message", ks_str_cstr(&text));
    ks_mcp_notify("notifications/progress", params);
}

/* ---- cancellation --------------------------------------------------------------------------------------------------- */

static bool same_id(const struct ks_json *a, const struct ks_json *b)
{
    if (ks_json_is_string(a))
        return ks_streq(ks_json_str(a), ks_json_str(b));
    return ks_json_is_number(a) && ks_json_is_number(b) && ks_json_num(a, 0) == ks_json_num(b, 1);
}

/* No answer follows.  Too late, or an id nobody knows: nothing happens. */
static void cancel(struct ks_mcp *m, const struct ks_json *params)
{
    const struct ks_json *id = ks_json_get(params, "requestId");
    for (size_t i = 0; id && i < m->jobs.n; i++) {
        if (!same_id(id, m->jobs.data[i].id))
            continue;
        if (i == 0 && m->began_ns) {
            ks_mcp_engine_kill(&m->engine);
            m->began_ns = 0;
        }
        drop_job(m, i);
        return;
    }
}

/* ---- requests ------------------------------------------------------------------------------------------------------- */

static struct ks_json *capabilities(void)
{
    struct ks_json *j = ks_json_object();
    ks_json_set(j, "tools", ks_json_object());
    ks_json_set(j, "resources", ks_json_object());
    return j;
}

static void on_initialize(struct ks_mcp *m, struct ks_json *id, const struct ks_json *params)
{
    static const char *const spoken[] = {KS_MCP_HANDSHAKE_VERSION, "2025-06-18"};
    const char *asked = ks_json_get_str(params, "protocolVersion", NULL), *version = spoken[0];
    if (!asked) {
        ks_mcp_error(id, KS_RPC_INVALID_PARAMS, NULL, "initialize needs a protocolVersion");
        return;
    }
    for (size_t i = 0; i < sizeof(spoken) / sizeof(spoken[0]); i++)
        if (strcmp(asked, spoken[i]) == 0)
            version = spoken[i];
    struct ks_json *result = ks_json_object(), *server = ks_json_object();
    ks_json_set_str(server, "name", "kscc");
    ks_json_set_str(server, "version", KSCC_VERSION);
    ks_json_set_str(result, "protocolVersion", version);
    ks_json_set(result, "capabilities", capabilities());
    ks_json_set(result, "serverInfo", server);
    ks_json_set_str(result, "instructions", instructions);
    m->initialized = true;
    ks_mcp_result(m, id, result);
}

static void on_discover(struct ks_mcp *m, struct ks_json *id, const struct ks_json *params)
{
    (void)params;
    struct ks_json *result = ks_json_object(), *versions = ks_json_array();
    ks_json_push(versions, ks_json_string(KS_MCP_VERSION));
    ks_json_set(result, "supportedVersions", versions);
    ks_json_set(result, "capabilities", capabilities());
    ks_json_set_str(result, "instructions", instructions);
    ks_mcp_list_result(m, id, result);
}

static void on_ping(struct ks_mcp *m, struct ks_json *id, const struct ks_json *params)
{
    (void)params;
    ks_mcp_result(m, id, ks_json_object());
}

static void list(struct ks_mcp *m, struct ks_json *id, const struct ks_json *params, const char *name, struct ks_json *items)
{
    KS_AUTO_JSON struct ks_json *owned = items;
    if (ks_json_get(params, "cursor")) { /* everything is on the first page */
        ks_mcp_error(id, KS_RPC_INVALID_PARAMS, NULL, "there is no such page");
        return;
    }
    struct ks_json *result = ks_json_object();
    ks_json_set(result, name, ks_steal(owned));
    ks_mcp_list_result(m, id, result);
}

static void on_tools_list(struct ks_mcp *m, struct ks_json *id, const struct ks_json *params)
{
    list(m, id, params, "tools", ks_mcp_tools());
}

static void on_resources_list(struct ks_mcp *m, struct ks_json *id, const struct ks_json *params)
{
    list(m, id, params, "resources", ks_mcp_resources(m));
}

static void on_templates_list(struct ks_mcp *m, struct ks_json *id, const struct ks_json *params)
{
    list(m, id, params, "resourceTemplates", ks_json_array());
}

static void on_resources_read(struct ks_mcp *m, struct ks_json *id, const struct ks_json *params)
{
    const char *uri = ks_json_get_str(params, "uri", NULL), *tool = NULL;
    struct ks_json *contents = NULL, *data;
    if (!uri) {
        ks_mcp_error(id, KS_RPC_INVALID_PARAMS, NULL, "resources/read needs a uri");
    } else if (!ks_mcp_resource(m, uri, &contents, &tool)) {
        data = ks_json_object();
        ks_json_set_str(data, "uri", uri);
        ks_mcp_error(id, m->era == KS_MCP_MODERN ? KS_RPC_INVALID_PARAMS : KS_MCP_NO_RESOURCE, data, "there is no such resource");
    } else if (tool) {
        add_job(m, id, tool, NULL, uri, ks_json_get(ks_json_get(params, "_meta"), "progressToken"));
    } else {
        struct ks_json *result = ks_json_object();
        ks_json_set(result, "contents", contents);
        ks_mcp_list_result(m, id, result);
    }
}

static void on_tools_call(struct ks_mcp *m, struct ks_json *id, const struct ks_json *params)
{
    const char *name = ks_json_get_str(params, "name", NULL);
    const struct ks_json *arguments = ks_json_get(params, "arguments");
    if (!name || !ks_mcp_has_tool(name)) {
        ks_mcp_error(id, KS_RPC_INVALID_PARAMS, NULL, "unknown tool '%s'", name ? name : "");
    } else if (arguments && !ks_json_is_object(arguments)) {
        ks_mcp_error(id, KS_RPC_INVALID_PARAMS, NULL, "arguments are no object");
    } else {
        bool finish = strcmp(name, "report") == 0 && ks_json_get_bool(arguments, "finish", false);
        add_job(m, id, finish ? "finish" : name, arguments, NULL, ks_json_get(ks_json_get(params, "_meta"), "progressToken"));
    }
}

/* ---- messages ------------------------------------------------------------------------------------------------------- */

static const struct {
    const char *method;
    enum ks_mcp_era era; /* UNDECIDED: both */
    void (*run)(struct ks_mcp *m, struct ks_json *id, const struct ks_json *params);
} methods[] = {
    {"initialize", KS_MCP_HANDSHAKE, on_initialize},
    {"ping", KS_MCP_HANDSHAKE, on_ping},
    {"resources/list", KS_MCP_UNDECIDED, on_resources_list},
    {"resources/read", KS_MCP_UNDECIDED, on_resources_read},
    {"resources/templates/list", KS_MCP_UNDECIDED, on_templates_list},
    {"server/discover", KS_MCP_MODERN, on_discover},
    {"tools/call", KS_MCP_UNDECIDED, on_tools_call},
    {"tools/list", KS_MCP_UNDECIDED, on_tools_list},
};

static void refuse_version(struct ks_json *id, const char *asked)
{
    struct ks_json *data = ks_json_object(), *supported = ks_json_array();
    ks_json_push(supported, ks_json_string(KS_MCP_VERSION));
    ks_json_set(data, "supported", supported);
    ks_json_set_str(data, "requested", asked);
    ks_mcp_error(id, KS_MCP_UNSUPPORTED_VERSION, data, "unsupported protocol version");
}

/* The envelope of revision 2026-07-28.  False: answered. */
static bool check_envelope(struct ks_json *id, const struct ks_json *params)
{
    const struct ks_json *meta = ks_json_get(params, "_meta"), *version = ks_json_get(meta, META_VERSION);
    if (!ks_json_is_string(version) || !ks_json_is_object(ks_json_get(meta, META_CAPABILITIES))) {
        ks_mcp_error(id, KS_RPC_INVALID_PARAMS, NULL, "params._meta must hold %s and %s", META_VERSION, META_CAPABILITIES);
        return false;
    }
    if (strcmp(ks_json_str(version), KS_MCP_VERSION) == 0)
        return true;
    refuse_version(id, ks_json_str(version));
    return false;
}

/* The first request decides how both sides talk.  False: answered. */
static bool settle_era(struct ks_mcp *m, struct ks_json *id, const char *method, const struct ks_json *params)
{
    bool enveloped = ks_json_get(ks_json_get(params, "_meta"), META_VERSION) != NULL, first = strcmp(method, "initialize") == 0;
    if (m->era == KS_MCP_UNDECIDED)
        m->era = enveloped && !first ? KS_MCP_MODERN : KS_MCP_HANDSHAKE;
    if (m->era == KS_MCP_MODERN && first) {
        refuse_version(id, ks_json_get_str(params, "protocolVersion", ""));
        return false;
    }
    if (m->era == KS_MCP_MODERN)
        return check_envelope(id, params);
    bool early = !m->initialized && !first && strcmp(method, "ping") != 0;
    if (early)
        ks_mcp_error(id, KS_RPC_INVALID_REQUEST, NULL, "initialize comes first");
    else if (enveloped && !first)
        ks_mcp_error(id, KS_RPC_INVALID_REQUEST, NULL, "this connection began with initialize: requests carry no envelope on it");
    return !early && (!enveloped || first);
}

static void on_request(struct ks_mcp *m, struct ks_json *id, const char *method, const struct ks_json *params)
{
    if (!settle_era(m, id, method, params))
        return;
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        if (strcmp(methods[i].method, method) == 0 && (!methods[i].era || methods[i].era == m->era)) {
            methods[i].run(m, id, params);
            return;
        }
    ks_mcp_error(id, KS_RPC_NO_METHOD, NULL, "there is no method '%.100s'", method);
}

/* A string, or a whole number that goes back as it came. */
static bool can_be_id(const struct ks_json *id)
{
    double v = ks_json_num(id, 0.5);
    return ks_json_is_string(id) || (fabs(v) <= MAX_ID && v == (double)(int64_t)v);
}

void ks_mcp_message(struct ks_mcp *m, const char *line, size_t len)
{
    KS_AUTO_JSON struct ks_json *message = NULL;
    struct ks_err err;
    if (ks_json_parse(line, len, "message", &message, &err) != KS_OK) {
        ks_mcp_error(NULL, KS_RPC_PARSE, NULL, "the line is no JSON");
        return;
    }
    const struct ks_json *id = ks_json_get(message, "id"), *params = ks_json_get(message, "params");
    const char *method = ks_json_get_str(message, "method", NULL);
    bool has_id = can_be_id(id);
    if (!method && (ks_json_get(message, "result") || ks_json_get(message, "error")))
        return; /* an answer: nothing was asked */
    if (!ks_json_is_object(message) || !method || !ks_streq(ks_json_get_str(message, "jsonrpc", NULL), "2.0") ||
        (id && !has_id) || (params && !ks_json_is_object(params))) {
        ks_mcp_error(has_id ? ks_json_copy(id) : NULL, KS_RPC_INVALID_REQUEST, NULL, "the message is no request of JSON-RPC 2.0");
        return;
    }
    if (id)
        on_request(m, ks_json_copy(id), method, params);
    else if (strcmp(method, "notifications/cancelled") == 0)
        cancel(m, params);
}
