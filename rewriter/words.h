#ifndef KS_REWRITER_WORDS_H
#define KS_REWRITER_WORDS_H

/* The user's text word by word, comments, strings and characters left out: for what the facts do not show, that is macro
 * definitions and how the dimensions of an array are spelt.  Nothing is expanded and nothing conditional is decided; a name that
 * the preprocessor does more with than defining it once as a number is not found. */

#include "analyzer/facts.h"

#define KS_MAX_WORD 64

struct ks_word {
    struct ks_span span;    /* of an identifier, a number or one other character */
    char text[KS_MAX_WORD]; /* cut off where longer */
};
/* The next word at or after *at, which moves behind it; false: there is none before `end`. */
bool ks_word_next(const struct ks_facts *f, uint32_t *at, uint32_t end, struct ks_word *ret);
size_t ks_word_count(const struct ks_facts *f, struct ks_span span, const char *name);
/* A decimal number without suffix or with u and l; false: another number or no number at all. */
bool ks_word_number(const char *text, int64_t *ret);

/* A name for a number, and where the number is written. */
struct ks_constant {
    const char *name;
    struct ks_span literal;
    int64_t value;
};
/* `#define NAME literal` on one line; false when that is not all that directives say of the name. */
bool ks_define_find(const struct ks_facts *f, const char *name, struct ks_constant *ret);
bool ks_define_exists(const struct ks_facts *f, const char *name); /* as whatever */

/* The value of a text of + - * / ( ) over numbers and names from #define, with the constant taken to be `value`; false when there
 * is anything else in it, or the result is no size (1 to a million). */
bool ks_words_value(const struct ks_facts *f, const struct ks_constant *constant, int64_t value, struct ks_span span,
                    int64_t *ret);

#endif
