#include "driver/cxx_scan.h"

#include <ctype.h>
#include <string.h>

static bool starts_name(char c)
{
    return isalpha((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool continues_name(char c)
{
    return starts_name(c) || isdigit((unsigned char)c);
}

static size_t skip_line(const char *text, size_t len, size_t p)
{
    while (p < len && text[p] != '\n')
        p += text[p] == '\\' && p + 1 < len ? 2 : 1;
    return p < len ? p : len;
}

static size_t skip_block(const char *text, size_t len, size_t p)
{
    const char *end = memmem(text + p, len - p, "*/", 2);
    return end ? (size_t)(end - text) + 2 : len;
}

/* Blanks, comments, and lines of the preprocessor. */
static size_t skip_blank(const char *text, size_t len, size_t p)
{
    bool at_line_start = p == 0;
    for (size_t k = p; k > 0 && !at_line_start && (text[k - 1] == ' ' || text[k - 1] == '\t' || text[k - 1] == '\n'); k--)
        at_line_start = text[k - 1] == '\n';
    while (p < len) {
        if (text[p] == '/' && p + 1 < len && text[p + 1] == '/')
            p = skip_line(text, len, p);
        else if (text[p] == '/' && p + 1 < len && text[p + 1] == '*')
            p = skip_block(text, len, p + 2);
        else if (text[p] == '#' && at_line_start)
            p = skip_line(text, len, p);
        else if (isspace((unsigned char)text[p]))
            at_line_start |= text[p++] == '\n';
        else
            break;
    }
    return p;
}

static size_t skip_quoted(const char *text, size_t len, size_t p)
{
    char quote = text[p++];
    while (p < len && text[p] != quote && text[p] != '\n')
        p += text[p] == '\\' && p + 1 < len ? 2 : 1;
    return p < len ? p + 1 : len;
}

/* R"x(...)x" from its quote. */
static size_t skip_raw(const char *text, size_t len, size_t p)
{
    size_t from = p + 1, to = from;
    KS_AUTO_STR struct ks_str end = KS_STR_INIT;
    while (to < len && text[to] != '(')
        to++;
    ks_str_addf(&end, ")%.*s\"", (int)(to - from), text + from);
    const char *found = to < len ? memmem(text + to, len - to, ks_str_cstr(&end), end.len) : NULL;
    return found ? (size_t)(found - text) + end.len : len;
}

bool ks_cxx_next(const char *text, size_t len, size_t *pos, struct ks_token *ret)
{
    size_t p = skip_blank(text, len, *pos), from = p;
    if (p >= len) {
        *pos = len;
        return false;
    }
    *ret = (struct ks_token){.begin = from, .is_name = starts_name(text[p])};
    if (ret->is_name) {
        while (p < len && continues_name(text[p]))
            p++;
        if (p < len && text[p] == '"' && text[p - 1] == 'R' && p - from <= 3) {
            ret->is_name = false;
            p = skip_raw(text, len, p);
        }
    } else if (isdigit((unsigned char)text[p])) { /* 1'000, 1.5e-3f: the sign of an exponent may be a token of its own */
        while (p < len && (continues_name(text[p]) || text[p] == '.' ||
                           (text[p] == '\'' && p + 1 < len && isalnum((unsigned char)text[p + 1]))))
            p++;
    } else if (text[p] == '"' || text[p] == '\'') {
        p = skip_quoted(text, len, p);
    } else {
        p++;
    }
    ret->end = *pos = p;
    return true;
}

bool ks_token_is(const char *text, const struct ks_token *t, const char *word)
{
    return strlen(word) == t->end - t->begin && strncmp(text + t->begin, word, t->end - t->begin) == 0;
}

size_t ks_cxx_count(const char *text, size_t len, const char *name)
{
    struct ks_token t;
    size_t n = 0;
    for (size_t pos = 0; ks_cxx_next(text, len, &pos, &t);)
        n += t.is_name && ks_token_is(text, &t, name);
    return n;
}

/* ---- namespaces ----------------------------------------------------------------------------------------------------- */

/* Behind the word "namespace": its name into *out; false when it opens nothing (an alias, a using). */
static bool read_namespace(const char *text, size_t len, size_t *pos, struct ks_str *out)
{
    struct ks_token t;
    while (ks_cxx_next(text, len, pos, &t)) {
        if (ks_token_is(text, &t, "{"))
            return true;
        if (!t.is_name && !ks_token_is(text, &t, ":"))
            return false;
        if (!ks_token_is(text, &t, "inline"))
            ks_str_addn(out, text + t.begin, t.end - t.begin);
    }
    return false;
}

/* The stack holds, for each open brace, a namespace's name, or one of these. */
#define LINKAGE " linkage"
#define BRACE   " brace"

bool ks_cxx_scope(const char *text, size_t off, struct ks_args *out)
{
    KS_AUTO_ARGS struct ks_args stack;
    struct ks_token t, last = {0}, before = {0};
    bool plain = true;
    ks_args_init(&stack);
    for (size_t pos = 0; ks_cxx_next(text, off, &pos, &t);) {
        KS_AUTO_STR struct ks_str name = KS_STR_INIT;
        if (ks_token_is(text, &t, "namespace") && !ks_token_is(text, &last, "using")) {
            if (read_namespace(text, off, &pos, &name))
                ks_args_add(&stack, ks_str_cstr(&name));
        } else if (ks_token_is(text, &t, "{")) {
            ks_args_add(&stack, text[last.begin] == '"' && ks_token_is(text, &before, "extern") ? LINKAGE : BRACE);
        } else if (ks_token_is(text, &t, "}") && stack.n) {
            free(stack.v[--stack.n]);
            stack.v[stack.n] = NULL;
        }
        before = last;
        last = t;
    }
    for (size_t i = 0; i < stack.n; i++) {
        plain &= strcmp(stack.v[i], BRACE) != 0;
        if (strcmp(stack.v[i], BRACE) != 0 && strcmp(stack.v[i], LINKAGE) != 0)
            ks_args_add(out, stack.v[i]);
    }
    return plain;
}

/* ---- lists ---------------------------------------------------------------------------------------------------------- */

static void add_part(const char *text, size_t from, size_t to, struct ks_args *out)
{
    while (from < to && isspace((unsigned char)text[from]))
        from++;
    while (to > from && isspace((unsigned char)text[to - 1]))
        to--;
    if (to > from)
        ks_args_addf(out, "%.*s", (int)(to - from), text + from);
}

bool ks_cxx_list(const char *text, size_t len, size_t open, struct ks_args *out, size_t *ret_end)
{
    struct ks_token t;
    int depth = 0;
    size_t from = open + 1;
    for (size_t pos = open; ks_cxx_next(text, len, &pos, &t);) {
        if (t.is_name || t.end != t.begin + 1)
            continue;
        char c = text[t.begin];
        if (c == '-' && t.end < len && text[t.end] == '>') { /* an arrow closes nothing */
            pos = t.end + 1;
            continue;
        }
        depth += c == '<' || c == '(' || c == '[' || c == '{';
        depth -= c == '>' || c == ')' || c == ']' || c == '}';
        if ((c == ',' && depth == 1) || depth == 0) {
            add_part(text, from, t.begin, out);
            from = t.end;
        }
        if (depth == 0) {
            *ret_end = t.end;
            return true;
        }
    }
    return false;
}
