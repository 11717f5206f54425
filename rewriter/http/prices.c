#include "rewriter/http/prices.h"

#include "base/json.h"

#include <string.h>

#define MILLION 1e6

enum ks_code ks_price_find(const char *path, const char *model, struct ks_price *ret, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *file = NULL;
    KS_TRY(ks_json_read_file(path, &file, err));
    const char *slash = strrchr(model, '/'), *name = slash ? slash + 1 : model;
    const struct ks_json *models = ks_json_get(file, "models"), *best = NULL;
    size_t best_len = 0;
    for (size_t i = 0; i < ks_json_len(models); i++) {
        const struct ks_json *row = ks_json_at(models, i);
        const char *prefix = ks_json_get_str(row, "prefix", "");
        bool priced = ks_json_get_num(row, "in", -1) >= 0 && ks_json_get_num(row, "out", -1) >= 0;
        if (priced && strlen(prefix) > best_len && (ks_str_starts(name, prefix) || ks_str_starts(model, prefix))) {
            best = row;
            best_len = strlen(prefix);
        }
    }
    if (!best)
        return ks_fail(err, KS_ERR_NOT_FOUND, "no price for the model '%s' in '%s'", model, path);
    double in = ks_json_get_num(best, "in", 0);
    *ret =
        (struct ks_price){in / MILLION, ks_json_get_num(best, "cached", in) / MILLION, ks_json_get_num(best, "out", 0) / MILLION};
    return KS_OK;
}

double ks_price_of(const struct ks_price *p, int64_t in, int64_t cached, int64_t out)
{
    in = in > 0 ? in : 0;
    out = out > 0 ? out : 0;
    cached = cached < 0 ? 0 : cached < in ? cached : in;
    return (double)(in - cached) * p->in_usd + (double)cached * p->cached_usd + (double)out * p->out_usd;
}
