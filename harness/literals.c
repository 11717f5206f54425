#include "harness/literals.h"

#include "harness/inputs.h"

#include <math.h>
#include <string.h>

#define MAX_ITEMS  8192  /* of one kind; beyond it chance decides which are kept */
#define MAX_MADE   16384 /* pairs of constants that are put together; beyond it they are drawn */
#define MAX_TAIL   12    /* of each kind behind the ones that say most: calls cost, and these are shots in the dark */
#define MAX_PAIRS  64
#define N_ANY      64
#define MAX_FACTOR (1 << 16) /* divisors up to here are tried */

static const char *const kind_texts[] = {
#define X(name, text) text,
    KS_LITERAL_KINDS(X)
#undef X
};

const char *ks_literal_kind_text(enum ks_literal_kind kind)
{
    return kind_texts[kind];
}

/* Whose turn it is, over and over: every other one a named size's. */
static const enum ks_literal_kind turns[] = {
#define NAMED KS_LITERAL_NAMED
    NAMED, KS_LITERAL_EDGE,   NAMED, KS_LITERAL_NEXT, NAMED, KS_LITERAL_SCALED, NAMED, KS_LITERAL_MADE,
    NAMED, KS_LITERAL_PAIR,   NAMED, KS_LITERAL_MADE, NAMED, KS_LITERAL_NEXT,   NAMED, KS_LITERAL_SCALED,
    NAMED, KS_LITERAL_EDGE,   NAMED, KS_LITERAL_MADE, NAMED, KS_LITERAL_MIXED,  NAMED, KS_LITERAL_SCALED,
    NAMED, KS_LITERAL_NEXT,   NAMED, KS_LITERAL_MADE, NAMED, KS_LITERAL_ANY,    NAMED, KS_LITERAL_SCALED,
    NAMED, KS_LITERAL_PAIR,   NAMED, KS_LITERAL_MADE, NAMED, KS_LITERAL_SHARED, NAMED, KS_LITERAL_SCALED,
    NAMED, KS_LITERAL_SCALED, NAMED, KS_LITERAL_FAR,  NAMED, KS_LITERAL_SCALED, NAMED, KS_LITERAL_MADE,
#undef NAMED
};

/* Element sizes, widths of vectors, warps and blocks: what a size is multiplied or divided by. */
static const int64_t scales[] = {2, 3, 4, 8, 12, 16, 32, 64, 128, 256, 512, 1024};

struct finder {
    const struct ks_contract *c;
    uint64_t state; /* of the generator, from the key */
    KS_VEC(struct ks_literal) of[KS_N_LITERAL_KINDS];
    size_t n_of[KS_N_LITERAL_KINDS];
};

/* SplitMix64: many draws, of which none is seen by anybody.  bound 0: all 64 bits. */
static uint64_t draw(struct finder *f, uint64_t bound)
{
    uint64_t z = f->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return bound ? ks_mulhi64(z, bound) : z;
}

static void item_add(struct finder *f, struct ks_literal item)
{
    enum ks_literal_kind kind = item.kind;
    item.rank = draw(f, 0);
    f->n_of[kind]++;
    if (f->of[kind].n < MAX_ITEMS) {
        ks_vec_push(&f->of[kind], item);
        return;
    }
    uint64_t at = item.rank % f->n_of[kind]; /* each has the same chance to be kept */
    if (at < MAX_ITEMS)
        f->of[kind].data[at] = item;
}

/* v in every dim that may have it. */
static void value_add(struct finder *f, enum ks_literal_kind kind, int64_t v)
{
    for (size_t d = 0; d < f->c->n_dims; d++)
        if (ks_contract_dim_allows(f->c, d, v))
            item_add(f, (struct ks_literal){.kind = kind, .n_dims = 1, .dim = {d}, .value = {v}});
}

static void beside_add(struct finder *f, enum ks_literal_kind kind, int64_t v)
{
    for (size_t d = 0; d < f->c->n_dims; d++) {
        int64_t step = f->c->dims[d].multiple, low = v - v % step;
        if (f->c->dims[d].derived || f->c->dims[d].choices || v < INT64_MIN / 2 || v > INT64_MAX / 2)
            continue;
        int64_t near[] = {low - step, low, low + step, low + 2 * step};
        for (size_t i = 0; i < sizeof near / sizeof *near; i++)
            if (near[i] != v && near[i] - v <= step && v - near[i] <= step && ks_contract_dim_allows(f->c, d, near[i]))
                item_add(f, (struct ks_literal){.kind = kind, .n_dims = 1, .dim = {d}, .value = {near[i]}});
    }
}

static void edges_add(struct finder *f)
{
    for (size_t d = 0; d < f->c->n_dims; d++) {
        const struct ks_dim *dim = &f->c->dims[d];
        struct ks_literal item = {.kind = KS_LITERAL_EDGE, .n_dims = 1, .dim = {d}};
        int64_t step = dim->multiple, top = dim->hi - dim->hi % step, low = (dim->lo + step - 1) / step * step;
        int64_t ends[] = {top, top - step, low, low + step};
        for (size_t i = 0; i < dim->n_choices; i++) {
            item.value[0] = dim->choices[i];
            item_add(f, item);
        }
        for (size_t i = 0; i < sizeof ends / sizeof *ends && !dim->choices; i++) {
            item.value[0] = ends[i];
            if (ks_contract_dim_allows(f->c, d, ends[i]))
                item_add(f, item);
        }
    }
}

static void any_add(struct finder *f)
{
    for (size_t i = 0; i < N_ANY && f->c->n_dims > 0; i++) {
        size_t d = draw(f, f->c->n_dims);
        const struct ks_dim *dim = &f->c->dims[d];
        if (dim->derived || dim->choices)
            continue;
        int64_t v = dim->lo + (int64_t)draw(f, (uint64_t)(dim->hi - dim->lo) + 1);
        v -= v % dim->multiple;
        if (ks_contract_dim_allows(f->c, d, v))
            item_add(f, (struct ks_literal){.kind = KS_LITERAL_ANY, .n_dims = 1, .dim = {d}, .value = {v}});
    }
}

/* Two dims whose product is v: it may be a number of elements. */
static void factors_add(struct finder *f, int64_t v)
{
    for (int64_t a = 2; f->c->n_dims > 1 && a < MAX_FACTOR && a <= v / a; a++)
        for (size_t i = 0; v % a == 0 && i < f->c->n_dims; i++)
            for (size_t k = 0; k < f->c->n_dims; k++)
                if (i != k && ks_contract_dim_allows(f->c, i, a) && ks_contract_dim_allows(f->c, k, v / a))
                    item_add(f, (struct ks_literal){.kind = KS_LITERAL_SCALED, .n_dims = 2, .dim = {i, k}, .value = {a, v / a}});
}

/* Sizes of which v is a small multiple or a small part, rounded in either way, or a few away. */
static void scaled_add(struct finder *f, int64_t v)
{
    const int64_t limit = (int64_t)1 << 40;
    if (v > limit || v < 2) /* nor what no sign can be taken from */
        return;
    for (int64_t d = 2; d <= 3; d++) {
        value_add(f, KS_LITERAL_SCALED, v - d);
        value_add(f, KS_LITERAL_SCALED, v + d);
    }
    for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
        int64_t s = scales[k];
        const int64_t near[] = {v * s, v * s + (s <= 4 ? s - 1 : 0), v * s + (int64_t)draw(f, (uint64_t)s), v / s,
                                v / s + (v % s != 0)};
        for (size_t i = 0; i < sizeof near / sizeof *near; i++)
            value_add(f, KS_LITERAL_SCALED, near[i]);
    }
    value_add(f, KS_LITERAL_SCALED, (int64_t)sqrt((double)v));
    factors_add(f, v);
}

/* Sizes that may have been computed from a and b, or have become one by way of the other. */
static void made_add(struct finder *f, enum ks_literal_kind kind, int64_t a, int64_t b)
{
    const int64_t limit = (int64_t)1 << 31;
    if (a > limit || a < -limit || b > limit || b < -limit || a == 0 || b == 0)
        return;
    value_add(f, kind, a + b);
    value_add(f, kind, a - b);
    value_add(f, kind, a ^ b);
    if (a < 0 || b < 0)
        return;
    if (a >= b) /* the other way round is another pair */
        value_add(f, kind, a * b);
    if (b > 1)
        value_add(f, kind, a / b);
    if (b > 1 && b <= 1024) { /* what the division leaves */
        value_add(f, kind, a * b + b - 1);
        value_add(f, kind, a * b + (int64_t)draw(f, (uint64_t)b));
    }
    if (b < 32) {
        value_add(f, kind, a << b);
        value_add(f, kind, a >> b);
    }
    for (int shift = 8; a < 65536 && shift <= 16; shift += 8)
        if (b < (int64_t)1 << shift)
            value_add(f, kind, (a << shift) + b);
}

/* Those of the candidate that the original has not. */
static void fresh_find(const struct ks_constants *candidate, const struct ks_constants *original, struct ks_constants *ret)
{
    for (size_t i = 0; i < candidate->near.n; i++)
        if (!ks_constants_near(original, candidate->near.data[i]))
            ks_vec_push(&ret->near, candidate->near.data[i]);
}

static void all_made_add(struct finder *f, const struct ks_constants *fresh, const struct ks_constants *all,
                         const struct ks_constants *original)
{
    size_t n = fresh->near.n, m = all->near.n;
    for (size_t i = 0; i < n; i++)
        scaled_add(f, fresh->near.data[i] < 0 ? -fresh->near.data[i] : fresh->near.data[i]);
    bool few = n * m <= MAX_MADE;
    for (size_t i = 0; i < (few ? n * m : n > 0 ? MAX_MADE : 0); i++) {
        int64_t a = fresh->near.data[few ? i / m : draw(f, n)], b = all->near.data[few ? i % m : draw(f, m)];
        bool shared = ks_constants_near(original, b);
        made_add(f, shared ? KS_LITERAL_MIXED : KS_LITERAL_MADE, a, b);
        if (shared)
            made_add(f, KS_LITERAL_MIXED, b, a);
    }
}

static void pair_add(struct finder *f, const struct ks_literal *a, const struct ks_literal *b)
{
    bool turned = a->dim[0] > b->dim[0];
    const struct ks_literal *x = turned ? b : a, *y = turned ? a : b;
    if (a->dim[0] != b->dim[0])
        item_add(f,
                 (struct ks_literal){
                     .kind = KS_LITERAL_PAIR, .n_dims = 2, .dim = {x->dim[0], y->dim[0]}, .value = {x->value[0], y->value[0]}});
}

/* Two dims, one of them named. */
static void pairs_add(struct finder *f)
{
    static const enum ks_literal_kind others[] = {KS_LITERAL_NAMED, KS_LITERAL_SHARED, KS_LITERAL_EDGE};
    size_t n = f->of[KS_LITERAL_NAMED].n;
    for (size_t i = 0; i < MAX_PAIRS && n > 0 && f->c->n_dims > 1; i++)
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            size_t m = f->of[others[k]].n;
            if (m > 0)
                pair_add(f, &f->of[KS_LITERAL_NAMED].data[draw(f, n)], &f->of[others[k]].data[draw(f, m)]);
        }
}

static int by_rank(const void *a, const void *b)
{
    const struct ks_literal *x = a, *y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_size(const void *a, const void *b)
{
    const struct ks_literal *x = a, *y = b;
    for (size_t i = 0; i < 2; i++) {
        if (x->dim[i] != y->dim[i])
            return x->dim[i] < y->dim[i] ? -1 : 1;
        if (x->value[i] != y->value[i])
            return x->value[i] < y->value[i] ? -1 : 1;
    }
    return x->n_dims < y->n_dims ? -1 : x->n_dims > y->n_dims;
}

/* Each once, and in the order of their ranks. */
static void kind_settle(struct finder *f, int kind)
{
    struct ks_literal *v = f->of[kind].data;
    size_t n = f->of[kind].n, kept = 0;
    if (n == 0)
        return;
    qsort(v, n, sizeof *v, by_size);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || by_size(&v[i], &v[kept - 1]) != 0)
            v[kept++] = v[i];
    f->n_of[kind] = n < MAX_ITEMS ? kept : f->n_of[kind];
    f->of[kind].n = kept;
    qsort(v, kept, sizeof *v, by_rank);
}

static bool is_new(const struct ks_literals *l, const struct ks_literal *item)
{
    for (size_t i = 0; i < l->items.n; i++)
        if (by_size(&l->items.data[i], item) == 0)
            return false;
    return true;
}

static void turns_take(struct finder *f, size_t most, struct ks_literals *ret)
{
    size_t at[KS_N_LITERAL_KINDS] = {0}, taken[KS_N_LITERAL_KINDS] = {0};
    size_t idle = 0, n_turns = sizeof turns / sizeof *turns;
    for (size_t t = 0; ret->items.n < most && idle < n_turns; t++) {
        enum ks_literal_kind kind = turns[t % n_turns];
        while (at[kind] < f->of[kind].n && !is_new(ret, &f->of[kind].data[at[kind]]))
            at[kind]++;
        idle++;
        if (at[kind] == f->of[kind].n || (kind >= KS_LITERAL_MIXED && taken[kind] == MAX_TAIL))
            continue;
        taken[kind]++;
        ks_vec_push(&ret->items, f->of[kind].data[at[kind]]);
        at[kind]++;
        idle = 0;
    }
    ret->n_named_left = f->n_of[KS_LITERAL_NAMED] - at[KS_LITERAL_NAMED];
}

void ks_literals_make(const struct ks_contract *c, const struct ks_constants *candidate, const struct ks_constants *original,
                      const uint8_t key[32], size_t most, struct ks_literals *ret)
{
    struct finder *f = ks_xcalloc(1, sizeof *f);
    struct ks_constants fresh = {{NULL, 0, 0}, {NULL, 0, 0}};
    *ret = (struct ks_literals){{NULL, 0, 0}, {0}, 0};
    f->c = c;
    f->state = ks_inputs_choice(key, 0, 0, 0);
    fresh_find(candidate, original, &fresh);
    for (size_t i = 0; i < fresh.near.n; i++) {
        int64_t v = fresh.near.data[i], other = (int64_t)(0 - (uint64_t)v);
        value_add(f, KS_LITERAL_NAMED, v);
        value_add(f, KS_LITERAL_NAMED, other);
        beside_add(f, KS_LITERAL_NEXT, v);
        beside_add(f, KS_LITERAL_NEXT, other);
    }
    edges_add(f);
    for (size_t i = 0; i < candidate->near.n; i++)
        if (ks_constants_near(original, candidate->near.data[i])) {
            value_add(f, KS_LITERAL_SHARED, candidate->near.data[i]);
            beside_add(f, KS_LITERAL_SHARED, candidate->near.data[i]);
        }
    pairs_add(f);
    all_made_add(f, &fresh, candidate, original);
    for (size_t i = 0; i < candidate->far.n; i++)
        value_add(f, KS_LITERAL_FAR, candidate->far.data[i]);
    any_add(f);
    for (int kind = 0; kind < KS_N_LITERAL_KINDS; kind++)
        kind_settle(f, kind);
    turns_take(f, most, ret);
    memcpy(ret->n_of, f->n_of, sizeof ret->n_of);
    for (int kind = 0; kind < KS_N_LITERAL_KINDS; kind++)
        ks_vec_release(&f->of[kind]);
    ks_constants_release(&fresh);
    free(f);
}

void ks_literals_release(struct ks_literals *l)
{
    ks_vec_release(&l->items);
}

bool ks_literal_shape(const struct ks_contract *c, const struct ks_literal *l, const uint8_t key[32], uint64_t index,
                      bool smallest, size_t bytes, size_t max_bytes, struct ks_shape *ret)
{
    struct ks_shape at = {{0}};
    bool fixed[KS_MAX_DIMS] = {false};
    uint8_t own[32];
    for (size_t i = 0; i < sizeof own; i += 8) {
        uint64_t part = ks_inputs_choice(key, 1 + index, (uint32_t)i, 0);
        memcpy(own + i, &part, 8);
    }
    for (size_t i = 0; i < l->n_dims; i++) {
        at.dim[l->dim[i]] = l->value[i];
        fixed[l->dim[i]] = true;
    }
    return ks_contract_shape_at(c, own, &at, fixed, smallest, bytes, ret) ||
           ks_contract_shape_at(c, own, &at, fixed, true, max_bytes, ret);
}
