#include "rewriter/text.h"

#include "rewriter/edit.h"

#include <ctype.h>
#include <string.h>

/* ---- slices ---------------------------------------------------------------------------------------------------------- */

const char *ks_text_slice(const struct ks_facts *f, struct ks_span span, struct ks_arena *arena)
{
    KS_BUG(span.begin > span.end || span.end > f->source_len);
    return ks_arena_strndup(arena, f->source + span.begin, span.end - span.begin);
}

const char *ks_text_of(const struct ks_facts *f, const struct ks_node *n, struct ks_arena *arena)
{
    return n ? ks_text_slice(f, n->span, arena) : "";
}

const char *ks_text_print_poly(const struct ks_poly *p, struct ks_arena *arena)
{
    KS_AUTO_STR struct ks_str s = KS_STR_INIT;
    ks_poly_print(p, &s);
    return ks_arena_strdup(arena, ks_str_cstr(&s));
}

/* ---- lines and indentation ------------------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

uint32_t ks_text_line_begin(const struct ks_facts *f, uint32_t off)
{
    while (off > 0 && f->source[off - 1] != '\n')
        off--;
    return off;
}

uint32_t ks_text_line_end(const struct ks_facts *f, uint32_t off)
{
    while (off < f->source_len && f->source[off] != '\n')
        off++;
    return off < f->source_len ? off + 1 : off;
}

static size_t blank_prefix(const char *s, size_t max)
{
    size_t n = 0;
    while (n < max && is_blank(s[n]))
        n++;
    return n;
}

const char *ks_text_indent(const struct ks_facts *f, uint32_t off, struct ks_arena *arena)
{
    uint32_t begin = ks_text_line_begin(f, off);
    return ks_arena_strndup(arena, f->source + begin, blank_prefix(f->source + begin, f->source_len - begin));
}

/* The indentation of the first statement of the first function that has one on a line of its own. */
const char *ks_text_indent_unit(const struct ks_facts *f, struct ks_arena *arena)
{
    for (size_t i = 0; i < f->n_functions; i++) {
        const struct ks_node *fn = f->functions[i];
        const struct ks_node *body = fn->n_children > 0 ? fn->children[fn->n_children - 1] : NULL;
        if (!body || body->kind != KS_NODE_COMPOUND || body->n_children == 0 || !body->children[0])
            continue;
        const char *outer = ks_text_indent(f, fn->span.begin, arena);
        const char *inner = ks_text_indent(f, body->children[0]->span.begin, arena);
        if (strlen(inner) > strlen(outer) && ks_str_starts(inner, outer))
            return inner + strlen(outer);
    }
    return "    ";
}

const char *ks_text_layout(const struct ks_facts *f, const char *text, const char *indent, struct ks_arena *arena)
{
    const char *unit = ks_text_indent_unit(f, arena);
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_str_add(&out, "");
    while (*text) {
        size_t len = strcspn(text, "\n");
        size_t blanks = 0;
        while (blanks < len && text[blanks] == ' ')
            blanks++;
        if (text[0] == '#') {
            ks_str_addn(&out, text, len);
        } else if (len > 0) {
            ks_str_add(&out, indent);
            for (size_t i = 0; i < blanks / 4; i++)
                ks_str_add(&out, unit);
            for (size_t i = 0; i < blanks % 4; i++)
                ks_str_addc(&out, ' ');
            ks_str_addn(&out, text + blanks, len - blanks);
        }
        text += len;
        if (*text == '\n') {
            ks_str_addc(&out, '\n');
            text++;
        }
    }
    return ks_arena_strdup(arena, ks_str_cstr(&out));
}

const char *ks_text_reindent(const struct ks_facts *f, struct ks_span span, const char *copy, const char *indent,
                             struct ks_arena *arena)
{
    const char *old = ks_text_indent(f, span.begin, arena);
    size_t old_len = strlen(old);
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_str_add(&out, "");
    bool first = true;
    while (*copy) {
        size_t len = strcspn(copy, "\n");
        size_t skip = 0;
        if (!first) {
            while (skip < old_len && skip < len && copy[skip] == old[skip])
                skip++;
            if (skip < len)
                ks_str_add(&out, indent);
        }
        ks_str_addn(&out, copy + skip, len - skip);
        copy += len;
        if (*copy == '\n') {
            ks_str_addc(&out, '\n');
            copy++;
        }
        first = false;
    }
    return ks_arena_strdup(arena, ks_str_cstr(&out));
}

struct ks_span ks_text_stmt_span(const struct ks_facts *f, const struct ks_node *stmt)
{
    struct ks_span span = stmt->span;
    if (span.end > span.begin && (f->source[span.end - 1] == ';' || f->source[span.end - 1] == '}'))
        return span;
    uint32_t end = span.end;
    while (end < f->source_len && isspace((unsigned char)f->source[end]))
        end++;
    if (end < f->source_len && f->source[end] == ';')
        span.end = end + 1;
    return span;
}

/* ---- names and places ------------------------------------------------------------------------------------------------ */

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static const char *find_word(const char *begin, const char *end, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = begin; p + len <= end; p++)
        if (memcmp(p, word, len) == 0 && (p == begin || !is_word(p[-1])) && (p + len == end || !is_word(p[len])))
            return p;
    return NULL;
}

bool ks_text_has_identifier(const struct ks_facts *f, const char *name)
{
    return find_word(f->source, f->source + f->source_len, name) != NULL;
}

const char *ks_text_fresh(const struct ks_facts *f, const char *base, struct ks_arena *arena)
{
    const char *name = ks_arena_strdup(arena, base);
    for (int i = 2; ks_text_has_identifier(f, name); i++)
        name = ks_arena_printf(arena, "%s_%d", base, i);
    return name;
}

static bool is_defined_macro(const struct ks_facts *f, const char *name)
{
    const char *p = f->source, *end = f->source + f->source_len;
    while ((p = find_word(p, end, name))) {
        const char *q = p;
        while (q > f->source && is_blank(q[-1]))
            q--;
        if (q - f->source >= 6 && memcmp(q - 6, "define", 6) == 0)
            return true;
        p++;
    }
    return false;
}

const char *ks_text_fresh_in(const struct ks_facts *f, struct ks_span span, const char *base, struct ks_arena *arena)
{
    const char *name = ks_arena_strdup(arena, base);
    for (int i = 2; find_word(f->source + span.begin, f->source + span.end, name) || is_defined_macro(f, name); i++)
        name = ks_arena_printf(arena, "%s_%d", base, i);
    return name;
}

uint32_t ks_text_after_function(const struct ks_facts *f, const struct ks_node *function)
{
    return ks_text_line_end(f, function->span.end);
}

/* A line that belongs to the function below it: part of its head or of the comment above. */
static bool line_belongs(const char *line, size_t len)
{
    while (len > 0 && isspace((unsigned char)line[len - 1]))
        len--;
    size_t skip = blank_prefix(line, len);
    line += skip;
    len -= skip;
    if (len == 0)
        return false;
    if (len >= 2 && (memcmp(line, "//", 2) == 0 || memcmp(line, "/*", 2) == 0))
        return true;
    if (line[0] == '*' || (len >= 2 && memcmp(line + len - 2, "*/", 2) == 0))
        return true;
    return line[0] != '#' && line[len - 1] != ';' && line[len - 1] != '}' && line[len - 1] != '{';
}

uint32_t ks_text_before_function(const struct ks_facts *f, const struct ks_node *function)
{
    uint32_t at = ks_text_line_begin(f, function->span.begin);
    while (at > 0) {
        uint32_t above = ks_text_line_begin(f, at - 1);
        if (!line_belongs(f->source + above, at - above))
            break;
        at = above;
    }
    return at;
}

struct ks_span ks_text_name_span(const struct ks_facts *f, const struct ks_node *function)
{
    struct ks_span none = {0, 0};
    const struct ks_node *body = function->n_children > 0 ? function->children[function->n_children - 1] : NULL;
    uint32_t limit = body && body->kind == KS_NODE_COMPOUND ? body->span.begin : function->span.end;
    const char *p = find_word(f->source + function->span.begin, f->source + limit, function->name);
    if (!p)
        return none;
    uint32_t begin = (uint32_t)(p - f->source);
    return (struct ks_span){begin, begin + (uint32_t)strlen(function->name)};
}

bool ks_text_has_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = text; p && (p = strstr(p, word)); p++)
        if ((p == text || (!isalnum((unsigned char)p[-1]) && p[-1] != '_')) && !isalnum((unsigned char)p[len]) && p[len] != '_')
            return true;
    return false;
}

const char *ks_text_mutable_type(const struct ks_symbol *s)
{
    const char *type = s->type && s->type->spelling ? s->type->spelling : "int";
    return ks_str_starts(type, "const ") && !ks_str_ends(type, "*") ? type + 6 : type;
}

void ks_text_require_include(const struct ks_facts *f, const char *header, struct ks_edits *edits)
{
    uint32_t at = 0;
    const size_t len = strlen(header);
    for (uint32_t line = 0; line < f->source_len; line = ks_text_line_end(f, line)) {
        const char *p = f->source + line, *end = f->source + ks_text_line_end(f, line);
        while (p < end && is_blank(*p))
            p++;
        if (end - p < 8 || memcmp(p, "#include", 8) != 0)
            continue;
        if (memmem(p, (size_t)(end - p), header, len))
            return;
        at = (uint32_t)(end - f->source);
    }
    ks_edits_insertf(edits, at, "#include <%s>\n", header);
}

/* ---- launches -------------------------------------------------------------------------------------------------------- */

size_t ks_text_launches_of(const struct ks_facts *f, const struct ks_kernel *k, const struct ks_launch **out, size_t cap)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_launches; i++) {
        if (f->launches[i].kernel != k)
            continue;
        if (n < cap)
            out[n] = &f->launches[i];
        n++;
    }
    return n;
}

/* Occurrences of a word in the text, comments aside (a comment that names the kernel is no use of it). */
static size_t count_word(const struct ks_facts *f, const char *word)
{
    size_t n = 0;
    const char *p = f->source, *end = f->source + f->source_len;
    const size_t len = strlen(word);
    while (p < end) {
        if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
            while (p < end && *p != '\n')
                p++;
        } else if (end - p >= 2 && p[0] == '/' && p[1] == '*') {
            const char *close = memmem(p + 2, (size_t)(end - p - 2), "*/", 2);
            p = close ? close + 2 : end;
        } else if ((size_t)(end - p) >= len && memcmp(p, word, len) == 0 && (p == f->source || !is_word(p[-1])) &&
                   (p + len == end || !is_word(p[len]))) {
            n++;
            p += len;
        } else {
            p++;
        }
    }
    return n;
}

bool ks_text_only_launched_by(const struct ks_facts *f, const struct ks_kernel *k, const struct ks_entry *e)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n_launches; i++) {
        if (f->launches[i].kernel != k)
            continue;
        if (f->launches[i].entry != e)
            return false;
        n++;
    }
    /* One use is the definition itself; more means a forward declaration, a function pointer or an attribute call. */
    return n > 0 && count_word(f, k->name) == n + 1;
}

bool ks_kernel_is_static(const struct ks_facts *f, const struct ks_kernel *k)
{
    struct ks_span name = ks_text_name_span(f, k->node);
    return name.begin != name.end && find_word(f->source + k->node->span.begin, f->source + name.begin, "static") != NULL;
}

bool ks_kernel_editable(const struct ks_kernel *k)
{
    return k->body && !k->is_template && !k->has_error && !k->node->in_macro && ks_node_editable(k->body);
}

int64_t ks_launch_block_dim(const struct ks_launch *l, int axis)
{
    const struct ks_poly *p = &l->block_dims[axis];
    if (!p->known || p->n_terms > 1)
        return -1;
    if (p->n_terms == 0)
        return 0;
    return p->terms[0].n_factors == 0 ? p->terms[0].coef : -1;
}

/* ---- copies with substitution ---------------------------------------------------------------------------------------- */

struct subst_walk {
    const struct ks_facts *facts;
    struct ks_span span;
    const struct ks_subst *subst;
    size_t n_subst;
    struct ks_edits edits;
};

static bool is_identifier(const char *text)
{
    if (!isalpha((unsigned char)*text) && *text != '_')
        return false;
    for (; *text; text++)
        if (!is_word(*text))
            return false;
    return true;
}

static void subst_declaration(struct subst_walk *w, const struct ks_node *n, const char *text)
{
    const char *begin = w->facts->source + n->span.begin, *end = w->facts->source + n->span.end;
    const char *p = is_identifier(text) ? find_word(begin, end, n->symbol->name) : NULL;
    if (!p)
        return;
    uint32_t at = (uint32_t)(p - w->facts->source);
    ks_edits_replace(&w->edits, (struct ks_span){at, at + (uint32_t)strlen(n->symbol->name)}, text);
}

static bool subst_visit(const struct ks_node *n, void *ctx)
{
    struct subst_walk *w = ctx;
    if (n->symbol && n->span.begin >= w->span.begin && n->span.end <= w->span.end && !n->in_macro) {
        for (size_t i = 0; i < w->n_subst; i++) {
            if (w->subst[i].symbol != n->symbol)
                continue;
            if (n->kind == KS_NODE_DECL_REF)
                ks_edits_replace(&w->edits, n->span, w->subst[i].text);
            else if (n->kind == KS_NODE_VAR || n->kind == KS_NODE_PARAM)
                subst_declaration(w, n, w->subst[i].text);
            break;
        }
    }
    return true;
}

const char *ks_text_subst_span(const struct ks_facts *f, const struct ks_node *root, struct ks_span span,
                               const struct ks_subst *subst, size_t n_subst, struct ks_arena *arena)
{
    struct subst_walk w = {.facts = f, .span = span, .subst = subst, .n_subst = n_subst};
    ks_edits_init(&w.edits);
    ks_node_walk(root, subst_visit, &w);
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    struct ks_err err;
    enum ks_code code = ks_edits_apply_range(&w.edits, f->source, f->source_len, span, &out, &err);
    ks_edits_release(&w.edits);
    /* References never overlap: each is one identifier of the user's text. */
    KS_BUG(code != KS_OK);
    return ks_arena_strdup(arena, ks_str_cstr(&out));
}

const char *ks_text_subst(const struct ks_facts *f, const struct ks_node *n, const struct ks_subst *subst, size_t n_subst,
                          struct ks_arena *arena)
{
    return ks_text_subst_span(f, n, n->span, subst, n_subst, arena);
}
