#ifndef KS_DRIVER_PATHS_H
#define KS_DRIVER_PATHS_H

/* Where kscc's own parts are: beside the program in a build tree (bin/, data in the source tree), under lib/kscc and share/kscc
 * of the same prefix when installed. */

#include "base/str.h"

void ks_paths_bin(struct ks_str *out);      /* folder of kscc and kscc-worker; each function replaces out */
void ks_paths_core(struct ks_str *out);     /* the program kscc-core */
void ks_paths_emulated(struct ks_str *out); /* folder of the emulated libcudart.so.13; empty when not found */
void ks_paths_recorder(struct ks_str *out); /* libkscc-record.so; empty when not found */
void ks_paths_bank(struct ks_str *out);     /* question bank */
void ks_paths_prices(struct ks_str *out);   /* file of models' prices */
void ks_paths_presets(struct ks_str *out);  /* how coding agents' programs are called */
void ks_paths_shim(struct ks_str *out);     /* folder of kscc_clang_shim.h */
void ks_paths_manuals(struct ks_str *out);  /* folder of docs/ */

#endif
