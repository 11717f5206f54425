#ifndef KS_DRIVER_TRY_SERVE_H
#define KS_DRIVER_TRY_SERVE_H

/* kscc try FILE.cu --serve: a sitting over stdin and stdout, for programs (kscc mcp is one).  One JSON object a line:
 *
 *   <- {"ready": true, "unit", "entry", "device", "key", "dir", "began", "original", "trace"}
 *   -> {"id": any, "tool": T, "arguments": {...}}
 *   <- {"id": as given, "content": {...}, "refused": bool}
 *
 * Tools: those of rewriter/actions.def, analyze (hypotheses, contract), best_text, report (the trace for people, and counted) and
 * finish (confirm the best, put a certificate into the store).  The end of stdin ends this process, not the sitting.  A line that
 * is no request gets an answer with "refused" and the id null. */

#include "driver/sitting.h"

KS_NODISCARD enum ks_code ks_try_serve(struct ks_sitting *s, struct ks_err *err);

#endif
