#include "analyzer/counters.h"

#include "base/str.h"

#include <math.h>

static const struct ks_json *kernels_of(const struct ks_json *profile)
{
    return ks_json_is_array(profile) ? profile : ks_json_get(profile, "kernels");
}

static const char *name_of(const struct ks_json *kernel)
{
    const char *name = ks_json_get_str(kernel, "kernel", NULL);
    return name ? name : ks_json_get_str(kernel, "name", NULL);
}

void ks_counters_read(const struct ks_json *profile, const char *kernel, const char *mangled, struct ks_counters *ret)
{
    const struct ks_json *list = profile ? kernels_of(profile) : NULL, *found = NULL;
    for (size_t i = 0; list && i < ks_json_len(list) && !found; i++) {
        const char *name = name_of(ks_json_at(list, i));
        if (name && (ks_streq(name, mangled) || ks_streq(name, kernel)))
            found = ks_json_at(list, i);
    }
#define X(field, json_name, text) ret->field = found ? ks_json_get_num(found, json_name, NAN) : (double)NAN;
#include "analyzer/counters.def"
#undef X
}

double ks_counters_total_time(const struct ks_json *profile)
{
    const struct ks_json *list = profile ? kernels_of(profile) : NULL;
    double sum = 0.0;
    for (size_t i = 0; list && i < ks_json_len(list); i++)
        sum += ks_json_get_num(ks_json_at(list, i), "time_ns", NAN);
    return list ? sum : (double)NAN;
}
