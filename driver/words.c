#include "driver/words.h"

#include <string.h>

static bool separates_in_file(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* What stays of a word once its escapes are gone: blanks at its edges go, and every quote without a backslash before it.  NULL:
 * there was nothing but blanks, which is no word. */
static const char *unquote(const struct ks_str *word, struct ks_arena *arena)
{
    size_t begin = 0, end = word->len, n = 0;
    while (begin < end && is_blank(word->data[begin]))
        begin++;
    while (end > begin && is_blank(word->data[end - 1]))
        end--;
    char *text = KS_ARENA_ARRAY(arena, char, end - begin + 1);
    for (size_t i = begin; i < end; i++)
        if (word->data[i] != '"' || (i > begin && word->data[i - 1] == '\\'))
            text[n++] = word->data[i];
    text[n] = '\0';
    return begin < end ? text : NULL;
}

bool ks_words_split_file(const char *text, size_t len, enum ks_word_source source, size_t file_option, struct ks_arena *arena,
                         struct ks_words *out)
{
    KS_AUTO_STR struct ks_str word = KS_STR_INIT;
    for (size_t i = 0; i < len;) {
        if (separates_in_file(text[i])) {
            i++;
            continue;
        }
        bool quoted = false, escaped = false;
        ks_str_clear(&word);
        for (; i < len && (quoted || escaped || !separates_in_file(text[i])); i++) {
            if (!escaped && text[i] == '"')
                quoted = !quoted;
            escaped = !escaped && text[i] == '\\';
            if (!escaped)
                ks_str_addc(&word, text[i]);
        }
        if (quoted || escaped)
            return false;
        const struct ks_word w = {.text = unquote(&word, arena), .source = source, .file_option = file_option};
        if (w.text)
            ks_vec_push(out, w);
    }
    return true;
}

void ks_words_split_env(const char *text, enum ks_word_source source, struct ks_arena *arena, struct ks_words *out)
{
    for (size_t i = 0; text[i];) {
        if (is_blank(text[i])) {
            i++;
            continue;
        }
        size_t begin = i;
        for (bool quoted = false; text[i] && (quoted || !is_blank(text[i])); i++) {
            if (text[i] == '"')
                quoted = !quoted;
            else if (quoted && text[i] == '\\' && text[i + 1])
                i++;
        }
        const struct ks_word w = {.text = ks_arena_strndup(arena, text + begin, i - begin),
                                  .source = source,
                                  .begin = begin,
                                  .end = i,
                                  .file_option = KS_NO_WORD};
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
