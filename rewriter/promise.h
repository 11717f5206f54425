#ifndef KS_REWRITER_PROMISE_H
#define KS_REWRITER_PROMISE_H

/* What the contract promises, read from ks_contract_to_json(): directions, domains, timing points.  Every question has a careful
 * answer when the contract is NULL or says nothing. */

#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>

/* "in", "out", "inout", "scratch", or NULL when the buffer is not known. */
const char *ks_promise_direction(const struct ks_json *contract, const char *buffer);
bool ks_promise_is_scratch(const struct ks_json *contract, const char *buffer);
/* Range of a dim; false: not known.  *ret_multiple is 1 unless all values are multiples of more. */
bool ks_promise_dim(const struct ks_json *contract, const char *dim, int64_t *ret_lo, int64_t *ret_hi, int64_t *ret_multiple);
/* Greatest divisor that all values of the dim share; 1 when not known. */
int64_t ks_promise_dim_divisor(const struct ks_json *contract, const char *dim);
/* The values of a dim that has a list of choices; returns their number (0: none listed, or more than cap). */
size_t ks_promise_dim_choices(const struct ks_json *contract, const char *dim, int64_t *ret_values, size_t cap);
/* Value of a dim at the heaviest timing point; fallback when not known. */
int64_t ks_promise_time_dim(const struct ks_json *contract, const char *dim, int64_t fallback);
/* Relative tolerance that every output allows; 0 when one must be exact or none is known. */
double ks_promise_rtol(const struct ks_json *contract);

/* 90 for "sm_90a"; 0 when the architecture is not known. */
int ks_arch_number(const char *arch);

#endif
