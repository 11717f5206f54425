/* tune-constant (parallel-decomposition): a constant of the unit that sizes a kernel's shared arrays and its blocks is one choice
 * of the author's; half and double of it are others.  Only the literal in its definition changes, so every use must spell the
 * name, and nothing else in the kernel or the geometry may be a number that could stand for it.
 *
 * Macros are not in the syntax tree, and the dimensions of arrays are there as values only: names, definitions and sizes are read
 * off the text, word by word, comments and strings left out. */
#include "rewriter/launch.h"
#include "rewriter/text.h"
#include "rewriter/transform.h"
#include "rewriter/words.h"

#include <ctype.h>
#include <string.h>

#define MAX_THREADS      1024
#define MAX_SHARED_BYTES (48 * 1024)
#define MAX_NAMES        8

/* ---- definitions ----------------------------------------------------------------------------------------------------- */

static bool refers_to(const struct ks_node *n, void *name)
{
    return n->kind == KS_NODE_DECL_REF && n->symbol && n->symbol->name && strcmp(n->symbol->name, name) == 0;
}

/* `const int NAME = literal;` at file scope. */
static bool find_variable(const struct ks_facts *f, const struct ks_kernel *k, const char *name, struct ks_arena *arena,
                          struct ks_constant *ret)
{
    const struct ks_node *use = ks_node_find(k->body, refers_to, (void *)(uintptr_t)name);
    const struct ks_symbol *s = use ? use->symbol : NULL;
    const struct ks_node *init = s && s->has_value ? ks_node_initialiser(s->decl) : NULL;
    if (!init || init->kind != KS_NODE_INT_LITERAL || init->in_macro || s->decl->in_macro || ks_node_function(s->decl) ||
        !s->type || s->type->kind != KS_TYPE_INT)
        return false;
    *ret = (struct ks_constant){.name = name, .literal = init->span, .value = s->value};
    int64_t written;
    return ks_word_number(ks_text_slice(f, init->span, arena), &written) && written == s->value &&
           !ks_define_exists(f, name);
}

/* ---- sizes as texts -------------------------------------------------------------------------------------------------- */

/* Bytes of a shared array with the constant at `value`: its element and what stands in the brackets behind its name. */
static bool shared_bytes(const struct ks_facts *f, const struct ks_constant *constant, int64_t value, const struct ks_shared *a,
                         int64_t *ret)
{
    struct ks_word w;
    uint32_t at = a->decl->span.begin, end = a->decl->span.end;
    int64_t bytes = a->element ? a->element->size_bytes : -1;
    while (ks_word_next(f, &at, end, &w) && strcmp(w.text, a->symbol->name) != 0)
        ;
    size_t n_dims = 0;
    while (bytes > 0 && ks_word_next(f, &at, end, &w) && strcmp(w.text, "[") == 0) {
        const char *close = memchr(f->source + at, ']', end - at);
        int64_t dim;
        if (!close || !ks_words_value(f, constant, value, (struct ks_span){at, (uint32_t)(close - f->source)}, &dim))
            return false;
        bytes *= dim;
        n_dims++;
        at = (uint32_t)(close - f->source) + 1;
    }
    *ret = bytes;
    return bytes > 0 && n_dims == a->n_dims && n_dims > 0;
}

/* Text of one axis of grid or block; false: it has no text of its own and is 1. */
static bool axis_span(const struct ks_node *dims, const struct ks_node *arg, size_t axis, struct ks_span *ret)
{
    const struct ks_node *d = ks_node_follow(dims ? dims : arg);
    if (d && (d->kind == KS_NODE_CONSTRUCT || d->kind == KS_NODE_INIT_LIST)) {
        const struct ks_node *dim = axis < d->n_children ? d->children[axis] : NULL;
        if (!dim || dim->span.end <= dim->span.begin || dim->span.begin < d->span.begin || dim->span.end > d->span.end)
            return false;
        *ret = ks_node_follow(dim)->span;
        return true;
    }
    if (axis > 0 || !d)
        return false;
    *ret = d->span;
    return true;
}

static bool block_threads(const struct ks_facts *f, const struct ks_constant *constant, int64_t value, const struct ks_launch *l,
                          int64_t *ret)
{
    *ret = 1;
    for (size_t axis = 0; axis < 3; axis++) {
        struct ks_span span;
        int64_t dim = 1;
        if (axis_span(l->block, l->node->children[1], axis, &span) && !ks_words_value(f, constant, value, span, &dim))
            return false;
        /* The reading of the text must agree with what is known. */
        if (value == constant->value && dim != ks_launch_block_dim(l, (int)axis))
            return false;
        *ret *= dim;
    }
    return true;
}

/* ---- what the constant may be ----------------------------------------------------------------------------------------- */

/* Every number in the span is 0, 1 or 2, or another name's that divides (or is divided by) both values. */
static bool numbers_agree(const struct ks_facts *f, struct ks_span span, const struct ks_constant *c, int64_t value)
{
    struct ks_word w;
    for (uint32_t at = span.begin; ks_word_next(f, &at, span.end, &w);) {
        struct ks_constant other;
        int64_t n;
        if (isdigit((unsigned char)w.text[0])) {
            bool is_float = strchr(w.text, '.') || (w.text[1] != 'x' && w.text[1] != 'X' && strpbrk(w.text, "fFeE"));
            if (!is_float && (!ks_word_number(w.text, &n) || n > 2))
                return false;
        } else if (strcmp(w.text, c->name) != 0 && (isalpha((unsigned char)w.text[0]) || w.text[0] == '_') &&
                   ks_define_exists(f, w.text)) {
            if (!ks_define_find(f, w.text, &other))
                return false;
            n = other.value;
            bool below = n > 0 && c->value % n == 0 && value % n == 0;
            bool above = n > 0 && n % c->value == 0 && n % value == 0;
            if (n > 2 && ((!below && !above) || n * 2 == c->value || n == c->value * c->value))
                return false;
        }
    }
    return true;
}

struct plan {
    struct ks_constant c;
    const struct ks_launch *launches[16]; /* of all kernels that spell the name */
    size_t n_launches;
};

/* Uses of other constants and helpers, which the text of the kernel alone does not show. */
struct kernel_use {
    const struct ks_facts *f;
    const char *name;
    bool foreign;
};

static bool check_use(const struct ks_node *n, void *ctx)
{
    struct kernel_use *u = ctx;
    if (n->kind == KS_NODE_DECL_REF && n->symbol && n->symbol->has_value && n->symbol->value > 2 &&
        strcmp(n->symbol->name, u->name) != 0)
        u->foreign = true;
    for (size_t i = 0; n->kind == KS_NODE_CALL && n->name && i < u->f->n_functions; i++)
        u->foreign |= u->f->functions[i]->name && strcmp(u->f->functions[i]->name, n->name) == 0;
    return !u->foreign;
}

/* With another number of blocks, an array with one place for each block would get another size. */
static bool has_place_for_block(const struct ks_kernel *k)
{
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (a->space == KS_SPACE_GLOBAL && a->thread_mask == 0)
            return true;
    }
    return false;
}

static bool kernel_follows(const struct ks_facts *f, const struct ks_kernel *k, const char *name)
{
    struct kernel_use u = {f, name, false};
    if (!k->body || !ks_kernel_editable(k) || k->uses_shuffle || k->uses_tensor_cores || k->uses_inline_asm || k->calls_unknown)
        return false;
    ks_node_walk(k->body, check_use, &u);
    return !u.foreign;
}

static bool is_local(const struct ks_node *n, void *ctx)
{
    (void)ctx;
    return n->kind == KS_NODE_DECL_REF && n->symbol && n->symbol->kind == KS_SYM_LOCAL;
}

/* The block's size spells the name.  ret_grid: the number of blocks may follow from it. */
static bool geometry_uses(const struct ks_facts *f, const struct ks_launch *l, const char *name, bool *ret_grid)
{
    size_t in_block = 0;
    *ret_grid = ks_node_find(ks_node_follow(l->grid ? l->grid : l->node->children[0]), is_local, NULL) != NULL;
    for (size_t axis = 0; axis < 3; axis++) {
        struct ks_span span;
        if (axis_span(l->grid, l->node->children[0], axis, &span) && ks_word_count(f, span, name) > 0)
            *ret_grid = true;
        if (axis_span(l->block, l->node->children[1], axis, &span))
            in_block += ks_word_count(f, span, name);
    }
    return in_block > 0;
}

static const struct ks_node *local_stmt(const struct ks_node *arg)
{
    const struct ks_node *n = ks_node_unparen(arg);
    while (n && n->kind == KS_NODE_CONSTRUCT && n->n_children == 1)
        n = ks_node_unparen(n->children[0]);
    bool local = n && n->kind == KS_NODE_DECL_REF && n->symbol && n->symbol->kind == KS_SYM_LOCAL && n->symbol->decl;
    return local ? ks_node_stmt(n->symbol->decl) : NULL;
}

static size_t count_new(const struct ks_facts *f, const struct ks_node *n, const char *name, const struct ks_node **seen,
                        size_t *n_seen)
{
    for (size_t i = 0; i < *n_seen; i++)
        if (seen[i] == n)
            return 0;
    if (!n || *n_seen == 64)
        return 0;
    seen[(*n_seen)++] = n;
    return ks_word_count(f, n->span, name);
}

/* Every word of the name is its definition, in a kernel that follows it, or in the geometry of such a kernel's launch. */
static bool all_uses_known(const struct ks_rewrite_view *v, struct plan *p)
{
    const struct ks_facts *f = v->facts;
    const struct ks_node *seen[64];
    size_t n_seen = 0, known = 1;
    for (size_t i = 0; i < f->n_kernels; i++) {
        const struct ks_kernel *k = &f->kernels[i];
        size_t uses = k->node ? ks_word_count(f, k->node->span, p->c.name) : 0;
        if (uses == 0)
            continue;
        const struct ks_launch *all[16];
        size_t n = ks_text_launches_of(f, k, all, 16);
        if (n == 0 || p->n_launches + n > 16 || !ks_text_only_launched_by(f, k, v->entry) || !kernel_follows(f, k, p->c.name))
            return false;
        known += uses;
        for (size_t j = 0; j < n; j++) {
            const struct ks_launch *l = p->launches[p->n_launches++] = all[j];
            bool in_grid;
            if (l->node->in_macro || !geometry_uses(f, l, p->c.name, &in_grid) || (in_grid && has_place_for_block(k)))
                return false;
            for (size_t a = 0; a < 2; a++) {
                known += count_new(f, l->node->children[a], p->c.name, seen, &n_seen);
                known += count_new(f, local_stmt(l->node->children[a]), p->c.name, seen, &n_seen);
            }
        }
    }
    return p->n_launches > 0 && known == ks_word_count(f, (struct ks_span){0, (uint32_t)f->source_len}, p->c.name);
}

static bool value_fits(const struct ks_facts *f, const struct plan *p, int64_t value)
{
    for (size_t i = 0; i < p->n_launches; i++) {
        const struct ks_launch *l = p->launches[i];
        const struct ks_kernel *k = l->kernel;
        int64_t threads, bytes, total = 0;
        if (!block_threads(f, &p->c, value, l, &threads) || threads > MAX_THREADS || threads < 32 || threads % 32 != 0 ||
            !numbers_agree(f, k->node->span, &p->c, value))
            return false;
        for (size_t axis = 0; axis < 3; axis++) {
            struct ks_span span;
            if ((axis_span(l->grid, l->node->children[0], axis, &span) && !numbers_agree(f, span, &p->c, value)) ||
                (axis_span(l->block, l->node->children[1], axis, &span) && !numbers_agree(f, span, &p->c, value)))
                return false;
        }
        for (size_t a = 0; a < k->n_shared; a++) {
            if (!shared_bytes(f, &p->c, value, &k->shared[a], &bytes) ||
                (value == p->c.value && bytes != k->shared[a].size_bytes))
                return false;
            total += bytes;
        }
        if (total > MAX_SHARED_BYTES)
            return false;
    }
    return true;
}

static void add_sites(const struct ks_rewrite_view *v, const struct ks_launch *l, const struct plan *p, struct ks_sites *out)
{
    const int64_t values[] = {p->c.value * 2, p->c.value / 2};
    for (size_t i = 0; i < 2; i++) {
        if (!value_fits(v->facts, p, values[i]))
            continue;
        struct ks_site s = {.kernel = l->kernel, .launch = l, .param = {values[i]}, .data = p};
        s.where = ks_arena_printf(v->arena, "%s.%s", l->kernel->name, p->c.name);
        s.variant = ks_arena_printf(v->arena, "%s=%lld", p->c.name, (long long)values[i]);
        s.predicted = ks_predict_entry(v, l, i == 0 ? 1.12 : 1.06);
        s.hypothesis =
            i == 0
                ? ks_arena_printf(v->arena,
                                  "A tile of '%s' is %s = %lld wide; twice that reads every element for twice as many results.",
                                  l->kernel->name, p->c.name, (long long)p->c.value)
                : ks_arena_printf(v->arena,
                                  "A block of '%s' holds a tile of %s = %lld; with half of it more blocks fit on a "
                                  "multiprocessor, and fewer threads wait at each barrier.",
                                  l->kernel->name, p->c.name, (long long)p->c.value);
        ks_sites_add(out, &s);
    }
}

/* The names that size the kernel's shared arrays. */
static size_t names_in_arrays(const struct ks_rewrite_view *v, const struct ks_kernel *k, const char **names)
{
    size_t n = 0;
    for (size_t i = 0; i < k->n_shared; i++) {
        struct ks_word w;
        uint32_t at = k->shared[i].decl->span.begin;
        while (ks_word_next(v->facts, &at, k->shared[i].decl->span.end, &w)) {
            bool seen = !isalpha((unsigned char)w.text[0]) || strcmp(w.text, k->shared[i].symbol->name) == 0;
            for (size_t j = 0; j < n; j++)
                seen = seen || strcmp(names[j], w.text) == 0;
            if (!seen && n < MAX_NAMES)
                names[n++] = ks_arena_printf(v->arena, "%s", w.text);
        }
    }
    return n;
}

void ks_tf_tune_constant_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const char *done[16];
    size_t n_done = 0;
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i];
        const char *names[MAX_NAMES];
        size_t n = l->kernel && l->kernel->body ? names_in_arrays(v, l->kernel, names) : 0;
        for (size_t k = 0; k < n; k++) {
            struct plan *p = KS_ARENA_NEW(v->arena, struct plan);
            bool seen = n_done == 16;
            for (size_t d = 0; d < n_done; d++)
                seen = seen || strcmp(done[d], names[k]) == 0;
            if (seen ||
                (!ks_define_find(v->facts, names[k], &p->c) && !find_variable(v->facts, l->kernel, names[k], v->arena, &p->c)))
                continue;
            done[n_done++] = names[k];
            bool halves = p->c.value >= 4 && (p->c.value & (p->c.value - 1)) == 0;
            if (halves && all_uses_known(v, p) && value_fits(v->facts, p, p->c.value))
                add_sites(v, l, p, out);
        }
    }
}

enum ks_code ks_tf_tune_constant_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                       struct ks_err *err)
{
    const struct plan *p = site->data;
    const char *old = ks_text_slice(v->facts, p->c.literal, v->arena);
    (void)err;
    ks_edits_replacef(edits, p->c.literal, "%lld%s", (long long)site->param[0], old + strspn(old, "0123456789"));
    return KS_OK;
}
