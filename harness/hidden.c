#include "harness/hidden.h"

#include "harness/stats.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

#define LIMIT_NS    30000.0
#define LIMIT_SHARE 0.10

static double median_of(const double *values, size_t n)
{
    double *copy = ks_xmalloc((n + 1) * sizeof *copy);
    memcpy(copy, values, n * sizeof *copy);
    double m = ks_median(copy, n);
    free(copy);
    return m;
}

enum ks_hidden ks_hidden_judge(const double *hidden, const double *late, const double *device_ns, size_t n, double *ret_hidden,
                               double *ret_late)
{
    double limit = LIMIT_NS + LIMIT_SHARE * median_of(device_ns, n);
    *ret_hidden = median_of(hidden, n);
    *ret_late = median_of(late, n);
    return *ret_late > limit ? KS_HIDDEN_DEVICE : *ret_hidden > limit ? KS_HIDDEN_HOST : KS_HIDDEN_NONE;
}

void ks_hidden_count(double *device_ns, const double *hidden, size_t n)
{
    for (size_t i = 0; i < n; i++)
        device_ns[i] += hidden[i] > 0 ? hidden[i] : 0;
}
