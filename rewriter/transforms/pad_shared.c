/* pad-shared (memory-access): lanes that read down a column of a shared array whose rows are a multiple of the banks long all
 * meet in the same bank and are served one after the other.  One more element in every row shifts each row by a bank.  The array
 * must only be used through full subscripts: nothing else may know the length of its rows. */
#include "rewriter/idiom.h"

#include <string.h>

struct pad_plan {
    const struct ks_shared *array;
    uint32_t bracket;  /* offset of the ']' of the last dimension in the declaration */
    int before, after; /* worst serialisation of an access */
};

/* The ']' that closes the last dimension of the declarator. */
static bool find_bracket(const struct ks_facts *f, const struct ks_shared *a, uint32_t *ret)
{
    const struct ks_node *decl = a->decl;
    if (!decl || decl->in_macro)
        return false;
    uint32_t end = decl->span.end;
    for (uint32_t i = decl->span.begin; i < end; i++)
        if (f->source[i] == '=' || f->source[i] == '{')
            end = i;
    while (end > decl->span.begin && f->source[end - 1] != ']')
        end--;
    *ret = end - 1;
    return end > decl->span.begin;
}

/* Largest value of an index of the usual forms: a constant, threadIdx, a counted loop's variable, sums of these; -1: not known.
 */
static int64_t largest(const struct ks_node *n, const struct ks_kernel *k, const struct ks_launch *l)
{
    n = ks_node_bare(n);
    if (!n)
        return -1;
    if (n->has_value)
        return n->value;
    for (int axis = 0; axis < 3; axis++)
        if (ks_idiom_is_thread_idx(n, axis))
            return ks_launch_block_dim(l, axis) - 1;
    for (size_t i = 0; n->kind == KS_NODE_DECL_REF && i < k->n_loops; i++) {
        const struct ks_node *bound = ks_node_bare(k->loops[i].bound);
        if (k->loops[i].variable == n->symbol && ks_idiom_is_unit_loop(&k->loops[i]) && bound->has_value)
            return bound->value - 1;
    }
    if (ks_node_is_op(n, KS_NODE_BINARY, "+")) {
        int64_t a = largest(n->children[0], k, l), b = largest(n->children[1], k, l);
        return a < 0 || b < 0 ? -1 : a + b;
    }
    return -1;
}

struct use_check {
    const struct ks_kernel *kernel;
    const struct ks_launch *launch;
    int64_t row;
    const struct ks_symbol *array;
    size_t rank;
    bool foreign;
};

static bool check_use(const struct ks_node *n, void *ctx)
{
    struct use_check *u = ctx;
    if (n->kind != KS_NODE_DECL_REF || n->symbol != u->array)
        return true;
    const struct ks_node *at = n;
    for (size_t i = 0; i < u->rank; i++) {
        const struct ks_node *outer = at->parent;
        if (!outer || outer->kind != KS_NODE_SUBSCRIPT || outer->children[0] != at) {
            u->foreign = true;
            return true;
        }
        at = outer;
    }
    /* tile[0][i] that runs on into the next rows knows their length as well. */
    int64_t last = largest(at->children[1], u->kernel, u->launch);
    if (last < 0 || last >= u->row)
        u->foreign = true;
    return true;
}

/* How many passes the 32 lanes of a warp need: the most different words that fall in one bank.  0: not known. */
static int serialisation(int64_t per_x, int64_t per_y, int64_t block_x, int64_t size_bytes)
{
    int64_t word[32];
    int worst = 1;
    for (int lane = 0; lane < 32; lane++)
        word[lane] = (lane % block_x * per_x + lane / block_x * per_y) * size_bytes / 4;
    for (int lane = 0; lane < 32; lane++) {
        int words = 0;
        for (int other = 0; other < 32; other++) {
            bool first = ((word[other] - word[lane]) % 32) == 0;
            for (int earlier = 0; first && earlier < other; earlier++)
                first = word[earlier] != word[other];
            words += first;
        }
        worst = words > worst ? words : worst;
    }
    return worst;
}

/* The coefficient when rows are one element longer: it counts rows and, for the rest, columns. */
static int64_t padded(int64_t coef, int64_t row)
{
    return coef / row * (row + 1) + coef % row;
}

static bool judge(const struct ks_kernel *k, const struct ks_shared *a, int64_t block_x, struct pad_plan *p)
{
    int64_t row = a->dims[a->n_dims - 1], size = a->element ? a->element->size_bytes : -1;
    if (row < 2 || (size != 4 && size != 2 && size != 8))
        return false;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *x = &k->accesses[i];
        bool sym_x, sym_y;
        if (x->buffer != a->symbol || !x->index.known)
            continue;
        int64_t per_x = ks_poly_coef(&x->index, KS_VAR_THREAD_X, NULL, &sym_x),
                per_y = ks_poly_coef(&x->index, KS_VAR_THREAD_Y, NULL, &sym_y);
        if (sym_x || sym_y || x->index.has_opaque)
            continue;
        int before = serialisation(per_x, per_y, block_x, size),
            after = serialisation(padded(per_x, row), padded(per_y, row), block_x, size);
        p->before = before > p->before ? before : p->before;
        p->after = after > p->after ? after : p->after;
    }
    return p->before >= 2 && p->after < p->before;
}

/* All launches have one constant block, so that what holds for one holds for all. */
static bool same_blocks(const struct ks_launch *const *launches, size_t n)
{
    for (size_t i = 0; i < n && n <= 16; i++)
        for (int axis = 0; axis < 3; axis++)
            if (ks_launch_block_dim(launches[i], axis) < 1 ||
                ks_launch_block_dim(launches[i], axis) != ks_launch_block_dim(launches[0], axis))
                return false;
    return n <= 16;
}

void ks_tf_pad_shared_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const struct ks_kernel *kernels[32];
    size_t n = ks_idiom_kernels(v, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        const struct ks_kernel *k = kernels[i];
        const struct ks_launch *launches[16];
        size_t n_launches = ks_text_launches_of(v->facts, k, launches, 16);
        int64_t block_x = n_launches > 0 && same_blocks(launches, n_launches) ? ks_launch_block_dim(launches[0], 0) : -1;
        for (size_t s = 0; s < k->n_shared && block_x > 0; s++) {
            const struct ks_shared *a = &k->shared[s];
            struct pad_plan *p = KS_ARENA_NEW(v->arena, struct pad_plan);
            struct use_check u = {.kernel = k, .launch = launches[0], .array = a->symbol, .rank = a->n_dims};
            p->array = a;
            if (a->n_dims < 2 || a->size_bytes < 0 || !find_bracket(v->facts, a, &p->bracket) || !judge(k, a, block_x, p))
                continue;
            u.row = a->dims[a->n_dims - 1];
            ks_node_walk(k->body, check_use, &u);
            if (u.foreign || a->size_bytes + a->size_bytes / a->dims[a->n_dims - 1] > 48 * 1024)
                continue;
            struct ks_site site = {.where = ks_arena_printf(v->arena, "%s.%s", k->name, a->symbol->name),
                                   .kernel = k,
                                   .launch = launches[0],
                                   .predicted = p->before >= 8 ? 1.3 : 1.1,
                                   .data = p};
            site.variant = "";
            site.hypothesis = ks_arena_printf(
                v->arena,
                "Lanes of '%s' that access '%s' meet in the same bank of shared memory, up to %d of them; rows one "
                "element longer spread them out.",
                k->name, a->symbol->name, p->before);
            ks_idiom_add_site(v, &site, out);
        }
    }
}

enum ks_code ks_tf_pad_shared_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                    struct ks_err *err)
{
    const struct pad_plan *p = site->data;
    const struct ks_node *stmt = ks_node_stmt(p->array->decl);
    (void)err;
    ks_edits_insert(edits, p->bracket, " + 1");
    if (stmt)
        ks_edits_insertf(edits, ks_text_line_begin(v->facts, stmt->span.begin),
                         "%s// One unused element in each row keeps a column out of a single bank.\n",
                         ks_text_indent(v->facts, stmt->span.begin, v->arena));
    return KS_OK;
}
