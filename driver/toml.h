#ifndef KS_DRIVER_TOML_H
#define KS_DRIVER_TOML_H

/* Reads TOML into its leaves, each with its place: a thin C face on toml++, the only C++ of ours.  Says nothing about what the
 * keys mean. */

#ifdef __cplusplus
extern "C" {
#endif

#include "base/err.h"

#include <stdbool.h>

#define KS_TOML_MAX_DEPTH 8

enum ks_toml_kind { KS_TOML_STRING, KS_TOML_BOOL, KS_TOML_OTHER };
struct ks_toml_leaf {
    const char *keys[KS_TOML_MAX_DEPTH]; /* "entry", "attention", "policy" */
    size_t n_keys;
    enum ks_toml_kind kind;
    const char *text;   /* strings */
    bool truth;         /* booleans */
    uint32_t line, col; /* of the value */
};
/* False: stop. */
typedef bool ks_toml_visit_fn(const struct ks_toml_leaf *leaf, void *ctx);
/* Visits the leaves in no particular order; what it gets lives as long as the visit.  Errors: KS_ERR_SYNTAX with the place in
 * err->loc, KS_ERR_LIMIT (nested deeper than KS_TOML_MAX_DEPTH). */
KS_NODISCARD enum ks_code ks_toml_read(const char *path, const char *text, size_t len, ks_toml_visit_fn *visit, void *ctx,
                                       struct ks_err *err);

#ifdef __cplusplus
}
#endif
#endif
