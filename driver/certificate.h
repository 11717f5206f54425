#ifndef KS_DRIVER_CERTIFICATE_H
#define KS_DRIVER_CERTIFICATE_H

/* What the store says about one key, and the names it says it under.  A certificate states what was proved: which text, by which
 * gates, over which domain, on which device, with which speed-up.  It holds no clock times and no host names: the same proof
 * gives the same bytes. */

#include "driver/search.h"
#include "driver/store.h"

/* Raised whenever the gates get stricter or a certificate's meaning changes: older certificates then count for nothing. */
#define KS_GATE_VERSION 8

/* In a certificate's "confirmation": hash of host code and PTX of the object that passed. */
#define KS_JUDGED_CODE "judged_code"

#define KS_CERTIFICATE_FILE  "certificate.json"
#define KS_APPROVAL_FILE     "approved.json"
#define KS_OUTCOME_FILE      "outcome.json" /* a search that ended without a candidate */
#define KS_ORIGINAL_FILE     "original.cu"
#define KS_CANDIDATE_FILE    "candidate.cu"
#define KS_DIFF_FILE         "candidate.diff"
#define KS_TRACE_FILE        "trace.jsonl"
#define KS_JOURNAL_FILE      "journal.jsonl"
#define KS_WALL_FILE         "wall.jsonl"
#define KS_REPORT_FILE       "report.txt"
#define KS_PAGE_FILE         "report.html"
#define KS_CONVERSATION_FILE "conversation.jsonl"

/* One search and what it found, for the store. */
struct ks_finding {
    const struct ks_unit *unit;
    const char *key;
    const struct ks_contract *contract;
    const struct ks_json *contract_json;
    const struct ks_json *device; /* ks_session_device_json() */
    const struct ks_search_result *result;
    struct ks_budget budget;
    const char *agent;
    char trace_hash[65];
};

/* The flags of a unit as certificates list them.  Caller frees. */
struct ks_json *ks_unit_flags_json(const struct ks_unit *u);
/* Writes everything but the trace; the certificate (result->confirm != NULL) or the outcome last. */
KS_NODISCARD enum ks_code ks_finding_store(const struct ks_store *store, const struct ks_finding *f, struct ks_err *err);
/* "4 rejected by numerics, 7 without gain" over the trace's verdicts.  Appends to out. */
void ks_report_trials(const struct ks_store *store, const char *key, struct ks_str *out);
/* Appends "1.23x modelled", or "1.23x [1.20, 1.26]" of a measurement, from a certificate's "speedup". */
void ks_report_speedup(const struct ks_json *speedup, struct ks_str *out);
/* Whether the end of a key's search is there, and cannot be read: the caller has tried. */
bool ks_report_is_damaged(const struct ks_store *store, const char *key);
/* Text report of a key from the files of its folder; works for unfinished searches too. */
void ks_report_text(const struct ks_store *store, const char *key, struct ks_str *out);

#endif
