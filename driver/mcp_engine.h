#ifndef KS_DRIVER_MCP_ENGINE_H
#define KS_DRIVER_MCP_ENGINE_H

/* The process that does the work of an MCP server: "kscc try FILE.cu --serve", in a process group of its own.  Calling a trial
 * off is killing it: a sitting survives that (sitting.h), and the next call starts another one. */

#include "base/json.h"
#include "base/str.h"

#include <sys/types.h>

struct ks_mcp_engine {
    struct ks_args line;                    /* FILE.cu and options; empty: no unit yet */
    pid_t pid;                              /* 0: not running */
    int in, out, err;                       /* our ends; -1: closed */
    bool ready;                             /* has said so */
    struct ks_json *about;                  /* its ready message, owned; outlives the process */
    struct ks_str out_text, err_text, said; /* read and not yet taken; the end of what it printed on stderr */
};

void ks_mcp_engine_init(struct ks_mcp_engine *e);
void ks_mcp_engine_release(struct ks_mcp_engine *e); /* kills it */
KS_NODISCARD enum ks_code ks_mcp_engine_start(struct ks_mcp_engine *e, struct ks_err *err);
void ks_mcp_engine_kill(struct ks_mcp_engine *e);
/* Ends it gently where it is idle: within grace_ms, else kills it. */
void ks_mcp_engine_stop(struct ks_mcp_engine *e, int grace_ms);
KS_NODISCARD enum ks_code ks_mcp_engine_send(struct ks_mcp_engine *e, const char *tool, const struct ks_json *arguments,
                                             struct ks_err *err);
/* Reads what is there on e->out or e->err; false: that end is closed. */
bool ks_mcp_engine_read(struct ks_mcp_engine *e, int fd);
/* The next whole line that was read, of out or of err.  False: none. */
bool ks_mcp_engine_line(struct ks_str *from, struct ks_str *ret_line);

#endif
