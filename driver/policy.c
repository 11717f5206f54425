#include "driver/policy.h"

#include "base/diag.h"
#include "base/file.h"
#include "base/limits.h"
#include "driver/toml.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What one table of one file says. */
struct ks_policy_rule {
    const char *entry; /* NULL: every entry */
    const char *dir;   /* absolute; every unit below it */
    bool own;          /* the file's own policy, for its folder */
    enum ks_policy policy;
    const char *where;
};

static bool is_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    return strncmp(path, dir, n) == 0 && (path[n] == '/' || path[n] == '\0' || (n && dir[n - 1] == '/'));
}

/* ---- the command line's words --------------------------------------------------------------------------------------- */

static bool folder_holds(const char *folder, size_t len, const char *unit_path)
{
    char dir[PATH_MAX], unit[PATH_MAX];
    KS_AUTO_FREE char *name = ks_xstrndup(folder, len);
    return realpath(name, dir) && realpath(unit_path, unit) && is_below(unit, dir);
}

/* What the words say about an entry: its own before its folder's before all's.  False: nothing. */
static bool words_say(const struct ks_policies *p, const char *entry, enum ks_policy *ret)
{
    const char *text = p->settings->policy_words;
    int best = -1;
    while (text) {
        const char *name;
        size_t name_len;
        enum ks_policy policy;
        size_t len = ks_policy_next_word(text, &name, &name_len, &policy, NULL);
        bool folder = name_len && name[name_len - 1] == '/';
        int rank = name_len == 0 ? 0 : folder ? 1 : strlen(entry) == name_len && strncmp(entry, name, name_len) == 0 ? 2 : -1;
        if (rank == 1 && !folder_holds(name, name_len, p->unit_path))
            rank = -1;
        if (rank >= best && rank >= 0) {
            best = rank;
            *ret = policy;
        }
        text = len && text[len] ? text + len + 1 : NULL;
    }
    return best >= 0;
}

/* ---- the files ------------------------------------------------------------------------------------------------------ */

struct reader {
    struct ks_policies *p;
    struct ks_arena *arena;
    struct ks_diags *diags;
    const char *path, *dir; /* of the file; dir is absolute */
    KS_VEC(struct ks_policy_rule) rules;
    bool root, failed;
};

static void complain(struct reader *r, const struct ks_toml_leaf *l, const char *text)
{
    ks_diags_add(r->diags, KS_SEV_ERROR, r->path, l->line, l->col, 1, "policy", "%s", text);
    r->failed = true;
}

static bool key_is(const struct ks_toml_leaf *l, size_t i, const char *name)
{
    return i < l->n_keys && strcmp(l->keys[i], name) == 0;
}

static void add_rule(struct reader *r, const struct ks_toml_leaf *l)
{
    struct ks_policy_rule rule = {
        .dir = r->dir, .own = l->n_keys == 1, .where = ks_arena_printf(r->arena, "%s:%u", r->path, l->line)};
    if (l->kind != KS_TOML_STRING || !ks_policy_parse(l->text, strlen(l->text), &rule.policy)) {
        complain(r, l, "expected \"explore\", \"approved\" or \"off\"");
        return;
    }
    if (key_is(l, 0, "entry"))
        rule.entry = ks_arena_strdup(r->arena, l->keys[1]);
    else if (key_is(l, 0, "dir"))
        rule.dir = ks_arena_printf(r->arena, "%s/%s", r->dir, l->keys[1]);
    size_t n = strlen(rule.dir);
    while (n > 1 && rule.dir[n - 1] == '/')
        rule.dir = ks_arena_printf(r->arena, "%.*s", (int)--n, rule.dir);
    ks_vec_push(&r->rules, rule);
}

static bool read_leaf(const struct ks_toml_leaf *l, void *ctx)
{
    struct reader *r = ctx;
    if ((l->n_keys == 1 && key_is(l, 0, "policy")) ||
        (l->n_keys == 3 && (key_is(l, 0, "entry") || key_is(l, 0, "dir")) && key_is(l, 2, "policy"))) {
        add_rule(r, l);
    } else if (l->n_keys == 1 && key_is(l, 0, "root")) {
        r->root |= l->truth;
        if (l->kind != KS_TOML_BOOL)
            complain(r, l, "expected true or false");
    } else if (l->n_keys == 1 && key_is(l, 0, "allowed_signers")) {
        if (l->kind != KS_TOML_STRING)
            complain(r, l, "expected the name of a file");
        else if (!r->p->allowed_signers)
            r->p->allowed_signers =
                *l->text == '/' ? ks_arena_strdup(r->arena, l->text) : ks_arena_printf(r->arena, "%s/%s", r->dir, l->text);
    } else {
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        ks_str_add(&text, "unknown key '");
        for (size_t i = 0; i < l->n_keys; i++)
            ks_str_addf(&text, "%s%s", i ? "." : "", l->keys[i]);
        ks_str_add(&text, "', expected policy, allowed_signers, root, entry.NAME.policy or dir.PATH.policy");
        complain(r, l, ks_str_cstr(&text));
    }
    return true;
}

/* Within a file: entries, then folders, longest first, then its own. */
static int by_weight(const void *a, const void *b)
{
    const struct ks_policy_rule *x = a, *y = b;
    if (!x->entry != !y->entry)
        return x->entry ? -1 : 1;
    if (x->own != y->own)
        return x->own ? 1 : -1;
    size_t m = strlen(x->dir), n = strlen(y->dir);
    return m == n ? strcmp(x->dir, y->dir) : m > n ? -1 : 1;
}

static enum ks_code read_file(struct reader *r, const char **ret_text, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    size_t before = r->rules.n;
    if (!ks_file_exists(r->path))
        return KS_OK;
    KS_TRY(ks_file_read(r->path, KS_MAX_JSON_BYTES, &text, err));
    *ret_text = ks_arena_strndup(r->arena, ks_str_cstr(&text), text.len);
    enum ks_code code = ks_toml_read(r->path, *ret_text, text.len, read_leaf, r, err);
    if (code == KS_ERR_SYNTAX)
        ks_diags_add(r->diags, KS_SEV_ERROR, r->path, err->loc.line, err->loc.col, 1, "policy", "%s", err->message);
    if (code == KS_OK && r->failed)
        code = ks_fail(err, KS_ERR_SYNTAX, "cannot read '%s'", r->path);
    if (code == KS_OK && r->rules.n > before)
        qsort(r->rules.data + before, r->rules.n - before, sizeof(*r->rules.data), by_weight);
    return code;
}

static bool is_repository(const char *dir)
{
    KS_AUTO_STR struct ks_str git = KS_STR_INIT;
    ks_path_join(&git, dir, ".git");
    return ks_file_exists(ks_str_cstr(&git));
}

/* The file's name as the user would write it: relative when it is here or below. */
static const char *shown_path(struct reader *r, const char *dir)
{
    char cwd[PATH_MAX];
    const char *path = ks_arena_printf(r->arena, "%s/" KS_POLICY_FILE, strcmp(dir, "/") == 0 ? "" : dir);
    size_t n = getcwd(cwd, sizeof(cwd)) ? strlen(cwd) : 0;
    return n > 1 && strncmp(path, cwd, n) == 0 && path[n] == '/' ? path + n + 1 : path;
}

static enum ks_code read_files(struct reader *r, char *dir, const char **ret_text, struct ks_err *err)
{
    for (;;) {
        r->dir = ks_arena_strdup(r->arena, dir);
        r->path = shown_path(r, dir);
        KS_TRY(read_file(r, ret_text, err));
        char *slash = strrchr(dir, '/');
        if (r->root || is_repository(dir) || !slash || !dir[1])
            return KS_OK;
        slash[slash == dir] = '\0';
    }
}

enum ks_code ks_policies_read(const struct ks_settings *s, const char *unit_path, struct ks_arena *arena, struct ks_diags *diags,
                              const char **ret_text, struct ks_policies *ret, struct ks_err *err)
{
    char dir[PATH_MAX];
    const char *ci = getenv("CI");
    KS_AUTO_STR struct ks_str beside = KS_STR_INIT;
    struct ks_policies p = {.settings = s, .unit_path = unit_path, .in_ci = ci && strcmp(ci, "true") == 0};
    struct reader r = {.p = &p, .arena = arena, .diags = diags};
    *ret_text = NULL;
    ks_path_dir(&beside, unit_path);
    if (!realpath(ks_str_cstr(&beside), dir))
        return ks_fail_errno(err, KS_ERR_IO, "cannot find the folder of '%s'", unit_path);
    enum ks_code code = read_files(&r, dir, ret_text, err);
    p.n_rules = r.rules.n;
    p.rules = KS_ARENA_ARRAY(arena, struct ks_policy_rule, r.rules.n + 1);
    if (r.rules.n)
        memcpy(p.rules, r.rules.data, r.rules.n * sizeof(*p.rules));
    ks_vec_release(&r.rules);
    if (code == KS_OK)
        *ret = p;
    return code;
}

enum ks_policy ks_policies_of(const struct ks_policies *p, const char *entry, const char **ret_where)
{
    enum ks_policy policy;
    char unit[PATH_MAX];
    *ret_where = NULL;
    if (words_say(p, entry, &policy))
        return policy;
    bool known = realpath(p->unit_path, unit) != NULL;
    for (size_t i = 0; known && i < p->n_rules; i++) {
        const struct ks_policy_rule *rule = &p->rules[i];
        if ((rule->entry && strcmp(rule->entry, entry) != 0) || !is_below(unit, rule->dir))
            continue;
        *ret_where = rule->where;
        return p->in_ci && rule->policy == KS_POLICY_EXPLORE ? KS_POLICY_APPROVED : rule->policy;
    }
    return p->in_ci ? KS_POLICY_APPROVED : KS_POLICY_EXPLORE;
}
