#include "harness/host_text.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/mem.h"

#include <ctype.h>
#include <string.h>

#define MAX_PREPROCESSED ((size_t)256 << 20)
#define MAX_CONSTRUCT    4096 /* bytes kept of one construct */

enum kind { KIND_END, KIND_WORD, KIND_NUMBER, KIND_STRING, KIND_CHAR, KIND_MARK };

/* One token: a piece of the text. */
struct token {
    enum kind kind;
    const char *p;
    size_t len;
    bool own; /* on a line of the unit itself */
};

struct tokens {
    KS_VEC(struct token) all;
};

/* ---- tokens of preprocessed C++ -------------------------------------------------------------------------------------------- */

static bool word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static const char *quoted_end(const char *p, const char *end)
{
    char quote = *p++;
    while (p < end && *p != quote && *p != '\n')
        p += *p == '\\' && p + 1 < end ? 2 : 1;
    return p < end ? p + 1 : end;
}

/* p at R's quote: R"delimiter( ... )delimiter" */
static const char *raw_end(const char *p, const char *end)
{
    const char *open = memchr(p, '(', (size_t)(end - p));
    size_t n = open ? (size_t)(open - p - 1) : 0;
    if (!open || n > 16)
        return end;
    for (const char *q = open; (q = memchr(q, ')', (size_t)(end - q))) != NULL; q++)
        if ((size_t)(end - q) > n + 1 && memcmp(q + 1, p + 1, n) == 0 && q[1 + n] == '"')
            return q + n + 2;
    return end;
}

static bool is_string_prefix(const char *p, size_t n, bool *ret_raw)
{
    *ret_raw = n > 0 && p[n - 1] == 'R';
    n -= *ret_raw;
    return n == 0 || (n == 1 && strchr("uUL", *p)) || (n == 2 && memcmp(p, "u8", 2) == 0);
}

/* "# 12 "file" 3": where a line comes from, for messages. */
static bool is_line_marker(const char *p, const char *end)
{
    return end - p > 2 && p[0] == '#' && p[1] == ' ' && isdigit((unsigned char)p[2]);
}

/* # 12 "file" 3 */
static bool marks_own(const char *p, const char *end, const char *own)
{
    const char *quote = memchr(p, '"', (size_t)(end - p));
    size_t n = strlen(own);
    return quote && (size_t)(end - quote) > n + 1 && memcmp(quote + 1, own, n) == 0 && quote[1 + n] == '"';
}

static struct token token_next(const char **at, const char *end, const char *begin, const char *own, bool *in_own)
{
    const char *p = *at;
    for (;;) {
        while (p < end && isspace((unsigned char)*p))
            p++;
        if (p == end || !((p == begin || p[-1] == '\n') && is_line_marker(p, end)))
            break;
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        *in_own = marks_own(p, newline ? newline : end, own);
        p = newline ? newline : end;
    }
    struct token t = {KIND_END, p, 0, *in_own};
    const char *q = p;
    bool raw = false;
    if (p == end) {
        *at = end;
        return t;
    }
    while (q < end && word_char(*q))
        q++;
    if (isdigit((unsigned char)*p) || (*p == '.' && p + 1 < end && isdigit((unsigned char)p[1]))) {
        for (q = p + 1; q < end && (word_char(*q) || *q == '.' || *q == '\'' || (strchr("+-", *q) && strchr("eEpP", q[-1]))); q++)
            continue;
        t.kind = KIND_NUMBER;
    } else if (q < end && (*q == '"' || *q == '\'') && is_string_prefix(p, (size_t)(q - p), &raw)) {
        t.kind = *q == '"' ? KIND_STRING : KIND_CHAR;
        q = raw && *q == '"' ? raw_end(q, end) : quoted_end(q, end);
    } else if (q > p) {
        t.kind = KIND_WORD;
    } else {
        t.kind = KIND_MARK;
        q = p + 1;
    }
    t.len = (size_t)(q - p);
    *at = q;
    return t;
}

static bool is(const struct token *t, const char *text)
{
    return t->kind != KIND_END && t->len == strlen(text) && memcmp(t->p, text, t->len) == 0;
}

static bool is_any(const struct token *t, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is(t, names[i]))
            return true;
    return false;
}
#define IS_ANY(t, ...) is_any(t, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static bool is_asm(const struct token *t)
{
    return t->kind == KIND_WORD && IS_ANY(t, "asm", "__asm__", "__asm");
}

/* Index behind the parenthesis that closes the one at `i`; n: there is none. */
static size_t behind_parenthesis(const struct token *t, size_t i, size_t n)
{
    int depth = 0;
    for (; i < n; i++) {
        depth += is(&t[i], "(") - is(&t[i], ")");
        if (depth == 0)
            return i + 1;
    }
    return n;
}

/* The text of adjacent literals from *i on, escapes resolved as far as they occur here; *i: behind them. */
static void literals_text(const struct token *t, size_t *i, size_t n, struct ks_str *out)
{
    ks_str_add(out, "");
    for (; *i < n && t[*i].kind == KIND_STRING; ++*i) {
        if (t[*i].p[0] != '"') { /* of another kind: as it stands, which is no form that we know */
            ks_str_addn(out, t[*i].p, t[*i].len);
            continue;
        }
        for (size_t k = 1; k + 1 < t[*i].len; k++) {
            char c = t[*i].p[k];
            if (c == '\\' && k + 2 < t[*i].len) {
                c = t[*i].p[++k];
                c = (char)(c == 'n' ? '\n' : c == 't' ? '\t' : c);
            }
            ks_str_addc(out, c);
        }
    }
}

/* ---- assembly ----------------------------------------------------------------------------------------------------------------
 */

/* nvcc's own: the device code, as numbers in a section of its own. */
static bool is_device_code(const char *text)
{
    static const char *const lines[] = {".section .nv_fatbin, \"a\"", ".align 8", "fatbinData:", ".text", ""};
    if (!ks_str_starts(text, lines[0]))
        return false;
    for (const char *p = text; *p; p += strcspn(p, "\n") + (p[strcspn(p, "\n")] == '\n')) {
        size_t len = strcspn(p, "\n");
        bool known = len > 6 && memcmp(p, ".quad ", 6) == 0 && strspn(p + 6, "0123456789abcdefx, ") == len - 6;
        for (size_t i = 0; i < sizeof lines / sizeof *lines && !known; i++)
            known = strlen(lines[i]) == len && memcmp(p, lines[i], len) == 0;
        if (!known)
            return false;
    }
    return true;
}

static bool is_refused_word(const char *p, size_t len);

/* `register T name asm("rbx")`: not a name, a register. */
static bool in_register(const struct token *t, size_t at)
{
    for (size_t i = at; i-- > 0 && !is(&t[i], ";") && !is(&t[i], "{") && !is(&t[i], "}");)
        if (is(&t[i], "register"))
            return true;
    return false;
}

/* A declaration's other name: `f(...) noexcept(true) __asm__("f_np")`, or `__gthrw_f __asm__("f")`.  Which function that is, the
 * object's undefined symbols tell; here it must be a declaration (an instruction stands behind no function's parameters) and not
 * the way to the driver, nor on the unit's own lines a name that is refused there. */
static bool is_label(const struct token *t, size_t at, const char *text)
{
    static const char *const no_function[] = {
        "if",       "for",      "while",    "switch",     "catch",   "constexpr",     "__attribute__",  "__attribute",
        "alignas",  "_Alignas", "decltype", "__decltype", "typeof",  "__typeof__",    "__typeof",       "sizeof",
        "requires", "asm",      "__asm__",  "__asm",      "defined", "static_assert", "_Static_assert", "__extension__",
        "return",   "else",     "do"};
    size_t len = strlen(text), i = at - 1;
    if (at == 0 || len < 3 || text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] ||
        strstr(text, "DriverEntryPoint") || in_register(t, at) || (t[at].own && is_refused_word(text, len)))
        return false;
    if (t[i].kind == KIND_WORD)
        return t[i].len >= len && memcmp(t[i].p + t[i].len - len, text, len) == 0;
    for (;;) { /* back over noexcept(...) to the parameters */
        int depth = 0;
        if (!is(&t[i], ")"))
            return false;
        for (; i > 0; i--) {
            depth += is(&t[i], ")") - is(&t[i], "(");
            if (depth == 0)
                break;
        }
        if (i < 2)
            return false;
        if (!IS_ANY(&t[i - 1], "noexcept", "throw"))
            return t[i - 1].kind == KIND_WORD && !is_any(&t[i - 1], no_function, sizeof no_function / sizeof *no_function);
        i -= 2;
    }
}

static bool is_known_asm(const char *text)
{
    static const char *const known[] = {
#define X(text) text,
#include "harness/allow_asm.def"
#undef X
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (ks_streq(text, known[i]))
            return true;
    return false;
}

static bool is_harmless_asm(const struct token *t, size_t at, size_t open, size_t n)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    size_t i = open + 1;
    if (open >= n || !is(&t[open], "(") || i >= n || t[i].kind != KIND_STRING)
        return false;
    literals_text(t, &i, n, &text);
    bool ends = i < n && is(&t[i], ")");
    if (text.len == 0 || is_known_asm(text.data)) /* an empty template: nothing is assembled */
        return ends || (i < n && is(&t[i], ":"));
    return ends && (is_device_code(text.data) || is_label(t, at, text.data));
}

/* The function in whose body t[at] stands, by the token of its name; n: none is made out. */
static size_t function_around(const struct token *t, size_t at, size_t n)
{
    static const char *const statements[] = {"if", "for", "while", "switch", "catch", "constexpr"};
    size_t i = at;
    for (int depth = 0; i-- > 0;) {
        depth += is(&t[i], "}") - is(&t[i], "{");
        if (depth >= 0 || i == 0)
            continue;
        depth = 0;
        if (!is(&t[i - 1], ")")) /* of a block, or of else and do: further out */
            continue;
        size_t k = i - 1;
        for (int open = 0; k > 0; k--) {
            open += is(&t[k], ")") - is(&t[k], "(");
            if (open == 0)
                break;
        }
        if (k > 0 && t[k - 1].kind == KIND_WORD && !is_any(&t[k - 1], statements, sizeof statements / sizeof *statements))
            return k - 1;
    }
    return n;
}

/* In an inline function of a header that nothing else names, so that nobody calls it and no code is made of it: the headers for
 * the processor's instructions have some. */
static bool is_never_called(const struct token *t, size_t at, size_t n)
{
    size_t f = function_around(t, at, n), i = f;
    bool only_inline = false, external = false;
    if (f == n || t[at].own)
        return false;
    for (; i-- > 0 && !is(&t[i], ";") && !is(&t[i], "}") && !is(&t[i], "\n");) {
        only_inline |= IS_ANY(&t[i], "__gnu_inline__", "gnu_inline");
        external |= is(&t[i], "extern");
        if (t[i].own)
            return false;
    }
    if (!only_inline || !external)
        return false;
    for (i = 0; i < n; i++)
        if (i != f && t[i].kind == KIND_WORD && t[i].len == t[f].len && memcmp(t[i].p, t[f].p, t[f].len) == 0)
            return false;
    return true;
}

/* ---- functions of the driver -------------------------------------------------------------------------------------------------
 */

static bool is_entry_point(const struct token *t)
{
    return t->kind == KIND_WORD && t->len >= 23 && memcmp(t->p, "cudaGetDriverEntryPoint", 23) == 0;
}

static bool is_known_driver_call(const struct token *t, size_t at, size_t n)
{
    static const char *const allowed[] = {
#define X(name) name,
#include "harness/allow_driver.def"
#undef X
    };
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    size_t i = at + 2;
    if (i >= n || !is(&t[at + 1], "("))
        return false;
    if (is(&t[i], "const") && i + 1 < n && is(&t[i + 1], "char")) /* a declaration */
        return true;
    literals_text(t, &i, n, &text);
    if (i >= n || !is(&t[i], ","))
        return false;
    for (size_t k = 0; k < sizeof allowed / sizeof *allowed; k++)
        if (ks_streq(ks_str_cstr(&text), allowed[k]))
            return true;
    return false;
}

/* cudaDeviceGetAttribute(&value, cudaDevAttrX, device) says how the device works; which of several it is, nobody needs. */
static bool is_known_attribute_call(const struct token *t, size_t at, size_t n)
{
    static const char *const places[] = {"cudaDevAttrPciBusId", "cudaDevAttrPciDeviceId", "cudaDevAttrPciDomainId"};
    size_t i = at + 1;
    int depth = 0;
    for (; i < n && !(depth == 1 && is(&t[i], ",")); i++) {
        depth += is(&t[i], "(") - is(&t[i], ")");
        if (depth < 1)
            return false;
    }
    i += i + 3 < n && is(&t[i + 1], "cudaDeviceAttr") && is(&t[i + 2], ":") && is(&t[i + 3], ":") ? 4 : 1;
    return i + 1 < n && t[i].kind == KIND_WORD && t[i].len > 11 && memcmp(t[i].p, "cudaDevAttr", 11) == 0 && is(&t[i + 1], ",") &&
           !is_any(&t[i], places, sizeof places / sizeof *places);
}

/* `p.name` of a cudaDeviceProp. */
static bool is_device_name(const struct token *t, size_t at)
{
    return at > 1 && is(&t[at], "name") && (is(&t[at - 1], ".") || (is(&t[at - 1], ">") && is(&t[at - 2], "-")));
}

static bool names_entry_point(const struct token *t)
{
    return t->kind == KIND_STRING && memmem(t->p, t->len, "DriverEntryPoint", 16) != NULL;
}

static bool is_refused_word(const char *p, size_t len)
{
    static const struct {
        const char *text;
        bool prefix;
    } words[] = {
#define X(word) {#word, false},
#define P(word) {#word, true},
#include "harness/refuse_words.def"
#undef X
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].text);
        if ((words[i].prefix ? len >= n : len == n) && memcmp(p, words[i].text, n) == 0)
            return true;
    }
    return false;
}

/* nvcc's own call of a stub, the first thing in a block, cannot define one. */
static bool is_stub_name(const struct token *t, size_t at, size_t n)
{
    static const char name[] = "__device_stub_";
    bool call = at > 0 && at + 1 < n && is(&t[at - 1], "{") && is(&t[at + 1], "(");
    return t[at].kind == KIND_WORD && t[at].len >= sizeof name - 1 && memcmp(t[at].p, name, sizeof name - 1) == 0 && !call;
}

#define ASSERTION_WORDS 16 /* an assertion's text is no longer */

static bool looks_around(const struct token *t)
{
    return t->kind == KIND_WORD && is_refused_word(t->p, t->len);
}

/* Past the words at `at`, or 0 when they are others.  "" stands for a string, "0" for a number. */
static size_t words_end(const struct token *t, size_t at, size_t n, const char *const *words, size_t n_words)
{
    for (size_t i = 0; i < n_words; i++, at++)
        if (at >= n || !(words[i][0] == 0     ? t[at].kind == KIND_STRING
                         : words[i][0] == '0' ? t[at].kind == KIND_NUMBER
                                              : is(&t[at], words[i])))
            return 0;
    return at;
}

/* What <cassert> makes of a failing assertion: __assert_fail("text", "file", line, __extension__ __PRETTY_FUNCTION__), or with
 * __builtin_FILE() and __builtin_LINE() for file and line (glibc since 2.38).  The names go to the message, and with it the
 * process to its end.  Past its closing bracket, or 0. */
static size_t assertion_end(const struct token *t, size_t at, size_t n)
{
    static const char *const head[] = {"__assert_fail", "(", "", ","}, *const file[] = {"", ","},
                             *const built_file[] = {"__builtin_FILE", "(", ")", ","}, *const line[] = {"0", ","},
                             *const built_line[] = {"__builtin_LINE", "(", ")", ","},
                             *const tail[] = {"__extension__", "__PRETTY_FUNCTION__", ")"};
    size_t i = words_end(t, at, n, head, 4), next = i ? words_end(t, i, n, file, 2) : 0;
    if (i && !next)
        next = words_end(t, i, n, built_file, 4);
    i = next;
    next = i ? words_end(t, i, n, line, 2) : 0;
    if (i && !next)
        next = words_end(t, i, n, built_line, 4);
    return next ? words_end(t, next, n, tail, 3) : 0;
}

static bool is_assertion(const struct token *t, size_t at, size_t n)
{
    for (size_t back = 1; back <= ASSERTION_WORDS && back <= at; back++)
        if (is(&t[at - back], "__assert_fail"))
            return assertion_end(t, at - back, n) > at;
    return false;
}

bool ks_host_text_renames(const char *source, size_t len)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT; /* lines joined at a backslash, comments gone */
    char inside = 0;                              /* a quote, '*' or '/' of a comment */
    ks_str_add(&text, "\n");
    for (size_t i = 0; i < len; i++) {
        char c = source[i], next = i + 1 < len ? source[i + 1] : 0;
        if (c == '\\' && (next == '\n' || (next == '\r' && i + 2 < len && source[i + 2] == '\n'))) {
            i += next == '\n' ? 1 : 2;
        } else if (inside == '*') {
            inside = c == '*' && next == '/' ? 0 : '*';
            i += inside == 0;
        } else if (inside == '/' && c != '\n') {
            continue;
        } else if (inside == 0 && c == '/' && (next == '*' || next == '/')) {
            inside = next;
            i++;
            ks_str_addc(&text, ' ');
        } else {
            if ((inside == '"' || inside == '\'') && c == '\\' && next) {
                ks_str_addc(&text, c);
                c = source[++i];
            } else if (c == '\n') {
                inside = 0;
            } else if (inside == 0 && (c == '"' || c == '\'')) {
                inside = c;
            } else if (inside == c) {
                inside = 0;
            }
            ks_str_addc(&text, c);
        }
    }
    for (const char *p = text.data; (p = strchr(p, '\n')) != NULL;) {
        p += 1 + strspn(p + 1, " \t\v\f\r");
        const char *hash = p[0] == '#' ? p + 1 : ks_str_starts(p, "%:") ? p + 2 : ks_str_starts(p, "?\?=") ? p + 3 : NULL;
        if (!hash)
            continue;
        hash += strspn(hash, " \t\v\f");
        if (isdigit((unsigned char)*hash) || (ks_str_starts(hash, "line") && !word_char(hash[4])))
            return true;
    }
    return false;
}

/* ---- the whole text ----------------------------------------------------------------------------------------------------------
 */

static void keep(struct ks_host_text *h, const struct token *t, size_t from, size_t to)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    for (size_t i = from; i < to && text.len < MAX_CONSTRUCT; i++) {
        if (text.len)
            ks_str_addc(&text, ' ');
        ks_str_addn(&text, t[i].p, t[i].len);
    }
    for (size_t i = 0; i < h->remarkable.n; i++)
        if (ks_streq(h->remarkable.v[i], text.data))
            return;
    ks_args_add(&h->remarkable, text.data);
}

void ks_host_text_scan(const char *text, size_t len, const char *own, struct ks_host_text *ret)
{
    struct tokens list = {{0}};
    const char *at = text;
    bool directive = false, in_own = false;
    const char *before = text;
    for (struct token t; (t = token_next(&at, text + len, text, own, &in_own)).kind != KIND_END; before = at) {
        bool new_line = memchr(before, '\n', (size_t)(t.p - before)) != NULL || before == text;
        if (directive && new_line) { /* #pragma ...: what follows is no part of it */
            struct token newline = {KIND_MARK, "\n", 1, in_own};
            ks_vec_push(&list.all, newline);
        }
        directive = new_line ? is(&t, "#") : directive;
        ks_vec_push(&list.all, t);
    }
    const struct token *t = list.all.data;
    size_t n = list.all.n;
    bool asks_properties = false;
    for (size_t i = 0; i < n; i++)
        asks_properties |= t[i].own && IS_ANY(&t[i], "cudaDeviceProp", "cudaGetDeviceProperties", "cudaGetDeviceProperties_v2");
    ks_args_init(&ret->remarkable);
    ret->names_stub = false;
    for (size_t i = 0; i < n; i++) {
        if (is_asm(&t[i])) {
            size_t open = i + 1;
            while (open < n &&
                   IS_ANY(&t[open], "volatile", "__volatile__", "__volatile", "inline", "__inline__", "__inline", "goto"))
                open++;
            size_t end = open < n && is(&t[open], "(") ? behind_parenthesis(t, open, n) : open;
            if (!is_harmless_asm(t, i, open, n) && !is_never_called(t, i, n))
                keep(ret, t, i, end);
            i = end > i + 1 ? end - 1 : i;
        } else if ((is_entry_point(&t[i]) && !is_known_driver_call(t, i, n)) || names_entry_point(&t[i])) {
            keep(ret, t, i, i + 4 < n ? i + 4 : n);
        } else if (t[i].own && is_stub_name(t, i, n)) {
            ret->names_stub = true;
            keep(ret, t, i, i + 1);
        } else if (t[i].own && looks_around(&t[i]) && !is_assertion(t, i, n)) {
            keep(ret, t, i, i + 1);
        } else if (t[i].own && is(&t[i], "cudaDeviceGetAttribute") && !is_known_attribute_call(t, i, n)) {
            keep(ret, t, i, i + 1 < n && is(&t[i + 1], "(") ? behind_parenthesis(t, i + 1, n) : i + 1);
        } else if (t[i].own && asks_properties && is_device_name(t, i)) {
            keep(ret, t, i - 1, i + 1);
        }
    }
    ks_vec_release(&list.all);
}

enum ks_code ks_host_text_read(const char *path, const char *own, struct ks_host_text *ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    *ret = (struct ks_host_text){.names_stub = true}; /* until it has been read */
    ks_args_init(&ret->remarkable);
    if (!ks_file_exists(path))
        return ks_fail(err, KS_ERR_NOT_FOUND, "find the host compiler's preprocessed input '%s'", path);
    KS_TRY(ks_file_read(path, MAX_PREPROCESSED, &text, err));
    ks_host_text_scan(ks_str_cstr(&text), text.len, own, ret);
    return KS_OK;
}

void ks_host_text_release(struct ks_host_text *t)
{
    ks_args_release(&t->remarkable);
}

bool ks_host_text_check(const struct ks_host_text *original, const struct ks_host_text *candidate, struct ks_str *reason)
{
    for (size_t i = 0; i < candidate->remarkable.n; i++) {
        const char *text = candidate->remarkable.v[i];
        bool found = false;
        for (size_t k = 0; k < original->remarkable.n && !found; k++)
            found = ks_streq(text, original->remarkable.v[k]);
        if (found)
            continue;
        const char *what = ks_str_starts(text, "asm") || ks_str_starts(text, "__asm") ? "has assembly that the original has not"
                           : ks_str_starts(text, "cudaDeviceGetAttribute") || ks_str_ends(text, " name")
                               ? "asks which device it is, where the original does not (an attribute must be named in the call)"
                           : ks_str_starts(text, "__device_stub_") ? "has what only the compiler may: a name of kernels' stubs"
                           : strstr(text, "DriverEntryPoint")
                               ? "asks the driver for a function by a name that is not on the list (harness/allow_driver.def)"
                               : "looks around in its process, where the original does not (harness/refuse_words.def)";
        ks_str_addf(reason, "host code %s: %.160s%s", what, text, strlen(text) > 160 ? "..." : "");
        return false;
    }
    return true;
}
