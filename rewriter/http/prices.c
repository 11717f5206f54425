#include "rewriter/http/prices.h"

#include "base/json.h"

#include <string.h>

#define MILLION 1e6

/* "" or a date behind a name: "-20250929", "-2025-08-07". */
static bool is_date(const char *text)
{
    size_t digits = 0;
    for (const char *p = text; *p; p++) {
        digits += *p >= '0' && *p <= '9';
        if (*p != '-' && (*p < '0' || *p > '9'))
            return false;
    }
    return !*text || (*text == '-' && digits == 8);
}

/* How much of the model's name the row names; 0: it is about another one.  gpt-5-pro costs twelve times what gpt-5 does. */
static size_t row_fits(const struct ks_json *row, const char *model)
{
    const char *name = ks_json_get_str(row, "model", ""), *prefix = ks_json_get_str(row, "prefix", "");
    if (*name)
        return ks_str_starts(model, name) && is_date(model + strlen(name)) ? strlen(model) + 1 : 0;
    return ks_str_starts(model, prefix) ? strlen(prefix) : 0;
}

enum ks_code ks_price_find(const char *path, const char *model, struct ks_price *ret, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *file = NULL;
    KS_TRY(ks_json_read_file(path, &file, err));
    const char *slash = strrchr(model, '/'), *name = slash ? slash + 1 : model;
    const struct ks_json *models = ks_json_get(file, "models"), *best = NULL;
    size_t best_len = 0;
    for (size_t i = 0; i < ks_json_len(models); i++) {
        const struct ks_json *row = ks_json_at(models, i);
        size_t in_name = row_fits(row, name), in_model = row_fits(row, model), len = in_name > in_model ? in_name : in_model;
        bool priced = ks_json_get_num(row, "in", -1) >= 0 && ks_json_get_num(row, "out", -1) >= 0;
        if (priced && len > best_len) {
            best = row;
            best_len = len;
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
