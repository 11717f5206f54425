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

static void push(struct ks_words *out, struct ks_arena *arena, const char *text, size_t len, struct ks_word w)
{
    w.text = ks_arena_strndup(arena, text, len);
    ks_vec_push(out, w);
}

/* One word from text[i] on; returns where it ends.  Escaped blanks count inside a word only. */
static size_t read_file_word(const char *text, size_t len, size_t i, struct ks_str *word)
{
    bool quoted = false;
    size_t escaped_blanks = 0; /* at the end of the word so far */
    for (; i < len && (quoted || !separates_in_file(text[i])); i++) {
        bool escaped = text[i] == '\\' && i + 1 < len;
        char c = escaped ? text[++i] : text[i];
        if (c == '"') {
            quoted = escaped ? quoted : !quoted;
            continue;
        }
        bool edge = escaped && !quoted && is_blank(c);
        if (edge && !word->len)
            continue;
        escaped_blanks = edge ? escaped_blanks + 1 : 0;
        ks_str_addc(word, c);
    }
    word->len -= escaped_blanks;
    return i;
}

void ks_words_split_file(const char *text, size_t len, enum ks_word_source source, size_t file_option, struct ks_arena *arena,
                         struct ks_words *out)
{
    KS_AUTO_STR struct ks_str word = KS_STR_INIT;
    for (size_t i = 0; i < len;) {
        if (separates_in_file(text[i])) {
            i++;
            continue;
        }
        ks_str_clear(&word);
        i = read_file_word(text, len, i, &word);
        push(out, arena, ks_str_cstr(&word), word.len, (struct ks_word){.source = source, .file_option = file_option});
    }
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
        push(out, arena, text + begin, i - begin,
             (struct ks_word){.source = source, .begin = begin, .end = i, .file_option = KS_NO_WORD});
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
