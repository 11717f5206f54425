#ifndef KS_DRIVER_ENTRY_CHECK_H
#define KS_DRIVER_ENTRY_CHECK_H

/* Whether the function a contract names can be an entry: the harness and the emitted guard call it by one mangled name that
 * others can link to, so it must be there once, with external linkage, and be no template. */

#include "analyzer/facts.h"
#include "base/diag.h"
#include "harness/contract.h"

/* The entry, or NULL after adding an error at the contract's entry line. */
const struct ks_entry *ks_entry_check(const struct ks_facts *facts, const struct ks_contract *contract, struct ks_diags *diags);

/* The function that the contract's oracle line names: a plain host function of this file, defined once, that others can call.
 * NULL after adding an error at its name. */
const struct ks_node *ks_oracle_check(const struct ks_facts *facts, const struct ks_contract *contract, struct ks_diags *diags);

#endif
