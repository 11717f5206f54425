#include "analyzer/counters.h"

#include "base/str.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Which layers can do something about a resource. */
#define L(layer) (1u << KS_LAYER_##layer)
static const struct {
    const char *name;
    size_t offset;
    unsigned layers;
} resources[] = {
    {"instruction issue", offsetof(struct ks_counters, issue_ns), L(COMPUTE) | L(COMPILATION)},
    {"integer arithmetic", offsetof(struct ks_counters, int_ns), L(COMPUTE) | L(COMPILATION)},
    {"single-precision arithmetic", offsetof(struct ks_counters, fp32_ns), L(COMPUTE)},
    {"double-precision arithmetic", offsetof(struct ks_counters, fp64_ns), L(COMPUTE)},
    {"half-precision arithmetic", offsetof(struct ks_counters, fp16_ns), L(COMPUTE)},
    {"special functions", offsetof(struct ks_counters, special_ns), L(COMPUTE)},
    {"tensor cores", offsetof(struct ks_counters, tensor_ns), L(COMPUTE)},
    {"load and store requests", offsetof(struct ks_counters, lsu_ns), L(MEMORY_ACCESS) | L(DATA_MOVEMENT)},
    {"shared memory", offsetof(struct ks_counters, shared_ns), L(MEMORY_ACCESS) | L(DATA_MOVEMENT)},
    {"L2 traffic", offsetof(struct ks_counters, l2_ns), L(MEMORY_ACCESS) | L(DATA_MOVEMENT)},
    {"DRAM traffic", offsetof(struct ks_counters, dram_ns), L(DATA_MOVEMENT) | L(OPERATOR_BOUNDARY)},
    {"atomics", offsetof(struct ks_counters, atomic_ns), L(SYNCHRONIZATION)},
    {"latency", offsetof(struct ks_counters, latency_ns), L(PARALLEL_DECOMPOSITION) | L(SYNCHRONIZATION)},
};
#undef L
#define N_RESOURCES (sizeof resources / sizeof *resources)

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

void ks_counters_read(const struct ks_json *profile, const char *kernel, const char *mangled, struct ks_counters *ret)
{
    const struct ks_json *list = profile ? kernels_of(profile) : NULL, *found = NULL;
    for (size_t i = 0; list && i < ks_json_len(list) && !found; i++) {
        const char *name = ks_json_get_str(ks_json_at(list, i), "name", NULL);
        if (name && (ks_streq(name, mangled) || ks_streq(name, kernel)))
            found = ks_json_at(list, i);
    }
#define X(field, path, text) ret->field = number_at(found, path);
#include "analyzer/counters.def"
#undef X
}

double ks_counters_total_time(const struct ks_json *profile)
{
    const struct ks_json *list = profile ? kernels_of(profile) : NULL;
    double sum = 0.0;
    for (size_t i = 0; list && i < ks_json_len(list); i++)
        sum += ks_json_get_num(ks_json_at(list, i), "modelled_ns", NAN);
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

static double value_of(const struct ks_counters *c, size_t resource)
{
    double v;
    memcpy(&v, (const char *)c + resources[resource].offset, sizeof v);
    return v > 0.0 ? v : 0.0;
}

/* The device's own rule for the time of a launch: the largest bound, a little more where others come near. */
static double combined(const struct ks_counters *c, unsigned without_layers)
{
    double sum = 0.0;
    for (size_t i = 0; i < N_RESOURCES; i++) {
        if (!(resources[i].layers & without_layers))
            sum += pow(value_of(c, i), 6.0);
    }
    return pow(sum, 1.0 / 6.0);
}

double ks_counters_bound(const struct ks_counters *c, enum ks_layer layer, const char **ret_name)
{
    double all = combined(c, 0), most = 0.0;
    for (size_t i = 0; i < N_RESOURCES; i++) {
        if ((resources[i].layers & (1u << layer)) && value_of(c, i) > most) {
            most = value_of(c, i);
            *ret_name = resources[i].name;
        }
    }
    return most > 0.0 && all > 0.0 ? most / all : (double)NAN;
}

double ks_counters_gain_without(const struct ks_counters *c, enum ks_layer layer)
{
    double all = combined(c, 0), rest = combined(c, 1u << layer);
    if (!(all > 0.0))
        return NAN;
    return rest > all / 20.0 ? all / rest : 20.0; /* nothing becomes free: past 20 the bound says nothing */
}
