#include "rewriter/idiom.h"

#include <string.h>

/* ---- indices and guards ---------------------------------------------------------------------------------------------- */

static const char axis_name[] = "xyz";

bool ks_idiom_is_thread_idx(const struct ks_node *n, int axis)
{
    n = ks_node_bare(n);
    if (ks_node_is_builtin(n, "threadIdx", axis_name[axis]))
        return true;
    if (!n || n->kind != KS_NODE_DECL_REF || !n->symbol)
        return false;
    const struct ks_node *init = ks_idiom_init_of(n->symbol);
    return init && ks_node_is_builtin(ks_node_bare(init), "threadIdx", axis_name[axis]);
}

static bool is_block_part(const struct ks_node *n, int axis, int64_t *ret_block)
{
    n = ks_node_bare(n);
    if (!ks_node_is_op(n, KS_NODE_BINARY, "*"))
        return false;
    for (int side = 0; side < 2; side++) {
        const struct ks_node *index = ks_node_bare(n->children[side]), *size = ks_node_bare(n->children[1 - side]);
        if (!ks_node_is_builtin(index, "blockIdx", axis_name[axis]) || !size)
            continue;
        if (ks_node_is_builtin(size, "blockDim", axis_name[axis])) {
            *ret_block = 0;
            return true;
        }
        if (size->has_value && size->value > 0) {
            *ret_block = size->value;
            return true;
        }
    }
    return false;
}

bool ks_idiom_is_thread_index(const struct ks_node *n, int *ret_axis, int64_t *ret_block)
{
    n = ks_node_bare(n);
    if (!ks_node_is_op(n, KS_NODE_BINARY, "+"))
        return false;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            int64_t block;
            if (ks_idiom_is_thread_idx(n->children[1 - side], axis) && is_block_part(n->children[side], axis, &block)) {
                *ret_axis = axis;
                *ret_block = block;
                return true;
            }
        }
    return false;
}

const struct ks_node *ks_idiom_init_of(const struct ks_symbol *s)
{
    if (!s || s->kind != KS_SYM_LOCAL || s->n_writes > 0 || s->address_taken || !s->decl || s->decl->kind != KS_NODE_VAR)
        return NULL;
    return s->decl->n_children > 0 ? s->decl->children[s->decl->n_children - 1] : NULL;
}

size_t ks_idiom_count_builtins(const struct ks_node *n)
{
    if (!n)
        return 0;
    size_t count = n->kind == KS_NODE_DECL_REF && n->symbol && n->symbol->kind == KS_SYM_BUILTIN_INDEX;
    for (size_t i = 0; i < n->n_children; i++)
        count += ks_idiom_count_builtins(n->children[i]);
    return count;
}

/* `id OP limit` or its mirror image. */
static bool read_bound(const struct ks_node *n, const char *op, const char *mirrored, struct ks_idiom_bound *ret)
{
    n = ks_node_unparen(n);
    if (!n || n->kind != KS_NODE_BINARY || !n->op)
        return false;
    for (int side = 0; side < 2; side++) {
        const struct ks_node *id = ks_node_bare(n->children[side]);
        if (strcmp(n->op, side == 0 ? op : mirrored) != 0 || !id || id->kind != KS_NODE_DECL_REF || !ks_idiom_init_of(id->symbol))
            continue;
        *ret = (struct ks_idiom_bound){id->symbol, n->children[1 - side]};
        return true;
    }
    return false;
}

/* A chain of bounds joined by `join`. */
static bool read_bounds(const struct ks_node *n, const char *join, const char *op, const char *mirrored, struct ks_outline *o)
{
    n = ks_node_unparen(n);
    if (ks_node_is_op(n, KS_NODE_BINARY, join))
        return read_bounds(n->children[0], join, op, mirrored, o) && read_bounds(n->children[1], join, op, mirrored, o);
    return o->n_bounds < KS_IDIOM_MAX_BOUNDS && read_bound(n, op, mirrored, &o->bounds[o->n_bounds]) && ++o->n_bounds;
}

static bool is_bare_return(const struct ks_node *n)
{
    if (n && n->kind == KS_NODE_COMPOUND && n->n_children == 1)
        n = n->children[0];
    return n && n->kind == KS_NODE_RETURN && n->n_children == 0;
}

/* `if (id >= n) return;` */
static bool is_tail_guard(const struct ks_node *stmt, struct ks_outline *o)
{
    if (stmt->kind != KS_NODE_IF || (stmt->n_children > 2 && stmt->children[2]) || !is_bare_return(stmt->children[1]))
        return false;
    size_t before = o->n_bounds;
    if (read_bounds(stmt->children[0], "||", ">=", "<=", o))
        return true;
    o->n_bounds = before;
    return false;
}

/* `if (id < n) { work }` as the last statement. */
static bool is_wrapping_guard(const struct ks_node *stmt, struct ks_outline *o)
{
    if (stmt->kind != KS_NODE_IF || (stmt->n_children > 2 && stmt->children[2]))
        return false;
    size_t before = o->n_bounds;
    if (read_bounds(stmt->children[0], "&&", "<", ">", o))
        return true;
    o->n_bounds = before;
    return false;
}

static void note_index(struct ks_outline *o, const struct ks_node *stmt)
{
    for (size_t i = 0; i < stmt->n_children; i++) {
        const struct ks_node *var = stmt->children[i];
        const struct ks_node *init = var ? ks_idiom_init_of(var->symbol) : NULL;
        int axis;
        int64_t block;
        if (init && ks_idiom_is_thread_index(init, &axis, &block) && !o->id[axis]) {
            o->id[axis] = var->symbol;
            o->id_block[axis] = block;
        }
    }
}

static bool push_stmt(const struct ks_node **list, size_t *n, const struct ks_node *stmt)
{
    if (*n == KS_IDIOM_MAX_STMTS)
        return false;
    list[(*n)++] = stmt;
    return true;
}

bool ks_outline_read(const struct ks_kernel *k, struct ks_outline *ret)
{
    *ret = (struct ks_outline){.kernel = k};
    if (!k->body || k->has_error || k->is_template || k->body->kind != KS_NODE_COMPOUND)
        return false;
    size_t n = k->body->n_children;
    for (size_t i = 0; i < n; i++) {
        const struct ks_node *stmt = k->body->children[i];
        if (!stmt || stmt->kind == KS_NODE_NULL_STMT)
            continue;
        if (stmt->kind == KS_NODE_DECL_STMT)
            note_index(ret, stmt);
        if (!ret->guard && ret->n_work == 0 && is_tail_guard(stmt, ret)) {
            ret->guard = stmt;
            continue;
        }
        if (!ret->guard && ret->n_work == 0 && i + 1 == n && is_wrapping_guard(stmt, ret)) {
            ret->guard = stmt;
            ret->guard_wraps = true;
            const struct ks_node *body = stmt->children[1];
            if (body->kind != KS_NODE_COMPOUND)
                return push_stmt(ret->work, &ret->n_work, body);
            for (size_t j = 0; j < body->n_children; j++)
                if (body->children[j] && !push_stmt(ret->work, &ret->n_work, body->children[j]))
                    return false;
            return true;
        }
        bool setup = !ret->guard && ret->n_work == 0 && stmt->kind == KS_NODE_DECL_STMT;
        if (!(setup ? push_stmt(ret->setup, &ret->n_setup, stmt) : push_stmt(ret->work, &ret->n_work, stmt)))
            return false;
    }
    return true;
}

const struct ks_node *ks_outline_limit(const struct ks_outline *o, const struct ks_symbol *id)
{
    for (size_t i = 0; i < o->n_bounds; i++)
        if (o->bounds[i].id == id)
            return o->bounds[i].limit;
    return NULL;
}

/* ---- statements ------------------------------------------------------------------------------------------------------ */

bool ks_idiom_same(const struct ks_node *a, const struct ks_node *b)
{
    a = ks_node_unparen(a);
    b = ks_node_unparen(b);
    if (!a || !b)
        return a == b;
    if (a->kind != b->kind || a->n_children != b->n_children || !ks_streq(a->op, b->op) || !ks_streq(a->name, b->name) ||
        a->symbol != b->symbol || a->has_value != b->has_value || (a->has_value && a->value != b->value))
        return false;
    switch (a->kind) {
    case KS_NODE_BINARY:
    case KS_NODE_UNARY:
    case KS_NODE_SUBSCRIPT:
    case KS_NODE_MEMBER:
    case KS_NODE_DECL_REF:
    case KS_NODE_INT_LITERAL:
        break;
    case KS_NODE_CAST:
        if (!a->type || !b->type || !ks_streq(a->type->canonical, b->type->canonical))
            return false;
        break;
    case KS_NODE_FUNCTION:
    case KS_NODE_PARAM:
    case KS_NODE_VAR:
    case KS_NODE_COMPOUND:
    case KS_NODE_DECL_STMT:
    case KS_NODE_IF:
    case KS_NODE_FOR:
    case KS_NODE_WHILE:
    case KS_NODE_DO:
    case KS_NODE_SWITCH:
    case KS_NODE_CASE:
    case KS_NODE_RETURN:
    case KS_NODE_BREAK:
    case KS_NODE_CONTINUE:
    case KS_NODE_NULL_STMT:
    case KS_NODE_ASM:
    case KS_NODE_CONDITIONAL:
    case KS_NODE_CALL:
    case KS_NODE_LAUNCH:
    case KS_NODE_FLOAT_LITERAL:
    case KS_NODE_STRING_LITERAL:
    case KS_NODE_PAREN:
    case KS_NODE_CONSTRUCT:
    case KS_NODE_INIT_LIST:
    case KS_NODE_LAMBDA:
    case KS_NODE_OTHER:
    case KS_N_NODE_KINDS:
        return false;
    }
    for (size_t i = 0; i < a->n_children; i++)
        if (!ks_idiom_same(a->children[i], b->children[i]))
            return false;
    return true;
}

bool ks_idiom_is_assign(const struct ks_node *n)
{
    if (!n || !n->op)
        return false;
    if (n->kind == KS_NODE_UNARY)
        return strcmp(n->op, "++") == 0 || strcmp(n->op, "--") == 0;
    static const char *const ops[] = {"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="};
    for (size_t i = 0; n->kind == KS_NODE_BINARY && i < sizeof ops / sizeof ops[0]; i++)
        if (strcmp(n->op, ops[i]) == 0)
            return true;
    return false;
}

bool ks_idiom_is_barrier(const struct ks_node *n)
{
    return ks_node_is_call(n, "__syncthreads");
}

static bool extremum_of_call(const char *name, enum ks_reduce_op *ret)
{
    static const struct {
        const char *name;
        enum ks_reduce_op op;
    } calls[] = {{"fmaxf", KS_REDUCE_MAX}, {"fmax", KS_REDUCE_MAX}, {"max", KS_REDUCE_MAX},
                 {"fminf", KS_REDUCE_MIN}, {"fmin", KS_REDUCE_MIN}, {"min", KS_REDUCE_MIN}};
    for (size_t i = 0; name && i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(name, calls[i].name) == 0) {
            *ret = calls[i].op;
            return true;
        }
    return false;
}

/* target = target OP value */
static bool read_plain_assign(const struct ks_node *target, const struct ks_node *rhs, struct ks_reduce *ret)
{
    rhs = ks_node_unparen(rhs);
    ret->target = target;
    if (ks_node_is_op(rhs, KS_NODE_BINARY, "+") || ks_node_is_op(rhs, KS_NODE_BINARY, "-")) {
        ret->op = KS_REDUCE_SUM;
        ret->negated = rhs->op[0] == '-';
        if (ks_idiom_same(target, rhs->children[0])) {
            ret->value = rhs->children[1];
            return true;
        }
        if (!ret->negated && ks_idiom_same(target, rhs->children[1])) {
            ret->value = rhs->children[0];
            return true;
        }
        return false;
    }
    if (rhs && rhs->kind == KS_NODE_CALL && rhs->n_children == 2 && extremum_of_call(rhs->name, &ret->op)) {
        for (int side = 0; side < 2; side++)
            if (ks_idiom_same(target, rhs->children[side])) {
                ret->value = rhs->children[1 - side];
                return true;
            }
    }
    return false;
}

static const struct ks_node *only_stmt(const struct ks_node *n)
{
    while (n && n->kind == KS_NODE_COMPOUND && n->n_children == 1)
        n = n->children[0];
    return n;
}

/* if (value > acc) acc = value; */
static bool read_if_extremum(const struct ks_node *stmt, struct ks_reduce *ret)
{
    const struct ks_node *cond = ks_node_unparen(stmt->children[0]), *then = only_stmt(stmt->children[1]);
    if ((stmt->n_children > 2 && stmt->children[2]) || !cond || cond->kind != KS_NODE_BINARY ||
        !ks_node_is_op(then, KS_NODE_BINARY, "="))
        return false;
    bool greater = cond->op[0] == '>', less = cond->op[0] == '<';
    if ((!greater && !less) || (cond->op[1] != '\0' && strcmp(cond->op + 1, "=") != 0))
        return false;
    const struct ks_node *target = then->children[0], *value = then->children[1];
    bool value_first = ks_idiom_same(cond->children[0], value) && ks_idiom_same(cond->children[1], target);
    bool value_last = ks_idiom_same(cond->children[1], value) && ks_idiom_same(cond->children[0], target);
    if (value_first == value_last)
        return false;
    ret->target = target;
    ret->value = value;
    ret->op = greater == value_first ? KS_REDUCE_MAX : KS_REDUCE_MIN;
    return true;
}

bool ks_idiom_is_reduction(const struct ks_node *stmt, struct ks_reduce *ret)
{
    *ret = (struct ks_reduce){0};
    stmt = only_stmt(stmt);
    if (!stmt)
        return false;
    if (stmt->kind == KS_NODE_IF)
        return read_if_extremum(stmt, ret);
    if (stmt->kind != KS_NODE_BINARY || !stmt->op)
        return false;
    if (strcmp(stmt->op, "+=") == 0 || strcmp(stmt->op, "-=") == 0) {
        ret->op = KS_REDUCE_SUM;
        ret->negated = stmt->op[0] == '-';
        ret->target = stmt->children[0];
        ret->value = stmt->children[1];
        return true;
    }
    return strcmp(stmt->op, "=") == 0 && read_plain_assign(stmt->children[0], stmt->children[1], ret);
}

bool ks_idiom_is_zero(const struct ks_facts *f, const struct ks_node *n)
{
    n = ks_node_bare(n);
    if (!n)
        return false;
    if (n->has_value)
        return n->value == 0;
    if (n->kind != KS_NODE_FLOAT_LITERAL || n->in_macro || n->span.end - n->span.begin > 15)
        return false;
    char text[16] = {0};
    memcpy(text, f->source + n->span.begin, n->span.end - n->span.begin);
    return strtod(text, NULL) == 0.0;
}

const struct ks_loop *ks_idiom_loop_of(const struct ks_kernel *k, const struct ks_node *stmt)
{
    for (size_t i = 0; i < k->n_loops; i++)
        if (k->loops[i].node == stmt)
            return &k->loops[i];
    return NULL;
}

const struct ks_access *ks_idiom_access_of(const struct ks_kernel *k, const struct ks_node *n)
{
    n = ks_node_unparen(n);
    for (size_t i = 0; n && i < k->n_accesses; i++)
        if (k->accesses[i].node == n)
            return &k->accesses[i];
    return NULL;
}

bool ks_idiom_is_unit_loop(const struct ks_loop *l)
{
    if (!l || !l->node || l->node->kind != KS_NODE_FOR || !l->variable || !l->first || !l->bound || l->bound_inclusive)
        return false;
    const struct ks_node *cond = ks_node_unparen(l->node->children[1]), *step = ks_node_unparen(l->node->children[2]);
    bool up = ks_node_is_op(cond, KS_NODE_BINARY, "<") && ks_node_is_ref(ks_node_bare(cond->children[0]), l->variable);
    bool one = ks_node_is_op(step, KS_NODE_UNARY, "++") && ks_node_is_ref(step->children[0], l->variable);
    if (ks_node_is_op(step, KS_NODE_BINARY, "+="))
        one = ks_node_is_ref(step->children[0], l->variable) && step->children[1]->has_value && step->children[1]->value == 1;
    return up && one && l->variable->n_writes == 1 && !l->variable->address_taken;
}

const struct ks_node *ks_idiom_single_var(const struct ks_node *stmt)
{
    if (!stmt || stmt->kind != KS_NODE_DECL_STMT || stmt->n_children != 1 || stmt->children[0]->kind != KS_NODE_VAR)
        return NULL;
    return stmt->children[0];
}

const char *ks_idiom_identity(enum ks_reduce_op op, const struct ks_type *t)
{
    bool is_float = t && t->kind == KS_TYPE_FLOAT, is_double = t && t->kind == KS_TYPE_DOUBLE;
    bool is_int = t && t->kind == KS_TYPE_INT && t->size_bytes == 4;
    if (!is_float && !is_double && !is_int)
        return NULL;
    switch (op) {
    case KS_REDUCE_SUM:
        return is_float ? "0.0f" : is_double ? "0.0" : t->is_unsigned ? "0u" : "0";
    case KS_REDUCE_MAX:
        return !is_int ? "-INFINITY" : t->is_unsigned ? "0u" : "(-2147483647 - 1)";
    case KS_REDUCE_MIN:
        return !is_int ? "INFINITY" : t->is_unsigned ? "4294967295u" : "2147483647";
    }
    return NULL;
}

const char *ks_idiom_combine(enum ks_reduce_op op, const struct ks_type *t, const char *a, const char *b, struct ks_arena *arena)
{
    if (!ks_idiom_identity(op, t))
        return NULL;
    const char *prefix = t->kind == KS_TYPE_INT ? "" : "f", *suffix = t->kind == KS_TYPE_FLOAT ? "f" : "";
    switch (op) {
    case KS_REDUCE_SUM:
        return ks_arena_printf(arena, "%s + %s", a, b);
    case KS_REDUCE_MAX:
        return ks_arena_printf(arena, "%smax%s(%s, %s)", prefix, suffix, a, b);
    case KS_REDUCE_MIN:
        return ks_arena_printf(arena, "%smin%s(%s, %s)", prefix, suffix, a, b);
    }
    return NULL;
}

const char *ks_idiom_fold(enum ks_reduce_op op, const struct ks_type *t, const char *acc, const char *value,
                          struct ks_arena *arena)
{
    if (op == KS_REDUCE_SUM)
        return ks_arena_printf(arena, "%s += %s", acc, value);
    return ks_arena_printf(arena, "%s = %s", acc, ks_idiom_combine(op, t, acc, value, arena));
}
