#include "rewriter/promise.h"

#include "base/str.h"

static const struct ks_json *find_named(const struct ks_json *list, const char *name)
{
    for (size_t i = 0; i < ks_json_len(list); i++) {
        const struct ks_json *item = ks_json_at(list, i);
        if (ks_streq(ks_json_get_str(item, "name", NULL), name))
            return item;
    }
    return NULL;
}

const char *ks_promise_direction(const struct ks_json *contract, const char *buffer)
{
    return ks_json_get_str(find_named(ks_json_get(contract, "buffers"), buffer), "direction", NULL);
}

bool ks_promise_is_scratch(const struct ks_json *contract, const char *buffer)
{
    return ks_streq(ks_promise_direction(contract, buffer), "scratch");
}

bool ks_promise_dim(const struct ks_json *contract, const char *dim, int64_t *ret_lo, int64_t *ret_hi, int64_t *ret_multiple)
{
    const struct ks_json *d = find_named(ks_json_get(contract, "dims"), dim);
    const struct ks_json *choices = ks_json_get(d, "choices");
    size_t n = ks_json_len(choices);
    if (n > 0) {
        int64_t lo = INT64_MAX, hi = INT64_MIN;
        for (size_t i = 0; i < n; i++) {
            int64_t c = (int64_t)ks_json_num(ks_json_at(choices, i), 0.0);
            lo = c < lo ? c : lo;
            hi = c > hi ? c : hi;
        }
        *ret_lo = lo;
        *ret_hi = hi;
        *ret_multiple = ks_promise_dim_divisor(contract, dim);
        return true;
    }
    if (!ks_json_get(d, "lo") || !ks_json_get(d, "hi"))
        return false;
    *ret_lo = ks_json_get_i64(d, "lo", 0);
    *ret_hi = ks_json_get_i64(d, "hi", 0);
    *ret_multiple = ks_promise_dim_divisor(contract, dim);
    return true;
}

static int64_t gcd(int64_t a, int64_t b)
{
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a < 0 ? -a : a;
}

int64_t ks_promise_dim_divisor(const struct ks_json *contract, const char *dim)
{
    const struct ks_json *d = find_named(ks_json_get(contract, "dims"), dim);
    const struct ks_json *choices = ks_json_get(d, "choices");
    int64_t all = 0;
    for (size_t i = 0; i < ks_json_len(choices); i++)
        all = gcd(all, (int64_t)ks_json_num(ks_json_at(choices, i), 1.0));
    if (all == 0)
        all = ks_json_get_i64(d, "multiple", 1);
    return all > 0 ? all : 1;
}

size_t ks_promise_dim_choices(const struct ks_json *contract, const char *dim, int64_t *ret_values, size_t cap)
{
    const struct ks_json *choices = ks_json_get(find_named(ks_json_get(contract, "dims"), dim), "choices");
    size_t n = ks_json_len(choices);
    if (n > cap)
        return 0;
    for (size_t i = 0; i < n; i++)
        ret_values[i] = (int64_t)ks_json_num(ks_json_at(choices, i), 0.0);
    return n;
}

int64_t ks_promise_time_dim(const struct ks_json *contract, const char *dim, int64_t fallback)
{
    const struct ks_json *times = ks_json_get(contract, "time"), *best = NULL;
    double best_weight = 0.0;
    for (size_t i = 0; i < ks_json_len(times); i++) {
        double weight = ks_json_get_num(ks_json_at(times, i), "weight", 1.0);
        if (weight > best_weight) {
            best_weight = weight;
            best = ks_json_at(times, i);
        }
    }
    return ks_json_get_i64(ks_json_get(best, "shape"), dim, fallback);
}

double ks_promise_rtol(const struct ks_json *contract)
{
    double common = 0.0;
    bool any = false;
    const struct ks_json *buffers = ks_json_get(contract, "buffers");
    for (size_t i = 0; i < ks_json_len(buffers); i++) {
        const struct ks_json *b = ks_json_at(buffers, i);
        const char *direction = ks_json_get_str(b, "direction", "");
        double rtol = ks_json_get_num(b, "rtol", 0.0);
        if (!ks_streq(direction, "out") && !ks_streq(direction, "inout"))
            continue;
        /* Every output must allow it. */
        common = any && common < rtol ? common : rtol;
        any = true;
    }
    return common;
}

int ks_arch_number(const char *arch)
{
    int number = 0;
    if (!arch || !ks_str_starts(arch, "sm_"))
        return 0;
    for (const char *p = arch + 3; *p >= '0' && *p <= '9' && number < 1000; p++)
        number = number * 10 + (*p - '0');
    return number;
}
