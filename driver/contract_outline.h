#ifndef KS_DRIVER_CONTRACT_OUTLINE_H
#define KS_DRIVER_CONTRACT_OUTLINE_H

/* Where a unit has no contract: the lines of one for each host function that launches kernels, as far as its parameters tell.
 * What only its author knows stands as '?', which no contract takes: pasted as it is, each is an error with its place. */

#include "analyzer/facts.h"
#include "base/str.h"

/* Appends them; returns for how many functions. */
size_t ks_contract_outline(const struct ks_facts *facts, struct ks_arena *arena, struct ks_str *out);

#endif
