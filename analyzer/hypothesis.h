#ifndef KS_ANALYZER_HYPOTHESIS_H
#define KS_ANALYZER_HYPOTHESIS_H

/* Facts, ptxas and device counters become hypotheses: which layer holds which kernel back, how strongly (score in [0,1]) and on
 * what evidence, each piece with a place in the user's file.  A score means the share of the
 * entry's time that would vanish if the layer were free (calibrated: docs/EVIDENCE.md).  Order: score
 * descending, then kernel order, then layer order, so the list is deterministic. */

#include "analyzer/facts.h"
#include "base/json.h"
#include "base/layer.h"

struct ks_evidence {
    char *key; /* "lane_stride_symbolic", "dram_bytes_ratio": names questions' `when` conditions refer to */
    double value;
    uint32_t line, col, len; /* 1-based place, 0: none */
    char *text;              /* one sentence for people */
    double weight;           /* how strongly it speaks for the layer, [0,1): docs/EVIDENCE.md */
};

struct ks_hypothesis {
    enum ks_layer layer;
    const char *kernel; /* name, or the entry for operator-boundary */
    double score;       /* [0,1]: the share of the time that would vanish if the layer were free, as far as is known */
    double suspicion;   /* [0,1]: what source, ptxas and single counters say on their own */
    double share;       /* [0,1]: what the counters' model of time says on its own; NAN: no counters */
    double gain_bound;  /* largest speed-up of the entry this layer alone could give, >= 1; 0: not known */
    char *text;         /* the remark's sentence */
    struct ks_evidence *evidence;
    size_t n_evidence;
    uint32_t line, col, len;
};

/* Below this score a hypothesis is not worth a remark. */
#define KS_MIN_SCORE 0.1

struct ks_hypotheses {
    struct ks_hypothesis *data;
    size_t n;
};

/* ptxas -v for one kernel; -1: not known. */
struct ks_ptxas_info {
    const char *mangled;
    int registers, spill_store_bytes, spill_load_bytes, stack_bytes, static_shared_bytes;
};
/* Reads ptxas -v text.  Arena: *ret_infos. */
void ks_ptxas_parse(const char *text, size_t len, struct ks_arena *arena, struct ks_ptxas_info **ret_infos, size_t *ret_n);

/* counters: the device's profile (harness/device.h: one object per kernel with the metric names documented there), or NULL.
 * Arena: ret. */
void ks_hypotheses_derive(const struct ks_facts *facts, const struct ks_ptxas_info *ptxas, size_t n_ptxas,
                          const struct ks_json *counters, struct ks_arena *arena, struct ks_hypotheses *ret);
void ks_hypotheses_to_diags(const struct ks_hypotheses *h, const struct ks_facts *facts, struct ks_diags *out);
struct ks_json *ks_hypotheses_to_json(const struct ks_hypotheses *h, const struct ks_facts *facts);

#endif
