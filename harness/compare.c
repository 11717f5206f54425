#include "harness/compare.h"

#include "harness/inputs.h"

#include <math.h>
#include <string.h>

static void compare_exact(const struct ks_buffer *b, const void *got, const void *want, size_t n, struct ks_compare *r)
{
    size_t size = ks_dtype_size(b->dtype);
    for (size_t i = 0; i < n; i++) {
        if (memcmp((const char *)got + i * size, (const char *)want + i * size, size) == 0)
            continue;
        double g = ks_element_double(b->dtype, got, i), w = ks_element_double(b->dtype, want, i), d = fabs(g - w);
        if (r->n_bad++ == 0) {
            r->first_bad = i;
            r->first_got = g;
            r->first_want = w;
        }
        r->max_abs_err = d > r->max_abs_err ? d : r->max_abs_err;
    }
    r->match = r->n_bad == 0;
}

static double root_mean_square(const struct ks_buffer *b, const void *data, size_t n)
{
    double sum = 0;
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        double v = ks_element_double(b->dtype, data, i);
        if (isfinite(v)) {
            sum += v * v;
            used++;
        }
    }
    return used ? sqrt(sum / (double)used) : 0;
}

static bool same_kind(double got, double want)
{
    return isnan(want) ? isnan(got) : got == want;
}

void ks_compare(const struct ks_buffer *b, const void *got, const void *want, size_t n, bool declared, struct ks_compare *r)
{
    memset(r, 0, sizeof *r);
    if (memcmp(got, want, n * ks_dtype_size(b->dtype)) == 0) { /* the same kind of value everywhere, errors of nothing */
        r->match = true;
        return;
    }
    if (!ks_dtype_is_float(b->dtype)) {
        compare_exact(b, got, want, n, r);
        return;
    }
    double scale = declared ? 1.0 : root_mean_square(b, want, n), atol = b->atol * (scale > 1 ? scale : 1);
    double sum_err = 0, sum_want = 0;
    for (size_t i = 0; i < n; i++) {
        double g = ks_element_double(b->dtype, got, i), w = ks_element_double(b->dtype, want, i), d = fabs(g - w);
        bool bad;
        if (isfinite(w)) {
            bad = !(d <= atol + b->rtol * fabs(w));
            if (isfinite(g)) {
                double rel = w != 0 ? d / fabs(w) : 0;
                r->max_abs_err = d > r->max_abs_err ? d : r->max_abs_err;
                r->max_rel_err = rel > r->max_rel_err ? rel : r->max_rel_err;
                sum_err += d * d;
            }
            sum_want += w * w;
        } else {
            bad = declared && !same_kind(g, w);
        }
        if (bad && r->n_bad++ == 0) {
            r->first_bad = i;
            r->first_got = g;
            r->first_want = w;
        }
    }
    r->noise = sum_want > 0 ? sqrt(sum_err / sum_want) : 0;
    r->noisy = declared && r->n_bad == 0 && !(r->noise <= KS_COMPARE_MAX_NOISE);
    r->match = r->n_bad == 0 && !r->noisy;
}

void ks_compare_describe(const struct ks_compare *c, const struct ks_buffer *b, size_t n, struct ks_str *out)
{
    if (c->noisy) {
        ks_str_addf(out, "'%s' is within its tolerances element by element, but %.3g of its norm is error (limit %g)", b->name,
                    c->noise, KS_COMPARE_MAX_NOISE);
        return;
    }
    if (c->worse) {
        ks_str_addf(
            out,
            "'%s' is off by up to %.3g from the oracle, the original by %.3g; at most %.3g may be (twice that and the rounding "
            "of the type)",
            b->name, c->max_abs_err, c->original_err, c->oracle_limit);
        return;
    }
    ks_str_addf(out, "'%s'[%zu] is %.9g, expected %.9g", b->name, c->first_bad, c->first_got, c->first_want);
    if (ks_dtype_is_float(b->dtype))
        ks_str_addf(out, " within atol %g + rtol %g", b->atol, b->rtol);
    ks_str_addf(out, "; %lld of %zu elements differ", (long long)c->n_bad, n);
}
