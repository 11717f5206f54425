#include "analyzer/facts.h"

#include "analyzer/kernels.h"
#include "analyzer/launches.h"
#include "analyzer/mirror.h"
#include "analyzer/usage.h"
#include "base/str.h"

#include <string.h>

void ks_node_walk(const struct ks_node *n, ks_node_visit_fn *visit, void *ctx)
{
    if (!n || !visit(n, ctx))
        return;
    if (n->callee)
        ks_node_walk(n->callee, visit, ctx);
    for (size_t i = 0; i < n->n_children; i++)
        ks_node_walk(n->children[i], visit, ctx);
}

static bool is_usable(const struct ks_mirror *m)
{
    for (size_t i = 0; i < m->n_functions; i++) {
        if (!m->functions[i].has_error && !m->functions[i].node->header)
            return true;
    }
    return m->n_errors == 0;
}

static void derive_kernels(const struct ks_mirror *m, struct ks_facts *f)
{
    f->kernels = KS_ARENA_ARRAY(m->arena, struct ks_kernel, m->n_functions + 1);
    f->functions = KS_ARENA_ARRAY(m->arena, struct ks_node *, m->n_functions + 1);
    f->header_functions = KS_ARENA_ARRAY(m->arena, struct ks_node *, m->n_functions + 1);
    for (size_t i = 0; i < m->n_functions; i++) {
        if (m->functions[i].node->header) {
            f->header_functions[f->n_header_functions++] = m->functions[i].node;
            continue;
        }
        f->functions[f->n_functions++] = m->functions[i].node;
        f->has_main |= ks_streq(m->functions[i].name, "main");
        if (m->functions[i].is_global)
            ks_kernel_derive(m, &m->functions[i], &f->kernels[f->n_kernels++]);
    }
}

enum ks_code ks_facts_parse(const char *path, const char *source, size_t source_len, const struct ks_parse_options *opt,
                            struct ks_arena *arena, struct ks_diags *diags, struct ks_facts **ret_facts, struct ks_err *err)
{
    struct ks_mirror *m = NULL;
    KS_TRY(ks_mirror_parse(path, source, source_len, opt, arena, diags, &m, err));
    if (!is_usable(m))
        return ks_fail(err, KS_ERR_SYNTAX, "parse '%s': %zu error%s and no function without one", path, m->n_errors,
                       ks_plural_s((int64_t)m->n_errors));
    struct ks_facts *f = KS_ARENA_NEW(arena, struct ks_facts);
    f->path = m->path;
    f->source = m->source;
    f->source_len = m->source_len;
    ks_usage_derive(m);
    derive_kernels(m, f);
    ks_launches_derive(m, f);
    for (size_t i = 0; i < f->n_kernels; i++)
        ks_accesses_note_blocks(&f->kernels[i], f->launches, f->n_launches);
    ks_handovers_derive(m, f);
    *ret_facts = f;
    return KS_OK;
}

const struct ks_kernel *ks_facts_kernel(const struct ks_facts *f, const char *name)
{
    for (size_t i = 0; i < f->n_kernels; i++) {
        if (ks_streq(f->kernels[i].name, name) || ks_streq(f->kernels[i].mangled, name))
            return &f->kernels[i];
    }
    return NULL;
}

/* "shop::scale<float>": the name alone. */
static const char *plain_name(const char *name, size_t *ret_len)
{
    size_t len = strcspn(name, "<"), from = len;
    while (from > 0 && name[from - 1] != ':')
        from--;
    *ret_len = len - from;
    return name + from;
}

bool ks_facts_entry_named(const struct ks_entry *e, const char *name)
{
    size_t len;
    const char *plain = plain_name(name, &len);
    return e->name && strlen(e->name) == len && strncmp(e->name, plain, len) == 0;
}

/* Between the entry and the one before it stands "kscc: entry NAME". */
static bool is_announced(const struct ks_facts *f, const struct ks_entry *e, const char *name)
{
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    uint32_t from = 0, to = e->node->span.begin;
    ks_str_addf(&line, "kscc: entry %s", name);
    for (size_t i = 0; i < f->n_entries; i++)
        if (f->entries[i].node->span.end <= to && f->entries[i].node->span.end > from)
            from = f->entries[i].node->span.end;
    return memmem(f->source + from, to - from, ks_str_cstr(&line), line.len) != NULL;
}

const struct ks_entry *ks_facts_entry(const struct ks_facts *f, const char *name, bool *ret_announced)
{
    const struct ks_entry *first = NULL;
    for (size_t i = 0; i < f->n_entries; i++) {
        if (!ks_facts_entry_named(&f->entries[i], name))
            continue;
        bool announced = is_announced(f, &f->entries[i], name);
        if (ret_announced)
            *ret_announced = announced;
        if (announced)
            return &f->entries[i];
        first = first ? first : &f->entries[i];
    }
    return first;
}

static const struct ks_node *function_among(struct ks_node *const *functions, size_t n, const struct ks_symbol *s)
{
    const struct ks_node *by_name = NULL;
    for (size_t i = 0; i < n; i++) {
        if (functions[i]->symbol == s)
            return functions[i];
        if (functions[i]->symbol->has_instance && ks_streq(functions[i]->name, s->name))
            by_name = functions[i];
    }
    return by_name;
}

bool ks_node_is_loop(const struct ks_node *n)
{
    return n->kind == KS_NODE_FOR || n->kind == KS_NODE_WHILE || n->kind == KS_NODE_DO;
}

const struct ks_node *ks_facts_callee(const struct ks_facts *f, const struct ks_node *call)
{
    if (call->kind != KS_NODE_CALL || !call->symbol || call->symbol->kind != KS_SYM_FUNCTION)
        return NULL;
    const struct ks_node *found = function_among(f->functions, f->n_functions, call->symbol);
    return found ? found : function_among(f->header_functions, f->n_header_functions, call->symbol);
}

const char *ks_node_text(const struct ks_facts *f, const struct ks_node *n, size_t *ret_len)
{
    *ret_len = n->span.end - n->span.begin;
    return (n->header ? n->header : f->source) + n->span.begin;
}
