#ifndef KS_DRIVER_PROOF_DEVICE_H
#define KS_DRIVER_PROOF_DEVICE_H

/* Which device an entry's key is about: the one at hand, or under the policy "approved" the one of the proof. */

#include "driver/entry.h"

/* contract: ks_contract_to_json().  Arena: the unit's. */
const struct ks_device_chosen *ks_proof_device(const struct ks_entry_context *x, const char *entry,
                                               const struct ks_json *contract);

#endif
