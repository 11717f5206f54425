/* fuse-launches (operator-boundary): launches that follow each other with the same geometry, where each thread of the later one
 * reads just the elements that the same thread of the earlier one wrote, become one kernel; what was handed over through memory
 * stays in a register.
 *
 * The bodies are the users' own statements.  A kernel fits when it is: declarations; then one bounds test, early return or
 * grid-stride loop (or nothing) around statements without barriers, returns or shared memory.  After parameters and index
 * variables are brought to common names, "the same element" is the same index text. */
#include "rewriter/transforms/fuse.h"

#include "rewriter/launch.h"

#include <string.h>

/* Bytes moved, counted in arrays: each launch moves every buffer it touches once. */
static double traffic_ratio(const struct ks_fusion *fu)
{
    double before = 0.0, after = 0.0;
    for (size_t i = 0; i < fu->n_params; i++) {
        const struct ks_symbol *b = fu->params[i].buffer;
        if (!b)
            continue;
        for (size_t s = 0; s < fu->n_stages; s++)
            for (size_t k = 0; k < fu->stages[s].e.kernel->n_params; k++)
                before += ks_fusion_entry_buffer(&fu->stages[s], fu->stages[s].e.kernel->params[k]) == b;
        const struct ks_handed *h = NULL;
        for (size_t k = 0; k < fu->n_handed; k++)
            h = fu->handed[k].buffer == b ? &fu->handed[k] : h;
        after += !h || h->in_memory;
    }
    return after > 0.0 ? before / after : 1.0;
}

void ks_tf_fuse_launches_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const struct ks_entry *e = v->entry;
    for (size_t i = 0; i < e->n_launches; i++) {
        for (size_t n = KS_FUSION_MAX_STAGES; n >= 2; n--) {
            struct ks_fusion *fu = KS_ARENA_NEW(v->arena, struct ks_fusion);
            if (i + n > e->n_launches || !ks_fusion_build(v, (const struct ks_launch *const *)&e->launches[i], n, fu))
                continue;
            struct ks_site site = {.launch = e->launches[i], .data = fu, .predicted = traffic_ratio(fu)};
            const char *where = fu->stages[0].e.kernel->name;
            for (size_t k = 1; k < n; k++)
                where = ks_arena_printf(v->arena, "%s+%s", where, fu->stages[k].e.kernel->name);
            site.where = where;
            site.variant = "";
            site.hypothesis = ks_arena_printf(
                v->arena,
                "%zu launches pass '%s' to the next through memory although each thread only needs its own element; one kernel "
                "keeps it in a register and moves fewer bytes.",
                n, fu->handed[0].buffer->name);
            if (site.predicted > 1.0)
                ks_sites_add(out, &site);
        }
    }
}

/* ---- generation ------------------------------------------------------------------------------------------------------ */

struct emit {
    const struct ks_fusion *fu;
    const struct ks_stage *stage;
    size_t stage_index;
    struct ks_edits *edits;
    bool failed; /* a name inside a macro would have to change */
};

static const struct ks_handed *handed_access(const struct emit *e, const struct ks_node *n)
{
    for (size_t k = 0; k < e->stage->e.kernel->n_accesses; k++) {
        const struct ks_access *a = &e->stage->e.kernel->accesses[k];
        if (a->node != n || a->space != KS_SPACE_GLOBAL)
            continue;
        for (size_t h = 0; h < e->fu->n_handed; h++)
            if (e->fu->handed[h].buffer == ks_fusion_entry_buffer(e->stage, a->buffer))
                return &e->fu->handed[h];
    }
    return NULL;
}

static bool emit_visit(const struct ks_node *n, void *ctx)
{
    struct emit *e = ctx;
    const struct ks_handed *h = handed_access(e, n);
    if (h) {
        e->failed = e->failed || n->in_macro;
        bool is_store = h->producer == e->stage_index && n == h->write->node;
        ks_edits_replacef(e->edits, n->span, is_store ? "%s %s" : "%s%s", is_store ? h->type : "", h->value);
        return false;
    }
    if ((n->kind != KS_NODE_DECL_REF && n->kind != KS_NODE_VAR) || !n->symbol)
        return true;
    for (size_t i = 0; i < e->stage->n_subst; i++) {
        const struct ks_subst *s = &e->stage->subst[i];
        if (s->symbol != n->symbol || strcmp(s->text, n->symbol->name) == 0)
            continue;
        if (n->in_macro)
            e->failed = true;
        else if (n->kind == KS_NODE_DECL_REF)
            ks_edits_replace(e->edits, n->span, s->text);
        else {
            const char *begin = e->fu->v->facts->source + n->span.begin;
            const char *at = strstr(begin, n->symbol->name);
            uint32_t off = (uint32_t)(at - e->fu->v->facts->source);
            ks_edits_replace(e->edits, (struct ks_span){off, off + (uint32_t)strlen(n->symbol->name)}, s->text);
        }
    }
    return true;
}

/* The store that remains when others still read the buffer. */
static const struct ks_handed *stored_here(const struct ks_fusion *fu, size_t stage, const struct ks_node *stmt)
{
    for (size_t h = 0; h < fu->n_handed; h++)
        if (fu->handed[h].producer == stage && fu->handed[h].write->node->parent == stmt && fu->handed[h].in_memory)
            return &fu->handed[h];
    return NULL;
}

static enum ks_code emit_stage(const struct ks_fusion *fu, size_t index, const char *pad, struct ks_str *out, struct ks_err *err)
{
    const struct ks_stage *s = &fu->stages[index];
    const struct ks_facts *f = fu->v->facts;
    ks_str_addf(out, "%s// %s\n", pad, s->e.kernel->name);
    for (size_t i = 0; i < s->e.n_stmts; i++) {
        KS_AUTO_EDITS struct ks_edits edits;
        ks_edits_init(&edits);
        struct emit e = {fu, s, index, &edits, false};
        ks_node_walk(s->e.stmts[i], emit_visit, &e);
        if (e.failed)
            return ks_fail(err, KS_ERR_UNSUPPORTED, "rename inside a macro in kernel '%s'", s->e.kernel->name);
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        struct ks_span span = ks_text_stmt_span(f, s->e.stmts[i]);
        KS_TRY(ks_edits_apply_range(&edits, f->source, f->source_len, span, &text, err));
        ks_str_addf(out, "%s%s\n", pad, ks_text_reindent(f, span, ks_str_cstr(&text), pad, fu->v->arena));
        const struct ks_handed *h = stored_here(fu, index, s->e.stmts[i]);
        if (h)
            ks_str_addf(out, "%s%s = %s;\n", pad, ks_fusion_text_in(fu, s, h->write->node), h->value);
    }
    return KS_OK;
}

static void emit_prologue(const struct ks_fusion *fu, struct ks_str *out)
{
    for (size_t i = 0; i < fu->n_stages; i++) {
        const struct ks_stage *s = &fu->stages[i];
        for (size_t k = 0; k < s->e.n_prologue; k++) {
            const struct ks_node *var = s->e.prologue[k];
            const char *name = NULL;
            for (size_t j = 0; j < s->n_subst; j++)
                name = s->subst[j].symbol == var->symbol ? s->subst[j].text : name;
            bool shared = false;
            for (size_t j = 0; i > 0 && j < fu->stages[0].e.n_prologue; j++)
                shared = shared || strcmp(fu->stages[0].e.prologue[j]->symbol->name, name) == 0;
            const char *type = var->symbol->type->spelling;
            if (!shared)
                ks_str_addf(out, "    %s%s%s = %s;\n", type, ks_str_ends(type, "*") ? "" : " ", name,
                            ks_fusion_text_in(fu, s, ks_node_initialiser(var)));
        }
    }
}

/* A buffer needs its pointer when some access to it is left in memory. */
static void mark_used_params(struct ks_fusion *fu)
{
    for (size_t i = 0; i < fu->n_params; i++) {
        struct ks_fused_param *p = &fu->params[i];
        p->used = true;
        for (size_t h = 0; h < fu->n_handed; h++)
            if (p->buffer && fu->handed[h].buffer == p->buffer && !fu->handed[h].in_memory)
                p->used = false;
    }
}

/* "float *" without the const of the pointee. */
static const char *pointer_type(const struct ks_type *t, bool is_const, struct ks_arena *arena)
{
    const char *element = t->element->spelling;
    if (ks_str_starts(element, "const "))
        element += 6;
    return ks_arena_printf(arena, "%s%s *", is_const ? "const " : "", element);
}

static enum ks_code emit_kernel(struct ks_fusion *fu, const char *name, struct ks_str *out, struct ks_err *err)
{
    const struct ks_stage *first = &fu->stages[0];
    ks_str_addf(out,
                "\n// %s in one pass: each thread keeps its element in registers from step to step.\nstatic __global__ void %s(",
                fu->v->entry->name, name);
    bool comma = false;
    for (size_t i = 0; i < fu->n_params; i++) {
        const struct ks_fused_param *p = &fu->params[i];
        if (!p->used)
            continue;
        const char *type = p->type;
        for (size_t s = 0; p->buffer && s < fu->n_stages; s++)
            for (size_t k = 0; k < fu->stages[s].e.kernel->n_params; k++)
                if (ks_fusion_entry_buffer(&fu->stages[s], fu->stages[s].e.kernel->params[k]) == p->buffer)
                    type = pointer_type(fu->stages[s].e.kernel->params[k]->type, p->is_const, fu->v->arena);
        ks_str_addf(out, "%s%s%s%s", comma ? ", " : "", type, ks_str_ends(type, "*") ? "" : " ", p->name);
        comma = true;
    }
    ks_str_add(out, ")\n{\n");
    emit_prologue(fu, out);
    const char *pad = "    ";
    if (first->e.wrapper && first->e.early_return) {
        ks_str_addf(out, "    if (%s)\n        return;\n", ks_fusion_wrapper_text(fu, first));
    } else if (first->e.wrapper && first->e.wrapper->kind == KS_NODE_IF) {
        ks_str_addf(out, "    if (%s) {\n", ks_fusion_wrapper_text(fu, first));
        pad = "        ";
    } else if (first->e.wrapper) {
        ks_str_addf(out, "    %s{\n", ks_fusion_wrapper_text(fu, first));
        pad = "        ";
    }
    for (size_t i = 0; i < fu->n_stages; i++)
        KS_TRY(emit_stage(fu, i, pad, out, err));
    ks_str_add(out, strlen(pad) > 4 ? "    }\n}\n" : "}\n");
    return KS_OK;
}

enum ks_code ks_tf_fuse_launches_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                       struct ks_err *err)
{
    struct ks_fusion *fu = (struct ks_fusion *)(uintptr_t)site->data;
    const struct ks_facts *f = v->facts;
    const char *name = ks_text_fresh(f, ks_arena_printf(v->arena, "%s_fused", v->entry->name), v->arena);
    KS_AUTO_STR struct ks_str kernel = KS_STR_INIT;
    mark_used_params(fu);
    KS_TRY(emit_kernel(fu, name, &kernel, err));
    uint32_t at = 0;
    for (size_t i = 0; i < fu->n_stages; i++) {
        uint32_t end = ks_text_after_function(f, fu->stages[i].e.kernel->node);
        at = end > at ? end : at;
    }
    if (at > v->entry->node->span.begin)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "place a kernel before entry '%s'", v->entry->name);
    ks_edits_insert(edits, at, ks_text_layout(f, ks_str_cstr(&kernel), "", v->arena));
    const struct ks_launch *l = fu->stages[0].e.launch;
    const char *text = ks_text_of(f, l->node, v->arena);
    const char *open = strstr(text, "<<<"), *close = strstr(text, ">>>");
    if (!open || !close || close < open)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "found no configuration in the launch of '%s'", l->kernel->name);
    KS_AUTO_STR struct ks_str call = KS_STR_INIT;
    ks_str_addf(&call, "%s%.*s(", name, (int)(close + 3 - open), open);
    bool comma = false;
    for (size_t i = 0; i < fu->n_params; i++) {
        if (!fu->params[i].used)
            continue;
        ks_str_addf(&call, "%s%s", comma ? ", " : "", fu->params[i].arg);
        comma = true;
    }
    ks_str_add(&call, ")");
    ks_edits_replace(edits, l->node->span, ks_str_cstr(&call));
    for (size_t i = 1; i < fu->n_stages; i++)
        ks_edits_remove_lines(edits, f->source, f->source_len, ks_text_stmt_span(f, fu->stages[i].e.launch->stmt));
    return KS_OK;
}
