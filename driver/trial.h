#ifndef KS_DRIVER_TRIAL_H
#define KS_DRIVER_TRIAL_H

/* One judged candidate as the search loop, the trace and the journal keep it: plain data, from a session's verdict or out of the
 * journal of an earlier run of the same search. */

#include "harness/session.h"

struct ks_trial {
    enum ks_outcome outcome;
    bool correct;      /* every gate up to and with "resources" passed */
    char *failed_gate; /* owned, NULL: none */
    char *reason;      /* owned, NULL: none */
    double speedup, speedup_lo, speedup_hi;
    bool modelled;
    struct ks_json *verdict;  /* owned, without what differs between equal runs */
    struct ks_json *counters; /* owned, NULL: none */
};
#define KS_CODE_HASH "code_hash"    /* in the verdict: what it compiles to, line information left out */
#define KS_SAME_AS   "same_code_as" /* in the verdict: hash of the earlier text whose verdict it is */

/* `t` with owned copies of everything. */
void ks_trial_copy(const struct ks_trial *t, struct ks_trial *ret);

void ks_trial_from_verdict(const struct ks_verdict *v, const struct ks_contract *c, struct ks_trial *ret);
void ks_trial_release(struct ks_trial *t);
/* All of it, and back; false: `j` is none. */
struct ks_json *ks_trial_to_json(const struct ks_trial *t);
bool ks_trial_from_json(const struct ks_json *j, struct ks_trial *ret);
/* One line for people: "accepted: 1.92x [1.90, 1.94] modelled", "rejected by numerics: o[3] is nan". */
void ks_trial_describe(const struct ks_trial *t, struct ks_str *out);
/* "1.92x [1.90, 1.94] modelled" */
void ks_trial_speedup(const struct ks_trial *t, struct ks_str *out);
/* "interface pass, build pass, numerics fail": the gates that ran */
void ks_trial_gates(const struct ks_trial *t, struct ks_str *out);

/* ---- journal -------------------------------------------------------------------------------------------------------- */

/* Appends one line, flushed to disk: {"phase": "trial"|"confirm", "candidate": HASH, ...}. */
KS_NODISCARD enum ks_code ks_journal_append(const char *path, const char *phase, const char *candidate_hash,
                                            const struct ks_trial *t, struct ks_err *err);
struct ks_journal {
    struct ks_json **lines; /* owned */
    size_t n;
};
/* Reads what an earlier run left; a last line cut short by a kill is left out.  A missing file is empty. */
void ks_journal_read(const char *path, struct ks_journal *ret);
void ks_journal_release(struct ks_journal *j);
/* Wall time that the search has used so far, all its runs together, in a file beside the journal; 0: not known. */
void ks_journal_clock_write(const char *journal_path, int64_t elapsed_ms);
int64_t ks_journal_clock_read(const char *journal_path);
/* Verdict of this candidate in this phase, if the journal has one. */
bool ks_journal_find(const struct ks_journal *j, const char *phase, const char *candidate_hash, struct ks_trial *ret);

#endif
