#ifndef KS_DRIVER_MCP_H
#define KS_DRIVER_MCP_H

/* kscc mcp: the Model Context Protocol over stdin and stdout, one JSON-RPC message a line.  Two eras of the protocol are spoken,
 * and the client's first request says which: revision 2026-07-28, where every request carries its own envelope, or the handshake
 * of 2025-06-18 and 2025-11-25.
 *
 * The server itself never blocks.  The work is done by an engine, a process of its own (mcp_engine.h), one call after the other;
 * everything else is answered at once, so that a trial can be watched and called off. */

#include "base/json.h"
#include "driver/mcp_engine.h"

#define KS_MCP_VERSION           "2026-07-28"
#define KS_MCP_HANDSHAKE_VERSION "2025-11-25"

/* JSON-RPC's and MCP's error codes. */
enum {
    KS_RPC_PARSE = -32700,
    KS_RPC_INVALID_REQUEST = -32600,
    KS_RPC_NO_METHOD = -32601,
    KS_RPC_INVALID_PARAMS = -32602,
    KS_RPC_INTERNAL = -32603,
    KS_MCP_NO_RESOURCE = -32002, /* handshake era; later: invalid params */
    KS_MCP_UNSUPPORTED_VERSION = -32022
};

enum ks_mcp_era { KS_MCP_UNDECIDED, KS_MCP_HANDSHAKE, KS_MCP_MODERN };

/* A call for the engine, waiting or under way. */
struct ks_mcp_job {
    struct ks_json *id;        /* owned */
    struct ks_json *token;     /* of progress, owned; NULL: not wanted */
    char *tool;                /* the engine's, owned */
    struct ks_json *arguments; /* owned, may be NULL */
    char *uri;                 /* a resource is read; NULL: a tool was called */
};

struct ks_mcp {
    enum ks_mcp_era era;
    bool initialized;
    struct ks_mcp_engine engine;
    KS_VEC(struct ks_mcp_job) jobs; /* the first one is with the engine when `sent` */
    bool sent;
    int64_t began_ns, told_ns; /* of the first job; the last progress message */
    int64_t progress;
    const char *bank; /* folder of the question bank */
};

/* One message of the client.  Answers what can be answered at once. */
void ks_mcp_message(struct ks_mcp *m, const char *line, size_t len);
/* Lets the first job go on as far as it does without waiting; to be called after every event. */
void ks_mcp_step(struct ks_mcp *m);
/* An answer of the engine's, and a line of its stderr. */
void ks_mcp_answer(struct ks_mcp *m, const struct ks_json *answer);
void ks_mcp_progress(struct ks_mcp *m, const char *message);
/* The engine has ended; `why` is for the client. */
void ks_mcp_engine_ended(struct ks_mcp *m, const char *why);
void ks_mcp_release(struct ks_mcp *m);

/* mcp_reply.c: every message that goes out.  Everything is handed over but strings. */
void ks_mcp_result(const struct ks_mcp *m, struct ks_json *id, struct ks_json *result);
void ks_mcp_list_result(const struct ks_mcp *m, struct ks_json *id,
                        struct ks_json *result); /* may be cached in principle: says that it may not */
void ks_mcp_error(struct ks_json *id, int code, struct ks_json *data, const char *fmt, ...) KS_PRINTF(4, 5);
void ks_mcp_notify(const char *method, struct ks_json *params);
bool ks_mcp_output_failed(void); /* the client reads no more */

/* mcp_tools.c */
struct ks_json *ks_mcp_tools(void); /* [{"name", "description", "inputSchema", ...}] */
bool ks_mcp_has_tool(const char *name);
/* "analyze" may name another unit: takes file, options and entry out of the arguments.  *ret_argv: a line for the engine, or
 * empty. False: wrong, and *ret_why (owned by the caller) says how. */
bool ks_mcp_analyze_line(const struct ks_json *arguments, struct ks_args *ret_argv, char **ret_why);
struct ks_json *ks_mcp_tool_result(const char *tool, const struct ks_json *content, bool refused);

/* mcp_resources.c */
struct ks_json *ks_mcp_resources(const struct ks_mcp *m);
/* Reads what lies in files.  *ret_tool: the engine's tool that knows it instead.  False: there is no such resource. */
bool ks_mcp_resource(const struct ks_mcp *m, const char *uri, struct ks_json **ret_contents, const char **ret_tool);
struct ks_json *ks_mcp_contents(const char *uri, const char *mime, const char *text);

#endif
