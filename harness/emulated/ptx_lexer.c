#include "harness/emulated/ptx_lexer.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_ident_start(char c)
{
    return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%';
}

static bool is_ident(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static const char *skip_blank(const struct ptx_lexer *lx, const char *p, uint32_t *line)
{
    while (p < lx->end) {
        if (*p == '\n') {
            (*line)++;
            p++;
        } else if (isspace((unsigned char)*p)) {
            p++;
        } else if (*p == '/' && p + 1 < lx->end && p[1] == '/') {
            while (p < lx->end && *p != '\n')
                p++;
        } else if (*p == '/' && p + 1 < lx->end && p[1] == '*') {
            p += 2;
            while (p < lx->end && !(*p == '*' && p + 1 < lx->end && p[1] == '/')) {
                if (*p == '\n')
                    (*line)++;
                p++;
            }
            p = p + 2 <= lx->end ? p + 2 : lx->end;
        } else if (*p == '#') {
            while (p < lx->end && *p != '\n')
                p++;
        } else {
            break;
        }
    }
    return p;
}

static int digit_of(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

static const char *read_digits(const struct ptx_lexer *lx, const char *p, int base, uint64_t *ret_value)
{
    uint64_t v = 0;
    while (p < lx->end && digit_of(*p) < base)
        v = v * (uint64_t)base + (uint64_t)digit_of(*p++);
    *ret_value = v;
    return p;
}

/* A decimal literal with a fraction or an exponent: strtod needs a NUL, so it goes through a small copy. */
static bool read_decimal_float(struct ptx_lexer *lx, const char *start)
{
    char buf[64];
    const char *p = start;
    while (p < lx->end && isdigit((unsigned char)*p))
        p++;
    bool is_float = p < lx->end && *p == '.' && p + 1 < lx->end && isdigit((unsigned char)p[1]);
    if (!is_float && !(p < lx->end && (*p == 'e' || *p == 'E')))
        return false;
    while (p < lx->end &&
           (isalnum((unsigned char)*p) || *p == '.' || ((*p == '-' || *p == '+') && (p[-1] == 'e' || p[-1] == 'E'))))
        p++;
    size_t n = (size_t)(p - start);
    if (n >= sizeof(buf))
        return false;
    memcpy(buf, start, n);
    buf[n] = 0;
    char *end;
    double v = strtod(buf, &end);
    if (*end != 0)
        return false;
    lx->tok.kind = PTX_TOK_F64;
    memcpy(&lx->tok.bits, &v, 8);
    lx->p = p;
    return true;
}

static void lex_number(struct ptx_lexer *lx)
{
    const char *p = lx->p;
    struct ptx_token *t = &lx->tok;
    t->kind = PTX_TOK_INT;
    if (*p == '0' && p + 1 < lx->end) {
        char c = p[1];
        if (c == 'f' || c == 'F' || c == 'd' || c == 'D') {
            bool single = c == 'f' || c == 'F';
            const char *q = read_digits(lx, p + 2, 16, &t->bits);
            if (q - p != (single ? 10 : 18))
                t->kind = PTX_TOK_BAD;
            else
                t->kind = single ? PTX_TOK_F32 : PTX_TOK_F64;
            lx->p = q;
            return;
        }
        if (c == 'x' || c == 'X' || c == 'b' || c == 'B') {
            const char *q = read_digits(lx, p + 2, c == 'x' || c == 'X' ? 16 : 2, &t->bits);
            if (q == p + 2)
                t->kind = PTX_TOK_BAD;
            lx->p = q < lx->end && *q == 'U' ? q + 1 : q;
            return;
        }
    }
    if (read_decimal_float(lx, p))
        return;
    bool octal = *p == '0' && p + 1 < lx->end && isdigit((unsigned char)p[1]);
    p = read_digits(lx, p, octal ? 8 : 10, &t->bits);
    if (p < lx->end && *p == 'U')
        p++;
    lx->p = p;
}

void ks_ptx_lex(struct ptx_lexer *lx)
{
    lx->p = skip_blank(lx, lx->p, &lx->line);
    struct ptx_token *t = &lx->tok;
    *t = (struct ptx_token){.kind = PTX_TOK_END, .text = lx->p, .line = lx->line};
    if (lx->p >= lx->end)
        return;
    char c = *lx->p;
    if (is_ident_start(c)) {
        lx->p++;
        while (lx->p < lx->end && is_ident(*lx->p))
            lx->p++;
        t->kind = PTX_TOK_IDENT;
    } else if (isdigit((unsigned char)c)) {
        lex_number(lx);
    } else if (c == '.' && lx->p + 1 < lx->end && (isalpha((unsigned char)lx->p[1]) || lx->p[1] == '_')) {
        const char *s = ++lx->p;
        while (lx->p < lx->end && (is_ident(*lx->p) || (*lx->p == ':' && lx->p + 2 < lx->end && lx->p[1] == ':')))
            lx->p += *lx->p == ':' ? 2 : 1;
        t->kind = PTX_TOK_DIRECTIVE;
        t->text = s;
    } else if (c == '"') {
        const char *s = ++lx->p;
        while (lx->p < lx->end && *lx->p != '"' && *lx->p != '\n')
            lx->p += *lx->p == '\\' && lx->p + 1 < lx->end ? 2 : 1;
        if (lx->p > lx->end)
            lx->p = lx->end;
        t->kind = lx->p < lx->end && *lx->p == '"' ? PTX_TOK_STRING : PTX_TOK_BAD;
        t->text = s;
        t->len = (size_t)(lx->p - s);
        if (lx->p < lx->end)
            lx->p++;
        return;
    } else {
        t->kind = strchr("{}[]()<>,;:=+-*!@|&?/~^", c) && c ? PTX_TOK_PUNCT : PTX_TOK_BAD;
        t->punct = c;
        lx->p++;
    }
    t->len = (size_t)(lx->p - t->text);
}

void ks_ptx_lex_opcode(struct ptx_lexer *lx)
{
    while (lx->p < lx->end) {
        if (*lx->p == '.' && lx->p + 1 < lx->end && is_ident(lx->p[1]))
            lx->p++;
        else if (*lx->p == ':' && lx->p + 2 < lx->end && lx->p[1] == ':' && is_ident(lx->p[2]))
            lx->p += 2;
        else if (is_ident(*lx->p))
            lx->p++;
        else
            break;
    }
    lx->tok.len = (size_t)(lx->p - lx->tok.text);
}

bool ks_ptx_peek_is(const struct ptx_lexer *lx, char c)
{
    uint32_t line = 0;
    const char *p = skip_blank(lx, lx->p, &line);
    return p < lx->end && *p == c;
}

void ks_ptx_lexer_init(struct ptx_lexer *lx, const char *text, size_t len)
{
    *lx = (struct ptx_lexer){.text = text, .end = text + len, .p = text, .line = 1};
    ks_ptx_lex(lx);
}
