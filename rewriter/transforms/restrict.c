/* restrict (compilation): without a promise that buffers do not overlap the compiler must order every load behind earlier stores.
 * The contract lists the entry's buffers one by one; a kernel that gets each of its pointers from a different one may say so. */
#include "rewriter/launch.h"
#include "rewriter/promise.h"
#include "rewriter/text.h"
#include "rewriter/transform.h"

#include <string.h>

static bool is_contract_buffer(const struct ks_rewrite_view *v, const struct ks_node *arg, const struct ks_symbol **ret)
{
    arg = ks_node_unparen(arg);
    if (!arg || arg->kind != KS_NODE_DECL_REF || !arg->symbol || arg->symbol->kind != KS_SYM_PARAM || arg->symbol->n_writes > 0)
        return false;
    *ret = arg->symbol;
    return ks_promise_direction(v->contract, arg->symbol->name) != NULL;
}

/* Every pointer comes from a contract buffer of its own at this launch. */
static bool pointers_differ(const struct ks_rewrite_view *v, const struct ks_launch *l)
{
    const struct ks_symbol *seen[KS_MAX_SITE_PARAMS * 4];
    size_t n = 0;
    for (size_t i = 0; i < l->kernel->n_params; i++) {
        const struct ks_symbol *p = l->kernel->params[i], *buffer;
        if (!p->type || p->type->kind != KS_TYPE_POINTER)
            continue;
        if (n == sizeof seen / sizeof seen[0] || i >= l->n_args || !is_contract_buffer(v, l->args[i], &buffer))
            return false;
        for (size_t k = 0; k < n; k++)
            if (seen[k] == buffer)
                return false;
        seen[n++] = buffer;
    }
    return n > 1;
}

/* Position of the parameter's name in the kernel's head; 0: not plain. */
static uint32_t name_offset(const struct ks_facts *f, const struct ks_symbol *p)
{
    const struct ks_node *n = p->decl;
    size_t len = strlen(p->name);
    if (!n || n->in_macro || n->span.end - n->span.begin <= len || memcmp(f->source + n->span.end - len, p->name, len) != 0)
        return 0;
    return n->span.end - (uint32_t)len;
}

void ks_tf_restrict_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i], *all[8];
        const struct ks_kernel *k = l->kernel;
        if (!k || !ks_kernel_editable(k))
            continue;
        size_t n = ks_text_launches_of(v->facts, k, all, 8);
        bool ok = n <= 8 && all[0] == l && ks_text_only_launched_by(v->facts, k, v->entry), any = false;
        for (size_t j = 0; ok && j < n; j++)
            ok = pointers_differ(v, all[j]);
        for (size_t j = 0; ok && j < k->n_params; j++) {
            const struct ks_type *t = k->params[j]->type;
            if (t && t->kind == KS_TYPE_POINTER && !t->is_restrict) {
                ok = name_offset(v->facts, k->params[j]) != 0;
                any = true;
            }
        }
        if (!ok || !any)
            continue;
        struct ks_site s = {.where = k->name, .variant = "", .kernel = k, .launch = l, .predicted = ks_predict_entry(v, l, 1.04)};
        s.hypothesis = ks_arena_printf(
            v->arena,
            "The compiler must assume that the buffers of '%s' overlap and keeps loads behind stores; the contract gives each "
            "pointer a buffer of its own.",
            k->name);
        ks_sites_add(out, &s);
    }
}

enum ks_code ks_tf_restrict_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                  struct ks_err *err)
{
    const struct ks_kernel *k = site->kernel;
    for (size_t i = 0; i < k->n_params; i++) {
        const struct ks_type *t = k->params[i]->type;
        if (!t || t->kind != KS_TYPE_POINTER || t->is_restrict)
            continue;
        uint32_t at = name_offset(v->facts, k->params[i]);
        if (at == 0)
            return ks_fail(err, KS_ERR_UNSUPPORTED, "find the name of parameter '%s'", k->params[i]->name);
        ks_edits_insert(edits, at, "__restrict__ ");
    }
    return KS_OK;
}
