#ifndef KS_DRIVER_OPERATOR_LOG_H
#define KS_DRIVER_OPERATOR_LOG_H

/* What an operator has called, one JSON object a line, in order:
 *   {"tool": T, "arguments": A, "result": R, "refused": bool}
 *   {"tool": "evaluate", "arguments": A, "candidate": SHA-256}   before the trial
 *   {"done": SHA-256} or {"cancelled": SHA-256}                  after it
 * Lines only grow; a last one cut short by a kill is left out, and made good before the next is written. */

#include "base/json.h"

struct ks_operator_log {
    char *path; /* owned; NULL: none is kept */
    struct ks_json **lines;
    size_t n;
};

KS_NODISCARD enum ks_code ks_operator_log_open(const char *path, struct ks_operator_log *ret, struct ks_err *err);
void ks_operator_log_release(struct ks_operator_log *log);
/* Appends and flushes; `line` is handed over.  Errors: KS_ERR_IO. */
KS_NODISCARD enum ks_code ks_operator_log_add(const struct ks_operator_log *log, struct ks_json *line, struct ks_err *err);
KS_NODISCARD enum ks_code ks_operator_log_end(const struct ks_operator_log *log, const char *how, const char *candidate,
                                              struct ks_err *err);
/* How the evaluation in line i ended: "done", "cancelled", or NULL: the log ends there. */
const char *ks_operator_log_ended(const struct ks_operator_log *log, size_t i);

#endif
