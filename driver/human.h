#ifndef KS_DRIVER_HUMAN_H
#define KS_DRIVER_HUMAN_H

/* --kscc-ask=human: at each decision point a person types the question, at the terminal or, line by line, into a file or fifo.  A
 * line is "LAYER: question" or just the question; an empty one passes.  At the end of a file, or of the terminal's input, nobody
 * asks any more.  Waiting ends with a signal and with the search's time. */

#include "base/err.h"
#include "base/layer.h"
#include "base/str.h"

#include <stdint.h>

struct ks_human;

/* path: NULL: the terminal.  Errors: there is none, or the file cannot be read.  Caller frees *ret. */
KS_NODISCARD enum ks_code ks_human_open(const char *path, struct ks_human **ret, struct ks_err *err);
/* Replaces out.  *ret_layer: KS_N_LAYERS when the line names none.  deadline_ns: of ks_clock_ns(), 0: none.  False: no question.
 */
bool ks_human_ask(struct ks_human *h, const char *point, int64_t deadline_ns, enum ks_layer *ret_layer, struct ks_str *out);
void ks_human_free(struct ks_human *h);

#endif
