#include "driver/inner.h"

#include "analyzer/facts.h"
#include "base/hash.h"
#include "driver/cxx_scan.h"
#include "driver/parse_line.h"
#include "driver/signature.h"

#include <string.h>

#define PROBE "__kscc_probe"

const char *ks_inner_c_type(const struct ks_param *p)
{
    switch (p->kind) {
    case KS_PARAM_POINTER:
        return p->pointee_const ? "const void *" : "void *";
    case KS_PARAM_STREAM:
        return "void *";
    case KS_PARAM_I8:
        return "signed char";
    case KS_PARAM_U8:
        return "unsigned char";
    case KS_PARAM_I16:
        return "short";
    case KS_PARAM_U16:
        return "unsigned short";
    case KS_PARAM_I32:
        return "int";
    case KS_PARAM_U32:
        return "unsigned int";
    case KS_PARAM_I64:
        return "long";
    case KS_PARAM_U64:
        return "unsigned long";
    case KS_PARAM_F32:
        return "float";
    case KS_PARAM_F64:
        return "double";
    case KS_PARAM_UNSUPPORTED:
        break;
    }
    return NULL;
}

/* ---- what kind of entry --------------------------------------------------------------------------------------------- */

static bool begins_with_word(const struct ks_facts *facts, const struct ks_entry *e, const char *word)
{
    size_t len;
    const char *text = ks_node_text(facts, e->node, &len);
    struct ks_token t;
    size_t pos = 0;
    /* up to the name's bracket: "inline static void f(" */
    while (ks_cxx_next(text, len, &pos, &t) && !ks_token_is(text, &t, "("))
        if (ks_token_is(text, &t, word))
            return true;
    return false;
}

static bool is_template(const struct ks_facts *facts, const struct ks_entry *e)
{
    size_t len, pos = 0;
    const char *text = ks_node_text(facts, e->node, &len);
    struct ks_token t;
    return ks_cxx_next(text, len, &pos, &t) && ks_token_is(text, &t, "template");
}

/* What the definition itself has in front of the name: "void box::f(" adds "box". */
static void add_qualifiers(const struct ks_facts *facts, const struct ks_entry *e, struct ks_args *scope)
{
    size_t len, pos = 0, end = 0;
    const char *text = ks_node_text(facts, e->node, &len);
    struct ks_token t;
    KS_AUTO_ARGS struct ks_args names;
    int n_colons = 0; /* right behind the last name, which ends at `end` with them */
    ks_args_init(&names);
    while (ks_cxx_next(text, len, &pos, &t)) {
        bool colon = ks_token_is(text, &t, ":") && t.begin == end;
        if (ks_token_is(text, &t, "(") && names.n && strcmp(names.v[names.n - 1], e->name) == 0)
            break;
        if (!colon && !(t.is_name && n_colons == 2)) {
            ks_args_release(&names);
            ks_args_init(&names);
        }
        if (t.is_name)
            ks_args_addf(&names, "%.*s", (int)(t.end - t.begin), text + t.begin);
        n_colons = colon ? n_colons + 1 : 0;
        end = t.end;
    }
    for (size_t i = 0; i + 1 < names.n; i++)
        ks_args_add(scope, names.v[i]);
}

/* Whether others link to it is not to be relied on: static and inline functions, and those of an anonymous namespace. */
static bool is_internal(const struct ks_facts *facts, const struct ks_entry *e)
{
    return strstr(e->mangled, "_GLOBAL__N_") || begins_with_word(facts, e, "static") || begins_with_word(facts, e, "inline");
}

bool ks_inner_asks(const struct ks_facts *facts, const struct ks_entry *entry, const struct ks_signature *signature)
{
    return signature->suffix || ks_cxx_count(facts->source, facts->source_len, entry->name) > 1;
}

/* ---- a template's instance ------------------------------------------------------------------------------------------ */

/* "typename T" with "float": "typedef float T;"; "int N" with "4": "static constexpr int N = 4;". */
static enum ks_code add_argument(const char *param, const char *given, struct ks_str *out, struct ks_err *err)
{
    size_t len = strcspn(param, "="), end = len;
    const char *value = given ? given : param[len] ? param + len + 1 : NULL;
    while (end > 0 && strchr(" \t\n", param[end - 1]))
        end--;
    size_t name = end;
    while (name > 0 && !strchr(" \t\n*&>.", param[name - 1]))
        name--;
    if (!value || name == 0 || name == end || strstr(param, "...") || ks_str_starts(param, "template"))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "parameter '%s' of the template %s", param,
                       value ? "is a pack, a template or without a name" : "has no value: name the instance, 'entry NAME<...>'");
    bool is_type = ks_str_starts(param, "typename") || ks_str_starts(param, "class");
    if (is_type)
        ks_str_addf(out, "typedef %s %.*s; ", value, (int)(end - name), param + name);
    else
        ks_str_addf(out, "static constexpr %.*s = %s; ", (int)end, param, value);
    return KS_OK;
}

static void add_scope(const struct ks_args *scope, bool open, struct ks_str *out)
{
    for (size_t i = 0; i < scope->n; i++) {
        KS_AUTO_FREE char *name = ks_xstrdup(scope->v[i]);
        for (char *part = name, *next; part && open; part = next) { /* "a::b" in C++11 */
            next = strstr(part, "::");
            if (next) {
                *next = '\0';
                next += 2;
            }
            ks_str_addf(out, "namespace %s { ", part);
        }
        if (!open) {
            ks_str_add(out, "} ");
            for (const char *p = scope->v[i]; (p = strstr(p, "::")); p += 2)
                ks_str_add(out, "} ");
        }
    }
}

/* A plain function with the instance's parameters, which libclang knows the types of. */
static enum ks_code probe_text(const struct ks_facts *facts, const struct ks_node *function, const struct ks_args *scope,
                               const char *arguments, struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args params, given;
    size_t len, end;
    const char *text = ks_node_text(facts, function, &len), *open = memchr(text, '<', len);
    ks_args_init(&params);
    ks_args_init(&given);
    if (!open || !ks_cxx_list(text, len, (size_t)(open - text), &params, &end) ||
        (arguments && !ks_cxx_list(arguments, strlen(arguments), 0, &given, &end)) || given.n > params.n)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "cannot read the template's parameters");
    ks_str_addn(out, facts->source, facts->source_len);
    ks_str_add(out, "\n");
    add_scope(scope, true, out);
    ks_str_add(out, "namespace " PROBE "_of { ");
    for (size_t i = 0; i < params.n; i++)
        KS_TRY(add_argument(params.v[i], i < given.n ? given.v[i] : NULL, out, err));
    ks_str_add(out, "void " PROBE "(");
    for (size_t i = 0, n = 0; i < function->n_children; i++) {
        const struct ks_node *p = function->children[i];
        if (p && p->kind == KS_NODE_PARAM) {
            const char *param = ks_node_text(facts, p, &len);
            ks_str_addf(out, "%s%.*s", n++ ? ", " : "", (int)len, param);
        }
    }
    ks_str_add(out, ") {} } ");
    add_scope(scope, false, out);
    return KS_OK;
}

enum ks_code ks_inner_instance(const struct ks_unit *u, const struct ks_facts *facts, const struct ks_node *function,
                               const struct ks_args *scope, const char *arguments, struct ks_arena *arena,
                               const struct ks_node **ret, struct ks_err *err)
{
    struct ks_parse_options parse;
    struct ks_diags diags;
    struct ks_facts *probed;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    const struct ks_node *probe = NULL;
    KS_TRY(probe_text(facts, function, scope, arguments, &text, err));
    ks_unit_parse_options(u, &parse);
    ks_diags_init(&diags);
    enum ks_code code = ks_facts_parse(u->path, ks_str_cstr(&text), text.len, &parse, arena, &diags, &probed, err);
    const char *first = diags.n ? diags.data[0].message : NULL;
    for (size_t i = 0; code == KS_OK && i < probed->n_functions; i++)
        if (ks_streq(probed->functions[i]->name, PROBE))
            probe = probed->functions[i];
    if (code == KS_OK && (!probe || ks_diags_count(&diags, KS_SEV_ERROR)))
        code = ks_fail(err, KS_ERR_SYNTAX, "the instance '%s%s' has no meaning%s%s", function->name, arguments ? arguments : "",
                       first ? ": " : "", first ? first : "");
    ks_diags_release(&diags);
    *ret = probe;
    return code;
}

/* ---- the signature -------------------------------------------------------------------------------------------------- */

/* The function by which the entry is called; what it is called with becomes whatever the entry takes (pointers to types of the
 * unit's own, enumerations). */
static void make_suffix(const struct ks_args *scope, const char *arguments, const char *plain, struct ks_arena *arena,
                        struct ks_signature *sig)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    char hex[65];
    for (size_t i = 0; i < sig->n_params; i++)
        if (!ks_inner_c_type(&sig->params[i]))
            return; /* binding says which parameter cannot be passed */
    ks_hash_hex(sig->entry, strlen(sig->entry), hex);
    sig->symbol = ks_arena_printf(arena, "__kscc_entry_%.8s", hex);
    ks_str_addf(&text,
                "namespace __kscc_%.8s { template <class V> struct value { V v; template <class T> operator T() const { return "
                "(T)v; } }; } ",
                hex);
    ks_str_addf(&text, "extern \"C\" __attribute__((visibility(\"default\"))) %s %s(", sig->returns_void ? "void" : "int",
                sig->symbol);
    for (size_t i = 0; i < sig->n_params; i++)
        ks_str_addf(&text, "%s%s a%zu", i ? ", " : "", ks_inner_c_type(&sig->params[i]), i);
    ks_str_addf(&text, ") { %s::", sig->returns_void ? "" : "return (int)");
    for (size_t i = 0; i < scope->n; i++)
        if (*scope->v[i])
            ks_str_addf(&text, "%s::", scope->v[i]);
    ks_str_addf(&text, "%s%s(", plain, arguments ? arguments : "");
    for (size_t i = 0; i < sig->n_params; i++)
        ks_str_addf(&text, "%s__kscc_%.8s::value<%s>{a%zu}", i ? ", " : "", hex, ks_inner_c_type(&sig->params[i]), i);
    ks_str_add(&text, "); }");
    sig->suffix = ks_arena_strdup(arena, ks_str_cstr(&text));
}

enum ks_code ks_inner_signature(const struct ks_unit *u, const struct ks_facts *facts, const struct ks_entry *entry,
                                const char *name, struct ks_arena *arena, struct ks_signature *ret, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args scope;
    struct ks_signature sig;
    const char *arguments = strchr(name, '<');
    bool generic = is_template(facts, entry);
    ks_args_init(&scope);
    ks_signature_of(entry, arena, &sig);
    sig.entry = ks_arena_strdup(arena, name);
    if (arguments && !generic)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "'%s' is no template", entry->name);
    if (generic || is_internal(facts, entry)) {
        if (!ks_cxx_scope(facts->source, entry->node->span.begin, &scope))
            return ks_fail(err, KS_ERR_UNSUPPORTED,
                           "'%s' is a member of a class, defined inside it: define it outside of the class, as a static member",
                           entry->name);
        add_qualifiers(facts, entry, &scope);
        if (generic) {
            const struct ks_node *instance;
            struct ks_signature of_instance;
            KS_TRY(ks_inner_instance(u, facts, entry->node, &scope, arguments, arena, &instance, err));
            ks_signature_of_function(instance, arena, &of_instance);
            sig.params = of_instance.params;
            sig.n_params = of_instance.n_params;
        }
        make_suffix(&scope, arguments, entry->name, arena, &sig);
    }
    *ret = sig;
    return KS_OK;
}
