#include "rewriter/words.h"

#include "rewriter/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- words of the text ----------------------------------------------------------------------------------------------- */

static uint32_t skip_literal(const char *s, uint32_t at, uint32_t end)
{
    char quote = s[at++];
    while (at < end && s[at] != quote && s[at] != '\n')
        at += s[at] == '\\' && at + 1 < end ? 2 : 1;
    return at < end ? at + 1 : end;
}

/* Past blanks, comments and literals in quotes. */
static uint32_t skip_idle(const char *s, uint32_t at, uint32_t end)
{
    while (at < end) {
        if (isspace((unsigned char)s[at]) || s[at] == '\\') {
            at++;
        } else if (s[at] == '/' && at + 1 < end && s[at + 1] == '/') {
            while (at < end && s[at] != '\n')
                at++;
        } else if (s[at] == '/' && at + 1 < end && s[at + 1] == '*') {
            const char *close = memmem(s + at + 2, end - at - 2, "*/", 2);
            at = close ? (uint32_t)(close - s) + 2 : end;
        } else if (s[at] == '"' || s[at] == '\'') {
            at = skip_literal(s, at, end);
        } else {
            break;
        }
    }
    return at;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool ks_word_next(const struct ks_facts *f, uint32_t *at, uint32_t end, struct ks_word *ret)
{
    const char *s = f->source;
    uint32_t i = skip_idle(s, *at, end), begin = i;
    if (i >= end)
        return false;
    bool number = isdigit((unsigned char)s[i]);
    do
        i++;
    while (i < end && is_word_char(s[begin]) && (is_word_char(s[i]) || (number && s[i] == '.')));
    size_t len = i - begin < KS_MAX_WORD - 1 ? i - begin : KS_MAX_WORD - 1;
    memcpy(ret->text, s + begin, len);
    ret->text[len] = '\0';
    ret->span = (struct ks_span){begin, i};
    *at = i;
    return true;
}

size_t ks_word_count(const struct ks_facts *f, struct ks_span span, const char *name)
{
    struct ks_word w;
    size_t n = 0;
    for (uint32_t at = span.begin; ks_word_next(f, &at, span.end, &w);)
        n += strcmp(w.text, name) == 0;
    return n;
}

bool ks_word_number(const char *text, int64_t *ret)
{
    char *end;
    if (!isdigit((unsigned char)*text) || (text[0] == '0' && text[1] != '\0'))
        return false;
    *ret = strtoll(text, &end, 10);
    return end[strspn(end, "uUlL")] == '\0';
}

/* ---- definitions ----------------------------------------------------------------------------------------------------- */

bool ks_define_find(const struct ks_facts *f, const char *name, struct ks_constant *ret)
{
    bool found = false;
    for (uint32_t line = 0; line < f->source_len; line = ks_text_line_end(f, line)) {
        uint32_t end = ks_text_line_end(f, line), at = line;
        struct ks_word w;
        if (!ks_word_next(f, &at, end, &w) || strcmp(w.text, "#") != 0 ||
            ks_word_count(f, (struct ks_span){line, end}, name) == 0)
            continue;
        struct ks_word directive, subject, value, rest;
        if (found || !ks_word_next(f, &at, end, &directive) || strcmp(directive.text, "define") != 0 ||
            !ks_word_next(f, &at, end, &subject) || strcmp(subject.text, name) != 0 || !ks_word_next(f, &at, end, &value) ||
            !ks_word_number(value.text, &ret->value) || ks_word_next(f, &at, end, &rest) ||
            memchr(f->source + line, '\\', end - line))
            return false;
        ret->literal = value.span;
        found = true;
    }
    ret->name = name;
    return found;
}

bool ks_define_exists(const struct ks_facts *f, const char *name)
{
    for (uint32_t line = 0; line < f->source_len; line = ks_text_line_end(f, line)) {
        uint32_t end = ks_text_line_end(f, line), at = line;
        struct ks_word w;
        if (ks_word_next(f, &at, end, &w) && strcmp(w.text, "#") == 0 && ks_word_next(f, &at, end, &w) &&
            strcmp(w.text, "define") == 0 && ks_word_next(f, &at, end, &w) && strcmp(w.text, name) == 0)
            return true;
    }
    return false;
}

/* ---- values ---------------------------------------------------------------------------------------------------------- */

/* + - * / over numbers, the constant and other constants of the unit. */
struct calculation {
    const struct ks_facts *f;
    const struct ks_constant *constant;
    int64_t value; /* what the constant is taken to be */
    uint32_t at, end;
    bool failed;
};

static int64_t sum_of(struct calculation *c);

static bool accept(struct calculation *c, char op)
{
    struct ks_word w;
    uint32_t at = c->at;
    if (!ks_word_next(c->f, &at, c->end, &w) || w.text[0] != op)
        return false;
    c->at = at;
    return true;
}

static int64_t operand_of(struct calculation *c)
{
    struct ks_word w;
    struct ks_constant other;
    int64_t value = 0;
    if (accept(c, '(')) {
        value = sum_of(c);
        c->failed |= !accept(c, ')');
        return value;
    }
    if (!ks_word_next(c->f, &c->at, c->end, &w))
        c->failed = true;
    else if (strcmp(w.text, c->constant->name) == 0)
        value = c->value;
    else if (ks_define_find(c->f, w.text, &other))
        value = other.value;
    else if (!ks_word_number(w.text, &value))
        c->failed = true;
    return value;
}

static int64_t product_of(struct calculation *c)
{
    int64_t value = operand_of(c);
    while (!c->failed) {
        if (accept(c, '*')) {
            value *= operand_of(c);
        } else if (accept(c, '/')) {
            int64_t by = operand_of(c);
            c->failed |= by == 0;
            value = by ? value / by : 0;
        } else {
            break;
        }
    }
    return value;
}

static int64_t sum_of(struct calculation *c)
{
    int64_t value = product_of(c);
    while (!c->failed) {
        if (accept(c, '+'))
            value += product_of(c);
        else if (accept(c, '-'))
            value -= product_of(c);
        else
            break;
    }
    return value;
}

bool ks_words_value(const struct ks_facts *f, const struct ks_constant *constant, int64_t value, struct ks_span span,
                    int64_t *ret)
{
    struct calculation c = {.f = f, .constant = constant, .value = value, .at = span.begin, .end = span.end};
    *ret = sum_of(&c);
    return !c.failed && skip_idle(f->source, c.at, c.end) >= c.end && *ret > 0 && *ret < 1 << 20;
}
