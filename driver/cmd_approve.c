/* kscc approve and revoke: what may be emitted where only approved certificates count. */

#include "driver/certificate.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/kept_object.h"
#include "driver/remake.h"
#include "driver/say.h"
#include "driver/signed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What the gates' comparison was tried with first: the wrong answers that it does not let pass for this contract. */
static void add_self_test(const struct ks_json *rejected, struct ks_str *out)
{
    ks_str_addf(out, "  self-test    ");
    for (size_t i = 0; i < ks_json_len(rejected); i++)
        ks_str_addf(out, "%s%s", i ? ", " : "rejects ", ks_json_str(ks_json_at(rejected, i)));
    ks_str_addf(out, "%s\n", ks_json_len(rejected) ? "" : "not known");
}

/* What is approved, for the eyes of whoever does it. */
static void show_finding(const struct ks_store *store, const char *key, const struct ks_json *c)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, speedup = KS_STR_INIT;
    struct ks_err err;
    const struct ks_json *gates = ks_json_get(ks_json_get(c, "confirmation"), "gates");
    const char *unusual = ks_json_get_str(ks_json_get(c, "confirmation"), "needs_approval", NULL);
    if (ks_store_read(store, key, KS_DIFF_FILE, &text, &err) != KS_OK)
        ks_str_clear(&text);
    ks_report_speedup(ks_json_get(c, "speedup"), &speedup);
    int64_t n_trials = ks_json_get_i64(c, "trials", 0);
    ks_str_addf(&text, "%.12s: %s of %s, %s, %lld trial%s\n", key, ks_json_get_str(c, "entry", "?"),
                ks_json_get_str(c, "unit", "?"), ks_str_cstr(&speedup), (long long)n_trials, ks_plural_s(n_trials));
    for (size_t i = 0; i < ks_json_len(gates); i++) {
        const struct ks_json *g = ks_json_at(gates, i);
        const char *reason = ks_json_get_str(g, "reason", NULL);
        ks_str_addf(&text, "  %-12s %s%s%s\n", ks_json_key(g), ks_json_get_str(g, "state", "not known"), reason ? ": " : "",
                    reason ? reason : "");
    }
    add_self_test(ks_json_get(ks_json_get(c, "device"), "self_test_rejects"), &text);
    if (unusual)
        ks_str_addf(&text, "  unusual: %s\n", unusual);
    ks_print_visible(&text); /* nothing in it hides from who reads it */
}

/* A person at a terminal is asked; a script has decided. */
static bool wants_to(void)
{
    char answer[16];
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return true;
    printf("approve? [y/N] ");
    fflush(stdout);
    return fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y');
}

static const char *signing_key; /* --sign=FILE; NULL: approvals are not signed */

static void say_waiting(void)
{
    ks_say_progress("waiting: another kscc is at work on the same key");
}

/* False: it has been said. */
static bool lock_key(const struct ks_store *store, const char *key, int *ret_fd)
{
    struct ks_err err;
    if (ks_store_lock(store, key, NULL, say_waiting, ret_fd, &err) == KS_OK)
        return true;
    ks_say_error(&err);
    return false;
}

/* The lock is held from the look to the approval: what is approved is what was shown. */
static int approve(const struct ks_store *store, const char *key)
{
    struct ks_err err, index_err;
    const char *who = getenv("USER");
    KS_AUTO_JSON struct ks_json *certificate = NULL;
    KS_AUTO_FD int lock = -1;
    if (!lock_key(store, key, &lock))
        return 1;
    if (ks_store_certificate(store, key, &certificate, &err) == KS_OK) {
        show_finding(store, key, certificate);
        if (!wants_to())
            return 1;
    }
    if (ks_store_approve(store, key, who ? who : "unknown", signing_key, &err) != KS_OK) {
        ks_say_about(KS_SEV_ERROR, &err, "cannot approve %.12s, nothing has changed: %s", key, err.message);
        return 1;
    }
    if (ks_index_put(store, key, &index_err) != KS_OK)
        ks_say_instead(&index_err, "the approval stands (kscc store rebuild renews the index)");
    printf("approved %s%s\n", key, signing_key ? ", signed" : "");
    return 0;
}

/* Certificates besides this one whose approval does not name the record: the object waits for them. */
static void say_waits_for(const struct ks_store *store, const char *key, const char *name)
{
    KS_AUTO_JSON struct ks_json *record = ks_store_read_json(store, key, name);
    const struct ks_json *entries = ks_json_get(record, "certificates");
    for (size_t i = 0; i < ks_json_len(entries); i++) {
        const char *other = ks_json_key(ks_json_at(entries, i));
        struct ks_err none;
        if (strcmp(other, key) != 0 && ks_kept_covered(store, other, name, &none) != KS_OK)
            printf("  not used before %.12s is approved too\n", other);
    }
}

/* After all that the command names is approved: an object of several entries can be made again only then.  The lock is not held
 * while compilers run; the approval names what was compared, whatever has come since. */
static int cover(const struct ks_store *store, const char *key)
{
    KS_AUTO_ARGS struct ks_args names;
    KS_AUTO_JSON struct ks_json *same = ks_json_object();
    KS_AUTO_FD int lock = -1;
    struct ks_err err;
    ks_args_init(&names);
    if (!ks_store_is_approved(store, key))
        return 0;
    ks_kept_names(store, key, &names);
    for (size_t i = 0; i < names.n; i++) {
        char hash[65];
        if (ks_remake_check(store, key, names.v[i], hash, &err) == KS_OK)
            ks_json_set_str(same, names.v[i], hash);
        else
            printf("%.12s: %s is not approved, builds elsewhere compile: %s\n", key, names.v[i], err.message);
    }
    if (ks_json_len(same) == 0)
        return 0;
    if (!lock_key(store, key, &lock))
        return 1;
    if (ks_kept_cover(store, key, same, signing_key, &err) != KS_OK) {
        ks_say_about(KS_SEV_ERROR, &err, "cannot approve the kept objects of %.12s, builds elsewhere compile: %s", key,
                     err.message);
        return 1;
    }
    for (size_t i = 0; i < ks_json_len(same); i++) {
        const char *name = ks_json_key(ks_json_at(same, i));
        printf("%.12s: %s made again, the same: builds elsewhere put it in place\n", key, name);
        say_waits_for(store, key, name);
    }
    return 0;
}

static int take_back(const struct ks_store *store, const char *key)
{
    KS_AUTO_FD int lock = -1;
    struct ks_err err;
    if (!lock_key(store, key, &lock))
        return 1;
    enum ks_code code = ks_approval_remove(store, key, &err);
    if (code != KS_OK) {
        if (code == KS_ERR_NOT_FOUND)
            ks_say(KS_SEV_ERROR, "cannot revoke %.12s: it is not approved [kscc-not-found]", key);
        else
            ks_say_about(KS_SEV_ERROR, &err, "cannot revoke %.12s, the approval stands: %s", key, err.message);
        return 1;
    }
    if (ks_index_put(store, key, &err) != KS_OK)
        ks_say_instead(&err, "the approval is gone (kscc store rebuild renews the index)");
    printf("revoked %s\n", key);
    return 0;
}

static int approve_or_revoke(char *const *argv, ks_command_key_fn *visit)
{
    KS_AUTO_ARGS struct ks_args words;
    struct ks_settings s;
    struct ks_store store;
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    KS_AUTO_FREE char *sign = visit == approve ? ks_command_value(&words, "--sign") : NULL;
    bool kept = visit == approve && !ks_command_flag(&words, "--no-kept");
    signing_key = sign;
    if (words.n == 0)
        return ks_command_usage(argv[0]);
    if (!ks_command_store(&s, &store))
        return 1;
    int status = ks_command_for_keys(&store, &words, visit);
    if (kept)
        status |= ks_command_for_keys(&store, &words, cover);
    ks_store_close(&store);
    return status;
}

int ks_cmd_approve(char *const *argv)
{
    return approve_or_revoke(argv, approve);
}

int ks_cmd_revoke(char *const *argv)
{
    return approve_or_revoke(argv, take_back);
}
