/* Shapes for the numerics gate.  Four families take turns, so that any n gets some of each:
 *   edges       all dims smallest; each dim as large as max_bytes allows with the others smallest; all dims largest
 *   neighbours  a timing point, shrunk until it fits, with every dim moved by one or two
 *   primes      prime values, which no tile divides
 *   random      log-uniform over the domain
 * The choices within a family come from Philox4x64-10 under the key: who does not know the key does not know the shapes. */

#include "harness/contract.h"

#include <Random123/philox.h>
#include <math.h>
#include <string.h>

struct fuzz {
    const struct ks_contract *c;
    int64_t max_bytes;
    philox4x64_ctr_t counter;
    philox4x64_key_t key;
    struct ks_shape *shapes;
    size_t n, max;
};

static uint64_t draw(struct fuzz *f)
{
    f->counter.v[0]++;
    return philox4x64(f->counter, f->key).v[0];
}

static int64_t draw_below(struct fuzz *f, int64_t n)
{
    return (int64_t)(draw(f) % (uint64_t)n);
}

/* The largest legal value up to v, or the smallest legal one. */
static int64_t dim_floor(const struct ks_dim *d, int64_t v)
{
    if (d->choices) {
        int64_t best = d->choices[0];
        for (size_t i = 0; i < d->n_choices; i++)
            if (d->choices[i] <= v)
                best = d->choices[i];
        return best;
    }
    int64_t smallest = (d->lo + d->multiple - 1) / d->multiple * d->multiple;
    if (v > d->hi)
        v = d->hi;
    v -= v % d->multiple;
    return v < smallest ? smallest : v;
}

static int64_t dim_smallest(const struct ks_dim *d)
{
    return dim_floor(d, INT64_MIN / 2);
}

/* Log-uniform: small sizes are where kernels go wrong, large ones must occur. */
static int64_t dim_random(struct fuzz *f, const struct ks_dim *d)
{
    if (d->choices)
        return d->choices[draw_below(f, (int64_t)d->n_choices)];
    double lo = log((double)dim_smallest(d) + 1), hi = log((double)d->hi + 1);
    double u = (double)(draw(f) >> 11) * 0x1p-53;
    return dim_floor(d, (int64_t)floor(exp(lo + u * (hi - lo)) - 1 + 0.5));
}

static bool is_prime(int64_t v)
{
    for (int64_t k = 2; k * k <= v; k++)
        if (v % k == 0)
            return false;
    return v >= 2;
}

/* The largest prime up to v that the dim allows, or v. */
static int64_t dim_prime_below(const struct ks_dim *d, int64_t v)
{
    if (d->choices || d->multiple != 1)
        return v;
    for (int64_t p = v; p >= d->lo && p > v - 400; p--)
        if (is_prime(p))
            return p;
    return v;
}

/* Derived dims filled in, inside the domain; *ret_bytes INT64_MAX where no buffer of that size can be. */
static bool complete(const struct fuzz *f, struct ks_shape *s, int64_t *ret_bytes)
{
    struct ks_err err;
    if (ks_contract_complete(f->c, s, &err) != KS_OK)
        return false;
    if (ks_contract_bytes(f->c, s, ret_bytes, &err) != KS_OK)
        *ret_bytes = INT64_MAX;
    return true;
}

/* Lowers the dim furthest above its smallest value until the buffers fit.  keep: a dim to lower last, SIZE_MAX none. */
static bool shrink(const struct fuzz *f, struct ks_shape *s, size_t keep)
{
    for (int round = 0; round < 64 * KS_MAX_DIMS; round++) {
        int64_t bytes;
        if (complete(f, s, &bytes) && bytes <= f->max_bytes)
            return true;
        size_t widest = SIZE_MAX;
        double widest_ratio = 1.0;
        for (size_t i = 0; i < f->c->n_dims; i++) {
            const struct ks_dim *d = &f->c->dims[i];
            if (d->derived || i == keep)
                continue;
            double ratio = ((double)s->dim[i] + 1) / ((double)dim_smallest(d) + 1);
            if (ratio > widest_ratio) {
                widest = i;
                widest_ratio = ratio;
            }
        }
        if (widest == SIZE_MAX && keep == SIZE_MAX)
            return false;
        if (widest == SIZE_MAX) {
            widest = keep;
            keep = SIZE_MAX;
        }
        const struct ks_dim *d = &f->c->dims[widest];
        int64_t lower = dim_floor(d, s->dim[widest] - s->dim[widest] / 4 - 1);
        s->dim[widest] = lower < s->dim[widest] ? lower : dim_smallest(d);
    }
    return false;
}

/* Takes the shape if it fits and is new. */
static void offer(struct fuzz *f, struct ks_shape s)
{
    int64_t bytes;
    if (f->n == f->max || !complete(f, &s, &bytes) || bytes > f->max_bytes)
        return;
    for (size_t k = 0; k < f->n; k++)
        if (memcmp(f->shapes[k].dim, s.dim, sizeof s.dim) == 0)
            return;
    f->shapes[f->n++] = s;
}

static struct ks_shape smallest_shape(const struct fuzz *f)
{
    struct ks_shape s = {0};
    for (size_t i = 0; i < f->c->n_dims; i++)
        s.dim[i] = f->c->dims[i].derived ? 0 : dim_smallest(&f->c->dims[i]);
    return s;
}

/* Edge number k; false when there are no more. */
static bool offer_edge(struct fuzz *f, size_t k)
{
    struct ks_shape s = smallest_shape(f);
    if (k == 0) {
        offer(f, s);
        return true;
    }
    if (k > f->c->n_dims + 1)
        return false;
    size_t one = k - 1; /* n_dims: all of them */
    for (size_t i = 0; i < f->c->n_dims; i++)
        if (!f->c->dims[i].derived && (i == one || one == f->c->n_dims))
            s.dim[i] = dim_floor(&f->c->dims[i], f->c->dims[i].hi);
    if (one < f->c->n_dims && f->c->dims[one].derived)
        return true;
    /* The largest value that fits, by bisection: the true edge may be far beyond what can be held. */
    int64_t bytes;
    if (one < f->c->n_dims && !(complete(f, &s, &bytes) && bytes <= f->max_bytes)) {
        int64_t good = dim_smallest(&f->c->dims[one]), bad = s.dim[one];
        while (bad - good > 1) {
            int64_t legal = s.dim[one] = dim_floor(&f->c->dims[one], good + (bad - good) / 2);
            if (complete(f, &s, &bytes) && bytes <= f->max_bytes) {
                if (legal <= good)
                    break;
                good = legal;
            } else {
                bad = legal;
            }
        }
        s.dim[one] = good;
    }
    offer(f, s);
    return true;
}

static void offer_neighbour(struct fuzz *f)
{
    if (f->c->n_times == 0)
        return;
    struct ks_shape s = f->c->times[draw_below(f, (int64_t)f->c->n_times)].shape;
    if (!shrink(f, &s, SIZE_MAX))
        return;
    for (size_t i = 0; i < f->c->n_dims; i++) {
        const struct ks_dim *d = &f->c->dims[i];
        if (!d->derived)
            s.dim[i] = d->choices ? dim_random(f, d) : dim_floor(d, s.dim[i] + d->multiple * (draw_below(f, 4) - 2));
    }
    if (shrink(f, &s, SIZE_MAX))
        offer(f, s);
}

static void offer_random(struct fuzz *f, bool primes)
{
    struct ks_shape s = {0};
    for (size_t i = 0; i < f->c->n_dims; i++)
        if (!f->c->dims[i].derived)
            s.dim[i] = dim_random(f, &f->c->dims[i]);
    if (!shrink(f, &s, f->c->n_dims ? (size_t)draw_below(f, (int64_t)f->c->n_dims) : SIZE_MAX))
        return;
    for (size_t i = 0; primes && i < f->c->n_dims; i++)
        if (!f->c->dims[i].derived)
            s.dim[i] = dim_prime_below(&f->c->dims[i], s.dim[i]);
    offer(f, s);
}

size_t ks_contract_fuzz_shapes(const struct ks_contract *c, const uint8_t key[32], size_t max_bytes, struct ks_shape *shapes,
                               size_t n)
{
    struct fuzz f = {.c = c, .max_bytes = max_bytes > INT64_MAX ? INT64_MAX : (int64_t)max_bytes, .shapes = shapes, .max = n};
    memcpy(f.key.v, key, sizeof f.key.v);
    memcpy(&f.counter.v[2], key + 16, 16);
    bool edges_left = true;
    for (size_t turn = 0; f.n < n && turn < 16 * n + 64; turn++) {
        if (edges_left)
            edges_left = offer_edge(&f, turn);
        offer_neighbour(&f);
        offer_random(&f, true);
        offer_random(&f, false);
    }
    return f.n;
}
