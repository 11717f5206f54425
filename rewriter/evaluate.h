#ifndef KS_REWRITER_EVALUATE_H
#define KS_REWRITER_EVALUATE_H

/* Integer expressions of host or device code with numbers for their variables.  Two index expressions that agree on several
 * random choices of all variables are the same polynomial for all practical purposes; that compares addresses which different
 * kernels spell differently.  A pointer's value is its offset in elements from the buffer it points into. */

#include "analyzer/facts.h"

struct ks_binding {
    const struct ks_symbol *symbol;
    int64_t value;
};

struct ks_values {
    struct ks_binding bound[48];
    size_t n_bound;
    int64_t thread[3], block[3], block_dim[3], grid_dim[3];
};

void ks_values_bind(struct ks_values *v, const struct ks_symbol *symbol, int64_t value); /* a later binding wins */
/* False when something in the expression has no value. */
bool ks_evaluate(const struct ks_node *n, const struct ks_values *v, int64_t *ret_value);
/* Offset in elements of P[i] or *P. */
bool ks_evaluate_address(const struct ks_node *access, const struct ks_values *v, int64_t *ret_value);

#endif
