/* kscc store and approve: the commands over what a store holds. */

#include "driver/certificate.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        ks_say(KS_SEV_ERROR, "%s", err.message);
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

int ks_cmd_store(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words;
    struct ks_settings s;
    struct ks_store store;
    struct ks_err err;
    size_t n;
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    if (words.n != 1)
        return ks_command_usage("store");
    if (!ks_command_store(&s, &store))
        return 1;
    int status = 0;
    enum ks_code code = KS_OK;
    if (strcmp(words.v[0], "list") == 0) {
        code = ks_index_list(&store, print_row, NULL, &err);
        if (code != KS_OK) {
            ks_say(KS_SEV_ERROR, "%s ('kscc store rebuild' makes it anew from the results)", err.message);
            ks_store_close(&store);
            return 1;
        }
    } else if (strcmp(words.v[0], "rebuild") == 0) {
        code = ks_index_rebuild(&store, &n, &err);
        if (code == KS_OK)
            printf("%zu entries\n", n);
    } else if (strcmp(words.v[0], "verify") == 0) {
        status = verify(&store);
    } else {
        status = ks_command_usage("store");
    }
    if (code != KS_OK) {
        ks_say(KS_SEV_ERROR, "%s", err.message);
        status = 1;
    }
    ks_store_close(&store);
    return status;
}

static int approve(const struct ks_store *store, const char *key)
{
    struct ks_err err, index_err;
    const char *who = getenv("USER");
    if (ks_store_approve(store, key, who ? who : "unknown", &err) != KS_OK) {
        ks_say(KS_SEV_ERROR, "cannot approve %.12s: %s", key, err.message);
        return 1;
    }
    if (ks_index_put(store, key, &index_err) != KS_OK)
        ks_say_instead(&index_err, "the approval stands (kscc store rebuild renews the index)");
    printf("approved %s\n", key);
    return 0;
}

int ks_cmd_approve(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words;
    struct ks_settings s;
    struct ks_store store;
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    if (words.n == 0)
        return ks_command_usage("approve");
    if (!ks_command_store(&s, &store))
        return 1;
    int status = ks_command_for_keys(&store, &words, approve);
    ks_store_close(&store);
    return status;
}
