/* swap-axes (memory-access): a two-dimensional kernel that gives threadIdx.x to the slow dimension of its arrays has neighbouring
 * lanes a row apart in every access.  The two axes change places, in the kernel's index computations and in the grid and block of
 * its launches; which thread computes what changes, what is computed does not. */
#include "rewriter/idiom.h"
#include "rewriter/promise.h"

#define MAX_LAUNCHES 8
#define MAX_GRID_Y   65535

struct swap_plan {
    struct ks_outline o;
    const struct ks_launch *launches[MAX_LAUNCHES];
    size_t n_launches;
};

/* Accesses for which the other axis would be the coalesced one, less those for which it is the right one. */
static int balance(const struct ks_kernel *k)
{
    int n = 0;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        bool sym_x, sym_y;
        if (a->space != KS_SPACE_GLOBAL || !a->index.known || a->index.has_opaque)
            continue;
        int64_t x = ks_poly_coef(&a->index, KS_VAR_THREAD_X, NULL, &sym_x),
                y = ks_poly_coef(&a->index, KS_VAR_THREAD_Y, NULL, &sym_y);
        if (y == 1 && !sym_y && (sym_x || x > 1))
            n++;
        else if (x == 1 && !sym_x && (sym_y || y > 1))
            n--;
    }
    return n;
}

/* The number of blocks along x fits the y axis of a grid for every shape of the contract. */
static bool fits_grid_y(const struct ks_rewrite_view *v, const struct swap_plan *p, const struct ks_launch *l)
{
    int64_t lo, hi, multiple;
    const struct ks_node *limit = ks_outline_limit(&p->o, p->o.id[0]);
    const char *dim = limit ? ks_idiom_entry_name(l, limit) : NULL;
    return dim && ks_promise_dim(v->contract, dim, &lo, &hi, &multiple) && hi / ks_launch_block_dim(l, 0) < MAX_GRID_Y;
}

static bool read_plan(const struct ks_rewrite_view *v, const struct ks_kernel *k, struct swap_plan *p)
{
    *p = (struct swap_plan){0};
    if (!ks_outline_read(k, &p->o) || !p->o.id[0] || !p->o.id[1] || p->o.id[2] || k->n_barriers > 0 || k->n_shared > 0 ||
        k->uses_shuffle || balance(k) <= 0)
        return false;
    const struct ks_node *x = ks_idiom_init_of(p->o.id[0]), *y = ks_idiom_init_of(p->o.id[1]);
    if (!ks_node_editable(x) || !ks_node_editable(y) ||
        ks_idiom_count_builtins(k->body) != ks_idiom_count_builtins(x) + ks_idiom_count_builtins(y))
        return false;
    p->n_launches = ks_idiom_own_launches(v, k, p->launches, MAX_LAUNCHES);
    for (size_t i = 0; i < p->n_launches; i++) {
        const struct ks_launch *l = p->launches[i];
        if (!ks_idiom_can_set_dims(l, false) || !ks_idiom_can_set_dims(l, true) || ks_launch_block_dim(l, 0) < 1 ||
            ks_launch_block_dim(l, 1) < 1 || ks_launch_block_dim(l, 2) != 1 || !fits_grid_y(v, p, l))
            return false;
        for (int axis = 0; axis < 2; axis++)
            if (p->o.id_block[axis] != 0 && p->o.id_block[axis] != ks_launch_block_dim(l, axis))
                return false;
    }
    return p->n_launches > 0;
}

void ks_tf_swap_axes_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const struct ks_kernel *kernels[32];
    size_t n = ks_idiom_kernels(v, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        struct swap_plan *p = KS_ARENA_NEW(v->arena, struct swap_plan);
        if (!read_plan(v, kernels[i], p))
            continue;
        struct ks_site s = {.where = kernels[i]->name,
                            .variant = "",
                            .kernel = kernels[i],
                            .launch = p->launches[0],
                            .predicted = 2.5,
                            .data = p};
        s.hypothesis = ks_arena_printf(
            v->arena,
            "'%s' runs '%s' along threadIdx.x although its arrays are contiguous along '%s', so neighbouring lanes are a "
            "row apart in memory.",
            kernels[i]->name, p->o.id[0]->name, p->o.id[1]->name);
        ks_idiom_add_site(v, &s, out);
    }
}

struct member_swap {
    struct ks_edits *edits;
};

static bool swap_member(const struct ks_node *n, void *ctx)
{
    struct member_swap *s = ctx;
    const struct ks_node *base = n->kind == KS_NODE_MEMBER && n->n_children > 0 ? n->children[0] : NULL;
    if (base && base->symbol && base->symbol->kind == KS_SYM_BUILTIN_INDEX)
        ks_edits_replace(s->edits, (struct ks_span){n->span.end - 1, n->span.end}, n->name[0] == 'x' ? "y" : "x");
    return true;
}

/* Blocks along what was `axis`, from the guard; NULL: no such limit. */
static const char *swapped_grid(const struct ks_rewrite_view *v, const struct swap_plan *p, const struct ks_launch *l, int axis,
                                int64_t block)
{
    const struct ks_node *limit = ks_outline_limit(&p->o, p->o.id[axis]);
    const char *text = limit ? ks_idiom_host_text(v->facts, l, limit, v->arena) : NULL;
    return text ? ks_idiom_ceildiv(text, block, v->arena) : NULL;
}

enum ks_code ks_tf_swap_axes_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                   struct ks_err *err)
{
    const struct swap_plan *p = site->data;
    const struct ks_facts *f = v->facts;
    struct member_swap s = {edits};
    for (int axis = 0; axis < 2; axis++)
        ks_node_walk(ks_idiom_init_of(p->o.id[axis]), swap_member, &s);
    const struct ks_node *first = ks_node_stmt(p->o.id[0]->decl), *other = ks_node_stmt(p->o.id[1]->decl);
    if (other->span.begin < first->span.begin)
        first = other;
    ks_edits_insertf(edits, ks_text_line_begin(f, first->span.begin),
                     "%s// threadIdx.x runs along '%s', in which neighbours are adjacent in memory.\n",
                     ks_text_indent(f, first->span.begin, v->arena), p->o.id[1]->name);
    for (size_t i = 0; i < p->n_launches; i++) {
        const struct ks_launch *l = p->launches[i];
        int64_t block[2] = {ks_launch_block_dim(l, 0), ks_launch_block_dim(l, 1)};
        const char *z = ks_idiom_dim_text(f, l, false, 2, v->arena);
        bool done;
        if (block[0] == block[1]) {
            done = ks_idiom_set_dims(f, l, false, ks_idiom_dim_text(f, l, false, 1, v->arena),
                                     ks_idiom_dim_text(f, l, false, 0, v->arena), z, v->arena, edits);
        } else {
            /* The grid may be computed from the block's sizes: computed anew from the guard's limits. */
            const char *grid_text[3] = {swapped_grid(v, p, l, 1, block[1]), swapped_grid(v, p, l, 0, block[0]), z};
            const char *block_text[3] = {ks_arena_printf(v->arena, "%lld", (long long)block[1]),
                                         ks_arena_printf(v->arena, "%lld", (long long)block[0]), "1"};
            done = grid_text[0] && grid_text[1] && ks_idiom_set_geometry(f, l, grid_text, block_text, v->arena, edits);
        }
        if (!done)
            return ks_fail(err, KS_ERR_UNSUPPORTED, "rewrite no geometry that comes out of a macro, kernel '%s'", site->where);
    }
    return KS_OK;
}
