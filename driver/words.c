#include "driver/words.h"

#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

void ks_words_split(const char *text, size_t len, enum ks_word_source source, size_t file_option, struct ks_arena *arena,
                    struct ks_words *out)
{
    KS_AUTO_STR struct ks_str word = KS_STR_INIT;
    size_t i = 0;
    while (i < len) {
        if (is_space(text[i])) {
            i++;
            continue;
        }
        size_t begin = i;
        bool quoted = false;
        ks_str_clear(&word);
        for (; i < len && (quoted || !is_space(text[i])); i++) {
            if (text[i] == '"')
                quoted = !quoted;
            else if (text[i] == '\\' && i + 1 < len)
                ks_str_addc(&word, text[++i]);
            else
                ks_str_addc(&word, text[i]);
        }
        struct ks_word w = {.text = ks_arena_strndup(arena, ks_str_cstr(&word), word.len),
                            .source = source,
                            .begin = begin,
                            .end = i,
                            .file_option = file_option};
        ks_vec_push(out, w);
    }
}

void ks_words_insert(struct ks_words *w, size_t at, const struct ks_words *more)
{
    if (more->n == 0)
        return;
    for (size_t i = 0; i < more->n; i++)
        ks_vec_push(w, more->data[i]);
    size_t tail = w->n - more->n - (at + 1);
    memmove(w->data + at + 1 + more->n, w->data + at + 1, tail * sizeof(*w->data));
    memcpy(w->data + at + 1, more->data, more->n * sizeof(*w->data));
}

void ks_words_release(struct ks_words *w)
{
    ks_vec_release(w);
}

void ks_word_quote(const char *text, struct ks_str *out)
{
    ks_str_addc(out, '"');
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            ks_str_addc(out, '\\');
        ks_str_addc(out, *text);
    }
    ks_str_addc(out, '"');
}

size_t ks_list_split(const char *value, struct ks_arena *arena, const char ***ret_parts)
{
    size_t n = 1;
    for (const char *p = value; *p; p++)
        n += *p == ',';
    const char **parts = KS_ARENA_ARRAY(arena, const char *, n);
    n = 0;
    bool quoted = false;
    int brackets = 0;
    const char *begin = value;
    for (const char *p = value;; p++) {
        if (*p == '\0' || (*p == ',' && !quoted && brackets == 0)) {
            parts[n++] = ks_arena_strndup(arena, begin, (size_t)(p - begin));
            begin = p + 1;
            if (!*p)
                break;
        } else if (*p == '\\' && p[1]) {
            p++;
        } else if (*p == '"') {
            quoted = !quoted;
        } else if (*p == '[') {
            brackets++;
        } else if (*p == ']' && brackets) {
            brackets--;
        }
    }
    *ret_parts = parts;
    return n;
}
