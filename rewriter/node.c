/* Questions about nodes of the facts; the declarations are in text.h. */
#include "rewriter/text.h"

#include <string.h>

bool ks_node_editable(const struct ks_node *n)
{
    return n && !n->in_macro;
}

const struct ks_node *ks_node_unparen(const struct ks_node *n)
{
    while (n && n->kind == KS_NODE_PAREN && n->n_children == 1)
        n = n->children[0];
    return n;
}

const struct ks_node *ks_node_bare(const struct ks_node *n)
{
    while (n && (n->kind == KS_NODE_PAREN || n->kind == KS_NODE_CAST) && n->n_children == 1)
        n = n->children[0];
    return n;
}

bool ks_node_is_ref(const struct ks_node *n, const struct ks_symbol *symbol)
{
    n = ks_node_unparen(n);
    return n && n->kind == KS_NODE_DECL_REF && n->symbol && (!symbol || n->symbol == symbol);
}

bool ks_node_is_op(const struct ks_node *n, enum ks_node_kind kind, const char *op)
{
    return n && n->kind == kind && n->op && strcmp(n->op, op) == 0;
}

bool ks_node_is_builtin(const struct ks_node *n, const char *variable, char axis)
{
    n = ks_node_unparen(n);
    if (!n || n->kind != KS_NODE_MEMBER || !n->name || n->name[0] != axis || n->name[1] != '\0' || n->n_children < 1)
        return false;
    const struct ks_node *base = n->children[0];
    return base && base->kind == KS_NODE_DECL_REF && base->symbol && base->symbol->kind == KS_SYM_BUILTIN_INDEX &&
           ks_streq(base->symbol->name, variable);
}

size_t ks_node_count_uses(const struct ks_node *n, const struct ks_symbol *symbol)
{
    if (!n)
        return 0;
    size_t uses = n->kind == KS_NODE_DECL_REF && n->symbol == symbol;
    for (size_t i = 0; i < n->n_children; i++)
        uses += ks_node_count_uses(n->children[i], symbol);
    return uses;
}

bool ks_node_uses(const struct ks_node *n, const struct ks_symbol *symbol)
{
    return ks_node_count_uses(n, symbol) > 0;
}

bool ks_node_contains(const struct ks_node *outer, const struct ks_node *inner)
{
    for (; inner; inner = inner->parent)
        if (inner == outer)
            return true;
    return false;
}

const struct ks_node *ks_node_stmt(const struct ks_node *n)
{
    while (n && !(n->parent && n->parent->kind == KS_NODE_COMPOUND))
        n = n->parent;
    return n;
}

const struct ks_node *ks_node_function(const struct ks_node *n)
{
    while (n && n->kind != KS_NODE_FUNCTION)
        n = n->parent;
    return n;
}

bool ks_node_is_call(const struct ks_node *n, const char *name)
{
    return n && n->kind == KS_NODE_CALL && ks_streq(n->name, name);
}

/* Device functions of the CUDA headers that read nothing and write nothing. */
static bool is_pure_call(const char *name)
{
    static const char *const pure[] = {
        "__half2float",
        "__float2half",
        "__float2half_rn",
        "__bfloat162float",
        "__float2bfloat16",
        "expf",
        "exp",
        "exp2f",
        "__expf",
        "logf",
        "log",
        "log2f",
        "__logf",
        "sqrtf",
        "sqrt",
        "rsqrtf",
        "rsqrt",
        "fmaxf",
        "fminf",
        "fmax",
        "fmin",
        "max",
        "min",
        "fabsf",
        "fabs",
        "abs",
        "tanhf",
        "tanh",
        "erff",
        "erf",
        "sinf",
        "cosf",
        "sin",
        "cos",
        "powf",
        "pow",
        "fmaf",
        "fma",
        "floorf",
        "ceilf",
        "roundf",
        "__ldg",
        "__hadd",
        "__hmul",
        "__hsub",
        "__hfma",
        "__fdividef",
        "__frcp_rn",
        "make_float2",
        "make_float4",
        "__half22float2",
        "__floats2half2_rn",
        "hexp",
        "__int2float_rn",
        "__float2int_rn",
        "rintf",
        "truncf",
        "copysignf",
        "fmodf",
    };
    if (name && ks_str_starts(name, "__builtin_") && !strstr(name, "trap"))
        return true; /* what INFINITY and its like expand to */
    for (size_t i = 0; name && i < sizeof pure / sizeof pure[0]; i++)
        if (strcmp(name, pure[i]) == 0)
            return true;
    return false;
}

bool ks_node_has_side_effects(const struct ks_node *n)
{
    if (!n)
        return false;
    if (n->kind == KS_NODE_BINARY && n->op) {
        size_t len = strlen(n->op);
        bool compares =
            strcmp(n->op, "==") == 0 || strcmp(n->op, "!=") == 0 || strcmp(n->op, "<=") == 0 || strcmp(n->op, ">=") == 0;
        if (len > 0 && n->op[len - 1] == '=' && !compares)
            return true;
    }
    if (n->kind == KS_NODE_UNARY && n->op && (strcmp(n->op, "++") == 0 || strcmp(n->op, "--") == 0))
        return true;
    if (n->kind == KS_NODE_CALL && !is_pure_call(n->name))
        return true;
    if (n->kind == KS_NODE_ASM || n->kind == KS_NODE_LAUNCH || n->kind == KS_NODE_LAMBDA)
        return true;
    for (size_t i = 0; i < n->n_children; i++)
        if (ks_node_has_side_effects(n->children[i]))
            return true;
    return false;
}

const struct ks_node *ks_node_find(const struct ks_node *n, ks_node_test_fn *test, void *ctx)
{
    if (!n)
        return NULL;
    if (test(n, ctx))
        return n;
    for (size_t i = 0; i < n->n_children; i++) {
        const struct ks_node *found = ks_node_find(n->children[i], test, ctx);
        if (found)
            return found;
    }
    return NULL;
}

const struct ks_node *ks_node_initialiser(const struct ks_node *var)
{
    return var && var->kind == KS_NODE_VAR && var->n_children > 0 ? var->children[var->n_children - 1] : NULL;
}

const struct ks_node *ks_node_follow(const struct ks_node *n)
{
    n = ks_node_bare(n);
    while (n && n->kind == KS_NODE_DECL_REF && n->symbol && n->symbol->kind == KS_SYM_LOCAL && n->symbol->n_writes == 0 &&
           !n->symbol->address_taken && ks_node_initialiser(n->symbol->decl))
        n = ks_node_bare(ks_node_initialiser(n->symbol->decl));
    return n;
}

bool ks_node_is_block_size(const struct ks_node *n, char axis, const struct ks_launch *l)
{
    n = ks_node_follow(n);
    if (ks_node_is_builtin(n, "blockDim", axis))
        return true;
    return n && n->has_value && n->value == ks_launch_block_dim(l, axis - 'x');
}

char ks_node_global_index(const struct ks_node *init, const struct ks_launch *l)
{
    const struct ks_node *sum = ks_node_follow(init);
    if (!ks_node_is_op(sum, KS_NODE_BINARY, "+"))
        return 0;
    for (char axis = 'x'; axis <= 'y'; axis++) {
        for (int swap = 0; swap < 2; swap++) {
            const struct ks_node *product = ks_node_follow(sum->children[swap]),
                                 *thread = ks_node_follow(sum->children[1 - swap]);
            if (!ks_node_is_builtin(thread, "threadIdx", axis) || !ks_node_is_op(product, KS_NODE_BINARY, "*"))
                continue;
            const struct ks_node *p = product->children[0], *q = product->children[1];
            if ((ks_node_is_builtin(ks_node_follow(p), "blockIdx", axis) && ks_node_is_block_size(q, axis, l)) ||
                (ks_node_is_builtin(ks_node_follow(q), "blockIdx", axis) && ks_node_is_block_size(p, axis, l)))
                return axis;
        }
    }
    return 0;
}
