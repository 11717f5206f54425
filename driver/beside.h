#ifndef KS_DRIVER_BESIDE_H
#define KS_DRIVER_BESIDE_H

/* What lies beside a unit: a file of contracts, and the store. */

#include "driver/options.h"
#include "harness/contract.h"

/* "dir/attention.cu": "dir/attention.kscc.json", there or not. */
void ks_sidecar_path(const char *unit_path, struct ks_str *ret);
/* Appends the contracts of the file `sidecar` to the *n of *contracts, those without errors even when it fails. */
KS_NODISCARD enum ks_code ks_sidecar_read(const char *sidecar, struct ks_arena *arena, struct ks_diags *diags,
                                          struct ks_contract **contracts, size_t *n, struct ks_err *err);
/* Whether a closer look can find a contract in the unit or beside it. */
bool ks_unit_may_have_contract(const char *unit_path);
/* Its own text defines or launches one; true also where it cannot be read. */
bool ks_unit_may_have_kernel(const char *unit_path);

/* The store's folder: the one that the settings name, or .kscc beside the unit. */
void ks_store_dir_of(const struct ks_settings *s, const char *unit_path, struct ks_str *ret);

#endif
