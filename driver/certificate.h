#ifndef KS_DRIVER_CERTIFICATE_H
#define KS_DRIVER_CERTIFICATE_H

/* Names and versions of what the store holds for a key. */

/* Raised whenever the gates get stricter or a certificate's meaning changes: older certificates then count for nothing. */
#define KS_GATE_VERSION 1

#define KS_CERTIFICATE_FILE "certificate.json"
#define KS_APPROVAL_FILE "approved.json"
#define KS_OUTCOME_FILE "outcome.json" /* a search that ended without a candidate */
#define KS_ORIGINAL_FILE "original.cu"
#define KS_CANDIDATE_FILE "candidate.cu"
#define KS_DIFF_FILE "candidate.diff"
#define KS_TRACE_FILE "trace.jsonl"
#define KS_JOURNAL_FILE "journal.jsonl"
#define KS_WALL_FILE "wall.jsonl"
#define KS_REPORT_FILE "report.txt"

#endif
