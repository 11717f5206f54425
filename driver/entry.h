#ifndef KS_DRIVER_ENTRY_H
#define KS_DRIVER_ENTRY_H

/* One entry of a unit: from its contract to a certificate. */

#include "driver/device_choice.h"
#include "driver/emit.h"
#include "driver/store.h"
#include "analyzer/facts.h"

/* What all entries of a unit share. */
struct ks_entry_context {
    const struct ks_unit *unit;
    const struct ks_facts *facts;
    const struct ks_parse_options *parse;
    const struct ks_device_chosen *device;
    struct ks_store *store;
    struct ks_store *read_only;  /* looked up first, when the user's store cannot be written; NULL: store is the user's */
    struct ks_store *shared;     /* a store of others, read before the user's (--kscc-shared-dir); NULL: none */
    const char *unit_hash;       /* ks_unit_hash() */
    enum ks_policy policy;       /* for the entry at hand */
    const char *allowed_signers; /* of approvals; NULL: anybody */
};

/* Looks the entry up in the store or searches, and fills *ret when there is a certificate that the policy lets out.  Everything
 * that happens is said on stderr, with what is done instead when there is none.  ret's texts live in the unit's arena. */
KS_NODISCARD bool ks_entry_optimise(const struct ks_entry_context *x, const struct ks_contract *contract,
                                    struct ks_emission *ret);

#endif
