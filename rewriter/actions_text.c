#include "rewriter/actions_desk.h"

#include "base/file.h"
#include "base/limits.h"
#include "base/regex.h"

#include <string.h>
#include <sys/stat.h>

#define MAX_MATCHES     200
#define MAX_MATCH_BYTES 300       /* shown of one line */
#define SEARCH_WORK     500000000 /* bytes looked at by one search: about a second */

/* ---- files ---------------------------------------------------------------------------------------------------------- */

static bool is_below(const char *path, const char *root)
{
    size_t n = strlen(root);
    return strncmp(path, root, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

static bool is_readable(const struct ks_actions *a, const char *path)
{
    for (size_t i = 0; i < a->readable.n; i++)
        if (is_below(path, a->readable.v[i]))
            return true;
    return false;
}

/* The one readable file that ends in "/name", as an #include spells it. */
static const char *by_tail(const struct ks_actions *a, const char *name)
{
    KS_AUTO_STR struct ks_str tail = KS_STR_INIT;
    ks_str_addf(&tail, "/%s", name);
    for (size_t i = 0; i < a->readable.n; i++)
        if (ks_str_ends(a->readable.v[i], ks_str_cstr(&tail)))
            return a->readable.v[i];
    return NULL;
}

/* Resolved path of a file that may be read; NULL: it may not, or is not there (the agent is not told which).  Caller frees. */
static char *resolve(const struct ks_actions *a, const char *name)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    if (*name == '/')
        ks_str_add(&path, name);
    else
        ks_path_join(&path, a->unit_dir, name);
    char *real = realpath(ks_str_cstr(&path), NULL);
    if (real && is_readable(a, real))
        return real;
    free(real);
    const char *tail = by_tail(a, name);
    return tail ? realpath(tail, NULL) : NULL;
}

static bool is_unit(const struct ks_actions *a, const char *name)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_path_join(&path, a->unit_dir, ks_path_base(a->unit_path));
    return ks_streq(name, a->unit_path) || ks_streq(name, ks_path_base(a->unit_path)) || ks_streq(name, ks_str_cstr(&path));
}

/* ---- read ----------------------------------------------------------------------------------------------------------- */

/* Lines first..last with their numbers; *ret_next: the line to go on with, 0: that was all. */
static void number_lines(const char *text, size_t len, int64_t first, int64_t last, struct ks_str *out, int64_t *ret_next)
{
    int64_t line = 1;
    *ret_next = 0;
    for (const char *p = text, *end = text + len; p < end; line++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t n = newline ? (size_t)(newline - p) : (size_t)(end - p);
        if (line > last)
            return;
        if (line >= first && out->len + n > KS_MAX_ANSWER_BYTES && out->len) {
            *ret_next = line;
            return;
        }
        if (line >= first) {
            ks_str_addf(out, "%lld\t", (long long)line);
            ks_str_addn(out, p, n < KS_MAX_ANSWER_BYTES ? n : KS_MAX_ANSWER_BYTES);
            ks_str_addc(out, '\n');
        }
        p = newline ? newline + 1 : end;
    }
}

static void answer_lines(const char *what, const char *text, size_t len, const struct ks_json *arguments,
                         struct ks_action_result *ret)
{
    KS_AUTO_STR struct ks_str lines = KS_STR_INIT;
    int64_t next, first = ks_json_get_i64(arguments, "first_line", 1), last = ks_json_get_i64(arguments, "last_line", INT64_MAX);
    number_lines(text, len, first, last, &lines, &next);
    ks_json_set_str(ret->content, "of", what);
    ks_json_set_str(ret->content, "text", ks_str_cstr(&lines));
    if (next)
        ks_json_set_i64(ret->content, "continues_at_line", next);
}

void ks_action_read(struct ks_actions *a, const struct ks_json *arguments, struct ks_action_result *ret)
{
    const char *name = ks_json_get_str(arguments, "path", NULL);
    int64_t number = ks_json_get_i64(arguments, "candidate", -1);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err err;
    size_t len = a->text_len;
    if (name && !*name) /* some models send an empty string for what they leave out */
        name = NULL;
    if (name && !is_unit(a, name)) {
        KS_AUTO_FREE char *path = resolve(a, name);
        if (!path || ks_file_read(path, KS_MAX_SOURCE_BYTES, &text, &err) != KS_OK)
            ks_action_refuse(ret, "'%.200s' is not in the include tree of the unit", name);
        else
            answer_lines(name, ks_str_cstr(&text), text.len, arguments, ret);
        return;
    }
    bool given = ks_json_is_number(ks_json_get(arguments, "candidate"));
    const char *source = given ? ks_action_candidate(a, number, &len) : a->text;
    if (!source)
        ks_action_refuse(ret, "there is no candidate %lld: trials so far: %zu", (long long)number, a->view->n_attempts);
    else
        answer_lines(given ? "candidate" : "working text", source, len, arguments, ret);
}

/* ---- search --------------------------------------------------------------------------------------------------------- */

struct finder {
    struct ks_regex *re;
    struct ks_json *matches;
    bool limit; /* the pattern needed too long */
};

static void find_in(struct finder *f, const char *name, const char *text, size_t len)
{
    int64_t line = 1;
    struct ks_match m;
    struct ks_err err;
    for (const char *p = text, *end = text + len; p < end && ks_json_len(f->matches) < MAX_MATCHES && !f->limit; line++) {
        const char *newline = memchr(p, '\n', (size_t)(end - p));
        size_t n = newline ? (size_t)(newline - p) : (size_t)(end - p);
        bool found = false;
        f->limit = ks_regex_match(f->re, p, n, 0, &m, &found, &err) != KS_OK;
        if (found) {
            KS_AUTO_STR struct ks_str shown = KS_STR_INIT;
            ks_str_addf(&shown, "%s:%lld: %.*s", name, (long long)line, (int)(n < MAX_MATCH_BYTES ? n : MAX_MATCH_BYTES), p);
            ks_json_push(f->matches, ks_json_string(ks_str_cstr(&shown)));
        }
        p = newline ? newline + 1 : end;
    }
}

static void find_in_file(struct finder *f, const char *path)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err err;
    if (ks_file_read(path, KS_MAX_SOURCE_BYTES, &text, &err) == KS_OK)
        find_in(f, path, ks_str_cstr(&text), text.len);
}

static void find_everywhere(struct finder *f, const struct ks_actions *a)
{
    struct stat st;
    find_in(f, ks_path_base(a->unit_path), a->text, a->text_len);
    for (size_t i = 0; i < a->readable.n; i++)
        if (stat(a->readable.v[i], &st) == 0 && S_ISREG(st.st_mode))
            find_in_file(f, a->readable.v[i]);
}

void ks_action_search(struct ks_actions *a, const struct ks_json *arguments, struct ks_action_result *ret)
{
    struct finder f = {.matches = ks_json_array()};
    struct ks_err err;
    const char *name = ks_json_get_str(arguments, "path", NULL);
    KS_AUTO_FREE char *path = NULL;
    ks_json_set(ret->content, "matches", f.matches);
    if (name && *name && !is_unit(a, name) && !(path = resolve(a, name))) {
        ks_action_refuse(ret, "'%.200s' is not in the include tree of the unit", name);
        return;
    }
    if (ks_regex_new_bounded(ks_json_get_str(arguments, "pattern", ""), SEARCH_WORK, &f.re, &err) != KS_OK) {
        ks_action_refuse(ret, "%s", err.message);
        return;
    }
    if (path)
        find_in_file(&f, path);
    else if (name && *name)
        find_in(&f, ks_path_base(a->unit_path), a->text, a->text_len);
    else
        find_everywhere(&f, a);
    ks_regex_free(f.re);
    if (f.limit)
        ks_json_set_str(ret->content, "note", "the pattern needs too many steps: make it simpler");
    else if (ks_json_len(f.matches) == MAX_MATCHES)
        ks_json_set_str(ret->content, "note", "only the first matches are shown");
}

/* ---- edit ----------------------------------------------------------------------------------------------------------- */

enum ks_code ks_actions_replace(const char *source, size_t len, const char *old, const char *new_text, bool all,
                                struct ks_str *out, struct ks_err *err)
{
    size_t old_len = strlen(old), new_len = strlen(new_text), n = 0;
    const char *end = source + len;
    if (old_len == 0)
        return ks_fail(err, KS_ERR_USAGE, "`old` is empty");
    for (const char *p = source; (p = memmem(p, (size_t)(end - p), old, old_len)); p += old_len)
        n++;
    if (n == 0)
        return ks_fail(err, KS_ERR_NOT_FOUND, "`old` does not occur in the working text");
    if (n > 1 && !all)
        return ks_fail(err, KS_ERR_OVERLAP, "`old` occurs %zu times: make it longer, so that it occurs once", n);
    if (new_len > KS_MAX_SOURCE_BYTES || n > KS_MAX_SOURCE_BYTES / (new_len + 1) ||
        len - n * old_len + n * new_len > KS_MAX_SOURCE_BYTES)
        return ks_fail(err, KS_ERR_LIMIT, "the text would be larger than %u bytes", KS_MAX_SOURCE_BYTES);
    const char *from = source;
    for (const char *p = source; (p = memmem(p, (size_t)(end - p), old, old_len)); from = p += old_len) {
        ks_str_addn(out, from, (size_t)(p - from));
        ks_str_addn(out, new_text, new_len);
    }
    ks_str_addn(out, from, (size_t)(end - from));
    return KS_OK;
}

void ks_action_edit(struct ks_actions *a, const struct ks_json *arguments, struct ks_action_result *ret)
{
    const char *old = ks_json_get_str(arguments, "old", NULL), *new_text = ks_json_get_str(arguments, "new", NULL),
               *whole = ks_json_get_str(arguments, "text", NULL);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err err;
    if (whole && !*whole && old) /* some models send an empty string for what they leave out */
        whole = NULL;
    if (whole ? (old && *old) || (new_text && *new_text) : !old || !new_text) {
        ks_action_refuse(ret, "give `old` and `new`, or `text` alone");
        return;
    }
    if (whole && strlen(whole) > KS_MAX_SOURCE_BYTES) {
        ks_action_refuse(ret, "the text is larger than %u bytes", KS_MAX_SOURCE_BYTES);
        return;
    }
    if (whole)
        ks_str_add(&text, whole);
    else if (ks_actions_replace(a->text, a->text_len, old, new_text, ks_json_get_bool(arguments, "all", false), &text, &err) !=
             KS_OK) {
        ks_action_refuse(ret, "%s", err.message);
        return;
    }
    bool same = text.len == a->text_len && memcmp(ks_str_cstr(&text), a->text, text.len) == 0;
    ks_action_set_text(a, ks_str_cstr(&text), text.len);
    ks_json_set_bool(ret->content, "changed", !same);
    ks_json_set_i64(ret->content, "bytes", (int64_t)a->text_len);
}
