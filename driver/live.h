#ifndef KS_DRIVER_LIVE_H
#define KS_DRIVER_LIVE_H

/* The block that a search keeps at the bottom of a terminal: stage, question, hypothesis, trial n of the budget, best speed-up,
 * what was spent, and how long it may still take.  One at a time, on stderr; say.c prints everything else above it.
 *
 * The cursor waits at the block's first column: what is erased goes from there to the end of the screen, however a terminal that
 * changed its width has folded the lines.  A thread draws, twice a second where something has changed; it takes no signals.  A
 * process in the background draws nothing.  All calls but ks_live_begin() do nothing when there is no block. */

#include "base/str.h"

#include <stdint.h>

/* What the block shows; texts may be NULL: not known yet. */
struct ks_live_view {
    const char *title;                           /* unit, entry and device */
    const char *stage, *question, *hypothesis;   /* may be of any length, and hold anything */
    const char *best;                            /* "1.83x [1.79, 1.86]" */
    int64_t n_trials, n_accepted, budget_trials; /* done so far */
    double budget_s;                             /* 0: not limited */
    int64_t spent_ms;                            /* earlier runs of the same search included */
    int64_t tokens;
    double usd;
};

/* The block as lines of at most `columns` - 1 columns, at most `rows` - 1 of them, without a newline at its end.  Appends. */
void ks_live_render(const struct ks_live_view *v, unsigned columns, unsigned rows, bool colour, struct ks_str *out);

/* "12 s", "3 min 4 s", "2 h 1 min".  Appends. */
void ks_live_add_duration(double seconds, struct ks_str *out);

/* Whether this process may have a block: stderr is a terminal that can move its cursor, and neither CI, NO_COLOR nor a build asks
 * for lines (say.h). */
void ks_live_begin(const char *title);
void ks_live_end(void);
bool ks_live_on(void);
/* Prints `line` (with its newline) above the block. */
void ks_live_print(const char *line, size_t len);
/* Takes the block away from the screen before the process dies; for signal handlers. */
void ks_live_wipe(void);

void ks_live_stage(const char *fmt, ...) KS_PRINTF(1, 2);
void ks_live_gate(const char *gate, bool confirm); /* the stage: which gate of the trial, or of the confirmation */
void ks_live_question(const char *text);
void ks_live_hypothesis(const char *layer, double predicted, const char *text);
/* Numbers of *v, and its best; the other texts of *v are not read. */
void ks_live_count(const struct ks_live_view *v);

#endif
