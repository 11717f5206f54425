#include "harness/oracle.h"

#include "harness/inputs.h"

#include <math.h>
#include <string.h>

/* One unit in the last place of 1. */
static double unit_of(enum ks_dtype t)
{
    switch (t) {
    case KS_DT_HALF:
        return 0x1p-10;
    case KS_DT_BF16:
        return 0x1p-7;
    case KS_DT_FLOAT:
        return 0x1p-23;
    case KS_DT_DOUBLE:
        return 0x1p-52;
    case KS_DT_INT8:
    case KS_DT_UINT8:
    case KS_DT_INT16:
    case KS_DT_UINT16:
    case KS_DT_INT32:
    case KS_DT_UINT32:
    case KS_DT_INT64:
    case KS_DT_UINT64:
    case KS_N_DTYPES:
        break;
    }
    return 0;
}

/* What is known of one call before its elements are judged; over the elements where oracle and original are finite. */
struct scale {
    double largest, rms;  /* of the oracle's answers */
    double original_most; /* the original's largest error */
};

static struct scale scale_of(const struct ks_buffer *b, const void *original, const double *exact, size_t n)
{
    struct scale s = {0};
    double sum = 0;
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        double o = ks_element_double(b->dtype, original, i);
        if (!isfinite(exact[i]) || !isfinite(o))
            continue;
        s.largest = fmax(s.largest, fabs(exact[i]));
        s.original_most = fmax(s.original_most, fabs(o - exact[i]));
        sum += exact[i] * exact[i];
        used++;
    }
    s.rms = used ? sqrt(sum / (double)used) : 0;
    return s;
}

static void bad_element(struct ks_compare *r, size_t i, double got, double want)
{
    if (r->n_bad++ == 0) {
        r->first_bad = i;
        r->first_got = got;
        r->first_want = want;
    }
}

static void sum_add(struct ks_oracle_sum *sum, double candidate, double original)
{
    sum->candidate2 += candidate * candidate;
    sum->original2 += original * original;
    sum->original4 += original * original * original * original;
    sum->n++;
}

void ks_oracle_compare(const struct ks_buffer *b, const void *got, const void *original, const double *exact, size_t n,
                       bool declared, struct ks_oracle_sum *sum, struct ks_compare *r)
{
    struct scale s = scale_of(b, original, exact, n);
    double limit = KS_ORACLE_FACTOR * s.original_most + unit_of(b->dtype) * s.largest;
    double atol = declared || s.rms <= 1 ? b->atol : b->atol * s.rms, sum_err = 0, sum_want = 0;
    memset(r, 0, sizeof *r);
    for (size_t i = 0; i < n; i++) {
        double g = ks_element_double(b->dtype, got, i), o = ks_element_double(b->dtype, original, i), w = exact[i];
        double d = fabs(g - w);
        bool near = d <= atol + b->rtol * fabs(w);
        if (!isfinite(w) || !isfinite(o)) { /* the original overflows and is no example */
            if (declared && !near && !(isnan(o) ? isnan(g) : g == o))
                bad_element(r, i, g, w);
            continue;
        }
        if (!near && (declared || !(d <= limit)))
            bad_element(r, i, g, w);
        if (!isfinite(g))
            continue;
        r->max_abs_err = fmax(r->max_abs_err, d);
        r->max_rel_err = w != 0 ? fmax(r->max_rel_err, d / fabs(w)) : r->max_rel_err;
        sum_err += d * d;
        sum_want += w * w;
        if (sum && s.rms > 0)
            sum_add(sum, d / s.rms, fabs(o - w) / s.rms);
    }
    r->oracle = true;
    r->oracle_limit = limit;
    r->original_err = s.original_most;
    r->noise = sum_want > 0 ? sqrt(sum_err / sum_want) : 0;
    r->noisy = declared && r->n_bad == 0 && !(r->noise <= KS_COMPARE_MAX_NOISE);
    r->worse = r->n_bad == 0 && !r->noisy && n >= KS_ORACLE_MANY && !(r->max_abs_err <= limit);
    r->match = r->n_bad == 0 && !r->noisy && !r->worse;
}

double ks_oracle_error(double sum2, int64_t n)
{
    return n > 0 ? sqrt(sum2 / (double)n) : 0;
}

bool ks_oracle_judge(const struct ks_buffer *b, const struct ks_oracle_sum *sum, struct ks_str *why)
{
    if (sum->n == 0)
        return true;
    double few = sum->original4 > 0 ? sum->original2 * sum->original2 / sum->original4 : KS_ORACLE_FEW;
    double factor = KS_ORACLE_FACTOR * (few < KS_ORACLE_FEW ? 1 + 4 / sqrt(few) : 1);
    double original = ks_oracle_error(sum->original2, sum->n), candidate = ks_oracle_error(sum->candidate2, sum->n);
    double limit = factor * original + unit_of(b->dtype);
    if (candidate <= limit)
        return true;
    ks_str_addf(
        why,
        "over all calls '%s' is off by %.3g of its size (root mean square, against the oracle), the original by %.3g; at most "
        "%.3g may be (%.1f times that and the rounding of the type)",
        b->name, candidate, original, limit, factor);
    return false;
}
