/* Every message that goes out to an MCP client. */

#include "driver/mcp.h"
#include "driver/try_client.h"

#include <stdarg.h>
#include <unistd.h>

static bool failed;

static void put(struct ks_json *message)
{
    KS_AUTO_JSON struct ks_json *given = message;
    struct ks_err err;
    ks_json_set_str(given, "jsonrpc", "2.0");
    ks_json_make_utf8(given); /* a source file need not be, and clients end at what is not */
    if (!failed && ks_line_write(STDOUT_FILENO, given, &err) != KS_OK)
        failed = true;
}

bool ks_mcp_output_failed(void)
{
    return failed;
}

void ks_mcp_result(const struct ks_mcp *m, struct ks_json *id, struct ks_json *result)
{
    struct ks_json *message = ks_json_object();
    if (m->era == KS_MCP_MODERN) {
        struct ks_json *meta = ks_json_object(), *server = ks_json_object();
        ks_json_set_str(server, "name", "kscc");
        ks_json_set_str(server, "version", KSCC_VERSION);
        ks_json_set(meta, "io.modelcontextprotocol/serverInfo", server);
        ks_json_set(result, "_meta", meta);
        ks_json_set_str(result, "resultType", "complete");
    }
    ks_json_set(message, "id", id);
    ks_json_set(message, "result", result);
    put(message);
}

void ks_mcp_list_result(const struct ks_mcp *m, struct ks_json *id, struct ks_json *result)
{
    if (m->era == KS_MCP_MODERN) {
        ks_json_set_i64(result, "ttlMs", 0);
        ks_json_set_str(result, "cacheScope", "private");
    }
    ks_mcp_result(m, id, result);
}

void ks_mcp_error(struct ks_json *id, int code, struct ks_json *data, const char *fmt, ...)
{
    struct ks_json *message = ks_json_object(), *error = ks_json_object();
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    ks_str_vaddf(&text, fmt, ap);
    va_end(ap);
    ks_json_set_i64(error, "code", code);
    ks_json_set_str(error, "message", ks_str_cstr(&text));
    if (data)
        ks_json_set(error, "data", data);
    ks_json_set(message, "id", id ? id : ks_json_null());
    ks_json_set(message, "error", error);
    put(message);
}

void ks_mcp_notify(const char *method, struct ks_json *params)
{
    struct ks_json *message = ks_json_object();
    ks_json_set_str(message, "method", method);
    ks_json_set(message, "params", params);
    put(message);
}
