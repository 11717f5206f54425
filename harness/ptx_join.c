#include "harness/ptx_join.h"

#include <stdio.h>
#include <string.h>

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

static bool knows(const struct ks_args *a, const char *name, size_t len)
{
    for (size_t i = 0; i < a->n; i++)
        if (strncmp(a->v[i], name, len) == 0 && a->v[i][len] == 0)
            return true;
    return false;
}

/* The name that a line outside of braces defines: the last word before its size, value, parameters or end.  False: none. */
static bool defines(const char *line, size_t len, bool *ret_local, const char **ret_name, size_t *ret_len)
{
    static const char *const kinds[] = {".global ", ".const ", ".shared ", ".func "}, *const linkage[] = {".visible ", ".weak ",
                                                                                                          ".common "};
    size_t at = strspn(line, " \t");
    *ret_local = true;
    for (size_t i = 0; i < sizeof(linkage) / sizeof(*linkage); i++)
        if (strncmp(line + at, linkage[i], strlen(linkage[i])) == 0) {
            *ret_local = false;
            at += strlen(linkage[i]);
        }
    bool is_kind = false, is_func = strncmp(line + at, ".func ", 6) == 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        is_kind |= strncmp(line + at, kinds[i], strlen(kinds[i])) == 0;
    if (!is_kind)
        return false;
    if (is_func) { /* a result may come first */
        const char *end = memchr(line + at, ')', len - at), *open = memchr(line + at, '(', len - at);
        if (open && end && open - (line + at) < 9)
            at = (size_t)(end - line) + 1;
    }
    size_t end = at;
    while (end < len && line[end] != '[' && line[end] != '=' && line[end] != ';' && line[end] != '\n' &&
           !(is_func && line[end] == '('))
        end++;
    while (end > at && !is_name(line[end - 1]))
        end--;
    size_t begin = end;
    while (begin > at && is_name(line[begin - 1]))
        begin--;
    *ret_name = line + begin;
    *ret_len = end - begin;
    return end > begin;
}

static size_t line_length(const char *text)
{
    const char *end = strchr(text, '\n');
    return end ? (size_t)(end - text) + 1 : strlen(text);
}

/* Braces opened less closed; quoted ones do not count. */
static int depth_change(const char *line, size_t len)
{
    int d = 0;
    bool quoted = false;
    for (size_t i = 0; i < len; i++) {
        quoted ^= line[i] == '"';
        d += quoted ? 0 : (line[i] == '{') - (line[i] == '}');
    }
    return d;
}

/* Notes the names that the part defines; those of its own that another part has come to `clashing`, too. */
static void note_names(struct ks_ptx_join *j, const char *part, struct ks_args *clashing)
{
    size_t before = j->names.n;
    int depth = 0;
    struct ks_args fresh = {0};
    for (const char *line = part; *line; line += line_length(line)) {
        size_t len = line_length(line), n;
        const char *name;
        bool local;
        if (depth == 0 && defines(line, len, &local, &name, &n)) {
            if (local && before && knows(&j->names, name, n))
                ks_args_addf(clashing, "%.*s", (int)n, name);
            else if (!knows(&j->names, name, n))
                ks_args_addf(&fresh, "%.*s", (int)n, name);
        }
        depth += depth_change(line, len);
    }
    if (fresh.n)
        ks_args_add_all(&j->names, fresh.v);
    ks_args_release(&fresh);
}

static void add_line(const struct ks_ptx_join *j, const struct ks_args *clashing, const char *line, size_t len,
                     struct ks_str *out)
{
    bool quoted = false;
    for (size_t i = 0; i < len;) {
        size_t n = 1;
        quoted ^= line[i] == '"';
        if (!quoted && is_name(line[i]))
            while (i + n < len && is_name(line[i + n]))
                n++;
        ks_str_addn(out, line + i, n);
        if (!quoted && n && is_name(line[i]) && knows(clashing, line + i, n))
            ks_str_addf(out, "$of$%u", j->n_parts);
        i += n;
    }
}

/* Every number after .file and .loc moves up by those of the parts before. */
static void add_part(struct ks_ptx_join *j, const struct ks_args *clashing, const char *text, struct ks_str *out)
{
    unsigned highest = 0;
    while (*text) {
        size_t n = line_length(text);
        unsigned number = 0;
        int past = 0;
        bool header =
            strncmp(text, ".version", 8) == 0 || strncmp(text, ".target", 7) == 0 || strncmp(text, ".address_size", 13) == 0;
        const char *word = text + strspn(text, " \t");
        bool file = sscanf(word, ".file %u%n", &number, &past) == 1 && past > 0;
        if (!file)
            file = sscanf(word, ".loc %u%n", &number, &past) == 1 && past > 0;
        if (file) {
            highest = number > highest ? number : highest;
            ks_str_addf(out, ".%s %u", word[1] == 'f' ? "file" : "loc", number + j->files);
            ks_str_addn(out, word + past, n - (size_t)(word + past - text));
        } else if (!header || j->n_parts == 0) {
            add_line(j, clashing, text, n, out);
        }
        text += n;
    }
    j->files += highest;
}

void ks_ptx_join(struct ks_ptx_join *j, const char *part, struct ks_str *out)
{
    struct ks_args clashing = {0};
    note_names(j, part, &clashing);
    ks_str_addc(out, '\n');
    add_part(j, &clashing, part, out);
    j->n_parts++;
    ks_args_release(&clashing);
}

void ks_ptx_join_release(struct ks_ptx_join *j)
{
    ks_args_release(&j->names);
}
