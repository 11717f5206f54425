#ifndef KS_REWRITER_HTTP_PRICES_H
#define KS_REWRITER_HTTP_PRICES_H

/* What a model's tokens cost, from a file like prices.json.  A budget in money needs a price: a model that the file does not know
 * has none, and then there is no search, rather than one that nobody counts.  A row names a "model", which counts with a date
 * behind it too, or a "prefix", which counts for every longer name; a provider's name in front ("openai/") is passed over. */

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct ks_price {
    double in_usd, cached_usd, out_usd; /* for one token */
};

/* Errors: KS_ERR_NOT_FOUND (no such model), those of reading the file. */
KS_NODISCARD enum ks_code ks_price_find(const char *path, const char *model, struct ks_price *ret, struct ks_err *err);
/* cached: part of `in`; negative counts are none. */
double ks_price_of(const struct ks_price *p, int64_t in, int64_t cached, int64_t out);

#endif
