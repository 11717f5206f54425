#ifndef KS_DRIVER_REPORT_JSON_H
#define KS_DRIVER_REPORT_JSON_H

// clang-format off
/* One search as one JSON object, read from the files of its folder: what `kscc report --json` prints and what the HTML report
 * shows.
 *
 *   schema 1, key, unit, entry, kscc, toolkit, flags, agent, device
 *   state      "approved", "certified", "no gain", "unfinished"; "damaged": there is a certificate or an outcome that cannot be read
 *   modelled   times come from the emulated device's model
 *   speedup    {estimate, lo, hi}, of the confirmation; absent without a certificate
 *   points     the confirmation's timing points: shape, reference_ns, candidate_ns, speedup, speedup_lo, speedup_hi, roofline_ns
 *   roofline   where the original stands under its device's roofline (harness/roofline.h); absent where no ceilings are known
 *   questions  [{n, before_trial, point, layer, id, text}]
 *   trials     [{n, question, agent, layer, hypothesis, predicted, transform, outcome, speedup, speedup_lo, speedup_hi, gain, best,
 *              gate, reason, gates: {name: state}, details: {name: what the gate saw}, points}]
 *              question: its n, 0 before the first; gain: over the best text before it, to compare with predicted; best: the
 *              fastest so far; gate: the one that failed
 *   confirmations  the same members, of the repeated judgements at the end
 *   layers     {before, after}: hypotheses on the original and on the last text that was analysed: [{layer, kernel, score, text,
 *              line}]
 *   spend      {trials, wall_s, build_s, tools_s, device_s, gates_s: {name: s}} and what the trace's "spend" events count; from
 *              the wall file, so it differs from run to run
 *   stopped_by, budget_trials
 *   conversation   the trace's other events, as they are
 *   diff       candidate against original, unified; absent without a certificate
 */
// clang-format on

#include "base/json.h"
#include "driver/store.h"

/* Caller frees.  Works for unfinished searches; a key without any file gives state "unfinished" and no trials. */
struct ks_json *ks_report_json(const struct ks_store *store, const char *key);

#endif
