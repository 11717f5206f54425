/* What expressions depend on, and how launches spell their geometry; the declarations are in idiom.h. */
#include "rewriter/idiom.h"
#include "rewriter/launch.h"

#include <ctype.h>
#include <string.h>

/* ---- dependence ------------------------------------------------------------------------------------------------------ */

#define MAX_INIT_DEPTH 16

/* Does a reference of n satisfy `test`, here or in the initialisers of the locals it names? */
typedef bool ref_test_fn(const struct ks_node *ref, const void *ctx);

static bool any_ref(const struct ks_node *n, ref_test_fn *test, const void *ctx, int depth)
{
    if (!n)
        return false;
    if (n->kind == KS_NODE_DECL_REF && n->symbol) {
        if (test(n, ctx))
            return true;
        if (n->symbol->kind == KS_SYM_LOCAL) {
            if (n->symbol->n_writes > 0 || n->symbol->address_taken || depth == 0)
                return true; /* not known: take it as dependent */
            if (any_ref(ks_idiom_init_of(n->symbol), test, ctx, depth - 1))
                return true;
        }
    }
    for (size_t i = 0; i < n->n_children; i++)
        if (any_ref(n->children[i], test, ctx, depth))
            return true;
    return false;
}

static bool is_symbol(const struct ks_node *ref, const void *ctx)
{
    return ref->symbol == ctx;
}

bool ks_idiom_depends(const struct ks_node *n, const struct ks_symbol *s)
{
    return any_ref(n, is_symbol, s, MAX_INIT_DEPTH);
}

struct thread_query {
    int axis;
    bool blocks;
};

static bool is_thread_variable(const struct ks_node *ref, const void *ctx)
{
    const struct thread_query *q = ctx;
    if (ref->symbol->kind != KS_SYM_BUILTIN_INDEX)
        return false;
    const char *name = ref->symbol->name;
    bool counts = strcmp(name, "threadIdx") == 0 || (q->blocks && strcmp(name, "blockIdx") == 0);
    const struct ks_node *member = ref->parent;
    if (!counts || q->axis < 0 || !member || member->kind != KS_NODE_MEMBER || !member->name)
        return counts;
    return member->name[0] == "xyz"[q->axis];
}

bool ks_idiom_depends_thread(const struct ks_node *n, int axis, bool blocks)
{
    struct thread_query q = {axis, blocks};
    return any_ref(n, is_thread_variable, &q, MAX_INIT_DEPTH);
}

struct decl_search {
    const struct ks_node *const *stmts;
    size_t n_stmts;
    const struct ks_symbol *const *except;
    size_t n_except;
    bool needed[KS_IDIOM_MAX_STMTS];
};

static const struct ks_node *var_of(const struct ks_node *stmt, const struct ks_symbol *s)
{
    if (stmt->kind != KS_NODE_DECL_STMT)
        return NULL;
    for (size_t i = 0; i < stmt->n_children; i++)
        if (stmt->children[i] && stmt->children[i]->symbol == s)
            return stmt->children[i];
    return NULL;
}

static bool note_needed(const struct ks_node *n, struct decl_search *s)
{
    if (!n)
        return true;
    if (n->kind == KS_NODE_DECL_REF && n->symbol && n->symbol->kind == KS_SYM_LOCAL) {
        for (size_t i = 0; i < s->n_except; i++)
            if (s->except[i] == n->symbol)
                return true;
        for (size_t i = 0; i < s->n_stmts; i++) {
            if (s->needed[i] || !var_of(s->stmts[i], n->symbol))
                continue;
            if (!ks_idiom_init_of(n->symbol) || ks_node_has_side_effects(s->stmts[i]))
                return false;
            s->needed[i] = true;
            if (!note_needed(s->stmts[i], s))
                return false;
        }
    }
    for (size_t i = 0; i < n->n_children; i++)
        if (!note_needed(n->children[i], s))
            return false;
    return true;
}

bool ks_idiom_needed_decls(const struct ks_node *const *stmts, size_t n_stmts, const struct ks_node *user,
                           const struct ks_symbol *const *except, size_t n_except, struct ks_decl_list *ret)
{
    struct decl_search s = {.stmts = stmts, .n_stmts = n_stmts, .except = except, .n_except = n_except};
    if (n_stmts > KS_IDIOM_MAX_STMTS)
        return false;
    for (size_t i = 0; i < ret->n; i++)
        for (size_t j = 0; j < n_stmts; j++)
            s.needed[j] = s.needed[j] || stmts[j] == ret->stmt[i];
    if (!note_needed(user, &s))
        return false;
    ret->n = 0;
    for (size_t i = 0; i < n_stmts; i++)
        if (s.needed[i])
            ret->stmt[ret->n++] = stmts[i];
    return true;
}

/* ---- launches -------------------------------------------------------------------------------------------------------- */

size_t ks_idiom_own_launches(const struct ks_rewrite_view *v, const struct ks_kernel *k, const struct ks_launch **out, size_t cap)
{
    size_t n = ks_text_launches_of(v->facts, k, out, cap);
    return n > cap || !ks_text_only_launched_by(v->facts, k, v->entry) ? 0 : n;
}

size_t ks_idiom_kernels(const struct ks_rewrite_view *v, const struct ks_kernel **out, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_kernel *k = v->entry->launches[i]->kernel;
        bool usable = k && k->body && !k->has_error && !k->is_template && !k->uses_inline_asm && !k->body->in_macro;
        for (size_t j = 0; usable && j < n; j++)
            usable = out[j] != k;
        if (usable && n < cap)
            out[n++] = k;
    }
    return n;
}

void ks_idiom_add_site(const struct ks_rewrite_view *v, struct ks_site *site, struct ks_sites *out)
{
    if (site->launch)
        site->predicted = ks_predict_entry(v, site->launch, site->predicted);
    ks_sites_add(out, site);
}

static const struct ks_node *dims_node(const struct ks_launch *l, bool block)
{
    return l->node && l->node->n_children > 1 ? l->node->children[block ? 1 : 0] : NULL;
}

/* dim3(...) behind a launch's word: written there, or the initialiser of a variable.  *ret_only_use: nothing else uses the
 * variable, not counting what is below `ignored`. */
static const struct ks_node *construct_of(const struct ks_node *dims, const struct ks_node *ignored, bool *ret_only_use)
{
    const struct ks_node *n = ks_node_unparen(dims);
    *ret_only_use = true;
    if (n && n->kind == KS_NODE_DECL_REF && n->symbol && n->symbol->decl && n->symbol->n_writes == 0) {
        *ret_only_use = ks_node_count_uses(ks_node_function(dims), n->symbol) == 1 + ks_node_count_uses(ignored, n->symbol);
        n = ks_idiom_init_of(n->symbol);
    }
    return n && n->kind == KS_NODE_CONSTRUCT ? n : NULL;
}

static bool is_dim3(const struct ks_node *n)
{
    return n && n->type && n->type->kind == KS_TYPE_RECORD;
}

const char *ks_idiom_dim_text(const struct ks_facts *f, const struct ks_launch *l, bool block, int axis, struct ks_arena *arena)
{
    const struct ks_node *dims = dims_node(l, block);
    bool only_use;
    const struct ks_node *c = construct_of(dims, NULL, &only_use);
    if (c && only_use && c->n_children <= 3)
        return (size_t)axis < c->n_children ? ks_text_of(f, c->children[axis], arena) : "1";
    const struct ks_node *n = ks_node_unparen(dims);
    if (n && n->kind == KS_NODE_DECL_REF && is_dim3(n))
        return ks_arena_printf(arena, "%s.%c", ks_text_of(f, n, arena), "xyz"[axis]);
    return axis == 0 ? ks_text_of(f, dims, arena) : "1";
}

/* Can the text stand as an operand of '*' as it is? */
static bool is_primary(const char *text)
{
    if (*text == '(') {
        int depth = 0;
        for (const char *c = text; *c; c++) {
            depth += (*c == '(') - (*c == ')');
            if (depth == 0)
                return c[1] == '\0';
        }
        return false;
    }
    for (const char *c = text; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_' && *c != '.')
            return false;
    return true;
}

const char *ks_idiom_times(const char *a, const char *b, struct ks_arena *arena)
{
    if (strcmp(a, "1") == 0)
        return b;
    if (strcmp(b, "1") == 0)
        return a;
    bool pa = is_primary(a), pb = is_primary(b);
    return ks_arena_printf(arena, "%s%s%s * %s%s%s", pa ? "" : "(", a, pa ? "" : ")", pb ? "" : "(", b, pb ? "" : ")");
}

const char *ks_idiom_ceildiv(const char *a, int64_t b, struct ks_arena *arena)
{
    if (b == 1 || strcmp(a, "1") == 0)
        return a;
    bool pa = strpbrk(a, "?<>&|^=,") == NULL;
    return ks_arena_printf(arena, "(%s%s%s + %lld) / %lld", pa ? "" : "(", a, pa ? "" : ")", (long long)(b - 1), (long long)b);
}

bool ks_idiom_can_set_dims(const struct ks_launch *l, bool block)
{
    const struct ks_node *dims = dims_node(l, block);
    return dims && !dims->in_macro;
}

/* True when a variable's declaration can be edited in place of the launch: its own text, all of it. */
static bool edits_declaration(const struct ks_node *dims, const struct ks_node *c)
{
    const struct ks_node *n = ks_node_unparen(dims);
    if (!c || c->in_macro || !n)
        return false;
    return n == c || n->symbol->decl->span.begin <= c->span.begin;
}

static bool set_dims(const struct ks_node *dims, const struct ks_facts *f, const struct ks_node *ignored, const char *x,
                     const char *y, const char *z, struct ks_arena *arena, struct ks_edits *edits)
{
    if (!dims || dims->in_macro)
        return false;
    const char *args = strcmp(z, "1") != 0   ? ks_arena_printf(arena, "%s, %s, %s", x, y, z)
                       : strcmp(y, "1") != 0 ? ks_arena_printf(arena, "%s, %s", x, y)
                                             : x;
    bool only_use;
    const struct ks_node *c = construct_of(dims, ignored, &only_use);
    if (only_use && edits_declaration(dims, c) && c->n_children > 0) {
        struct ks_span span = {c->children[0]->span.begin, c->children[c->n_children - 1]->span.end};
        const char *before = f->source + span.begin;
        if (span.begin > 0 && before[-1] == '(') {
            ks_edits_replace(edits, span, args);
            return true;
        }
    }
    bool plain = strchr(args, ',') == NULL || (strcmp(z, "1") == 0 && strcmp(y, "1") == 0);
    ks_edits_replace(edits, dims->span, plain ? args : ks_arena_printf(arena, "dim3(%s)", args));
    return true;
}

bool ks_idiom_set_dims(const struct ks_facts *f, const struct ks_launch *l, bool block, const char *x, const char *y,
                       const char *z, struct ks_arena *arena, struct ks_edits *edits)
{
    return set_dims(dims_node(l, block), f, NULL, x, y, z, arena, edits);
}

bool ks_idiom_set_geometry(const struct ks_facts *f, const struct ks_launch *l, const char *const grid[3],
                           const char *const block[3], struct ks_arena *arena, struct ks_edits *edits)
{
    /* The grid is often computed from the block variable; that use goes away with it. */
    bool only_use;
    const struct ks_node *c = construct_of(dims_node(l, false), NULL, &only_use);
    return set_dims(dims_node(l, false), f, NULL, grid[0], grid[1], grid[2], arena, edits) &&
           set_dims(dims_node(l, true), f, only_use ? c : NULL, block[0], block[1], block[2], arena, edits);
}

static size_t param_index(const struct ks_kernel *k, const struct ks_symbol *s)
{
    for (size_t i = 0; i < k->n_params; i++)
        if (k->params[i] == s)
            return i;
    return SIZE_MAX;
}

static bool only_params(const struct ks_node *n, const struct ks_kernel *k)
{
    if (!n)
        return true;
    if (n->kind == KS_NODE_CALL || n->kind == KS_NODE_SUBSCRIPT || n->kind == KS_NODE_LAMBDA || n->kind == KS_NODE_OTHER)
        return false;
    if (n->kind == KS_NODE_DECL_REF && n->symbol && !n->has_value && param_index(k, n->symbol) == SIZE_MAX)
        return false;
    for (size_t i = 0; i < n->n_children; i++)
        if (!only_params(n->children[i], k))
            return false;
    return true;
}

const char *ks_idiom_host_text(const struct ks_facts *f, const struct ks_launch *l, const struct ks_node *n,
                               struct ks_arena *arena)
{
    const struct ks_kernel *k = l->kernel;
    struct ks_subst subst[KS_MAX_SITE_PARAMS * 8];
    size_t n_subst = 0;
    if (!k || !only_params(n, k) || ks_node_has_side_effects(n))
        return NULL;
    for (size_t i = 0; i < k->n_params && i < l->n_args && n_subst < sizeof subst / sizeof subst[0]; i++) {
        const struct ks_node *arg = ks_node_unparen(l->args[i]);
        if (!ks_node_uses(n, k->params[i]))
            continue;
        if (!arg || ks_node_has_side_effects(arg))
            return NULL;
        const char *text = ks_text_of(f, arg, arena);
        bool primary = arg->kind == KS_NODE_DECL_REF || arg->kind == KS_NODE_INT_LITERAL;
        subst[n_subst++] = (struct ks_subst){k->params[i], primary ? text : ks_arena_printf(arena, "(%s)", text)};
    }
    return ks_text_subst(f, n, subst, n_subst, arena);
}

const char *ks_idiom_entry_name(const struct ks_launch *l, const struct ks_node *n)
{
    n = ks_node_bare(n);
    if (!n || n->kind != KS_NODE_DECL_REF || !n->symbol || !l->kernel)
        return NULL;
    size_t i = param_index(l->kernel, n->symbol);
    if (i == SIZE_MAX || i >= l->n_args)
        return NULL;
    const struct ks_node *arg = ks_node_bare(l->args[i]);
    return arg && arg->kind == KS_NODE_DECL_REF && arg->symbol && arg->symbol->kind == KS_SYM_PARAM ? arg->symbol->name : NULL;
}

const char *ks_idiom_plain_type(const struct ks_type *t)
{
    const char *text =
        t->kind == KS_TYPE_RECORD || t->kind == KS_TYPE_HALF || t->kind == KS_TYPE_BF16 ? t->spelling : t->canonical;
    static const char *const qualifiers[] = {"const ", "volatile "};
    for (size_t i = 0; i < 2; i++)
        if (ks_str_starts(text, qualifiers[i]))
            text += strlen(qualifiers[i]);
    return text;
}
