#include "analyzer/kernels.h"

#include "analyzer/poly.h"
#include "analyzer/usage.h"
#include "base/str.h"

#include <string.h>

/* __device__ functions are followed this deep. */

struct scan {
    const struct ks_mirror *m;
    struct ks_kernel *k;
    const struct ks_node *call; /* in the kernel; NULL: not inside a call */
    int call_depth;
    KS_VEC(struct ks_barrier) barriers;
    KS_VEC(struct ks_shared) shared;
};

static bool visit(const struct ks_node *n, void *data);

static bool begins_with_any(const char *s, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (ks_str_starts(s, list[i]))
            return true;
    }
    return false;
}

static bool is_any(const char *s, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (ks_streq(s, list[i]))
            return true;
    }
    return false;
}
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* ---- static operation counts ---- */

static int64_t *counter_of(struct ks_kernel *k, const struct ks_type *t)
{
    if (!t)
        return NULL;
    if (t->kind == KS_TYPE_FLOAT)
        return &k->n_flops_float;
    if (t->kind == KS_TYPE_DOUBLE)
        return &k->n_flops_double;
    bool packed = ks_streq(t->canonical, "__half2") || ks_streq(t->canonical, "__nv_bfloat162");
    return t->kind == KS_TYPE_HALF || t->kind == KS_TYPE_BF16 || packed ? &k->n_flops_half : NULL;
}

bool ks_call_is_special(const char *name)
{
    static const char *const names[] = {
        "exp",   "exp2", "exp10",    "log",  "log2", "log10", "log1p",  "expm1", "sin",  "cos",  "tan",   "sincos", "sqrt",
        "rsqrt", "cbrt", "pow",      "powf", "tanh", "sinh",  "cosh",   "erf",   "erfc", "atan", "atan2", "asin",   "acos",
        "rcp",   "fdiv", "fdividef", "hexp", "hlog", "hsqrt", "hrsqrt", "hrcp",  "hsin", "hcos", "h2exp", "tgamma", "lgamma"};
    while (*name == '_')
        name++;
    char base[24];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof base; n++)
        base[n] = name[n];
    base[n] = '\0';
    for (int i = 0; i < 2; i++) { /* as it is, then without the f of expf */
        if (is_any(base, names, COUNT(names)))
            return true;
        if (n > 0 && base[n - 1] == 'f')
            base[n - 1] = '\0';
    }
    return false;
}

static void count_operation(struct ks_kernel *k, const struct ks_node *n)
{
    static const char *const ops[] = {"+", "-", "*", "/", "+=", "-=", "*=", "/="};
    static const char *const fma_names[] = {"fma", "fmaf", "__fmaf_rn", "__hfma", "__hfma2", "__fma_rn"};
    static const char *const half_names[] = {"__hadd", "__hsub", "__hmul", "__hadd2", "__hsub2", "__hmul2", "__hmax", "__hmin"};
    if (n->kind == KS_NODE_BINARY && is_any(n->op, ops, COUNT(ops))) {
        const struct ks_type *rhs = n->children[1]->type;
        int64_t *c = counter_of(k, rhs && rhs->kind == KS_TYPE_DOUBLE ? rhs : n->type); /* x *= 2.0 is a double product */
        if (c)
            ++*c;
        if (c && n->op[0] == '/')
            k->n_special++;
    }
    if (n->kind != KS_NODE_CALL || !n->name)
        return;
    int64_t *c = counter_of(k, n->type);
    if (c && is_any(n->name, fma_names, COUNT(fma_names)))
        *c += 2;
    if (c && is_any(n->name, half_names, COUNT(half_names)))
        ++*c;
    if (ks_call_is_special(n->name))
        k->n_special++;
}

/* ---- calls ---- */

/* group.sync() of cooperative groups; *ret_warp: the group is a part of a warp. */
static bool is_group_sync(const struct ks_node *n, bool *ret_warp)
{
    const struct ks_node *group =
        n->callee && n->callee->kind == KS_NODE_MEMBER && n->callee->n_children == 1 ? n->callee->children[0] : NULL;
    if (!group || !ks_streq(n->name, "sync"))
        return false;
    const char *type = group->type ? group->type->canonical : "";
    *ret_warp = strstr(type, "thread_block_tile") || strstr(type, "coalesced_group");
    return true;
}

bool ks_call_is_barrier(const struct ks_node *n, bool *ret_warp)
{
    if (n->kind != KS_NODE_CALL || !n->name)
        return false;
    *ret_warp = ks_streq(n->name, "__syncwarp");
    return *ret_warp || ks_str_starts(n->name, "__syncthreads") || is_group_sync(n, ret_warp);
}

static void add_barrier(struct scan *s, const struct ks_node *n, bool is_warp)
{
    struct ks_barrier b = {.node = n, .is_warp = is_warp, .call = s->call};
    b.loop = ks_loop_around(s->k->loops, s->k->n_loops, s->call ? s->call : n);
    b.divergent = ks_node_control_mask(n) != 0 || (s->call && ks_node_control_mask(s->call) != 0);
    ks_vec_push(&s->barriers, b);
}

static void note_call(struct scan *s, const struct ks_node *n)
{
    static const char *const shuffles[] = {"__shfl", "__reduce_", "shfl"};
    static const char *const tensor[] = {"mma_sync", "load_matrix_sync", "store_matrix_sync", "wgmma"};
    if (!n->name)
        return;
    s->k->uses_shuffle |= begins_with_any(n->name, shuffles, COUNT(shuffles));
    s->k->uses_atomics |= ks_str_starts(n->name, "atomic");
    s->k->uses_tensor_cores |= begins_with_any(n->name, tensor, COUNT(tensor));
    bool is_warp = false;
    if (ks_call_is_barrier(n, &is_warp))
        add_barrier(s, n, is_warp);

    const struct ks_function *f = ks_mirror_callee(s->m, n);
    if (f && s->call_depth < KS_MAX_CALL_DEPTH) {
        const struct ks_node *outer = s->call;
        s->call = outer ? outer : n;
        s->call_depth++;
        ks_node_walk(f->body, visit, s);
        s->call_depth--;
        s->call = outer;
    }
    bool is_lambda = n->callee && n->callee->kind == KS_NODE_DECL_REF;
    if (!f && !is_lambda && (!n->symbol || (n->symbol->kind == KS_SYM_FUNCTION && !n->symbol->is_system)) && !n->callee)
        s->k->calls_unknown = true;
}

/* ---- declarations ---- */

static void add_shared(struct scan *s, const struct ks_node *var)
{
    for (size_t i = 0; i < s->shared.n; i++) {
        if (s->shared.data[i].symbol == var->symbol)
            return; /* of a function that is called twice */
    }
    struct ks_shared sh = {.symbol = var->symbol, .decl = var, .size_bytes = -1};
    const struct ks_type *t = var->symbol->type;
    if (t)
        sh.size_bytes = t->size_bytes;
    bool dynamic = t && t->kind == KS_TYPE_ARRAY && t->array_len < 0;
    while (t && t->kind == KS_TYPE_ARRAY && sh.n_dims < 4) {
        sh.dims[sh.n_dims++] = t->array_len;
        t = t->element;
    }
    sh.element = t;
    if (dynamic)
        sh.size_bytes = -1;
    ks_vec_push(&s->shared, sh);
}

static bool visit(const struct ks_node *n, void *data)
{
    struct scan *s = data;
    count_operation(s->k, n);
    if (n->kind == KS_NODE_VAR && n->symbol->kind == KS_SYM_SHARED)
        add_shared(s, n);
    else if (n->kind == KS_NODE_CALL)
        note_call(s, n);
    else if (n->kind == KS_NODE_ASM)
        s->k->uses_inline_asm = true;
    else if (n->kind == KS_NODE_MEMBER && n->n_children == 1 && n->children[0]->symbol &&
             n->children[0]->symbol->kind == KS_SYM_BUILTIN_INDEX)
        s->k->uses_thread |= ks_node_thread_mask(n);
    return true;
}

/* ---- the kernel ---- */

static bool visit_return(const struct ks_node *n, void *data)
{
    const struct ks_node **found = data;
    if (n->kind == KS_NODE_LAMBDA)
        return false;
    if (n->kind == KS_NODE_RETURN)
        *found = n;
    return true;
}

static bool returns_early(const struct ks_node *body)
{
    for (size_t i = 0; i + 1 < body->n_children; i++) {
        const struct ks_node *found = NULL;
        if (body->children[i])
            ks_node_walk(body->children[i], visit_return, &found);
        if (found)
            return true;
    }
    return false;
}

void ks_kernel_derive(const struct ks_mirror *m, const struct ks_function *f, struct ks_kernel *ret)
{
    struct ks_kernel *k = ret;
    *k = (struct ks_kernel){
        .name = f->name, .mangled = f->mangled, .node = f->node, .body = f->body, .params = f->params, .n_params = f->n_params};
    k->is_template = f->is_template;
    k->has_launch_bounds = f->has_launch_bounds;
    k->has_error = f->has_error;
    k->early_return = returns_early(f->body);
    ks_loops_derive(m, f, &k->loops, &k->n_loops);
    struct scan s = {.m = m, .k = k};
    ks_node_walk(f->body, visit, &s);
    k->n_barriers = s.barriers.n;
    k->barriers = KS_ARENA_ARRAY(m->arena, struct ks_barrier, s.barriers.n + 1);
    for (size_t i = 0; i < s.barriers.n; i++)
        k->barriers[i] = s.barriers.data[i];
    k->n_shared = s.shared.n;
    k->shared = KS_ARENA_ARRAY(m->arena, struct ks_shared, s.shared.n + 1);
    for (size_t i = 0; i < s.shared.n; i++)
        k->shared[i] = s.shared.data[i];
    ks_vec_release(&s.barriers);
    ks_vec_release(&s.shared);
    ks_accesses_derive(m, f, k);
}
