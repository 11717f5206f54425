/* pair-sweeps (operator-boundary): a solver that launches one stencil sweep after the other reads and writes the whole grid once
 * for each. Two sweeps in one launch: the block computes the first sweep for its cells and the ring around them into shared
 * memory, and the second from there, so that the grid passes through memory half as often.  The host's loop, which goes back and
 * forth between the result and a scratch grid, dst = steps % 2 == 1 ? out : tmp; for (s = 0; s < steps; s++) { k<<<...>>>(src,
 * dst, ...);  src = dst;  dst = dst == out ? tmp : out; } then takes two steps at a time; an odd last one is the user's kernel as
 * it is. */
#include "rewriter/promise.h"
#include "rewriter/stencil.h"

#include <string.h>

struct pair_plan {
    struct ks_stencil s;
    const struct ks_symbol *output; /* kernel parameter that is written */
    const struct ks_launch *launch;
    const struct ks_node *loop;
    const struct ks_symbol *counter, *steps; /* of the host's loop */
    const struct ks_node *steps_in_parity;   /* the reference in `steps % 2 == 1` */
};

/* ---- the host's loop ------------------------------------------------------------------------------------------------- */

static const struct ks_node *argument_of(const struct ks_launch *l, const struct ks_symbol *param)
{
    for (size_t i = 0; i < l->kernel->n_params && i < l->n_args; i++)
        if (l->kernel->params[i] == param)
            return ks_node_bare(l->args[i]);
    return NULL;
}

static const struct ks_symbol *ref_symbol(const struct ks_node *n)
{
    n = ks_node_bare(n);
    return n && n->kind == KS_NODE_DECL_REF ? n->symbol : NULL;
}

/* for (int s = 0; s < steps; s++) */
static bool read_counter(struct pair_plan *p, const struct ks_node *loop)
{
    const struct ks_node *var = ks_idiom_single_var(loop->children[0]), *cond = ks_node_unparen(loop->children[1]);
    const struct ks_node *step = ks_node_unparen(loop->children[2]);
    if (!var || var->n_children == 0 || !ks_node_is_op(cond, KS_NODE_BINARY, "<") || !ks_node_is_op(step, KS_NODE_UNARY, "++") ||
        !ks_node_is_ref(cond->children[0], var->symbol) || !ks_node_is_ref(step->children[0], var->symbol) || step->in_macro)
        return false;
    const struct ks_node *first = ks_node_bare(var->children[var->n_children - 1]);
    p->counter = var->symbol;
    p->steps = ref_symbol(cond->children[1]);
    return first && first->has_value && first->value == 0 && p->steps && p->steps->kind == KS_SYM_PARAM &&
           p->steps->n_writes == 0 && ks_node_count_uses(loop, p->counter) == 2;
}

/* x == a ? b : a */
static bool is_alternation(const struct ks_node *n, const struct ks_symbol *x, const struct ks_symbol **ret_a,
                           const struct ks_symbol **ret_b)
{
    n = ks_node_bare(n);
    const struct ks_node *cond = n && n->kind == KS_NODE_CONDITIONAL ? ks_node_unparen(n->children[0]) : NULL;
    if (!ks_node_is_op(cond, KS_NODE_BINARY, "==") || ref_symbol(cond->children[0]) != x)
        return false;
    *ret_a = ref_symbol(cond->children[1]);
    *ret_b = ref_symbol(n->children[1]);
    return *ret_a && *ret_b && *ret_a != *ret_b && ref_symbol(n->children[2]) == *ret_a;
}

/* steps % 2 == 1 ? a : b */
static bool read_parity(struct pair_plan *p, const struct ks_node *n, const struct ks_symbol *a, const struct ks_symbol *b)
{
    n = ks_node_bare(n);
    if (!n || n->kind != KS_NODE_CONDITIONAL || ref_symbol(n->children[1]) != a || ref_symbol(n->children[2]) != b)
        return false;
    const struct ks_node *odd = ks_node_unparen(n->children[0]);
    if (ks_node_is_op(odd, KS_NODE_BINARY, "==")) {
        const struct ks_node *one = ks_node_bare(odd->children[1]);
        if (!one->has_value || one->value != 1)
            return false;
        odd = ks_node_unparen(odd->children[0]);
    }
    if (!ks_node_is_op(odd, KS_NODE_BINARY, "%") || ref_symbol(odd->children[0]) != p->steps)
        return false;
    const struct ks_node *two = ks_node_bare(odd->children[1]);
    p->steps_in_parity = odd->children[0];
    return two->has_value && two->value == 2 && !p->steps_in_parity->in_macro;
}

static bool read_host(const struct ks_rewrite_view *v, struct pair_plan *p)
{
    const struct ks_launch *l = p->launch;
    const struct ks_node *body = l->node->parent, *loop = body ? body->parent : NULL;
    if (!l->in_loop || !loop || loop->kind != KS_NODE_FOR || body->kind != KS_NODE_COMPOUND || body->n_children != 3 ||
        body->children[0] != l->node || !read_counter(p, loop) || l->node->in_macro)
        return false;
    const struct ks_symbol *src = ref_symbol(argument_of(l, p->s.buffer)), *dst = ref_symbol(argument_of(l, p->output));
    const struct ks_node *hand_over = body->children[1], *alternate = body->children[2];
    const struct ks_symbol *result, *scratch;
    if (!src || !dst || src->kind != KS_SYM_LOCAL || dst->kind != KS_SYM_LOCAL ||
        !ks_node_is_op(hand_over, KS_NODE_BINARY, "=") || ref_symbol(hand_over->children[0]) != src ||
        ref_symbol(hand_over->children[1]) != dst || !ks_node_is_op(alternate, KS_NODE_BINARY, "=") ||
        ref_symbol(alternate->children[0]) != dst || !is_alternation(alternate->children[1], dst, &result, &scratch))
        return false;
    /* Nothing else looks at the two pointers, the grids differ, and what is in the scratch grid at the end matters to nobody. */
    if (ks_node_count_uses(v->entry->node, src) != 2 || ks_node_count_uses(v->entry->node, dst) != 4 || !src->decl ||
        !dst->decl || dst->decl->n_children == 0 || src->decl->n_children == 0 || result->kind != KS_SYM_PARAM ||
        scratch->kind != KS_SYM_PARAM || !ks_promise_is_scratch(v->contract, scratch->name))
        return false;
    const struct ks_symbol *input = ref_symbol(src->decl->children[src->decl->n_children - 1]);
    p->loop = loop;
    return input && input != result && input != scratch &&
           read_parity(p, dst->decl->children[dst->decl->n_children - 1], result, scratch);
}

static bool read_plan(const struct ks_rewrite_view *v, const struct ks_kernel *k, struct pair_plan *p)
{
    const struct ks_launch *launches[2];
    if (!ks_stencil_read(v, k, &p->s) || !ks_stencil_guards_border(&p->s) || ks_idiom_own_launches(v, k, launches, 2) != 1)
        return false;
    p->launch = launches[0];
    p->output = ks_stencil_output(&p->s, v->arena);
    if (!p->output || !p->output->type->element ||
        !ks_streq(ks_idiom_plain_type(p->output->type->element), ks_idiom_plain_type(p->s.buffer->type->element)))
        return false;
    struct ks_stencil_writer w = {.v = v, .s = &p->s, .rows = 1, .halos = 2};
    return ks_stencil_grid_text(&w, p->launch, 0) && ks_stencil_grid_text(&w, p->launch, 1) && read_host(v, p);
}

void ks_tf_pair_sweeps_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    static const int rows[] = {32, 16};
    const struct ks_kernel *kernels[32];
    size_t n = ks_idiom_kernels(v, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        struct pair_plan *p = KS_ARENA_NEW(v->arena, struct pair_plan);
        if (!read_plan(v, kernels[i], p))
            continue;
        for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
            struct ks_site s = {
                .where = kernels[i]->name, .kernel = kernels[i], .launch = p->launch, .param = {rows[r]}, .data = p};
            s.variant = ks_arena_printf(v->arena, "TILE=%lldx%d", (long long)ks_stencil_cells_x(&p->s, 2), rows[r]);
            s.predicted = 1.5 - 0.05 * (double)r;
            s.hypothesis = ks_arena_printf(
                v->arena,
                "Every sweep of '%s' reads and writes the whole grid, although a block could do the next sweep of its "
                "cells at once; two sweeps a launch halve the bytes.",
                kernels[i]->name);
            ks_idiom_add_site(v, &s, out);
        }
    }
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

static void write_launch(const struct ks_stencil_writer *w, const struct pair_plan *p, const char *twice, struct ks_edits *edits)
{
    const struct ks_facts *f = w->v->facts;
    struct ks_arena *arena = w->v->arena;
    const struct ks_launch *l = p->launch;
    struct ks_span stmt = ks_text_stmt_span(f, l->node);
    const char *indent = ks_text_indent(f, stmt.begin, arena), *unit = ks_text_indent_unit(f, arena);
    const char *counter = p->counter->name, *z = ks_idiom_dim_text(f, l, false, 2, arena);
    KS_AUTO_STR struct ks_str args = KS_STR_INIT;
    for (size_t i = 0; i < l->n_args; i++)
        ks_str_addf(&args, "%s%s", i > 0 ? ", " : "", ks_text_of(f, l->args[i], arena));
    const char *grid = ks_arena_printf(arena, "dim3(%s, %s%s%s)", ks_stencil_grid_text(w, l, 0), ks_stencil_grid_text(w, l, 1),
                                       strcmp(z, "1") == 0 ? "" : ", ", strcmp(z, "1") == 0 ? "" : z);
    const char *shared = l->shared_bytes ? ks_text_of(f, l->shared_bytes, arena) : "0";
    const char *stream = l->stream ? ks_arena_printf(arena, ", %s", ks_text_of(f, l->stream, arena)) : "";
    ks_edits_replacef(edits, stmt, "if (%s + 1 < %s)\n%s%s%s<<<%s, dim3(%s, %s), %s%s>>>(%s);\n%selse\n%s%s%s", counter,
                      p->steps->name, indent, unit, twice, grid, ks_stencil_block_x(), ks_stencil_block_y(), shared, stream,
                      args.data, indent, indent, unit, ks_text_slice(f, stmt, arena));
    ks_edits_replacef(edits, p->loop->children[2]->span, "%s += 2", counter);
    ks_edits_replacef(edits, p->steps_in_parity->span, "(%s + 1) / 2", p->steps->name);
}

enum ks_code ks_tf_pair_sweeps_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                     struct ks_err *err)
{
    const struct pair_plan *p = site->data;
    const struct ks_facts *f = v->facts;
    const struct ks_kernel *k = site->kernel;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    const char *first = ks_text_fresh(f, "first_sweep", v->arena),
               *twice = ks_text_fresh(f, ks_arena_printf(v->arena, "%s_twice", k->name), v->arena);
    const char *sweep = ks_text_fresh(f, "sweep", v->arena), *cells = ks_text_fresh(f, "staged", v->arena),
               *value = ks_text_fresh(f, "value", v->arena);
    const char *type = ks_idiom_plain_type(p->s.buffer->type->element), *y = p->s.o.id[1]->name;
    struct ks_span name = ks_text_name_span(f, k->node);
    if (name.begin == name.end)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "found no name in the head of kernel '%s'", k->name);
    struct ks_stencil_writer w = ks_stencil_writer_for(v, &p->s, site->param[0], 2, &out);
    ks_str_addf(
        &out,
        "\n// Two sweeps of %s in one pass over memory: the first one's results for the block's cells and those around them\n"
        "// stay in shared memory.\n"
        "static __global__ void %s%s{\n",
        k->name, twice, ks_text_slice(f, (struct ks_span){name.end, k->body->span.begin}, v->arena));
    ks_stencil_write_load(&w);
    ks_str_addf(&out,
                "    __shared__ %s %s[%lld][%d];\n"
                "    auto %s = [&](const %s(*%s)[%d], int %s, int %s, %s *%s) {\n",
                type, first, (long long)ks_stencil_high(&w), KS_STENCIL_WIDE, sweep, type, cells, KS_STENCIL_WIDE, w.row, y, type,
                value);
    KS_TRY(ks_stencil_write_work(&w, cells, ks_arena_printf(v->arena, "*%s", value), NULL, "        ", err));
    ks_str_add(&out, "    };\n");
    ks_stencil_write_rows_begin(&w, 1);
    ks_str_addf(&out, "            %s(%s, %s, %s, &%s[%s][%s]);\n", sweep, w.tile, w.row, y, first, w.row, w.col);
    ks_stencil_write_rows_end(&w);
    ks_str_add(&out, "    __syncthreads();\n");
    ks_stencil_write_rows_begin(&w, 2);
    ks_str_addf(&out, "            %s(%s, %s, %s, &%s[(size_t)%s * %s + %s]);\n", sweep, first, w.row, y, p->output->name, y,
                p->s.pitch->name, p->s.o.id[0]->name);
    ks_stencil_write_rows_end(&w);
    ks_str_add(&out, "}\n");
    ks_edits_insert(edits, ks_text_after_function(f, k->node), ks_text_layout(f, out.data, "", v->arena));
    write_launch(&w, p, twice, edits);
    return KS_OK;
}
