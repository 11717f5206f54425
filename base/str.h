#ifndef KS_BASE_STR_H
#define KS_BASE_STR_H

/* A growing byte string, always NUL-terminated, and growing arrays.  The only places where we reallocate. */

#include "base/err.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

struct ks_str {
    char *data; /* never NULL after the first append; use ks_str_cstr() */
    size_t len;
    size_t cap;
};
#define KS_STR_INIT                                                                                                              \
    {                                                                                                                            \
        NULL, 0, 0                                                                                                               \
    }
#define KS_AUTO_STR __attribute__((cleanup(ks_str_release)))

void ks_str_init(struct ks_str *s);
void ks_str_release(struct ks_str *s);
void ks_str_clear(struct ks_str *s);                    /* length 0, memory kept */
char *ks_str_detach(struct ks_str *s, size_t *ret_len); /* caller frees; ret_len may be NULL */
const char *ks_str_cstr(const struct ks_str *s);
void ks_str_add(struct ks_str *s, const char *text);
void ks_str_addn(struct ks_str *s, const void *data, size_t len);
void ks_str_addc(struct ks_str *s, char c);
void ks_str_addf(struct ks_str *s, const char *fmt, ...) KS_PRINTF(2, 3);
void ks_str_vaddf(struct ks_str *s, const char *fmt, va_list ap) KS_PRINTF(2, 0);
void ks_str_add_number(struct ks_str *s, double v); /* the shortest text that reads back as the same number */
void ks_str_reserve(struct ks_str *s, size_t extra_bytes);

bool ks_str_starts(const char *s, const char *prefix);
/* Bytes of the mark of the encoding (U+FEFF) that a text begins with: 3 or 0. */
size_t ks_str_bom(const char *s, size_t len);
bool ks_str_starts_one(const char *s, const char *const *prefixes, size_t n);
bool ks_str_ends(const char *s, const char *suffix);
bool ks_streq(const char *a, const char *b); /* NULL equals NULL only */
/* Every byte that is part of no UTF-8 character becomes '?'. */
void ks_make_utf8(char *text, size_t len);
/* Appends text of anybody's for a person's eyes: what would move the cursor, or turn the order of letters round so that code
 * reads as what it is not, is spelled out ("\x1b", "<U+202E>"); newlines and tabs stay. */
void ks_str_add_visible(struct ks_str *s, const char *text, size_t len);
/* What stands behind a noun after a number: "%zu trial%s". */
const char *ks_plural_s(int64_t n);

/* Growing array: struct { T *data; size_t n, cap; }.  KS_VEC(T) names the type of a member or local. */
#define KS_VEC(T)                                                                                                                \
    struct {                                                                                                                     \
        T *data;                                                                                                                 \
        size_t n;                                                                                                                \
        size_t cap;                                                                                                              \
    }
#define ks_vec_push(v, item)                                                                                                     \
    do {                                                                                                                         \
        if ((v)->n == (v)->cap)                                                                                                  \
            (v)->data = ks_vec_grow_((v)->data, &(v)->cap, sizeof(*(v)->data));                                                  \
        (v)->data[(v)->n++] = (item);                                                                                            \
    } while (0)
#define ks_vec_release(v)                                                                                                        \
    do {                                                                                                                         \
        free((v)->data);                                                                                                         \
        (v)->data = NULL;                                                                                                        \
        (v)->n = (v)->cap = 0;                                                                                                   \
    } while (0)
void *ks_vec_grow_(void *data, size_t *cap, size_t item_bytes);

/* NULL-terminated argument vector that owns its strings. */
struct ks_args {
    char **v; /* v[n] == NULL once anything was added */
    size_t n;
    size_t cap;
};
#define KS_AUTO_ARGS __attribute__((cleanup(ks_args_release)))
void ks_args_init(struct ks_args *a);
void ks_args_release(struct ks_args *a);
void ks_args_add(struct ks_args *a, const char *arg);
void ks_args_addf(struct ks_args *a, const char *fmt, ...) KS_PRINTF(2, 3);
void ks_args_add_all(struct ks_args *a, char *const *argv); /* argv NULL-terminated */
void ks_args_sort(struct ks_args *a, size_t from);          /* by bytes; the words in front of `from` stay */
void ks_args_quote(struct ks_str *out, char *const *argv);  /* POSIX shell quoting */

#endif
