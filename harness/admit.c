/* The gates `interface` and `admission` on a built object, before anything of it is linked or loaded. */
#include "harness/session_impl.h"

#include <string.h>

/* What the object does not tell: assembly, and which functions of the driver are asked for.  Without the compiler's text no
 * function of the driver is, and the verdict says that assembly was not looked for. */
static bool host_text_admitted(const struct ks_session *s, const struct ks_built *b, const char *source, size_t len,
                               struct ks_str *reason)
{
    if (ks_host_text_renames(source, len) && !ks_host_text_renames(s->opt.source, s->opt.source_len)) {
        ks_str_add(reason, "gives its lines another file's name (#line or a line marker), which the original does not");
        return false;
    }
    if (s->baseline->host_text && b->host_text)
        return ks_host_text_check(s->baseline->host_text, b->host_text, reason);
    if (s->baseline->host_text) {
        ks_str_add(reason, "the host compiler left no preprocessed text, as it did for the original");
        return false;
    }
    for (size_t i = 0; i < b->object.n_symbols; i++) {
        const struct ks_symbol *c = &b->object.symbols[i];
        if (!c->defined && ks_str_starts(c->name, "cudaGetDriverEntryPoint") &&
            !ks_object_symbol(&s->baseline->object, c->name)) {
            ks_str_addf(reason,
                        "host code calls '%s', and without the compiler's preprocessed text it is not known what it asks for",
                        c->name);
            return false;
        }
    }
    return true;
}

bool ks_admit_interface(const struct ks_session *s, const struct ks_built *b, struct ks_str *reason)
{
    return ks_interface_check(&s->baseline->object, &b->object, s->opt.signature->symbol, reason);
}

bool ks_admit_object(const struct ks_session *s, const struct ks_built *b, const char *source, size_t len, struct ks_str *reason)
{
    return ks_admission_check(&s->baseline->object, &b->object, reason) && host_text_admitted(s, b, source, len, reason);
}
