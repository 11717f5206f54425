#ifndef KS_ANALYZER_USAGE_H
#define KS_ANALYZER_USAGE_H

/* Who writes which variable, and which thread indices values can depend on: fills n_writes, writes, address_taken and thread_mask
 * of the symbols of all functions, the parameters of __device__ functions by what their callers pass. */

#include "analyzer/mirror.h"

void ks_usage_derive(const struct ks_mirror *m);
/* KS_THREAD_* that decide whether a thread gets to n. */
unsigned ks_node_control_mask(const struct ks_node *n);
/* The function of the main file that a call calls; NULL: another one. */
const struct ks_function *ks_mirror_callee(const struct ks_mirror *m, const struct ks_node *call);

/* Assignment operators: "=" and the compound ones. */
bool ks_op_assigns(const char *op);
bool ks_node_is(const struct ks_node *n, enum ks_node_kind kind, const char *op);

#endif
