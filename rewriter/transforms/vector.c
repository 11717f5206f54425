#include "rewriter/transforms/vector.h"

#include "rewriter/text.h"

#include <ctype.h>
#include <string.h>

static bool in_stmts(const struct ks_node *n, const struct ks_node *const *stmts, size_t n_stmts)
{
    for (size_t i = 0; i < n_stmts; i++)
        if (ks_node_contains(stmts[i], n))
            return true;
    return false;
}

static size_t count_uses(const struct ks_node *const *stmts, size_t n_stmts, const struct ks_symbol *s)
{
    size_t n = 0;
    for (size_t i = 0; i < n_stmts; i++)
        n += ks_node_count_uses(stmts[i], s);
    return n;
}

/* P when the access is P[index]. */
static const struct ks_symbol *pointer_of(const struct ks_access *a, const struct ks_symbol *index)
{
    const struct ks_node *n = a->node;
    if (n->kind != KS_NODE_SUBSCRIPT || n->in_macro || a->member || !ks_node_is_ref(n->children[1], index))
        return NULL;
    const struct ks_node *base = ks_node_unparen(n->children[0]);
    if (!base || base->kind != KS_NODE_DECL_REF || !base->symbol ||
        (base->symbol->kind == KS_SYM_LOCAL && base->symbol->n_writes > 0))
        return NULL;
    const struct ks_type *t = base->symbol->type;
    return t && t->kind == KS_TYPE_POINTER && !t->is_volatile && !(t->element && t->element->is_volatile) ? base->symbol : NULL;
}

/* One of the statements themselves stores to it, so every lane does. */
static bool stores_always(const struct ks_access *a, const struct ks_node *const *stmts, size_t n_stmts)
{
    const struct ks_node *assign = a->node->parent;
    for (size_t i = 0; i < n_stmts; i++)
        if (stmts[i] == assign && ks_node_is_op(assign, KS_NODE_BINARY, "=") && assign->children[0] == a->node)
            return true;
    return false;
}

static bool is_packable(const struct ks_type *t)
{
    bool kind = t && (t->kind == KS_TYPE_INT || t->kind == KS_TYPE_HALF || t->kind == KS_TYPE_BF16 || t->kind == KS_TYPE_FLOAT ||
                      t->kind == KS_TYPE_DOUBLE);
    return kind && (t->size_bytes == 1 || t->size_bytes == 2 || t->size_bytes == 4 || t->size_bytes == 8);
}

static bool add_buffer(struct ks_vector *vec, const struct ks_access *first, const struct ks_symbol *p)
{
    struct ks_vector_buffer b = {.pointer = p, .element = first->element};
    bool always = false, buffer_shared = false;
    size_t n = 0;
    for (size_t i = 0; i < vec->kernel->n_accesses; i++) {
        const struct ks_access *a = &vec->kernel->accesses[i];
        if (a->space != KS_SPACE_GLOBAL || !in_stmts(a->node, vec->stmts, vec->n_stmts))
            continue;
        if (pointer_of(a, vec->index) != p) {
            buffer_shared = buffer_shared || a->buffer == first->buffer;
            continue;
        }
        n++;
        b.is_read = b.is_read || a->is_read;
        b.is_write = b.is_write || a->is_write;
        always = always || (a->is_write && stores_always(a, vec->stmts, vec->n_stmts));
    }
    if (!is_packable(b.element) || count_uses(vec->stmts, vec->n_stmts, p) != n || vec->n_buffers == KS_VECTOR_MAX_BUFFERS)
        return true; /* stays as it is */
    if (buffer_shared && b.is_write)
        return false;
    if (buffer_shared || (b.is_write && !b.is_read && !always))
        return true;
    vec->buffers[vec->n_buffers++] = b;
    return true;
}

static bool has_jump(const struct ks_node *n)
{
    if (!n)
        return false;
    if (n->kind == KS_NODE_BREAK || n->kind == KS_NODE_RETURN || n->kind == KS_NODE_ASM)
        return true;
    for (size_t i = 0; i < n->n_children; i++)
        if (has_jump(n->children[i]))
            return true;
    return false;
}

bool ks_vector_match(const struct ks_rewrite_view *v, const struct ks_kernel *k, const struct ks_symbol *index,
                     const struct ks_node *const *stmts, size_t n_stmts, struct ks_vector *ret)
{
    struct ks_vector vec = {.kernel = k, .index = index, .stmts = stmts, .n_stmts = n_stmts};
    for (size_t i = 0; i < n_stmts; i++)
        if (has_jump(stmts[i]))
            return false;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const struct ks_access *a = &k->accesses[i];
        if (a->space != KS_SPACE_GLOBAL || !in_stmts(a->node, stmts, n_stmts))
            continue;
        if (!a->buffer || a->is_atomic)
            return false;
        const struct ks_symbol *p = pointer_of(a, index);
        bool seen = false;
        for (size_t b = 0; b < vec.n_buffers; b++)
            seen = seen || vec.buffers[b].pointer == p;
        if (p && !seen && !add_buffer(&vec, a, p))
            return false;
    }
    if (vec.n_buffers == 0)
        return false;
    int64_t smallest = 16;
    for (size_t b = 0; b < vec.n_buffers; b++)
        smallest = vec.buffers[b].element->size_bytes < smallest ? vec.buffers[b].element->size_bytes : smallest;
    ks_vector_set_lanes(&vec, (int)(16 / smallest), v);
    *ret = vec;
    return true;
}

static const char *element_text(const struct ks_type *t)
{
    return ks_str_starts(t->spelling, "const ") ? t->spelling + 6 : t->spelling;
}

void ks_vector_set_lanes(struct ks_vector *vec, int lanes, const struct ks_rewrite_view *v)
{
    vec->lanes = lanes;
    for (size_t i = 0; i < vec->n_buffers; i++) {
        struct ks_vector_buffer *b = &vec->buffers[i];
        char *type = ks_arena_printf(v->arena, "%s_x%d", element_text(b->element), lanes);
        for (char *p = type; *p; p++)
            if (!isalnum((unsigned char)*p))
                *p = '_';
        b->type = type;
        b->local = ks_text_fresh_in(v->facts, vec->kernel->node->span,
                                    ks_arena_printf(v->arena, "%s_%d", b->pointer->name, lanes), v->arena);
    }
}

void ks_vector_print_types(const struct ks_vector *vec, size_t n, const struct ks_rewrite_view *v, struct ks_str *out)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < vec[i].n_buffers; k++) {
            const struct ks_vector_buffer *b = &vec[i].buffers[k];
            const char *head = ks_arena_printf(v->arena, "struct __align__(16) %s {", b->type);
            if (strstr(ks_str_cstr(out), head) || memmem(v->facts->source, v->facts->source_len, head, strlen(head)))
                continue;
            ks_str_addf(out, "%s\n    %s v[%d];\n};\n", head, element_text(b->element), vec[i].lanes);
        }
    }
}

void ks_vector_print_addresses(const struct ks_vector *vec, size_t n, struct ks_str *out)
{
    const struct ks_symbol *seen[64];
    size_t n_seen = 0;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < vec[i].n_buffers; k++) {
            const struct ks_symbol *p = vec[i].buffers[k].pointer;
            bool known = false;
            for (size_t j = 0; j < n_seen; j++)
                known = known || seen[j] == p;
            if (known || n_seen == 64)
                continue;
            ks_str_addf(out, "%s(size_t)%s", n_seen ? " | " : "", p->name);
            seen[n_seen++] = p;
        }
    }
}

/* The statements or declarations need the index itself, not only the packs. */
static bool needs_index(const struct ks_vector *vec, const char *decls)
{
    size_t packed = 0;
    for (size_t i = 0; i < vec->n_buffers; i++)
        packed += count_uses(vec->stmts, vec->n_stmts, vec->buffers[i].pointer);
    return count_uses(vec->stmts, vec->n_stmts, vec->index) > packed || ks_text_has_word(decls, vec->index->name);
}

struct lane_walk {
    const struct ks_vector *vec;
    const char *lane;
    struct ks_edits *edits;
};

static bool lane_visit(const struct ks_node *n, void *ctx)
{
    struct lane_walk *w = ctx;
    if (n->kind != KS_NODE_SUBSCRIPT || !ks_node_is_ref(n->children[1], w->vec->index))
        return true;
    const struct ks_node *base = ks_node_unparen(n->children[0]);
    for (size_t i = 0; base && base->kind == KS_NODE_DECL_REF && i < w->vec->n_buffers; i++) {
        if (w->vec->buffers[i].pointer != base->symbol)
            continue;
        ks_edits_replacef(w->edits, n->span, "%s.v[%s]", w->vec->buffers[i].local, w->lane);
        return false;
    }
    return true;
}

enum ks_code ks_vector_print_block(const struct ks_vector *vec, const struct ks_rewrite_view *v, const char *first,
                                   const char *lane, const char *decls, const char *indent, struct ks_str *out,
                                   struct ks_err *err)
{
    const struct ks_facts *f = v->facts;
    for (size_t i = 0; i < vec->n_buffers; i++) {
        const struct ks_vector_buffer *b = &vec->buffers[i];
        if (b->is_read)
            ks_str_addf(out, "%s%s%s %s = *reinterpret_cast<const %s *>(%s + %s);\n", indent, b->is_write ? "" : "const ",
                        b->type, b->local, b->type, b->pointer->name, first);
        else
            ks_str_addf(out, "%s%s %s;\n", indent, b->type, b->local);
    }
    const char *type = vec->index->type ? vec->index->type->spelling : "int";
    ks_str_addf(out, "#pragma unroll\n%sfor (int %s = 0; %s < %d; %s++) {\n", indent, lane, lane, vec->lanes, lane);
    if (needs_index(vec, decls))
        ks_str_addf(out, "%s    %s %s = %s + %s;\n", indent, type, vec->index->name, first, lane);
    ks_str_add(out, decls);
    const char *pad = ks_arena_printf(v->arena, "%s    ", indent);
    for (size_t i = 0; i < vec->n_stmts; i++) {
        KS_AUTO_EDITS struct ks_edits edits;
        ks_edits_init(&edits);
        struct lane_walk w = {vec, lane, &edits};
        ks_node_walk(vec->stmts[i], lane_visit, &w);
        struct ks_span span = ks_text_stmt_span(f, vec->stmts[i]);
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        KS_TRY(ks_edits_apply_range(&edits, f->source, f->source_len, span, &text, err));
        ks_str_addf(out, "%s%s\n", pad, ks_text_reindent(f, span, ks_str_cstr(&text), pad, v->arena));
    }
    ks_str_addf(out, "%s}\n", indent);
    for (size_t i = 0; i < vec->n_buffers; i++) {
        const struct ks_vector_buffer *b = &vec->buffers[i];
        if (b->is_write)
            ks_str_addf(out, "%s*reinterpret_cast<%s *>(%s + %s) = %s;\n", indent, b->type, b->pointer->name, first, b->local);
    }
    return KS_OK;
}
