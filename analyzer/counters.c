#include "analyzer/counters.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct ks_json *kernels_of(const struct ks_json *profile)
{
    return ks_json_is_array(profile) ? profile : ks_json_get(profile, "kernels");
}

/* "occupancy.warps_per_sm": a member of a member. */
static double number_at(const struct ks_json *j, const char *path)
{
    char name[64];
    for (const char *dot; j && (dot = strchr(path, '.')); path = dot + 1) {
        size_t len = (size_t)(dot - path);
        KS_BUG(len >= sizeof name);
        memcpy(name, path, len);
        name[len] = '\0';
        j = ks_json_get(j, name);
    }
    return j ? ks_json_get_num(j, path, NAN) : (double)NAN;
}

/* Measured times (ncu.h) stand where modelled ones would. */
static double counter_at(const struct ks_json *kernel, const char *path)
{
    double v = number_at(kernel, path);
    char measured[64];
    if (v == v || !ks_str_starts(path, "modelled"))
        return v;
    snprintf(measured, sizeof measured, "measured%s", path + strlen("modelled"));
    return number_at(kernel, measured);
}

/* The profile's name for a kernel: its own, its mangled one, or an instance of the template: "_Z4gramIfEv...". */
static bool is_named(const char *name, const char *kernel, const char *mangled)
{
    char part[256];
    snprintf(part, sizeof part, "%zu%sI", strlen(kernel), kernel);
    return ks_streq(name, mangled) || ks_streq(name, kernel) || (ks_streq(kernel, mangled) && strstr(name, part));
}

void ks_counters_read(const struct ks_json *profile, const char *kernel, const char *mangled, struct ks_counters *ret)
{
    const struct ks_json *list = profile ? kernels_of(profile) : NULL, *found = NULL;
    for (size_t i = 0; list && i < ks_json_len(list) && !found; i++) {
        const char *name = ks_json_get_str(ks_json_at(list, i), "name", NULL);
        if (name && is_named(name, kernel, mangled))
            found = ks_json_at(list, i);
    }
#define X(field, path, text) ret->field = counter_at(found, path);
#include "analyzer/counters.def"
#undef X
}

double ks_counters_total_time(const struct ks_json *profile)
{
    const struct ks_json *list = profile ? kernels_of(profile) : NULL;
    double sum = 0.0;
    for (size_t i = 0; list && i < ks_json_len(list); i++)
        sum += counter_at(ks_json_at(list, i), "modelled_ns");
    return list && ks_json_len(list) ? sum : (double)NAN;
}

double ks_counters_max_warps(const struct ks_json *profile)
{
    static const struct {
        const char *arch;
        double warps;
    } small[] = {{"sm_75", 32}, {"sm_86", 48}, {"sm_87", 48}, {"sm_89", 48}, {"sm_120", 48}, {"sm_121", 48}};
    const char *arch = ks_json_get_str(ks_json_get(profile, "device"), "arch", "");
    for (size_t i = 0; i < sizeof small / sizeof *small; i++) {
        if (ks_str_starts(arch, small[i].arch))
            return small[i].warps;
    }
    return 64;
}
