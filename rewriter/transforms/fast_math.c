/* fast-math (compute): special functions in full precision cost tens of instructions; where the contract's tolerance allows, the
 * hardware's approximations do.  tanh goes through one exponential. */
#include "rewriter/launch.h"
#include "rewriter/promise.h"
#include "rewriter/text.h"
#include "rewriter/transform.h"

#include <string.h>

static const struct {
    const char *from, *to;
} calls[] = {{"expf", "__expf"}, {"logf", "__logf"}, {"log2f", "__log2f"}, {"tanhf", NULL}};

/* Replacement for a call, NULL: leave it.  tanhf needs the helper. */
static const char *faster(const struct ks_node *n, const char *tanh_name)
{
    if (n->kind != KS_NODE_CALL || !n->name || n->in_macro)
        return NULL;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (strcmp(n->name, calls[i].from) == 0)
            return calls[i].to ? calls[i].to : tanh_name;
    return NULL;
}

static bool is_float(const struct ks_node *n)
{
    return n && n->type && n->type->kind == KS_TYPE_FLOAT;
}

static bool is_float_division(const struct ks_node *n)
{
    return ks_node_is_op(n, KS_NODE_BINARY, "/") && !n->in_macro && is_float(n) && is_float(n->children[0]) &&
           is_float(n->children[1]) && ks_node_bare(n->children[1])->kind != KS_NODE_FLOAT_LITERAL;
}

struct walk {
    const struct ks_rewrite_view *v;
    const char *tanh_name;
    struct ks_edits *edits; /* NULL: count only */
    size_t n, n_tanh;
};

static bool visit(const struct ks_node *n, void *ctx)
{
    struct walk *w = ctx;
    const char *to = faster(n, w->tanh_name);
    if (to) {
        w->n++;
        w->n_tanh += strcmp(n->name, "tanhf") == 0;
        if (w->edits)
            ks_edits_replace(w->edits, (struct ks_span){n->span.begin, n->span.begin + (uint32_t)strlen(n->name)}, to);
    } else if (is_float_division(n)) {
        const struct ks_node *a = n->children[0], *b = n->children[1];
        w->n++;
        if (w->edits) {
            ks_edits_insert(w->edits, a->span.begin, "__fdividef(");
            ks_edits_replace(w->edits, (struct ks_span){a->span.end, b->span.begin}, ", ");
            ks_edits_insert(w->edits, b->span.end, ")");
        }
    }
    return true;
}

void ks_tf_fast_math_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    if (ks_promise_rtol(v->contract) < 1e-5)
        return;
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i];
        const struct ks_kernel *k = l->kernel;
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen = seen || v->entry->launches[j]->kernel == k;
        if (!k || seen || !ks_kernel_editable(k))
            continue;
        struct walk w = {v, "tanhf", NULL, 0, 0};
        ks_node_walk(k->body, visit, &w);
        if (w.n == 0)
            continue;
        struct ks_site s = {.where = k->name, .variant = "", .kernel = k, .launch = l, .predicted = ks_predict_entry(v, l, 1.08)};
        s.hypothesis = ks_arena_printf(
            v->arena,
            "'%s' spends instructions on %zu special functions and divisions in full precision, more than the contract's "
            "tolerance asks for.",
            k->name, w.n);
        ks_sites_add(out, &s);
    }
}

enum ks_code ks_tf_fast_math_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                   struct ks_err *err)
{
    (void)err;
    const struct ks_facts *f = v->facts;
    struct walk w = {v, ks_text_fresh(f, "fast_tanh", v->arena), edits, 0, 0};
    ks_node_walk(site->kernel->body, visit, &w);
    if (w.n_tanh > 0) {
        const char *helper = ks_arena_printf(v->arena,
                                             "// tanh by one exponential: absolute error about 1e-7, exact limits at both ends.\n"
                                             "static __device__ __forceinline__ float %s(float x)\n{\n"
                                             "    return 1.0f - __fdividef(2.0f, 1.0f + __expf(2.0f * x));\n}\n\n",
                                             w.tanh_name);
        ks_edits_insert(edits, ks_text_before_function(f, site->kernel->node), ks_text_layout(f, helper, "", v->arena));
    }
    return KS_OK;
}
