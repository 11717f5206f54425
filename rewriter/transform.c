#include "rewriter/transform.h"

#include <string.h>

#define X(ident, text, layer_name) {text, KS_LAYER_##layer_name, ks_tf_##ident##_enumerate, ks_tf_##ident##_apply},
const struct ks_transform ks_transforms[] = {
#include "rewriter/transforms.def"
};
#undef X
const size_t ks_n_transforms = sizeof ks_transforms / sizeof ks_transforms[0];

const struct ks_transform *ks_transform_find(const char *name)
{
    for (size_t i = 0; i < ks_n_transforms; i++)
        if (ks_streq(ks_transforms[i].name, name))
            return &ks_transforms[i];
    return NULL;
}

void ks_sites_release(struct ks_sites *s)
{
    if (s)
        ks_vec_release(s);
}

void ks_sites_add(struct ks_sites *s, const struct ks_site *site)
{
    ks_vec_push(s, *site);
}

void ks_sites_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    if (!v->entry || v->entry->has_error)
        return;
    for (size_t i = 0; i < ks_n_transforms; i++) {
        size_t first = out->n;
        ks_transforms[i].enumerate(v, out);
        for (size_t k = first; k < out->n; k++)
            out->data[k].transform = &ks_transforms[i];
    }
}

const char *ks_site_label(const struct ks_site *site, struct ks_arena *arena)
{
    const char *variant = site->variant ? site->variant : "";
    return ks_arena_printf(arena, "%s(%s%s%s)", site->transform->name, site->where, *variant ? ";" : "", variant);
}

enum ks_code ks_site_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_EDITS struct ks_edits edits;
    ks_edits_init(&edits);
    KS_TRY(site->transform->apply(v, site, &edits, err));
    if (edits.n == 0)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "found nothing to edit at '%s'", site->where);
    return ks_edits_apply(&edits, v->facts->source, v->facts->source_len, out, err);
}
