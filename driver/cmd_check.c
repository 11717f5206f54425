/* kscc check: what can be said of sources and their certificates without compiler and device, as a commit needs it. */

#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"
#include "driver/beside.h"
#include "driver/certificate.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/kept_object.h"
#include "driver/policy.h"
#include "driver/say.h"
#include "driver/signed.h"
#include "driver/staged.h"
#include "harness/contract.h"

#include <stdlib.h>
#include <string.h>

#define SIDECAR_END ".kscc.json"

static struct ks_json *files; /* with --json: what was looked at */

struct check {
    struct ks_arena arena;
    const struct ks_settings *settings;
    const char *path;
    struct ks_str text;
    struct ks_policies policies;
    struct ks_store store; /* dir NULL: none */
    struct ks_args keys;
    struct ks_json *entries; /* with --json */
    struct ks_args *seen;
};

static bool read_contracts(struct check *c, struct ks_contract **ret, size_t *ret_n)
{
    struct ks_diags diags;
    struct ks_err err;
    *ret_n = 0;
    KS_AUTO_STR struct ks_str sidecar = KS_STR_INIT;
    ks_diags_init(&diags);
    ks_sidecar_path(c->path, &sidecar);
    bool ok = ks_contracts_parse(c->path, ks_str_cstr(&c->text), c->text.len, &c->arena, &diags, ret, ret_n, &err) == KS_OK;
    if (ok && ks_file_exists(ks_str_cstr(&sidecar))) {
        ok = ks_sidecar_read(ks_str_cstr(&sidecar), &c->arena, &diags, ret, ret_n, &err) == KS_OK;
        if (!ok && ks_diags_count(&diags, KS_SEV_ERROR) == 0)
            ks_say_error(&err);
    }
    ks_say_diags(&diags, ks_str_cstr(&c->text), c->text.len);
    ks_diags_release(&diags);
    return ok;
}

static bool read_policies(struct check *c)
{
    struct ks_diags diags;
    struct ks_err err;
    const char *text = NULL;
    ks_diags_init(&diags);
    bool ok = ks_policies_read(c->settings, c->path, &c->arena, &diags, &text, &c->policies, &err) == KS_OK;
    ks_say_diags(&diags, text, text ? strlen(text) : 0);
    if (!ok && ks_diags_count(&diags, KS_SEV_ERROR) == 0)
        ks_say_error(&err);
    ks_diags_release(&diags);
    return ok;
}

static void open_store(struct check *c)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    struct ks_err none; /* no store, no certificates */
    ks_store_dir_of(c->settings, c->path, &dir);
    if (ks_store_open_existing(ks_str_cstr(&dir), &c->store, &none) != KS_OK ||
        ks_store_keys(&c->store, &c->keys, &none) != KS_OK)
        c->keys.n = 0;
}

/* Objects that builds elsewhere would put in place: whole, and there when the approval names them. */
static bool check_kept(const struct check *c, const char *key)
{
    KS_AUTO_ARGS struct ks_args names;
    bool ok = true;
    ks_args_init(&names);
    ks_kept_names(&c->store, key, &names);
    for (size_t i = 0; i < names.n; i++) {
        KS_AUTO_JSON struct ks_json *record = NULL;
        struct ks_err err;
        char hash[65];
        if (ks_kept_check(&c->store, key, names.v[i], &record, hash, NULL, &err) == KS_OK &&
            ks_kept_covered(&c->store, key, names.v[i], &err) != KS_ERR_MISMATCH) /* one that is not named counts for nothing */
            continue;
        ks_say_about(KS_SEV_ERROR, &err, "%s: kept object '%s' of %.12s: %s; 'kscc approve %.12s' makes it again", c->path,
                     names.v[i], key, err.message, key);
        ok = false;
    }
    return ok;
}

/* *ret_unusual may be NULL.  False: said what is wrong. */
static bool check_whole(const struct check *c, const char *key, bool *ret_unusual)
{
    struct ks_err err;
    KS_AUTO_JSON struct ks_json *whole = NULL;
    if (ks_store_certificate(&c->store, key, &whole, &err) != KS_OK) {
        ks_say_about(KS_SEV_ERROR, &err, "%s: %s", c->path, err.message);
        return false;
    }
    if (ret_unusual)
        *ret_unusual = ks_json_get_str(ks_json_get(whole, "confirmation"), "needs_approval", NULL) != NULL;
    return true;
}

/* Whole, with whole kept objects, and approved where the policy asks for it.  False: said what is wrong. */
static bool check_record(const struct check *c, const char *key, const char *entry)
{
    struct ks_err err;
    const char *where;
    bool unusual;
    if (!check_whole(c, key, &unusual))
        return false;
    const char *signers = c->settings->allowed_signers ? c->settings->allowed_signers : c->policies.allowed_signers;
    if (ks_policies_of(&c->policies, entry, &where) == KS_POLICY_EXPLORE && !unusual &&
        ks_approval_check(&c->store, key, signers, &err) != KS_OK) {
        ks_say_about(KS_SEV_ERROR, &err, "%s: %s, and with the policy 'explore' the candidate of %s would ship", c->path,
                     err.message, entry);
        return false;
    }
    return check_kept(c, key);
}

/* One certificate of the entry: 1 when it is of this text and allowed, 0 when it is of another text, -1: said what is wrong. */
static int check_certificate(const struct check *c, const char *key, const char *entry)
{
    char source[65];
    KS_AUTO_JSON struct ks_json *j = ks_store_read_json(&c->store, key, KS_CERTIFICATE_FILE);
    ks_hash_hex(ks_str_cstr(&c->text), c->text.len, source);
    if (!ks_streq(ks_json_get_str(ks_json_get(j, "sha256"), KS_ORIGINAL_FILE, ""), source))
        return 0;
    return check_record(c, key, entry) ? 1 : -1;
}

/* Each thing once, however many of its files are named. */
static bool is_new(struct ks_args *seen, const char *what)
{
    for (size_t i = 0; i < seen->n; i++)
        if (strcmp(seen->v[i], what) == 0)
            return false;
    ks_args_add(seen, what);
    return true;
}

/* Looked at with its unit, it need not be once more. */
static void note_seen(const struct check *c, const char *key)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_store_path(&c->store, key, KS_CERTIFICATE_FILE, &path);
    ks_args_add(c->seen, ks_str_cstr(&path));
}

/* NULL: there is none; or it cannot be read, which is an error, said once: nobody knows whose it is. */
static struct ks_json *read_certificate(const struct check *c, const char *key, bool *ok)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    struct ks_json *j = NULL;
    struct ks_err err;
    ks_store_path(&c->store, key, KS_CERTIFICATE_FILE, &path);
    if (ks_store_read(&c->store, key, KS_CERTIFICATE_FILE, &text, &err) == KS_OK &&
        ks_json_parse(ks_str_cstr(&text), text.len, ks_str_cstr(&path), &j, &err) == KS_OK)
        return j;
    if (err.code == KS_ERR_NOT_FOUND)
        return NULL;
    if (is_new(c->seen, ks_str_cstr(&path)))
        ks_say_error(&err);
    *ok = false;
    return NULL;
}

static bool check_entry(struct check *c, const struct ks_contract *contract)
{
    const char *where, *stale = NULL;
    enum ks_policy policy = ks_policies_of(&c->policies, contract->entry, &where);
    bool ok = true, current = false;
    for (size_t i = 0; i < c->keys.n; i++) {
        KS_AUTO_JSON struct ks_json *j = read_certificate(c, c->keys.v[i], &ok);
        if (!j || !ks_streq(ks_json_get_str(j, "entry", NULL), contract->entry) ||
            !ks_streq(ks_json_get_str(j, "unit", NULL), ks_path_base(c->path)))
            continue;
        int found = check_certificate(c, c->keys.v[i], contract->entry);
        if (found)
            note_seen(c, c->keys.v[i]);
        ok &= found >= 0;
        current |= found > 0;
        stale = found == 0 ? c->keys.v[i] : stale;
    }
    if (ok && !current && stale && policy != KS_POLICY_OFF) {
        ks_say(KS_SEV_ERROR,
               "%s: certificate %.12s of %s is for another text of the file: compile with -O-agent again, or remove it from the "
               "store [kscc-stale]",
               c->path, stale, contract->entry);
        ok = false;
    }
    if (c->entries) {
        struct ks_json *e = ks_json_object();
        ks_json_set_str(e, "entry", contract->entry);
        ks_json_set_str(e, "policy", ks_policy_text(policy));
        ks_json_set_str(e, "certificate", current && ok ? "good" : !ok && !stale ? "bad" : stale ? "of another text" : "none");
        ks_json_set_bool(e, "ok", ok);
        ks_json_push(c->entries, e);
    }
    return ok;
}

/* entries may be NULL; taken over. */
static void add_file(const char *path, bool ok, struct ks_json *entries)
{
    if (!files)
        return;
    struct ks_json *f = ks_json_object();
    ks_json_set_str(f, "file", path);
    ks_json_set_bool(f, "ok", ok);
    if (entries)
        ks_json_set(f, "entries", entries);
    ks_json_push(files, f);
}

static void check_init(struct check *c, const struct ks_settings *s, const char *path, struct ks_args *seen)
{
    *c = (struct check){.settings = s, .path = path, .seen = seen, .text = KS_STR_INIT, .store = {.scratch_fd = -1}};
    ks_arena_init(&c->arena);
    ks_args_init(&c->keys);
}

static void check_release(struct check *c)
{
    ks_store_close(&c->store);
    ks_args_release(&c->keys);
    ks_str_release(&c->text);
    ks_arena_release(&c->arena);
}

static bool check_file(const struct ks_settings *s, const char *path, struct ks_args *seen)
{
    struct check c;
    struct ks_contract *contracts = NULL;
    struct ks_err err;
    size_t n = 0;
    check_init(&c, s, path, seen);
    c.entries = files ? ks_json_array() : NULL;
    bool ok = ks_file_read(path, KS_MAX_SOURCE_BYTES, &c.text, &err) == KS_OK;
    if (!ok)
        ks_say_error(&err);
    ok = ok && read_contracts(&c, &contracts, &n) && read_policies(&c);
    bool readable = ok;
    if (readable)
        open_store(&c);
    for (size_t i = 0; readable && i < n; i++)
        ok &= check_entry(&c, &contracts[i]);
    add_file(path, ok, c.entries);
    check_release(&c);
    return ok;
}

/* ---- files of a store ----------------------------------------------------------------------------------------------- */

/* "dir/.kscc/objects/<key>/candidate.cu": the length of "dir/.kscc", and the key. */
static bool is_stored(const char *path, size_t *ret_store_len, char ret_key[65])
{
    static const char objects[] = "/objects/";
    const char *name = strrchr(path, '/');
    if (!name || name - path < (ptrdiff_t)(sizeof(objects) - 1 + 64))
        return false;
    const char *key = name - 64, *at = key - (sizeof(objects) - 1);
    if (strncmp(at, objects, sizeof(objects) - 1) != 0 || strspn(key, "0123456789abcdef") != 64)
        return false;
    *ret_store_len = (size_t)(at - path);
    memcpy(ret_key, key, 64);
    ret_key[64] = '\0';
    return true;
}

/* Where the store is beside it, as seen from here. */
static void unit_of(const char *store, const struct ks_json *certificate, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    const char *name = ks_path_base(ks_json_get_str(certificate, "unit", ""));
    ks_path_dir(&dir, store);
    if (ks_streq(ks_str_cstr(&dir), "."))
        ks_str_add(out, name);
    else
        ks_path_join(out, ks_str_cstr(&dir), name);
}

/* The certificate of one key.  With the unit at hand only its wholeness: what may ship is asked of the unit. */
static bool check_stored_key(const struct ks_settings *s, const char *store, const char *key, const char *unit, const char *entry,
                             struct ks_args *seen)
{
    struct ks_err err;
    struct check c;
    check_init(&c, s, unit, seen);
    bool ok = ks_store_open_existing(store, &c.store, &err) == KS_OK;
    if (!ok)
        ks_say_error(&err);
    ok = ok && (ks_file_exists(unit) ? check_whole(&c, key, NULL) : read_policies(&c) && check_record(&c, key, entry));
    check_release(&c);
    return ok;
}

static bool check_once(const struct ks_settings *s, const char *path, struct ks_args *seen)
{
    return !is_new(seen, path) || check_file(s, path, seen);
}

/* A commit may change nothing but results: what it brings is looked at, and the unit that it is about as if that were staged.  A
 * folder without a certificate is of no effect. */
static bool check_stored(const struct ks_settings *s, const char *store, const char *key, struct ks_args *seen)
{
    KS_AUTO_STR struct ks_str certificate = KS_STR_INIT, unit = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *j = NULL;
    struct ks_err err;
    ks_str_addf(&certificate, "%s/objects/%s/" KS_CERTIFICATE_FILE, store, key);
    if (!is_new(seen, ks_str_cstr(&certificate)) || !ks_file_exists(ks_str_cstr(&certificate)))
        return true;
    if (ks_file_check_plain(ks_str_cstr(&certificate), &err) != KS_OK ||
        ks_json_read_file(ks_str_cstr(&certificate), &j, &err) != KS_OK) {
        ks_say_error(&err);
        add_file(ks_str_cstr(&certificate), false, NULL);
        return false;
    }
    unit_of(store, j, &unit);
    bool ok = check_stored_key(s, store, key, ks_str_cstr(&unit), ks_json_get_str(j, "entry", ""), seen);
    add_file(ks_str_cstr(&certificate), ok, NULL);
    return ok && (!ks_file_exists(ks_str_cstr(&unit)) || check_once(s, ks_str_cstr(&unit), seen));
}

/* "attention.kscc.json": the unit beside it; one without a unit says nothing about anything. */
static bool check_sidecar(const struct ks_settings *s, const char *path, struct ks_args *seen)
{
    KS_AUTO_STR struct ks_str unit = KS_STR_INIT;
    ks_str_addn(&unit, path, strlen(path) - strlen(SIDECAR_END));
    ks_str_add(&unit, ".cu");
    return !ks_file_exists(ks_str_cstr(&unit)) || check_once(s, ks_str_cstr(&unit), seen);
}

/* What a folder's policy is about: the certificates below it that the commit has, and their units. */
static bool check_policy_file(const struct ks_settings *s, const char *path, struct ks_args *seen)
{
    KS_AUTO_ARGS struct ks_args names;
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    struct check c;
    struct ks_err err;
    char key[65];
    size_t store_len;
    ks_args_init(&names);
    if (!is_new(seen, path))
        return true;
    check_init(&c, s, path, seen);
    bool ok = !ks_file_exists(path) || read_policies(&c); /* without it an outer one counts */
    add_file(path, ok, NULL);
    check_release(&c);
    ks_path_dir(&dir, path);
    if (ok && ks_staged_below(ks_str_cstr(&dir), &names, &err) != KS_OK)
        ks_say_about(KS_SEV_REMARK, &err, "%s: %s, only the file itself is checked", path, err.message);
    for (size_t i = 0; i < names.n; i++)
        if (is_stored(names.v[i], &store_len, key) && ks_streq(ks_path_base(names.v[i]), KS_CERTIFICATE_FILE)) {
            KS_AUTO_FREE char *store = ks_xstrndup(names.v[i], store_len);
            ok &= check_stored(s, store, key, seen);
        }
    return ok;
}

static bool check_word(const struct ks_settings *s, const char *path, struct ks_args *seen)
{
    char key[65];
    size_t store_len;
    if (ks_str_ends(path, SIDECAR_END))
        return check_sidecar(s, path, seen);
    if (ks_streq(ks_path_base(path), KS_POLICY_FILE))
        return check_policy_file(s, path, seen);
    if (!is_stored(path, &store_len, key))
        return check_once(s, path, seen);
    KS_AUTO_FREE char *store = ks_xstrndup(path, store_len);
    return check_stored(s, store, key, seen);
}

/* ---- a commit ------------------------------------------------------------------------------------------------------- */

static bool has_below(const struct ks_args *names, const char *dir, size_t dir_len)
{
    for (size_t i = 0; i < names->n; i++)
        if (strncmp(names->v[i], dir, dir_len) == 0)
            return true;
    return false;
}

/* A file that what was checked rests on: of a certificate that the commit has, or a policy above. */
static bool is_needed(const char *name, const struct ks_args *seen, const struct ks_args *left_out)
{
    static const char *const parts[] = {KS_APPROVAL_FILE, KS_ORIGINAL_FILE, KS_CANDIDATE_FILE, KS_TRACE_FILE};
    KS_AUTO_STR struct ks_str certificate = KS_STR_INIT;
    const char *base = ks_path_base(name);
    size_t dir_len = (size_t)(base - name), store_len;
    char key[65];
    if (ks_streq(base, KS_POLICY_FILE))
        return has_below(seen, name, dir_len);
    if (!is_stored(name, &store_len, key) || !ks_str_starts_one(base, parts, sizeof(parts) / sizeof(parts[0])))
        return false;
    ks_str_addf(&certificate, "%.*s" KS_CERTIFICATE_FILE, (int)dir_len, name);
    return has_below(seen, name, dir_len) && !has_below(left_out, ks_str_cstr(&certificate), certificate.len);
}

/* Everything above is about files as they are here, and so about the commit only when it has them. */
static bool check_left_out(const struct ks_args *seen)
{
    KS_AUTO_ARGS struct ks_args names;
    struct ks_err err;
    bool ok = true;
    ks_args_init(&names);
    if (ks_staged_left_out(&names, &err) != KS_OK) {
        ks_say_error(&err);
        return false;
    }
    for (size_t i = 0; i < names.n; i++)
        if (is_needed(names.v[i], seen, &names)) {
            ks_say(KS_SEV_ERROR,
                   "%s: is not part of the commit, which is checked with it (git add it, or remove it) [kscc-not-staged]",
                   names.v[i]);
            ok = false;
        }
    return ok;
}

/* What the commit changes besides the files that were named. */
static bool check_commit(const struct ks_settings *s, struct ks_args *seen)
{
    KS_AUTO_ARGS struct ks_args names;
    struct ks_err err;
    bool ok = true;
    char key[65];
    size_t store_len;
    ks_args_init(&names);
    if (ks_staged_names(&names, &err) != KS_OK) {
        ks_say_error(&err);
        return false;
    }
    for (size_t i = 0; i < names.n; i++) {
        const char *name = names.v[i];
        if (ks_str_ends(name, SIDECAR_END) || ks_streq(ks_path_base(name), KS_POLICY_FILE) || is_stored(name, &store_len, key) ||
            (ks_str_ends(name, ".cu") && ks_file_exists(name)))
            ok &= check_word(s, name, seen);
    }
    return (names.n == 0 || check_left_out(seen)) && ok; /* nothing staged is no commit: what is here counts */
}

int ks_cmd_check(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words, seen;
    struct ks_settings s;
    bool ok = true;
    ks_args_init(&words);
    ks_args_init(&seen);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    bool json = ks_command_flag(&words, "--json"), staged = ks_command_flag(&words, "--staged");
    bool wrong = words.n == 0 && !staged;
    for (size_t i = 0; i < words.n; i++)
        wrong |= words.v[i][0] == '-';
    if (wrong)
        return ks_command_usage(argv[0]);
    files = json ? ks_json_array() : NULL;
    for (size_t i = 0; i < words.n; i++)
        ok &= check_word(&s, words.v[i], &seen);
    if (staged)
        ok &= check_commit(&s, &seen);
    if (json)
        ks_command_print(files);
    ks_json_free(files);
    return ok ? 0 : 1;
}
