#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void ks_str_init(struct ks_str *s)
{
    *s = (struct ks_str)KS_STR_INIT;
}

void ks_str_release(struct ks_str *s)
{
    free(s->data);
    ks_str_init(s);
}

void ks_str_clear(struct ks_str *s)
{
    s->len = 0;
    if (s->data)
        s->data[0] = '\0';
}

char *ks_str_detach(struct ks_str *s, size_t *ret_len)
{
    ks_str_reserve(s, 0);
    char *data = s->data;
    if (ret_len)
        *ret_len = s->len;
    ks_str_init(s);
    return data;
}

const char *ks_str_cstr(const struct ks_str *s)
{
    return s->data ? s->data : "";
}

/* Room for extra_bytes and the terminator; grows by half so that appending stays linear. */
void ks_str_reserve(struct ks_str *s, size_t extra_bytes)
{
    size_t need;
    KS_BUG(__builtin_add_overflow(s->len, extra_bytes, &need) || need == SIZE_MAX);
    need++;
    if (need <= s->cap)
        return;
    size_t cap = s->cap + s->cap / 2;
    if (cap < need)
        cap = need < 32 ? 32 : need;
    s->data = ks_xrealloc_array(s->data, cap, 1);
    s->cap = cap;
    s->data[s->len] = '\0';
}

void ks_str_addn(struct ks_str *s, const void *data, size_t len)
{
    ks_str_reserve(s, len);
    if (len)
        memcpy(s->data + s->len, data, len);
    s->len += len;
    s->data[s->len] = '\0';
}

void ks_str_add(struct ks_str *s, const char *text)
{
    ks_str_addn(s, text, strlen(text));
}

void ks_str_addc(struct ks_str *s, char c)
{
    ks_str_addn(s, &c, 1);
}

void ks_str_add_number(struct ks_str *s, double v)
{
    char buf[32];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, v);
        if (strtod(buf, NULL) == v)
            break;
    }
    ks_str_add(s, buf);
}

void ks_str_vaddf(struct ks_str *s, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int len = vsnprintf(NULL, 0, fmt, ap);
    KS_BUG(len < 0);
    ks_str_reserve(s, (size_t)len);
    vsnprintf(s->data + s->len, (size_t)len + 1, fmt, again);
    s->len += (size_t)len;
    va_end(again);
}

void ks_str_addf(struct ks_str *s, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    ks_str_vaddf(s, fmt, ap);
    va_end(ap);
}

size_t ks_str_bom(const char *s, size_t len)
{
    return len >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

bool ks_str_starts(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool ks_str_starts_one(const char *s, const char *const *prefixes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ks_str_starts(s, prefixes[i]))
            return true;
    return false;
}

bool ks_str_ends(const char *s, const char *suffix)
{
    size_t n = strlen(s), m = strlen(suffix);
    return n >= m && memcmp(s + n - m, suffix, m) == 0;
}

const char *ks_plural_s(int64_t n)
{
    return n == 1 ? "" : "s";
}

bool ks_streq(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

void *ks_vec_grow_(void *data, size_t *cap, size_t item_bytes)
{
    size_t new_cap = *cap ? *cap * 2 : 8;
    data = ks_xrealloc_array(data, new_cap, item_bytes);
    *cap = new_cap;
    return data;
}

void ks_args_init(struct ks_args *a)
{
    *a = (struct ks_args){0};
}

void ks_args_release(struct ks_args *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->v[i]);
    free(a->v);
    ks_args_init(a);
}

/* Takes over `arg`; keeps v[n] == NULL. */
static void args_push(struct ks_args *a, char *arg)
{
    if (a->n + 1 >= a->cap) {
        a->cap = a->cap ? a->cap * 2 : 16;
        a->v = ks_xrealloc_array(a->v, a->cap, sizeof(*a->v));
    }
    a->v[a->n++] = arg;
    a->v[a->n] = NULL;
}

void ks_args_add(struct ks_args *a, const char *arg)
{
    args_push(a, ks_xstrdup(arg));
}

void ks_args_addf(struct ks_args *a, const char *fmt, ...)
{
    struct ks_str s = KS_STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    ks_str_vaddf(&s, fmt, ap);
    va_end(ap);
    args_push(a, ks_str_detach(&s, NULL));
}

void ks_args_add_all(struct ks_args *a, char *const *argv)
{
    for (; *argv; argv++)
        ks_args_add(a, *argv);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void ks_args_sort(struct ks_args *a, size_t from)
{
    if (a->n > from)
        qsort(a->v + from, a->n - from, sizeof(*a->v), by_bytes);
}

void ks_args_quote(struct ks_str *out, char *const *argv)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
    for (size_t i = 0; argv[i]; i++) {
        const char *arg = argv[i];
        if (i)
            ks_str_addc(out, ' ');
        if (*arg && arg[strspn(arg, plain)] == '\0') {
            ks_str_add(out, arg);
            continue;
        }
        ks_str_addc(out, '\'');
        for (; *arg; arg++) {
            if (*arg == '\'')
                ks_str_add(out, "'\\''");
            else
                ks_str_addc(out, *arg);
        }
        ks_str_addc(out, '\'');
    }
}

/* Length of the UTF-8 character at p, 0: it is none. */
static size_t utf8_length(const unsigned char *p, size_t left)
{
    size_t n = p[0] < 0x80                             ? 1
               : (p[0] & 0xe0) == 0xc0 && p[0] >= 0xc2 ? 2
               : (p[0] & 0xf0) == 0xe0                 ? 3
               : p[0] >= 0xf0 && p[0] <= 0xf4          ? 4
                                                       : 0;
    if (n == 0 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    bool bad = (n == 3 && ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f))) ||
               (n == 4 && ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)));
    return bad ? 0 : n;
}

void ks_make_utf8(char *text, size_t len)
{
    for (size_t i = 0, n; i < len; i += n ? n : 1)
        if ((n = utf8_length((const unsigned char *)text + i, len - i)) == 0)
            text[i] = '?';
}

/* The number of a character of two or three bytes; 0: another. */
static unsigned short_character(const unsigned char *p, size_t n)
{
    return n == 2   ? (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu)
           : n == 3 ? (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu)
                    : 0;
}

void ks_str_add_visible(struct ks_str *s, const char *text, size_t len)
{
    for (size_t i = 0, n; i < len; i += n ? n : 1) {
        const unsigned char *p = (const unsigned char *)text + i;
        n = utf8_length(p, len - i);
        unsigned c = short_character(p, n);
        bool plain = *p == '\n' || *p == '\t' || (*p == '\r' && i + 1 < len && p[1] == '\n');
        bool turns = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0x61c;
        if (n == 0 || (*p < ' ' && !plain) || *p == 0x7f)
            ks_str_addf(s, "\\x%02x", *p);
        else if (turns || (c >= 0x80 && c < 0xa0))
            ks_str_addf(s, "<U+%04X>", c);
        else
            ks_str_addn(s, p, n);
    }
}
