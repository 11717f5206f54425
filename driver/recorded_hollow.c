/* The device's part of a unit.  Trials and candidates have no need of the program around the kernels: its functions would be in
 * the object twice, and what they call would have to be there wherever a candidate is tried. */
#include "driver/recorded.h"

#include "base/str.h"
#include "driver/cxx_scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_kernel(const struct ks_facts *facts, const struct ks_node *f)
{
    for (size_t i = 0; i < facts->n_kernels; i++)
        if (facts->kernels[i].node == f)
            return true;
    return false;
}

/* Words in front of a function's bracket that make it more than a function of the host alone, or its body part of its type. */
static bool is_more_than_host(const struct ks_facts *facts, const struct ks_node *f)
{
    static const char *const words[] = {"__global__", "__device__", "template", "constexpr", "consteval", "auto", "operator"};
    size_t len, pos = 0;
    const char *text = ks_node_text(facts, f, &len);
    struct ks_token t, before = {0};
    while (ks_cxx_next(text, len, &pos, &t) && !ks_token_is(text, &t, "(")) {
        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
            if (ks_token_is(text, &t, words[i]))
                return true;
        if (ks_token_is(text, &t, ":") && ks_token_is(text, &before, ":")) /* a member: it cannot be declared there */
            return true;
        before = t;
    }
    return false;
}

static const struct ks_node *body_of(const struct ks_node *f)
{
    const struct ks_node *last = f->n_children ? f->children[f->n_children - 1] : NULL;
    return last && last->kind == KS_NODE_COMPOUND && !last->in_macro && !f->in_macro ? last : NULL;
}

/* Nothing but blanks, and perhaps noexcept, between the bracket and the body: no list of a constructor's. */
static bool is_plain(const struct ks_facts *facts, const struct ks_node *body)
{
    size_t p = body->span.begin;
    while (p > 0 && isspace((unsigned char)facts->source[p - 1]))
        p--;
    if (p >= 8 && strncmp(facts->source + p - 8, "noexcept", 8) == 0)
        p -= 8;
    while (p > 0 && isspace((unsigned char)facts->source[p - 1]))
        p--;
    return p > 0 && facts->source[p - 1] == ')' && facts->source[body->span.begin] == '{';
}

struct wanted {
    const struct ks_facts *facts;
    bool *keep; /* by function */
    bool grew;
};

static bool want_callee(const struct ks_node *n, void *ctx)
{
    struct wanted *w = ctx;
    const char *name = n->kind == KS_NODE_CALL ? n->name : n->kind == KS_NODE_DECL_REF && n->symbol ? n->symbol->name : NULL;
    for (size_t i = 0; name && i < w->facts->n_functions; i++)
        if (!w->keep[i] && ks_streq(w->facts->functions[i]->name, name))
            w->keep[i] = w->grew = true;
    return true;
}

/* ---- variables ------------------------------------------------------------------------------------------------------ */

static void blank(struct ks_str *text, size_t from, size_t to)
{
    for (size_t p = from; p < to; p++)
        if (text->data[p] != '\n')
            text->data[p] = ' ';
}

/* Words that a declaration of nothing but host variables does not have. */
static bool is_no_variable(const char *text, const struct ks_token *t)
{
    static const char *const words[] = {"__device__", "__constant__", "__managed__",   "__shared__", "__global__",
                                        "const",      "constexpr",    "constinit",     "using",      "typedef",
                                        "struct",     "class",        "union",         "enum",       "template",
                                        "extern",     "namespace",    "static_assert", "friend",     "operator",
                                        "asm",        "__asm__",      "concept",       "(",          "thread_local"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (ks_token_is(text, t, words[i]))
            return true;
    return false;
}

/* Past the bracket that closes the one at *pos. */
static void skip_brackets(const char *text, size_t len, size_t *pos)
{
    struct ks_token t;
    size_t depth = 0;
    do {
        if (!ks_cxx_next(text, len, pos, &t))
            return;
        depth += strchr("{([", text[t.begin]) != NULL;
        depth -= depth && strchr("})]", text[t.begin]);
    } while (depth);
}

/* Whether the brace at `at` opens a namespace or extern "C": what is in it is at file scope as well. */
static bool opens_scope(const char *text, size_t from, size_t at)
{
    struct ks_token t;
    bool scope = false, list = false;
    while (ks_cxx_next(text, at, &from, &t)) {
        scope |= ks_token_is(text, &t, "namespace") || ks_token_is(text, &t, "\"C\"");
        list |= ks_token_is(text, &t, "(");
    }
    return scope && !list;
}

/* The declaration text[from..to) declares host variables alone, whose names nothing else in the text has. */
static bool is_unused(const struct ks_str *text, size_t from, size_t to)
{
    size_t pos = from, words = 0, depth = 0, names = 0;
    struct ks_token t, before = {0};
    bool value = false;
    while (pos < to && ks_cxx_next(text->data, to, &pos, &t)) {
        char c = text->data[t.begin];
        if (!value && is_no_variable(text->data, &t))
            return false;
        depth += !value && c == '<';
        depth -= !value && depth && c == '>';
        if (!value && !depth && strchr("=,;[", c) && before.is_name && words >= 2) {
            KS_AUTO_FREE char *name = ks_xstrndup(text->data + before.begin, before.end - before.begin);
            names++;
            if (ks_cxx_count(text->data, text->len, name) != 1)
                return false;
        }
        if (c == '(' || c == '{' || c == '[') {
            pos = t.begin;
            skip_brackets(text->data, to, &pos);
        }
        value = depth == 0 && c == '=' ? true : c == ',' && depth == 0 ? false : value;
        words += t.is_name;
        before = t;
    }
    return names > 0;
}

/* One declaration at file scope, which is over at its semicolon or its body: taken out where nobody needs it.  False: the end. */
static bool declaration(struct ks_str *text, size_t *pos)
{
    struct ks_token t;
    size_t from = SIZE_MAX;
    bool value = false;
    while (ks_cxx_next(text->data, text->len, pos, &t)) {
        char c = text->data[t.begin];
        from = from == SIZE_MAX ? t.begin : from;
        value |= c == '=';
        if (c == '}') /* of a namespace or extern "C" */
            return true;
        if (c == ';') {
            if (is_unused(text, from, *pos))
                blank(text, from, *pos);
            return true;
        }
        if (c == '{' && !value && opens_scope(text->data, from, t.begin))
            return true;
        if (c != '{' && c != '(')
            continue;
        *pos = t.begin;
        skip_brackets(text->data, text->len, pos);
        size_t p = *pos;
        struct ks_token next;
        bool more = ks_cxx_next(text->data, text->len, &p, &next) && strchr(";,", text->data[next.begin]);
        if (c == '{' && !value && !more) /* a function's body */
            return true;
    }
    return false;
}

/* iostream keeps a variable in every file that includes it, which two versions of the unit would have one each of. */
static void calm_iostream(struct ks_str *text)
{
    static const char *const streams[] = {"cout", "cerr", "cin", "clog"};
    static const char from[] = "<iostream>", to[] = "<istream> ";
    for (size_t i = 0; i < sizeof(streams) / sizeof(*streams); i++)
        if (ks_cxx_count(text->data, text->len, streams[i]))
            return;
    for (char *p = text->data; (p = strstr(p, from)) != NULL; p += strlen(to)) {
        const char *line = p;
        while (line > text->data && line[-1] != '\n')
            line--;
        while (*line == ' ' || *line == '\t' || *line == '#')
            line++;
        if (ks_str_starts(line, "include"))
            memcpy(p, to, strlen(to));
    }
}

void ks_recorded_hollow(const struct ks_facts *facts, struct ks_str *out)
{
    struct wanted w = {.facts = facts, .keep = ks_xcalloc(facts->n_functions + 1, sizeof(bool)), .grew = true};
    bool *seen = ks_xcalloc(facts->n_functions + 1, sizeof(bool));
    for (size_t i = 0; i < facts->n_functions; i++) {
        const struct ks_node *f = facts->functions[i], *body = body_of(f);
        KS_AUTO_ARGS struct ks_args scope;
        ks_args_init(&scope);
        w.keep[i] = is_kernel(facts, f) || !body || is_more_than_host(facts, f) || !is_plain(facts, body) ||
                    !ks_cxx_scope(facts->source, f->span.begin, &scope);
    }
    while (w.grew) { /* what those call, too: a macro may hide that it is for the device */
        w.grew = false;
        for (size_t i = 0; i < facts->n_functions; i++)
            if (w.keep[i] && !seen[i]) {
                seen[i] = true;
                ks_node_walk(facts->functions[i], want_callee, &w);
                w.grew = true;
            }
    }
    ks_str_addn(out, facts->source, facts->source_len);
    for (size_t i = 0; i < facts->n_functions; i++) {
        const struct ks_node *body = body_of(facts->functions[i]);
        if (w.keep[i] || !body)
            continue;
        blank(out, body->span.begin, body->span.end);
        out->data[body->span.begin] = ';';
    }
    free(w.keep);
    free(seen);
    for (size_t pos = 0; declaration(out, &pos);)
        continue;
    calm_iostream(out);
}
