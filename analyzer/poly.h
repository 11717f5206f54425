#ifndef KS_ANALYZER_POLY_H
#define KS_ANALYZER_POLY_H

/* Arithmetic of polynomials in normal form (facts.h has the type and the reading side): factors sorted within a term, terms
 * sorted and merged, no zero terms.  Too many terms, too many factors or an overflow give known == false.  Arena: every result.
 */

#include "analyzer/facts.h"

#define KS_MAX_TERMS 48

struct ks_poly ks_poly_unknown(void);
struct ks_poly ks_poly_const(struct ks_arena *a, int64_t value);
struct ks_poly ks_poly_var(struct ks_arena *a, struct ks_var v);
struct ks_poly ks_poly_add(struct ks_arena *a, const struct ks_poly *x, const struct ks_poly *y);
struct ks_poly ks_poly_scale(struct ks_arena *a, const struct ks_poly *x, int64_t factor);
struct ks_poly ks_poly_mul(struct ks_arena *a, const struct ks_poly *x, const struct ks_poly *y);
/* Exact quotient; known == false unless every coefficient is divisible. */
struct ks_poly ks_poly_div(struct ks_arena *a, const struct ks_poly *x, int64_t divisor);
/* Puts `with` in place of a loop variable or symbol. */
struct ks_poly ks_poly_substitute(struct ks_arena *a, const struct ks_poly *x, enum ks_var_kind kind,
                                  const struct ks_symbol *symbol, const struct ks_poly *with);
bool ks_poly_is_const(const struct ks_poly *p, int64_t *ret_value);
/* Two expressions that have the same value wherever both are evaluated by one thread in one iteration. */
bool ks_node_same(const struct ks_node *a, const struct ks_node *b);
/* n without parentheses and casts around it. */
const struct ks_node *ks_node_strip(const struct ks_node *n);

#endif
