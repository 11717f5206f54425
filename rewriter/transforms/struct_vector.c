/* struct-vector (memory-access): threads that each update the members of their own structure, one member at a time, touch the
 * same memory sectors once for each member.  The thread reads its structure as 16-byte vectors, works on a copy in registers, and
 * writes back the vectors that changed.  Members that are written back unchanged belong to the same thread: the kernel touches
 * the array at the thread's own index only. */
#include "rewriter/idiom.h"

#define MAX_FIELDS   16
#define MAX_LAUNCHES 8

struct vector_plan {
    struct ks_outline o;
    const struct ks_symbol *array;
    const struct ks_type *record;
    size_t n_vectors;
    bool written[MAX_FIELDS / 4];
    const struct ks_node *first_use, *last_use; /* statements of the work */
    const struct ks_node *index;                /* of the accesses, all the same */
};

/* 16, 32, 48 or 64 bytes of floats without holes. */
static bool is_float_record(const struct ks_type *t)
{
    if (!t || t->kind != KS_TYPE_RECORD || t->n_fields < 4 || t->n_fields > MAX_FIELDS || t->n_fields % 4 != 0 ||
        t->size_bytes != (int64_t)t->n_fields * 4)
        return false;
    for (size_t i = 0; i < t->n_fields; i++)
        if (!t->fields[i].type || t->fields[i].type->kind != KS_TYPE_FLOAT || t->fields[i].type->is_volatile ||
            t->fields[i].off_byte != (int64_t)i * 4)
            return false;
    return true;
}

static const struct ks_symbol *record_param(const struct ks_kernel *k)
{
    const struct ks_symbol *found = NULL;
    for (size_t i = 0; i < k->n_params; i++) {
        const struct ks_type *t = k->params[i]->type;
        if (!t || t->kind != KS_TYPE_POINTER || !is_float_record(t->element) || t->element->align_bytes >= 16)
            continue;
        if (found)
            return NULL;
        found = k->params[i];
    }
    return found && found->n_writes == 0 ? found : NULL;
}

/* The statement of the work that holds n; NULL: none. */
static const struct ks_node *work_stmt(const struct ks_outline *o, const struct ks_node *n)
{
    for (size_t i = 0; i < o->n_work; i++)
        if (ks_node_contains(o->work[i], n))
            return o->work[i];
    return NULL;
}

/* Every reference to the array must be array[own index].member. */
struct uses {
    struct vector_plan *p;
    bool foreign;
};

static bool check_use(const struct ks_node *n, void *ctx)
{
    struct uses *u = ctx;
    struct vector_plan *p = u->p;
    if (n->kind != KS_NODE_DECL_REF || n->symbol != p->array)
        return true;
    const struct ks_node *at = n->parent, *member = at ? at->parent : NULL;
    const struct ks_node *stmt = work_stmt(&p->o, n);
    if (!stmt || !at || at->kind != KS_NODE_SUBSCRIPT || at->children[0] != n || !ks_node_is_ref(at->children[1], p->o.id[0]) ||
        !member || member->kind != KS_NODE_MEMBER || !ks_node_editable(at)) {
        u->foreign = true;
        return true;
    }
    p->index = at->children[1];
    if (!p->first_use || stmt->span.begin < p->first_use->span.begin)
        p->first_use = stmt;
    if (!p->last_use || stmt->span.begin > p->last_use->span.begin)
        p->last_use = stmt;
    return true;
}

static bool note_writes(struct vector_plan *p)
{
    for (size_t i = 0; i < p->o.kernel->n_accesses; i++) {
        const struct ks_access *a = &p->o.kernel->accesses[i];
        if (a->is_atomic)
            return false;
        if (a->buffer != p->array || !a->is_write)
            continue;
        if (!a->member || a->member_off_byte < 0 || a->member_off_byte >= p->record->size_bytes)
            return false;
        p->written[a->member_off_byte / 16] = true;
    }
    return true;
}

static bool is_exit(const struct ks_node *n, void *ctx)
{
    (void)ctx;
    return n->kind == KS_NODE_RETURN || n->kind == KS_NODE_ASM;
}

static bool read_plan(const struct ks_kernel *k, struct vector_plan *p)
{
    *p = (struct vector_plan){0};
    if (!ks_outline_read(k, &p->o) || !p->o.id[0] || p->o.id[1] || !p->o.guard || k->n_barriers > 0 || k->uses_atomics)
        return false;
    p->array = record_param(k);
    if (!p->array)
        return false;
    p->record = p->array->type->element;
    p->n_vectors = p->record->n_fields / 4;
    struct uses u = {.p = p};
    ks_node_walk(k->body, check_use, &u);
    if (u.foreign || !p->first_use || p->first_use->in_macro || p->last_use->in_macro)
        return false;
    for (size_t i = 0; i < p->o.n_work; i++)
        if (ks_node_find(p->o.work[i], is_exit, NULL))
            return false;
    /* The copy must be in scope from the first use to the last: both are statements of one list, the work. */
    return note_writes(p) && p->first_use->parent == p->last_use->parent && p->first_use->parent->kind == KS_NODE_COMPOUND;
}

void ks_tf_struct_vector_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const struct ks_kernel *kernels[32];
    size_t n = ks_idiom_kernels(v, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        struct vector_plan *p = KS_ARENA_NEW(v->arena, struct vector_plan);
        const struct ks_launch *launches[MAX_LAUNCHES];
        if (!read_plan(kernels[i], p))
            continue;
        struct ks_site s = {.where = ks_arena_printf(v->arena, "%s.%s", kernels[i]->name, p->array->name),
                            .kernel = kernels[i],
                            .predicted = 1.5,
                            .data = p};
        s.launch = ks_text_launches_of(v->facts, kernels[i], launches, MAX_LAUNCHES) > 0 ? launches[0] : NULL;
        s.variant = "";
        s.hypothesis = ks_arena_printf(
            v->arena,
            "Each member of '%s' that '%s' touches is a request of its own, with neighbouring lanes %lld bytes apart; "
            "whole structures as 16-byte vectors take %zu requests each way.",
            p->array->name, kernels[i]->name, (long long)p->record->size_bytes, p->n_vectors);
        ks_idiom_add_site(v, &s, out);
    }
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

static const char *vector_name(const struct ks_rewrite_view *v, size_t i)
{
    static const char *const names[] = {"quad_a", "quad_b", "quad_c", "quad_d"};
    return ks_text_fresh(v->facts, names[i], v->arena);
}

struct copy_walk {
    const struct vector_plan *p;
    struct ks_edits *edits;
    const char *copy;
};

static bool replace_use(const struct ks_node *n, void *ctx)
{
    struct copy_walk *w = ctx;
    if (n->kind == KS_NODE_DECL_REF && n->symbol == w->p->array)
        ks_edits_replace(w->edits, n->parent->span, w->copy);
    return true;
}

static void write_load(const struct ks_rewrite_view *v, const struct vector_plan *p, const char *copy, const char *aligned,
                       struct ks_str *out)
{
    const char *type = ks_idiom_plain_type(p->record), *array = p->array->name, *i = p->o.id[0]->name;
    ks_str_addf(
        out,
        "// The structure passes through registers as a whole, 16 bytes a request (single members where %s is not aligned).\n"
        "bool %s = reinterpret_cast<size_t>(%s) %% 16 == 0;\n"
        "%s %s;\n"
        "if (%s) {\n",
        array, aligned, array, type, copy, aligned);
    for (size_t q = 0; q < p->n_vectors; q++) {
        const char *name = vector_name(v, q);
        ks_str_addf(out, "    float4 %s = reinterpret_cast<const float4 *>(%s + %s)[%zu];\n", name, array, i, q);
    }
    for (size_t q = 0; q < p->n_vectors; q++)
        for (size_t m = 0; m < 4; m++)
            ks_str_addf(out, "    %s.%s = %s.%c;\n", copy, p->record->fields[q * 4 + m].name, vector_name(v, q), "xyzw"[m]);
    ks_str_addf(out, "} else {\n    %s = %s[%s];\n}\n", copy, array, i);
}

static void write_store(const struct vector_plan *p, const char *copy, const char *aligned, struct ks_str *out)
{
    const char *array = p->array->name, *i = p->o.id[0]->name;
    ks_str_addf(out, "if (%s) {\n", aligned);
    for (size_t q = 0; q < p->n_vectors; q++) {
        const struct ks_field *fields = p->record->fields + q * 4;
        if (p->written[q])
            ks_str_addf(out, "    reinterpret_cast<float4 *>(%s + %s)[%zu] = make_float4(%s.%s, %s.%s, %s.%s, %s.%s);\n", array,
                        i, q, copy, fields[0].name, copy, fields[1].name, copy, fields[2].name, copy, fields[3].name);
    }
    ks_str_addf(out, "} else {\n    %s[%s] = %s;\n}\n", array, i, copy);
}

enum ks_code ks_tf_struct_vector_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                       struct ks_err *err)
{
    const struct vector_plan *p = site->data;
    const struct ks_facts *f = v->facts;
    const char *copy = ks_text_fresh(f, "own", v->arena), *aligned = ks_text_fresh(f, "in_vectors", v->arena);
    const char *indent = ks_text_indent(f, p->first_use->span.begin, v->arena);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    (void)err;
    write_load(v, p, copy, aligned, &text);
    ks_edits_insert(edits, ks_text_line_begin(f, p->first_use->span.begin), ks_text_layout(f, text.data, indent, v->arena));
    struct copy_walk w = {p, edits, copy};
    ks_node_walk(p->o.kernel->body, replace_use, &w);
    bool writes = false;
    for (size_t q = 0; q < p->n_vectors; q++)
        writes = writes || p->written[q];
    if (writes) {
        ks_str_clear(&text);
        write_store(p, copy, aligned, &text);
        uint32_t end = ks_text_line_end(f, ks_text_stmt_span(f, p->last_use).end - 1);
        ks_edits_insert(edits, end, ks_text_layout(f, text.data, indent, v->arena));
    }
    return KS_OK;
}
