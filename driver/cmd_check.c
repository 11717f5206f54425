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
#include "harness/contract.h"

#include <stdlib.h>
#include <string.h>

struct check {
    struct ks_arena arena;
    const struct ks_settings *settings;
    const char *path;
    struct ks_str text;
    struct ks_policies policies;
    struct ks_store store; /* dir NULL: none */
    struct ks_args keys;
};

static bool read_contracts(struct check *c, struct ks_contract **ret, size_t *ret_n)
{
    struct ks_diags diags;
    struct ks_err err;
    *ret_n = 0;
    ks_diags_init(&diags);
    bool ok = ks_contracts_parse(c->path, ks_str_cstr(&c->text), c->text.len, &c->arena, &diags, ret, ret_n, &err) == KS_OK;
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

/* One certificate of the entry: 1 when it is of this text and allowed, 0 when it is of another text, -1: said what is wrong. */
static int check_certificate(struct check *c, const char *key, const char *entry, enum ks_policy policy)
{
    char source[65];
    struct ks_err err;
    KS_AUTO_JSON struct ks_json *whole = NULL;
    KS_AUTO_JSON struct ks_json *j = ks_store_read_json(&c->store, key, KS_CERTIFICATE_FILE);
    ks_hash_hex(ks_str_cstr(&c->text), c->text.len, source);
    if (!ks_streq(ks_json_get_str(ks_json_get(j, "sha256"), KS_ORIGINAL_FILE, ""), source))
        return 0;
    if (ks_store_certificate(&c->store, key, &whole, &err) != KS_OK) {
        ks_say_about(KS_SEV_ERROR, &err, "%s: %s", c->path, err.message);
        return -1;
    }
    const char *signers = c->settings->allowed_signers ? c->settings->allowed_signers : c->policies.allowed_signers;
    bool unusual = ks_json_get_str(ks_json_get(whole, "confirmation"), "needs_approval", NULL) != NULL;
    if (policy == KS_POLICY_EXPLORE && !unusual && ks_approval_check(&c->store, key, signers, &err) != KS_OK) {
        ks_say_about(KS_SEV_ERROR, &err, "%s: %s, and with the policy 'explore' the candidate of %s would ship", c->path,
                     err.message, entry);
        return -1;
    }
    return check_kept(c, key) ? 1 : -1;
}

static bool check_entry(struct check *c, const struct ks_contract *contract)
{
    const char *where, *stale = NULL;
    enum ks_policy policy = ks_policies_of(&c->policies, contract->entry, &where);
    bool ok = true, current = false;
    for (size_t i = 0; i < c->keys.n; i++) {
        KS_AUTO_JSON struct ks_json *j = ks_store_read_json(&c->store, c->keys.v[i], KS_CERTIFICATE_FILE);
        if (!j || !ks_streq(ks_json_get_str(j, "entry", NULL), contract->entry) ||
            !ks_streq(ks_json_get_str(j, "unit", NULL), ks_path_base(c->path)))
            continue;
        int found = check_certificate(c, c->keys.v[i], contract->entry, policy);
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
    return ok;
}

static bool check_file(const struct ks_settings *s, const char *path)
{
    struct check c = {.settings = s, .path = path, .text = KS_STR_INIT, .store = {.scratch_fd = -1}};
    struct ks_contract *contracts = NULL;
    struct ks_err err;
    size_t n = 0;
    ks_arena_init(&c.arena);
    ks_args_init(&c.keys);
    bool ok = ks_file_read(path, KS_MAX_SOURCE_BYTES, &c.text, &err) == KS_OK;
    if (!ok)
        ks_say_error(&err);
    ok = ok && read_contracts(&c, &contracts, &n) && read_policies(&c);
    if (ok)
        open_store(&c);
    for (size_t i = 0; ok && i < n; i++)
        ok = check_entry(&c, &contracts[i]);
    ks_store_close(&c.store);
    ks_args_release(&c.keys);
    ks_str_release(&c.text);
    ks_arena_release(&c.arena);
    return ok;
}

int ks_cmd_check(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words;
    struct ks_settings s;
    bool ok = true;
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    if (words.n == 0)
        return ks_command_usage(argv[0]);
    for (size_t i = 0; i < words.n; i++)
        ok &= check_file(&s, words.v[i]);
    return ok ? 0 : 1;
}
