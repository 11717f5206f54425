#ifndef KS_DRIVER_EXPLAIN_H
#define KS_DRIVER_EXPLAIN_H

/* The ids in brackets after messages, "[kscc-contract]", and what is to be said about each (explain.def). */

#include <stddef.h>

struct ks_explanation {
    const char *id, *meaning, *remedy;
};

extern const struct ks_explanation ks_explanations[];
extern const size_t ks_n_explanations;

/* "contract", "kscc-contract" or "[kscc-contract]".  NULL: no such id. */
const struct ks_explanation *ks_explain(const char *id);

#endif
