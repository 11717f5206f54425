/* Shapes for the numerics gate.  Four families take turns, so that any n gets some of each:
 *   edges       all dims smallest; each dim as large as fits with the others smallest; all dims largest
 *   neighbours  a timing point, shrunk until it fits, each dim moved by one or two or rounded to a power of two
 *   primes      prime values, which no tile divides
 *   random      log-uniform over the domain
 * What does not fit is shrunk evenly or, in every other neighbour and in random shapes, with one dim left large as long as
 * possible, the widest first: code for long rows must meet long rows even where there is little memory.  Edges and random shapes
 * get a third of max_bytes: much of what they hold is one long row or column, which says little (a row of length one has softmax
 * 1), and the largest shape of all shall be one with substance.  The choices within a family come from Philox4x64-10 under the
 * key: who does not know the key does not know the shapes. */

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
    size_t widest[KS_MAX_DIMS]; /* free dims, the one with the largest range first */
    size_t n_free;
    bool fixed[KS_MAX_DIMS]; /* not lowered */
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

#define KEPT_LARGE 256 /* the kept dim is brought down to this while the others still have */
#define OTHERS     16  /* that much each */

/* The dim furthest above its smallest value among those above `floor_value`; SIZE_MAX: none. */
static size_t furthest(const struct fuzz *f, const struct ks_shape *s, size_t except, int64_t floor_value)
{
    size_t best = SIZE_MAX;
    double best_ratio = 1.0;
    for (size_t i = 0; i < f->n_free; i++) {
        size_t dim = f->widest[i];
        double ratio = ((double)s->dim[dim] + 1) / ((double)dim_smallest(&f->c->dims[dim]) + 1);
        if (dim != except && !f->fixed[dim] && s->dim[dim] > floor_value && ratio > best_ratio) {
            best = dim;
            best_ratio = ratio;
        }
    }
    return best;
}

/* The dim to lower next: the others to OTHERS, then the kept one to KEPT_LARGE, then the others to nothing, then the kept one. */
static size_t next_to_lower(const struct fuzz *f, const struct ks_shape *s, size_t keep)
{
    size_t dim = furthest(f, s, keep, keep == SIZE_MAX ? -1 : OTHERS);
    if (dim != SIZE_MAX || keep == SIZE_MAX)
        return dim;
    if (s->dim[keep] > KEPT_LARGE && s->dim[keep] > dim_smallest(&f->c->dims[keep]))
        return keep;
    dim = furthest(f, s, keep, -1);
    return dim != SIZE_MAX ? dim : furthest(f, s, SIZE_MAX, -1);
}

/* Lowers dims until the buffers fit.  keep: a dim to leave large as long as possible, SIZE_MAX: none, lower evenly. */
static bool shrink(const struct fuzz *f, struct ks_shape *s, size_t keep)
{
    for (int round = 0; round < 64 * KS_MAX_DIMS; round++) {
        int64_t bytes;
        if (complete(f, s, &bytes) && bytes <= f->max_bytes)
            return true;
        size_t dim = next_to_lower(f, s, keep);
        if (dim == SIZE_MAX)
            return false;
        const struct ks_dim *d = &f->c->dims[dim];
        int64_t lower = dim_floor(d, s->dim[dim] - s->dim[dim] / 4 - 1);
        s->dim[dim] = lower < s->dim[dim] ? lower : dim_smallest(d);
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

/* The largest value of dim `one` with which the shape fits, by bisection: the true edge may be far beyond what can be held. */
static void grow_until_full(const struct fuzz *f, struct ks_shape *s, size_t one)
{
    const struct ks_dim *d = &f->c->dims[one];
    int64_t bytes, good = dim_smallest(d), bad = d->hi + 1;
    while (bad - good > 1) {
        int64_t legal = s->dim[one] = dim_floor(d, good + (bad - good) / 2);
        if (legal <= good) {
            good += (bad - good) / 2; /* no legal value in the lower half */
        } else if (complete(f, s, &bytes) && bytes <= f->max_bytes) {
            good = legal;
        } else {
            bad = legal;
        }
    }
    s->dim[one] = dim_floor(d, good);
}

/* Edge number k; false when there are no more. */
static bool offer_edge(struct fuzz *f, size_t k)
{
    struct ks_shape s = smallest_shape(f);
    if (k > f->n_free + 1)
        return false;
    if (k == f->n_free + 1)
        for (size_t i = 0; i < f->n_free; i++)
            s.dim[f->widest[i]] = dim_floor(&f->c->dims[f->widest[i]], f->c->dims[f->widest[i]].hi);
    else if (k > 0)
        grow_until_full(f, &s, f->widest[k - 1]);
    offer(f, s);
    return true;
}

/* The dim to keep large in this turn. */
static size_t keep_of(const struct fuzz *f, size_t turn)
{
    return f->n_free ? f->widest[turn % f->n_free] : SIZE_MAX;
}

static int64_t power_of_two_floor(int64_t v)
{
    return v < 1 ? v : (int64_t)1 << (63 - __builtin_clzll((unsigned long long)v));
}

static void offer_neighbour(struct fuzz *f, size_t keep)
{
    if (f->c->n_times == 0)
        return;
    struct ks_shape s = f->c->times[draw_below(f, (int64_t)f->c->n_times)].shape;
    if (!shrink(f, &s, keep))
        return;
    for (size_t i = 0; i < f->n_free; i++) {
        const struct ks_dim *d = &f->c->dims[f->widest[i]];
        int64_t *v = &s.dim[f->widest[i]];
        if (d->choices)
            *v = dim_random(f, d);
        else
            *v = dim_floor(d, draw_below(f, 3) == 0 ? power_of_two_floor(*v) : *v + d->multiple * (draw_below(f, 4) - 2));
    }
    if (shrink(f, &s, keep))
        offer(f, s);
}

static void offer_random(struct fuzz *f, size_t keep, bool primes)
{
    struct ks_shape s = {0};
    for (size_t i = 0; i < f->n_free; i++)
        s.dim[f->widest[i]] = dim_random(f, &f->c->dims[f->widest[i]]);
    if (!shrink(f, &s, keep))
        return;
    for (size_t i = 0; primes && i < f->n_free; i++)
        s.dim[f->widest[i]] = dim_prime_below(&f->c->dims[f->widest[i]], s.dim[f->widest[i]]);
    offer(f, s);
}

static void order_by_range(struct fuzz *f)
{
    for (size_t i = 0; i < f->c->n_dims; i++) {
        const struct ks_dim *d = &f->c->dims[i];
        if (d->derived)
            continue;
        size_t k = f->n_free++; /* insertion, stable */
        for (; k > 0; k--) {
            const struct ks_dim *o = &f->c->dims[f->widest[k - 1]];
            if ((double)o->hi * ((double)d->lo + 1) >= (double)d->hi * ((double)o->lo + 1))
                break;
            f->widest[k] = f->widest[k - 1];
        }
        f->widest[k] = i;
    }
}

static void fuzz_init(struct fuzz *f, const struct ks_contract *c, const uint8_t key[32], size_t max_bytes)
{
    *f = (struct fuzz){.c = c, .max_bytes = max_bytes > INT64_MAX ? INT64_MAX : (int64_t)max_bytes};
    memcpy(f->key.v, key, sizeof f->key.v);
    memcpy(&f->counter.v[2], key + 16, 16);
    order_by_range(f);
}

bool ks_contract_dim_allows(const struct ks_contract *c, size_t dim, int64_t v)
{
    const struct ks_dim *d = &c->dims[dim];
    if (d->derived)
        return false;
    for (size_t i = 0; i < d->n_choices; i++)
        if (d->choices[i] == v)
            return true;
    return !d->choices && v >= d->lo && v <= d->hi && v % d->multiple == 0;
}

bool ks_contract_shape_at(const struct ks_contract *c, const uint8_t key[32], const struct ks_shape *at, const bool *fixed,
                          bool smallest, size_t max_bytes, struct ks_shape *ret)
{
    struct fuzz f;
    fuzz_init(&f, c, key, max_bytes);
    struct ks_shape s = *at;
    for (size_t i = 0; i < f.n_free; i++) {
        size_t dim = f.widest[i];
        f.fixed[dim] = fixed[dim];
        if (fixed[dim] && !ks_contract_dim_allows(c, dim, s.dim[dim]))
            return false;
        if (!fixed[dim])
            s.dim[dim] = smallest ? dim_smallest(&c->dims[dim]) : dim_random(&f, &c->dims[dim]);
    }
    if (!shrink(&f, &s, SIZE_MAX))
        return false;
    *ret = s;
    return true;
}

size_t ks_contract_fuzz_shapes(const struct ks_contract *c, const uint8_t key[32], size_t max_bytes, struct ks_shape *shapes,
                               size_t n)
{
    struct fuzz f;
    fuzz_init(&f, c, key, max_bytes);
    f.shapes = shapes;
    f.max = n;
    bool edges_left = true;
    const int64_t whole = f.max_bytes, part = f.max_bytes / 3;
    for (size_t turn = 0; f.n < n && turn < 16 * n + 64; turn++) {
        f.max_bytes = turn == 0 ? whole : part; /* the smallest shape may be all that fits */
        if (edges_left)
            edges_left = offer_edge(&f, turn);
        f.max_bytes = whole;
        offer_neighbour(&f, turn % 2 ? SIZE_MAX : keep_of(&f, turn / 2));
        offer_random(&f, SIZE_MAX, true);
        f.max_bytes = part;
        offer_random(&f, keep_of(&f, turn), false);
        f.max_bytes = whole;
    }
    return f.n;
}
