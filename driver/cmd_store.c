/* kscc store: what a store holds. */

#include "base/file.h"
#include "driver/certificate.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/emit.h"
#include "driver/kept_object.h"
#include "driver/remake.h"
#include "driver/say.h"
#include "driver/store_keep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void add_row(const struct ks_index_row *r, void *ctx)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "key", r->key);
    ks_json_set_str(j, "unit", r->unit);
    ks_json_set_str(j, "entry", r->entry);
    ks_json_set_str(j, "device", r->device);
    ks_json_set_str(j, "state", r->state);
    if (r->speedup > 0) {
        ks_json_set_num(j, "speedup", r->speedup);
        ks_json_set_num(j, "speedup_lo", r->speedup_lo);
        ks_json_set_num(j, "speedup_hi", r->speedup_hi);
        ks_json_set_bool(j, "modelled", r->modelled);
    }
    ks_json_set_i64(j, "trials", r->trials);
    ks_json_push(ctx, j);
}

static void print_row(const struct ks_index_row *r, void *ctx)
{
    (void)ctx;
    printf("%.12s  %-24s %-24s %-9s %-9s", r->key, r->unit, r->entry, r->device, r->state);
    if (r->speedup > 0 && r->modelled)
        printf("  %.3fx modelled", r->speedup);
    else if (r->speedup > 0)
        printf("  %.3fx [%.3f, %.3f]", r->speedup, r->speedup_lo, r->speedup_hi);
    printf("  %lld trial%s\n", (long long)r->trials, ks_plural_s(r->trials));
}

/* What `verify` found: printed as it comes, or kept for JSON. */
struct verified {
    bool again;             /* also make kept objects anew */
    int n_good, n_bad;      /* certificates */
    int n_kept_bad, n_open; /* kept objects; n_open: could not be compared here */
    struct ks_json *json;   /* NULL: print */
};

static void tell(struct verified *v, const char *key, const char *object, bool ok, const char *what)
{
    if (!v->json) {
        printf("%.12s  %s%s%s\n", key, object ? object : "", object ? ": " : "", what);
        return;
    }
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "key", key);
    if (object)
        ks_json_set_str(j, "object", object);
    ks_json_set_bool(j, "ok", ok);
    ks_json_set_str(j, "text", what);
    ks_json_push(v->json, j);
}

/* What a build elsewhere would put in place; `again`: is it what the sources make? */
static void verify_kept(const struct ks_store *store, const char *key, struct verified *v)
{
    KS_AUTO_ARGS struct ks_args names;
    ks_args_init(&names);
    ks_kept_names(store, key, &names);
    for (size_t i = 0; i < names.n; i++) {
        KS_AUTO_JSON struct ks_json *record = NULL;
        struct ks_err err;
        char hash[65];
        bool covered = ks_kept_covered(store, key, names.v[i], &err) == KS_OK;
        enum ks_code code = ks_kept_check(store, key, names.v[i], &record, hash, NULL, &err);
        if (code == KS_OK && covered && v->again)
            code = ks_remake_check(store, key, names.v[i], hash, &err);
        if (code != KS_OK)
            tell(v, key, names.v[i], false, err.message);
        else if (!covered)
            tell(v, key, names.v[i], true, "no approval names it: it is not used");
        else if (v->again)
            tell(v, key, names.v[i], true, "made again, the same");
        v->n_open += code == KS_ERR_BUILD;
        v->n_kept_bad += code != KS_OK && code != KS_ERR_BUILD;
    }
}

static void print_verified(const struct verified *v)
{
    if (v->json) {
        KS_AUTO_JSON struct ks_json *all = ks_json_object();
        ks_json_set_i64(all, "good", v->n_good);
        ks_json_set_i64(all, "bad", v->n_bad);
        ks_json_set_i64(all, "kept_bad", v->n_kept_bad);
        ks_json_set_i64(all, "kept_not_compared", v->n_open);
        ks_json_set(all, "findings", v->json);
        ks_command_print(all);
        return;
    }
    printf("%d certificate%s good, %d bad\n", v->n_good, ks_plural_s(v->n_good), v->n_bad);
    if (v->n_kept_bad)
        printf("%d kept object%s bad\n", v->n_kept_bad, ks_plural_s(v->n_kept_bad));
    if (v->n_open)
        printf("%d kept object%s not compared\n", v->n_open, ks_plural_s(v->n_open));
}

static int verify(const struct ks_store *store, bool again, bool json)
{
    KS_AUTO_ARGS struct ks_args keys;
    struct ks_err err;
    struct verified v = {.again = again};
    ks_args_init(&keys);
    if (ks_store_keys(store, &keys, &err) != KS_OK) {
        ks_say_error(&err);
        return 1;
    }
    v.json = json ? ks_json_array() : NULL;
    for (size_t i = 0; i < keys.n; i++) {
        KS_AUTO_JSON struct ks_json *certificate = NULL;
        enum ks_code code = ks_store_certificate(store, keys.v[i], &certificate, &err);
        if (code == KS_OK) {
            v.n_good++;
            verify_kept(store, keys.v[i], &v);
        } else if (code != KS_ERR_NOT_FOUND) { /* a search without a certificate is no fault */
            v.n_bad++;
            tell(&v, keys.v[i], NULL, false, err.message);
        }
    }
    print_verified(&v);
    return v.n_bad || v.n_kept_bad || v.n_open ? 1 : 0;
}

static int said(enum ks_code code, const struct ks_err *err)
{
    if (code != KS_OK)
        ks_say_error(err);
    return code != KS_OK;
}

static int list(const struct ks_store *store, bool json)
{
    struct ks_err err;
    KS_AUTO_JSON struct ks_json *rows = ks_json_array();
    if (ks_index_list(store, json ? add_row : print_row, rows, &err) == KS_OK) {
        if (json)
            ks_command_print(rows);
        return 0;
    }
    ks_say(KS_SEV_ERROR, "%s ('kscc store rebuild' makes it anew from the results) [kscc-i-o]", err.message);
    return 1;
}

static int rebuild(const struct ks_store *store)
{
    struct ks_err err;
    size_t n = 0;
    enum ks_code code = ks_index_rebuild(store, &n, &err);
    if (code == KS_OK)
        printf("%zu result%s\n", n, ks_plural_s((int64_t)n));
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

/* Before a store is made for what it holds. */
static enum ks_code check_archive(const char *file, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str names = KS_STR_INIT;
    char *const argv[] = {"tar", "--force-local", "-tf", (char *)file, NULL};
    if (!ks_file_exists(file))
        return ks_fail(err, KS_ERR_NOT_FOUND, "cannot find '%s'", file);
    enum ks_code code = ks_tool_run(argv, &names, err);
    if (code != KS_ERR_BUILD)
        return code;
    return ks_fail(err, KS_ERR_SYNTAX, "'%s' is no archive that 'kscc store export' has written: nothing was taken over", file);
}

static int import(const struct ks_store *store, const struct ks_args *words, bool with_approvals)
{
    struct ks_err err;
    int n_bad = 0;
    enum ks_code code = ks_store_import(store, words->v[1], with_approvals, print_import, &n_bad, &err);
    return said(code, &err) || n_bad;
}

static bool is_verb(const char *word)
{
    static const char *const verbs[] = {"export", "gc", "import", "list", "rebuild", "verify"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(word, verbs[i]) == 0)
            return true;
    return false;
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
    bool json = ks_command_flag(&words, "--json"), again = ks_command_flag(&words, "--rebuild");
    const char *verb = words.n ? words.v[0] : "";
    bool verifies = strcmp(verb, "verify") == 0;
    if ((again && !verifies) || (json && !verifies && strcmp(verb, "list") != 0))
        return ks_command_usage("store");
    bool makes = strcmp(verb, "import") == 0; /* also where there is none yet */
    bool with_approvals = makes && ks_command_flag(&words, "--with-approvals");
    if (!is_verb(verb) || (makes && words.n != 2))
        return ks_command_usage("store");
    if (makes && said(check_archive(words.v[1], &err), &err))
        return 1;
    if (makes ? said(ks_store_open(s.dir ? s.dir : ".kscc", &store, &err), &err) : !ks_command_store(&s, &store))
        return 1;
    int status = strcmp(verb, "gc") == 0                        ? gc(&store, &words)
                 : strcmp(verb, "export") == 0                  ? export_keys(&store, &words)
                 : makes                                        ? import(&store, &words, with_approvals)
                 : words.n == 1 && strcmp(verb, "list") == 0    ? list(&store, json)
                 : words.n == 1 && strcmp(verb, "rebuild") == 0 ? rebuild(&store)
                 : words.n == 1 && verifies                     ? verify(&store, again, json)
                                                                : ks_command_usage("store");
    ks_store_close(&store);
    return status;
}
