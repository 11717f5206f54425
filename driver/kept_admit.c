/* What a kept object may be, read from ELF. */

#include "driver/kept_object.h"

#include "base/hash.h"
#include "harness/object.h"

#include <string.h>

static bool defines(const struct ks_object *o, const char *prefix)
{
    for (size_t i = 0; i < o->n_symbols; i++)
        if (o->symbols[i].defined && o->symbols[i].function && ks_str_starts(o->symbols[i].name, prefix))
            return true;
    return false;
}

/* As emission leaves it: each half registers its fat binary before main() and does nothing else there, nothing talks to the
 * kernel or is chosen at load time, and the candidates are those of the certificates. */
static enum ks_code admit(const struct ks_object *o, const struct ks_json *entries, struct ks_err *err)
{
    size_t n = ks_json_len(entries);
    if (n == 0 || o->n_fatbins != n + 1 || o->constructors_bytes != o->n_fatbins * 8 || o->destructors_bytes || o->n_syscalls ||
        o->n_indirect)
        return ks_fail(err, KS_ERR_MISMATCH,
                       "it has %zu fat binaries, %zu constructors, %zu system calls and %zu functions chosen at load time",
                       o->n_fatbins, (o->constructors_bytes + o->destructors_bytes) / 8, o->n_syscalls, o->n_indirect);
    for (size_t i = 0; i < n; i++) {
        KS_AUTO_STR struct ks_str prefix = KS_STR_INIT;
        ks_str_addf(&prefix, "__kscc_%.8s_", ks_json_key(ks_json_at(entries, i)));
        if (!defines(o, ks_str_cstr(&prefix)))
            return ks_fail(err, KS_ERR_MISMATCH, "it has no candidate of %.12s", ks_json_key(ks_json_at(entries, i)));
    }
    for (size_t i = 0; i < o->n_symbols; i++)
        if (!o->symbols[i].defined && ks_str_starts(o->symbols[i].name, "__kscc_"))
            return ks_fail(err, KS_ERR_MISMATCH, "it lacks '%s'", o->symbols[i].name);
    return KS_OK;
}

enum ks_code ks_kept_admit(const char *path, const struct ks_json *entries, const char *hash, struct ks_str *ret,
                           struct ks_err *err)
{
    struct ks_object o;
    char hex[65];
    KS_TRY(ks_object_read_host(path, &o, err));
    ks_hash_hex(ks_str_cstr(&o.file), o.file.len, hex);
    enum ks_code code = hash && !ks_streq(hex, hash) ? ks_fail(err, KS_ERR_MISMATCH, "it is not the file that its record names")
                                                     : admit(&o, entries, err);
    if (code == KS_OK && ret)
        ks_str_addn(ret, ks_str_cstr(&o.file), o.file.len);
    ks_object_release(&o);
    return code;
}
