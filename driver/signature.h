#ifndef KS_DRIVER_SIGNATURE_H
#define KS_DRIVER_SIGNATURE_H

/* Carries the entry's C signature from the analyzer to the harness, which do not know each other. */

#include "analyzer/facts.h"
#include "harness/contract.h"

/* Arena: *ret and all below it (names are borrowed from the facts).  Never fails: what the harness cannot call becomes
 * KS_PARAM_UNSUPPORTED, and binding the contract says so. */
void ks_signature_of(const struct ks_entry *entry, struct ks_arena *arena, struct ks_signature *ret);
/* The same of a host function that need not launch anything: an oracle.  Without a symbol. */
void ks_signature_of_function(const struct ks_node *function, struct ks_arena *arena, struct ks_signature *ret);
/* The element type of a buffer of `type`; false: contracts have none. */
bool ks_signature_dtype(const struct ks_type *type, enum ks_dtype *ret);

#endif
