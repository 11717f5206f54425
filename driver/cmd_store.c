/* kscc store and approve: the commands over what a store holds. */

#include "driver/certificate.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/say.h"
#include "driver/signed.h"
#include "driver/store_keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void print_row(const struct ks_index_row *r, void *ctx)
{
    (void)ctx;
    printf("%.12s  %-24s %-24s %-9s %-9s", r->key, r->unit, r->entry, r->device, r->state);
    if (r->speedup > 0 && r->modelled)
        printf("  %.3fx modelled", r->speedup);
    else if (r->speedup > 0)
        printf("  %.3fx [%.3f, %.3f]", r->speedup, r->speedup_lo, r->speedup_hi);
    printf("  %lld trials\n", (long long)r->trials);
}

static int verify(const struct ks_store *store)
{
    KS_AUTO_ARGS struct ks_args keys;
    struct ks_err err;
    int n_bad = 0, n_good = 0;
    ks_args_init(&keys);
    if (ks_store_keys(store, &keys, &err) != KS_OK) {
        ks_say_error(&err);
        return 1;
    }
    for (size_t i = 0; i < keys.n; i++) {
        KS_AUTO_JSON struct ks_json *certificate = NULL;
        enum ks_code code = ks_store_certificate(store, keys.v[i], &certificate, &err);
        if (code == KS_OK) {
            n_good++;
        } else if (code != KS_ERR_NOT_FOUND) { /* a search without a certificate is no fault */
            n_bad++;
            printf("%.12s  %s\n", keys.v[i], err.message);
        }
    }
    printf("%d certificate%s good, %d bad\n", n_good, n_good == 1 ? "" : "s", n_bad);
    return n_bad ? 1 : 0;
}

static int said(enum ks_code code, const struct ks_err *err)
{
    if (code != KS_OK)
        ks_say_error(err);
    return code != KS_OK;
}

static int list(const struct ks_store *store)
{
    struct ks_err err;
    if (ks_index_list(store, print_row, NULL, &err) == KS_OK)
        return 0;
    ks_say(KS_SEV_ERROR, "%s ('kscc store rebuild' makes it anew from the results) [kscc-i-o]", err.message);
    return 1;
}

static int rebuild(const struct ks_store *store)
{
    struct ks_err err;
    size_t n = 0;
    enum ks_code code = ks_index_rebuild(store, &n, &err);
    if (code == KS_OK)
        printf("%zu entries\n", n);
    return said(code, &err);
}

static int gc(const struct ks_store *store, const struct ks_args *words)
{
    static const char option[] = "--max-size=";
    struct ks_gc_result r;
    struct ks_err err;
    int64_t max_bytes = 0;
    if (words->n == 2 && ks_str_starts(words->v[1], option))
        max_bytes = ks_command_size(words->v[1] + strlen(option));
    if (words->n > 2 || max_bytes < 0 || (words->n == 2 && max_bytes == 0))
        return ks_command_usage("store");
    enum ks_code code = ks_store_gc(store, max_bytes, &r, &err);
    if (code != KS_OK)
        return said(code, &err);
    printf("%zu removed (%lld bytes), %zu kept (%lld bytes), %zu in use\n", r.n_removed, (long long)r.bytes_removed, r.n_kept,
           (long long)r.bytes_kept, r.n_in_use);
    if (max_bytes && r.bytes_kept > max_bytes)
        printf("still larger than asked: what is approved or in use stays\n");
    return 0;
}

static int export_keys(const struct ks_store *store, const struct ks_args *words)
{
    KS_AUTO_ARGS struct ks_args keys;
    struct ks_err err;
    size_t n = 0;
    ks_args_init(&keys);
    if (words->n < 2)
        return ks_command_usage("store");
    for (size_t i = 2; i < words->n; i++) {
        KS_AUTO_FREE char *key = NULL;
        if (ks_store_resolve(store, words->v[i], &key, &err) != KS_OK)
            return said(err.code, &err);
        ks_args_add(&keys, key);
    }
    enum ks_code code = ks_store_export(store, &keys, words->v[1], &n, &err);
    if (code == KS_OK)
        printf("%zu written to %s\n", n, words->v[1]);
    return said(code, &err);
}

static void print_import(const char *key, const char *why, void *ctx)
{
    int *n_bad = ctx;
    *n_bad += why && strcmp(why, "it is here already") != 0;
    printf("%.12s  %s%s\n", key, why ? "left out: " : "taken over", why ? why : "");
}

static int import(const struct ks_store *store, struct ks_args *words)
{
    struct ks_err err;
    int n_bad = 0;
    bool with_approvals = ks_command_flag(words, "--with-approvals");
    if (words->n != 2)
        return ks_command_usage("store");
    enum ks_code code = ks_store_import(store, words->v[1], with_approvals, print_import, &n_bad, &err);
    return said(code, &err) || n_bad;
}

int ks_cmd_store(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words;
    struct ks_settings s;
    struct ks_store store;
    struct ks_err err;
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    const char *verb = words.n ? words.v[0] : "";
    bool makes = strcmp(verb, "import") == 0; /* also where there is none yet */
    if (makes ? said(ks_store_open(s.dir ? s.dir : ".kscc", &store, &err), &err) : !ks_command_store(&s, &store))
        return 1;
    int status = strcmp(verb, "gc") == 0                        ? gc(&store, &words)
                 : strcmp(verb, "export") == 0                  ? export_keys(&store, &words)
                 : makes                                        ? import(&store, &words)
                 : words.n == 1 && strcmp(verb, "list") == 0    ? list(&store)
                 : words.n == 1 && strcmp(verb, "rebuild") == 0 ? rebuild(&store)
                 : words.n == 1 && strcmp(verb, "verify") == 0  ? verify(&store)
                                                                : ks_command_usage("store");
    ks_store_close(&store);
    return status;
}

/* What the gates' comparison was tried with first: the wrong answers that it does not let pass for this contract. */
static void show_self_test(const struct ks_json *rejected)
{
    printf("  self-test    ");
    for (size_t i = 0; i < ks_json_len(rejected); i++)
        printf("%s%s", i ? ", " : "rejects ", ks_json_str(ks_json_at(rejected, i)));
    printf("%s\n", ks_json_len(rejected) ? "" : "not known");
}

/* What is approved, for the eyes of whoever does it. */
static void show_finding(const struct ks_store *store, const char *key, const struct ks_json *c)
{
    KS_AUTO_STR struct ks_str diff = KS_STR_INIT, speedup = KS_STR_INIT;
    struct ks_err err;
    const struct ks_json *gates = ks_json_get(ks_json_get(c, "confirmation"), "gates");
    const char *unusual = ks_json_get_str(ks_json_get(c, "confirmation"), "needs_approval", NULL);
    if (ks_store_read(store, key, KS_DIFF_FILE, &diff, &err) == KS_OK)
        printf("%s", ks_str_cstr(&diff));
    ks_report_speedup(ks_json_get(c, "speedup"), &speedup);
    printf("%.12s: %s of %s, %s, %lld trials\n", key, ks_json_get_str(c, "entry", "?"), ks_json_get_str(c, "unit", "?"),
           ks_str_cstr(&speedup), (long long)ks_json_get_i64(c, "trials", 0));
    for (size_t i = 0; i < ks_json_len(gates); i++) {
        const struct ks_json *g = ks_json_at(gates, i);
        const char *reason = ks_json_get_str(g, "reason", NULL);
        printf("  %-12s %s%s%s\n", ks_json_key(g), ks_json_get_str(g, "state", "not known"), reason ? ": " : "",
               reason ? reason : "");
    }
    show_self_test(ks_json_get(ks_json_get(c, "device"), "self_test_rejects"));
    if (unusual)
        printf("  unusual: %s\n", unusual);
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

static int approve(const struct ks_store *store, const char *key)
{
    struct ks_err err, index_err;
    const char *who = getenv("USER");
    KS_AUTO_JSON struct ks_json *certificate = NULL;
    if (ks_store_certificate(store, key, &certificate, &err) == KS_OK) {
        show_finding(store, key, certificate);
        if (!wants_to())
            return 1;
    }
    if (ks_store_approve(store, key, who ? who : "unknown", &err) != KS_OK) {
        ks_wrap(&err, "cannot approve %.12s", key), ks_say_error(&err);
        return 1;
    }
    if (signing_key && ks_approval_sign(store, key, signing_key, &err) != KS_OK) {
        ks_say(KS_SEV_ERROR, "approved %.12s, but cannot sign it: %s", key, err.message);
        return 1;
    }
    if (ks_index_put(store, key, &index_err) != KS_OK)
        ks_say_instead(&index_err, "the approval stands (kscc store rebuild renews the index)");
    printf("approved %s%s\n", key, signing_key ? ", signed" : "");
    return 0;
}

static int take_back(const struct ks_store *store, const char *key)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct ks_err err;
    ks_store_path(store, key, KS_APPROVAL_FILE, &path);
    if (unlink(ks_str_cstr(&path)) < 0) {
        ks_say(KS_SEV_ERROR, "cannot revoke %.12s: it is not approved [kscc-not-found]", key);
        return 1;
    }
    ks_store_path(store, key, KS_SIGNATURE_FILE, &path);
    unlink(ks_str_cstr(&path));
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
    signing_key = sign;
    if (words.n == 0)
        return ks_command_usage(argv[0]);
    if (!ks_command_store(&s, &store))
        return 1;
    int status = ks_command_for_keys(&store, &words, visit);
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
