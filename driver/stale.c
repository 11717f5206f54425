#include "driver/stale.h"

#include "base/file.h"
#include "base/hash.h"
#include "driver/certificate.h"

#include <string.h>

static void add(struct ks_str *out, size_t *n, const char *what)
{
    ks_str_addf(out, "%s%s", (*n)++ ? ", " : "", what);
}

static bool same_json(const struct ks_json *a, const struct ks_json *b)
{
    KS_AUTO_STR struct ks_str x = KS_STR_INIT, y = KS_STR_INIT;
    if (!a || !b)
        return a == b;
    ks_json_print(a, &x);
    ks_json_print(b, &y);
    return strcmp(ks_str_cstr(&x), ks_str_cstr(&y)) == 0;
}

static bool is_whole(const struct ks_store *s, const char *key)
{
    KS_AUTO_JSON struct ks_json *certificate = NULL;
    struct ks_err why;
    return ks_store_certificate(s, key, &certificate, &why) == KS_OK;
}

/* What differs between the certificate `c` of `key` and the unit; their number. */
static size_t differences(const struct ks_entry_context *x, const char *key, const struct ks_json *c,
                          const struct ks_json *contract, struct ks_str *out)
{
    const struct ks_unit *u = x->unit;
    char source[65];
    size_t n = 0;
    KS_AUTO_JSON struct ks_json *flags = ks_unit_flags_json(u);
    const char *toolkit = ks_json_get_str(c, "toolkit", "");
    ks_hash_hex(u->source, u->source_len, source);
    if (ks_json_get_i64(c, "gate_version", -1) != KS_GATE_VERSION)
        add(out, &n, "the gates' version");
    if (!ks_streq(ks_json_get_str(ks_json_get(c, "sha256"), KS_ORIGINAL_FILE, ""), source))
        add(out, &n, "the source");
    if (!same_json(ks_json_get(c, "contract"), contract))
        add(out, &n, "the contract");
    if (!ks_streq(ks_json_get_str(c, "included_sha256", ""), u->included_hash))
        add(out, &n, "a file it includes");
    if (!same_json(ks_json_get(c, "flags"), flags))
        add(out, &n, "the flags");
    if (!ks_streq(ks_json_get_str(c, "variables_sha256", ""), u->variables_hash))
        add(out, &n, "a variable that nvcc reads as flags");
    if (!ks_streq(toolkit, u->toolkit.version)) {
        add(out, &n, "the toolkit");
        ks_str_addf(out, " (%s, now %s)", toolkit, u->toolkit.version);
    }
    const char *path = ks_json_get_str(c, "toolkit_path", "");
    if (!ks_streq(path, u->toolkit_path)) {
        add(out, &n, "the toolkit's folder");
        ks_str_addf(out, " ('%s', now '%s')", path, u->toolkit_path);
    }
    if (n == 0)
        add(out, &n, is_whole(x->store, key) ? "the device or the gate's thresholds" : "the certificate itself");
    return n;
}

bool ks_stale_find(const struct ks_entry_context *x, const char *entry, const struct ks_json *contract, char *ret_key,
                   struct ks_str *out)
{
    KS_AUTO_ARGS struct ks_args keys;
    struct ks_err err;
    size_t least = SIZE_MAX;
    ks_args_init(&keys);
    if (ks_store_keys(x->store, &keys, &err) != KS_OK)
        return false;
    for (size_t i = 0; i < keys.n; i++) {
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        KS_AUTO_JSON struct ks_json *c = ks_store_read_json(x->store, keys.v[i], KS_CERTIFICATE_FILE);
        if (!c || !ks_streq(ks_json_get_str(c, "entry", NULL), entry) ||
            !ks_streq(ks_json_get_str(c, "unit", NULL), ks_path_base(x->unit->path)))
            continue;
        size_t n = differences(x, keys.v[i], c, contract, &text);
        if (n >= least)
            continue;
        least = n;
        memcpy(ret_key, keys.v[i], 65);
        ks_str_clear(out);
        ks_str_add(out, ks_str_cstr(&text));
    }
    return least != SIZE_MAX;
}
