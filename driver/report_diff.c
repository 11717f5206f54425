#include "driver/report_html.h"

#include <ctype.h>
#include <string.h>

static const char *const keywords[] = {"__constant__", "__device__", "__forceinline__",
                                       "__global__",   "__host__",   "__launch_bounds__",
                                       "__restrict__", "__shared__", "auto",
                                       "bool",         "break",      "case",
                                       "char",         "class",      "const",
                                       "constexpr",    "continue",   "default",
                                       "do",           "double",     "else",
                                       "enum",         "extern",     "false",
                                       "float",        "float2",     "float4",
                                       "for",          "goto",       "half",
                                       "if",           "inline",     "int",
                                       "int2",         "int4",       "long",
                                       "namespace",    "operator",   "private",
                                       "public",       "return",     "short",
                                       "signed",       "size_t",     "sizeof",
                                       "static",       "struct",     "switch",
                                       "template",     "true",       "typedef",
                                       "typename",     "uint32_t",   "uint64_t",
                                       "union",        "unsigned",   "using",
                                       "void",         "volatile",   "while"};

static bool is_keyword(const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
        if (strlen(keywords[i]) == len && memcmp(keywords[i], word, len) == 0)
            return true;
    return false;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Length and class of the token at p; class NULL: plain text. */
static size_t token(const char *p, const char *end, const char **ret_class)
{
    const char *q = p + 1;
    *ret_class = NULL;
    if (*p == '/' && q < end && *q == '/') {
        *ret_class = "comment";
        return (size_t)(end - p);
    }
    if (*p == '"') {
        while (q < end && *q != '"')
            q += *q == '\\' && q + 1 < end ? 2 : 1;
        *ret_class = "string";
        return (size_t)(q < end ? q + 1 - p : end - p);
    }
    if (in_word(*p)) {
        while (q < end && (in_word(*q) || (isdigit((unsigned char)*p) && *q == '.')))
            q++;
        *ret_class = isdigit((unsigned char)*p) ? "number" : is_keyword(p, (size_t)(q - p)) ? "keyword" : NULL;
        return (size_t)(q - p);
    }
    while (q < end && !in_word(*q) && *q != '"' && *q != '/')
        q++;
    return (size_t)(q - p);
}

static void code(struct ks_html *h, const char *p, const char *end)
{
    while (p < end) {
        const char *class;
        size_t len = token(p, end, &class);
        if (class)
            ks_html_begin(h, "span", class);
        ks_html_textn(h, p, len);
        if (class)
            ks_html_close(h);
        p += len;
    }
}

void ks_report_diff(struct ks_html *h, const char *diff)
{
    ks_html_begin(h, "pre", "diff");
    for (const char *p = diff; *p;) {
        const char *end = p + strcspn(p, "\n");
        bool head = strncmp(p, "---", 3) == 0 || strncmp(p, "+++", 3) == 0 || strncmp(p, "@@", 2) == 0;
        ks_html_begin(h, "span", head ? "line hunk" : *p == '+' ? "line added" : *p == '-' ? "line removed" : "line");
        if (head)
            ks_html_textn(h, p, (size_t)(end - p));
        else
            code(h, p, end);
        ks_html_text(h, "\n");
        ks_html_close(h);
        p = *end ? end + 1 : end;
    }
    ks_html_close(h);
}
