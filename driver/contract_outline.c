#include "driver/contract_outline.h"

#include "driver/signature.h"
#include "harness/contract.h"

enum role { ROLE_DIM, ROLE_ARG, ROLE_STREAM, ROLE_IN, ROLE_OUT };

static enum role role_of(const struct ks_param *p)
{
    switch (p->kind) {
    case KS_PARAM_POINTER: return p->pointee_const ? ROLE_IN : ROLE_OUT;
    case KS_PARAM_STREAM: return ROLE_STREAM;
    case KS_PARAM_F32:
    case KS_PARAM_F64:
    case KS_PARAM_UNSUPPORTED: return ROLE_ARG;
    case KS_PARAM_I8:
    case KS_PARAM_U8:
    case KS_PARAM_I16:
    case KS_PARAM_U16:
    case KS_PARAM_I32:
    case KS_PARAM_U32:
    case KS_PARAM_I64:
    case KS_PARAM_U64: return ROLE_DIM;
    }
    return ROLE_ARG;
}

static void add_dims(const struct ks_signature *sig, const char *directive, const char *domain, struct ks_str *out)
{
    bool any = false;
    for (size_t i = 0; i < sig->n_params; i++) {
        if (role_of(&sig->params[i]) != ROLE_DIM)
            continue;
        ks_str_addf(out, "%s%s=%s", any ? " " : directive, sig->params[i].name, domain);
        any = true;
    }
    if (any)
        ks_str_addc(out, '\n');
}

static void add_arrays(const struct ks_signature *sig, enum role role, const char *directive, struct ks_str *out)
{
    for (size_t i = 0; i < sig->n_params; i++) {
        const struct ks_param *p = &sig->params[i];
        if (role_of(p) == role)
            ks_str_addf(out, "%s%s : %s[?]\n", directive, p->name, p->pointee_known ? ks_dtype_text(p->pointee) : "?");
    }
}

static bool has_names(const struct ks_signature *sig)
{
    for (size_t i = 0; i < sig->n_params; i++)
        if (!sig->params[i].name || !sig->params[i].name[0])
            return false;
    return sig->n_params > 0;
}

size_t ks_contract_outline(const struct ks_facts *facts, struct ks_arena *arena, struct ks_str *out)
{
    size_t n = 0;
    for (size_t i = 0; i < facts->n_entries; i++) {
        struct ks_signature sig;
        const struct ks_entry *e = &facts->entries[i];
        if (e->takes_object || e->has_error)
            continue;
        ks_signature_of(e, arena, &sig);
        if (!has_names(&sig))
            continue;
        ks_str_addf(out, "%s// kscc: entry %s\n", n++ ? "\n" : "", e->name);
        add_dims(&sig, "// kscc: dims  ", "1..?", out);
        add_arrays(&sig, ROLE_IN, "// kscc: in    ", out);
        add_arrays(&sig, ROLE_OUT, "// kscc: out   ", out);
        for (size_t k = 0; k < sig.n_params; k++)
            if (role_of(&sig.params[k]) == ROLE_ARG)
                ks_str_addf(out, "// kscc: arg   %s = ?\n", sig.params[k].name);
        size_t before = out->len;
        add_dims(&sig, "// kscc: time  ", "?", out);
        if (out->len == before)
            ks_str_add(out, "// kscc: time\n");
    }
    return n;
}
