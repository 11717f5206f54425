#ifndef KS_DRIVER_SITTING_H
#define KS_DRIVER_SITTING_H

/* A sitting: somebody works on one file over many calls, each judged against the same original (kscc try, kscc interactive, kscc
 * mcp). It lives in the store, <store>/sittings/<id>/, id from the file's folder and name, and the entry:
 *
 *   sitting.json       path, entry, content key; written last when it begins
 *   original/<name>    the text as it was then: the baseline of every trial
 *   log.jsonl          every call (operator_log.h): what the sitting is rebuilt from
 *   journal.jsonl      every verdict
 *   trace.jsonl        as a search's; made anew from log and journal by each run, so that a kill costs at most the trial it hit
 *   wall.jsonl, memory.json (what questions had led to when it began)
 *
 * One process at a time; others wait.  The search's own loop runs it, with an agent that asks the port (agent_operator.h). */

#include "driver/agent_operator.h"
#include "driver/opened.h"

struct ks_sitting_options {
    const char *entry;    /* NULL: the only one */
    const char *baseline; /* a file whose text is the original, when a sitting begins; NULL: the input as it is */
    bool restart;         /* forget what was there */
};

struct ks_sitting {
    struct ks_opened *o; /* borrowed */
    char *dir;           /* owned */
    int lock_fd;
    bool began; /* by this call: there was none */
    const struct ks_contract *contract;
    struct ks_json *contract_json; /* owned */
    struct ks_entry_context x;
    struct ks_signature signature;
    char key[65];
    struct ks_entry_session judge;
    struct ks_bank bank;
    const struct ks_search *search; /* while it runs; NULL otherwise */
};

/* o: after ks_opened_input().  Takes the lock, reads or begins the sitting, builds and checks the baseline.  Errors, beside those
 * of their parts: KS_ERR_MISMATCH when flags, toolkit, contract, device or included files are not those that it began with. */
KS_NODISCARD enum ks_code ks_sitting_open(struct ks_opened *o, const struct ks_sitting_options *opt, struct ks_sitting *ret,
                                          struct ks_err *err);
void ks_sitting_close(struct ks_sitting *s); /* also after a failure */

/* Makes the calls of the log again, then those of the port until it has none.  `name` stands for the agent in the trace. */
KS_NODISCARD enum ks_code ks_sitting_run(struct ks_sitting *s, const char *name, const struct ks_operator_port *port,
                                         struct ks_err *err);
/* Confirms the best on fresh seeds and hidden shapes and puts a certificate into the store, as the end of a search does.
 * *ret_confirmed: false: nothing passed.  *ret_line (caller frees): a sentence about it. */
KS_NODISCARD enum ks_code ks_sitting_finish(struct ks_sitting *s, const char *name, bool *ret_confirmed, char **ret_line,
                                            struct ks_err *err);
void ks_sitting_path(const struct ks_sitting *s, const char *name, struct ks_str *out); /* replaces out */

#endif
