#ifndef KS_ANALYZER_REACHING_H
#define KS_ANALYZER_REACHING_H

/* Which assignments decide the value of a variable at a place, for straight-line code: assignments under conditions or in loops
 * that the place does not share make the answer unknown.  goto is not looked at. */

#include "analyzer/facts.h"

#define KS_MAX_REACHING 16

/* Fills ret with the assignments that come before `use`, in the order they happen, and returns their number; -1: not known. */
int ks_reaching_writes(const struct ks_symbol *s, const struct ks_node *use, const struct ks_write *ret[KS_MAX_REACHING]);

#endif
