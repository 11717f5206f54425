#include "driver/trace_read.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/process.h"
#include "driver/certificate.h"

#include <string.h>
#include <sys/stat.h>

#define MAX_CHAIN 4096 /* candidates made from candidates */

enum ks_code ks_trace_read(const char *path, struct ks_trace_file *ret, struct ks_err *err)
{
    KS_VEC(struct ks_json *) events = {0};
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_TRY(ks_file_read(path, KS_MAX_JSON_BYTES, &text, err));
    uint32_t line = 1;
    enum ks_code code = KS_OK;
    for (const char *p = ks_str_cstr(&text), *end; code == KS_OK && (end = strchr(p, '\n')); p = end + 1, line++) {
        struct ks_json *j = NULL;
        struct ks_err why;
        if (ks_json_parse(p, (size_t)(end - p), path, &j, &why) == KS_OK && ks_json_get_str(j, "ev", NULL)) {
            ks_vec_push(&events, j);
        } else {
            ks_json_free(j);
            code = ks_fail_at(err, KS_ERR_SYNTAX, path, line, 1, "line %u of '%s' is no event of a trace", line, path);
        }
    }
    if (code == KS_OK && events.n == 0)
        code = ks_fail(err, KS_ERR_SYNTAX, "'%s' holds no event of a trace", path);
    *ret = (struct ks_trace_file){ks_xstrdup(path), events.data, events.n};
    if (code != KS_OK)
        ks_trace_file_release(ret);
    return code;
}

void ks_trace_file_release(struct ks_trace_file *t)
{
    for (size_t i = 0; i < t->n; i++)
        ks_json_free(t->events[i]);
    free(t->events);
    free(t->path);
    *t = (struct ks_trace_file){0};
}

static bool is_folder(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The trace of a folder: the whole one, else that of a search that is still going on. */
static void trace_of_folder(const char *dir, struct ks_str *out)
{
    ks_path_join(out, dir, KS_TRACE_FILE);
    if (!ks_file_exists(ks_str_cstr(out)))
        ks_str_add(out, ".part");
}

static bool same_text(const struct ks_json *a, const struct ks_json *b, const char *name)
{
    const char *x = ks_json_get_str(a, name, NULL), *y = ks_json_get_str(b, name, NULL);
    return x && y ? strcmp(x, y) == 0 : x == y;
}

/* The folder of a sitting that has come to its certificate has no end: confirmation and end are in the finding's trace, which is the
 * sitting's and goes on.  They are added; not when the sitting went on too. */
static void add_end_of_sitting(const char *dir, struct ks_trace_file *t)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    const struct ks_json *last = t->events[t->n - 1];
    const char *key = ks_json_get_str(ks_trace_first(t, "start"), "key", "");
    struct ks_trace_file found;
    struct ks_err none;
    if (ks_trace_first(t, "end") || strlen(key) != 64 || strspn(key, "0123456789abcdef") != strlen(key))
        return;
    ks_str_addf(&path, "%s/../../objects/%s/" KS_TRACE_FILE, dir, key);
    if (ks_trace_read(ks_str_cstr(&path), &found, &none) != KS_OK)
        return;
    const struct ks_json *there = found.n > t->n ? found.events[t->n - 1] : NULL;
    if (there && same_text(there, last, "ev") && same_text(there, last, "candidate") && same_text(there, last, "tool") &&
        same_text(found.events[0], t->events[0], "source") && ks_trace_first(&found, "end")) {
        t->events = ks_xrealloc_array(t->events, found.n, sizeof(*t->events));
        while (t->n < found.n) {
            t->events[t->n] = ks_steal(found.events[t->n]);
            t->n++;
        }
    }
    ks_trace_file_release(&found);
}

enum ks_code ks_trace_find(const char *word, const char *store_dir, struct ks_trace_file *ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, dir = KS_STR_INIT;
    KS_AUTO_FREE char *key = NULL;
    struct ks_store store = {.scratch_fd = -1};
    if (is_folder(word)) {
        trace_of_folder(word, &path);
        if (!ks_file_exists(ks_str_cstr(&path)))
            return ks_fail(err, KS_ERR_NOT_FOUND, "found no trace ('" KS_TRACE_FILE "') in the folder '%s'", word);
        KS_TRY(ks_trace_read(ks_str_cstr(&path), ret, err));
        add_end_of_sitting(word, ret);
        return KS_OK;
    }
    bool key_like = *word && strlen(word) <= 64 && strspn(word, "0123456789abcdef") == strlen(word);
    if (ks_file_exists(word) || !key_like)
        return ks_trace_read(word, ret, err);
    KS_TRY(ks_store_open_existing(store_dir, &store, err));
    enum ks_code code = ks_store_resolve(&store, word, &key, err);
    if (code == KS_OK) {
        ks_store_path(&store, key, NULL, &dir);
        trace_of_folder(ks_str_cstr(&dir), &path);
        code = ks_trace_read(ks_str_cstr(&path), ret, err);
    }
    ks_store_close(&store);
    return code;
}

bool ks_trace_event_is(const struct ks_json *event, const char *ev)
{
    return ks_streq(ks_json_get_str(event, "ev", NULL), ev);
}

const struct ks_json *ks_trace_first(const struct ks_trace_file *t, const char *ev)
{
    for (size_t i = 0; i < t->n; i++)
        if (ks_trace_event_is(t->events[i], ev))
            return t->events[i];
    return NULL;
}

const struct ks_json *ks_trace_proposal(const struct ks_trace_file *t, const char *candidate)
{
    for (size_t i = 0; i < t->n; i++)
        if (ks_trace_event_is(t->events[i], "proposal") && ks_streq(ks_json_get_str(t->events[i], "candidate", NULL), candidate))
            return t->events[i];
    return NULL;
}

const char *ks_trace_failed_gate(const struct ks_json *verdict, const char **ret_reason)
{
    const struct ks_json *gates = ks_json_get(verdict, "gates");
    for (size_t i = 0; i < ks_json_len(gates); i++) {
        const struct ks_json *g = ks_json_at(gates, i);
        if (!ks_streq(ks_json_get_str(g, "state", ""), "fail"))
            continue;
        if (ret_reason)
            *ret_reason = ks_json_get_str(g, "reason", "");
        return ks_json_key(g) ? ks_json_key(g) : ks_json_get_str(g, "gate", "?");
    }
    return NULL;
}

/* ---- texts ---------------------------------------------------------------------------------------------------------- */

/* `text` becomes what patch(1) makes of it with `diff`. */
static enum ks_code apply(struct ks_str *text, const char *diff, struct ks_err *err)
{
    KS_AUTO_FREE char *dir = NULL;
    KS_AUTO_STR struct ks_str before = KS_STR_INIT, edit = KS_STR_INIT, after = KS_STR_INIT, said = KS_STR_INIT;
    struct ks_spawn s;
    struct ks_exit e = {0};
    KS_TRY(ks_dir_make_temp("kscc-patch", &dir, err));
    ks_path_join(&before, dir, "before");
    ks_path_join(&edit, dir, "edit");
    ks_path_join(&after, dir, "after");
    char *const argv[] = {"patch",
                          "--binary",
                          "--silent",
                          "--force",
                          "--fuzz=0",
                          "--unified",
                          "-o",
                          (char *)ks_str_cstr(&after),
                          (char *)ks_str_cstr(&before),
                          (char *)ks_str_cstr(&edit),
                          NULL};
    ks_spawn_init(&s);
    s.argv = argv;
    s.cwd = dir;
    s.timeout_ms = 30000;
    enum ks_code code = ks_file_write_atomic(ks_str_cstr(&before), ks_str_cstr(text), text->len, 0600, err);
    if (code == KS_OK)
        code = ks_file_write_atomic(ks_str_cstr(&edit), diff, strlen(diff), 0600, err);
    if (code == KS_OK)
        code = ks_process_run(&s, &said, &said, &e, err);
    if (code == KS_OK && !ks_exit_ok(&e))
        code = ks_fail(err, KS_ERR_MISMATCH, "cannot apply the edit: %.*s", (int)strcspn(ks_str_cstr(&said), "\n"),
                       ks_str_cstr(&said));
    if (code == KS_OK) {
        ks_str_clear(text);
        code = ks_file_read(ks_str_cstr(&after), KS_MAX_SOURCE_BYTES, text, err);
    }
    struct ks_err none;
    enum ks_code removed = ks_dir_remove(dir, &none);
    (void)removed; /* a leftover in the folder for temporary files hurts nobody */
    return code;
}

static enum ks_code text_of(const struct ks_trace_file *t, const char *candidate, const char *original_hash, const char *original,
                            size_t len, int depth, struct ks_str *out, struct ks_err *err)
{
    char hash[65];
    if (strcmp(candidate, original_hash) == 0) {
        ks_str_addn(out, original, len);
        return KS_OK;
    }
    const struct ks_json *p = ks_trace_proposal(t, candidate);
    const char *base = ks_json_get_str(p, "base", NULL), *diff = ks_json_get_str(p, "diff", NULL);
    if (!p || !base || !diff || depth > MAX_CHAIN)
        return ks_fail(err, KS_ERR_NOT_FOUND, "'%s' does not say how the text %.12s was made", t->path, candidate);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_TRY(text_of(t, base, original_hash, original, len, depth + 1, &text, err));
    if (*diff && apply(&text, diff, err) != KS_OK)
        return ks_wrap(err, "candidate %.12s", candidate);
    ks_hash_hex(ks_str_cstr(&text), text.len, hash);
    if (strcmp(hash, candidate) != 0)
        return ks_fail(err, KS_ERR_MISMATCH, "the edit of candidate %.12s makes another text, %.12s", candidate, hash);
    ks_str_addn(out, ks_str_cstr(&text), text.len);
    return KS_OK;
}

enum ks_code ks_trace_text(const struct ks_trace_file *t, const char *candidate, const char *original, size_t len,
                           struct ks_str *out, struct ks_err *err)
{
    char hash[65];
    ks_hash_hex(original, len, hash);
    return text_of(t, candidate, hash, original, len, 0, out, err);
}
