/* The unit's text in which entries ask the guard by themselves (inner.h). */

#include "driver/inner.h"

#include "analyzer/facts.h"
#include "driver/cxx_scan.h"

#include <stdlib.h>
#include <string.h>

struct insertion {
    size_t off;
    size_t nth; /* those of one place stay in order */
    char *text;
};

static int by_place(const void *a, const void *b)
{
    const struct insertion *x = a, *y = b;
    if (x->off != y->off)
        return x->off < y->off ? -1 : 1;
    return x->nth < y->nth ? -1 : 1;
}

static const struct ks_node *body_of(const struct ks_entry *e)
{
    const struct ks_node *last = e->node->n_children ? e->node->children[e->node->n_children - 1] : NULL;
    return last && last->kind == KS_NODE_COMPOUND && !last->in_macro ? last : NULL;
}

/* What the guard's function takes: "int *, const void *, int". */
static void add_types(const struct ks_inner *x, struct ks_str *out)
{
    const struct ks_signature *sig = x->signature;
    size_t n = 0;
    if (!sig->returns_void)
        ks_str_add(out, "int *"), n++;
    for (size_t i = 0; i < sig->n_params; i++)
        ks_str_addf(out, "%s%s", n++ ? ", " : "", ks_inner_c_type(&sig->params[i]));
}

static void add_arguments(const struct ks_inner *x, struct ks_str *out)
{
    const struct ks_signature *sig = x->signature;
    size_t n = 0;
    if (!sig->returns_void)
        ks_str_add(out, "&kscc_status"), n++;
    for (size_t i = 0; i < sig->n_params; i++)
        ks_str_addf(out, "%s(%s)%s", n++ ? ", " : "", ks_inner_c_type(&sig->params[i]), sig->params[i].name);
}

/* The word for a type in front of the name: "cudaError_t". */
static void add_return(const struct ks_inner *x, struct ks_str *out)
{
    if (x->signature->returns_void)
        ks_str_add(out, "return; ");
    else
        ks_str_addf(out, "return (%s)kscc_status; ", x->entry->result->spelling);
}

static void add_question(const struct ks_inner *x, struct ks_str *out)
{
    ks_str_addf(out, " { %sif (%s(", x->signature->returns_void ? "" : "int kscc_status = 0; ", x->symbol);
    add_arguments(x, out);
    ks_str_add(out, ")) ");
    add_return(x, out);
    ks_str_add(out, "}");
}

/* ---- templates ------------------------------------------------------------------------------------------------------ */

/* Without -O too, or the object would have symbols that the baseline's has not. */
#define ALWAYS_INLINE "__attribute__((always_inline)) static int "

/* In front of the template: which instance it is, and a call that only that instance makes. */
static void add_traits(const struct ks_inner *x, const char *head, size_t head_len, const char *arguments, struct ks_str *out)
{
    const struct ks_signature *sig = x->signature;
    ks_str_addf(out, "%.*s struct is_%s { enum { yes = 0 }; }; template <> struct is_%s%s { enum { yes = 1 }; }; ", (int)head_len,
                head, x->symbol, x->symbol, arguments);
    ks_str_addf(out, "template <int> struct go_%s { template <class... A> " ALWAYS_INLINE "call(const A &...) { return 0; } }; ",
                x->symbol);
    ks_str_addf(out, "template <> struct go_%s<1> { " ALWAYS_INLINE "call(", x->symbol);
    size_t n = 0;
    if (!sig->returns_void)
        ks_str_add(out, "int *status"), n++;
    for (size_t i = 0; i < sig->n_params; i++) {
        bool pointer = sig->params[i].kind == KS_PARAM_POINTER;
        ks_str_addf(out, "%s%s a%zu", n++ ? ", " : "", pointer ? "const volatile void *" : ks_inner_c_type(&sig->params[i]), i);
    }
    ks_str_addf(out, ") { return %s(", x->symbol);
    n = 0;
    if (!sig->returns_void)
        ks_str_add(out, "status"), n++;
    for (size_t i = 0; i < sig->n_params; i++)
        ks_str_addf(out, "%s(%s)a%zu", n++ ? ", " : "", ks_inner_c_type(&sig->params[i]), i);
    ks_str_add(out, "); } }; ");
}

/* "typename T", "int N = 4": the names. */
static void add_parameter_names(const struct ks_args *params, struct ks_str *out)
{
    for (size_t i = 0; i < params->n; i++) {
        size_t end = strcspn(params->v[i], "=");
        while (end > 0 && strchr(" \t\n", params->v[i][end - 1]))
            end--;
        size_t from = end;
        while (from > 0 && !strchr(" \t\n*&>.", params->v[i][from - 1]))
            from--;
        ks_str_addf(out, "%s%.*s", i ? ", " : "", (int)(end - from), params->v[i] + from);
    }
}

static enum ks_code template_texts(const struct ks_inner *x, struct ks_str *before, struct ks_str *question, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args params;
    size_t len, end;
    const char *text = ks_node_text(x->facts, x->entry->node, &len), *open = memchr(text, '<', len);
    const char *arguments = strchr(x->signature->entry, '<');
    ks_args_init(&params);
    if (!open || !ks_cxx_list(text, len, (size_t)(open - text), &params, &end))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "cannot read the template's parameters");
    add_traits(x, text, end, arguments ? arguments : "<>", before);
    ks_str_addf(question, " { %sif (go_%s<int(is_%s<", x->signature->returns_void ? "" : "int kscc_status = 0; ", x->symbol,
                x->symbol);
    add_parameter_names(&params, question);
    ks_str_add(question, ">::yes)>::call(");
    size_t n = 0;
    if (!x->signature->returns_void)
        ks_str_add(question, "&kscc_status"), n++;
    for (size_t i = 0; i < x->signature->n_params; i++)
        ks_str_addf(question, "%s%s", n++ ? ", " : "", x->signature->params[i].name);
    ks_str_add(question, ")) ");
    add_return(x, question);
    ks_str_add(question, "}");
    return KS_OK;
}

static bool is_template(const struct ks_inner *x)
{
    size_t len, pos = 0;
    const char *text = ks_node_text(x->facts, x->entry->node, &len);
    struct ks_token t;
    return ks_cxx_next(text, len, &pos, &t) && ks_token_is(text, &t, "template");
}

/* ---- the text ------------------------------------------------------------------------------------------------------- */

static enum ks_code insertions(const struct ks_inner *x, size_t nth, struct insertion *before, struct insertion *inside,
                               struct ks_err *err)
{
    const struct ks_node *body = body_of(x->entry);
    KS_AUTO_STR struct ks_str head = KS_STR_INIT, question = KS_STR_INIT;
    if (!body || x->entry->node->in_macro)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "the body of '%s' comes out of a macro", x->entry->name);
    if (is_template(x))
        KS_TRY(template_texts(x, &head, &question, err));
    else
        add_question(x, &question);
    *before = (struct insertion){x->entry->node->span.begin, nth, ks_xstrdup(ks_str_cstr(&head))};
    *inside = (struct insertion){body->span.begin + 1, nth, ks_xstrdup(ks_str_cstr(&question))};
    return KS_OK;
}

static void add_line_directive(const struct ks_unit *u, struct ks_str *out)
{
    ks_str_add(out, "#line 1 \"");
    for (const char *p = u->path; *p; p++)
        ks_str_addf(out, *p == '"' || *p == '\\' ? "\\%c" : "%c", *p);
    ks_str_add(out, "\"\n");
}

static void write_text(const struct ks_unit *u, const struct ks_inner *entries, size_t n, const struct insertion *list,
                       size_t n_list, struct ks_str *out)
{
    size_t at = ks_str_bom(u->source, u->source_len);
    add_line_directive(u, out); /* nothing shall name the file that this goes to */
    for (size_t i = 0; i < n; i++) {
        ks_str_addf(out, "extern \"C\" int %s(", entries[i].symbol);
        add_types(&entries[i], out);
        ks_str_add(out, "); ");
    }
    ks_str_addc(out, '\n');
    add_line_directive(u, out);
    for (size_t i = 0; i < n_list; i++) {
        ks_str_addn(out, u->source + at, list[i].off - at);
        ks_str_add(out, list[i].text);
        at = list[i].off;
    }
    ks_str_addn(out, u->source + at, u->source_len - at);
}

enum ks_code ks_inner_text(const struct ks_unit *u, const struct ks_inner *entries, size_t n, struct ks_str *out,
                           struct ks_err *err)
{
    struct insertion *list = ks_xcalloc(2 * n + 1, sizeof(*list));
    enum ks_code code = KS_OK;
    for (size_t i = 0; i < n && code == KS_OK; i++)
        code = insertions(&entries[i], i, &list[2 * i], &list[2 * i + 1], err);
    if (code == KS_OK) {
        qsort(list, 2 * n, sizeof(*list), by_place);
        write_text(u, entries, n, list, 2 * n, out);
    }
    for (size_t i = 0; i < 2 * n; i++)
        free(list[i].text);
    free(list);
    return code;
}
