#include "driver/recorded_unit.h"

#include "driver/certificate.h"
#include "driver/say.h"

#include <string.h>

static const char nvcc_only[] = "compiling with nvcc only";

void ks_recorded_say_refused(const struct ks_unit *u, const struct ks_recorded *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->calls[i].refused)
            ks_say(KS_SEV_REMARK,
                   "%s:%u: kernel '%s' (%.1f %% of the recorded time) cannot be tried by itself: %s, it stays as it is "
                   "[kscc-no-workload]",
                   u->path, r->calls[i].kernel->node ? r->calls[i].kernel->node->line : 0, r->calls[i].kernel->name,
                   r->calls[i].share * 100, r->calls[i].refused);
}

bool ks_recorded_apply(struct ks_unit *u, const struct ks_facts *facts, struct ks_recorded *ret)
{
    const char *dir = u->settings->workload;
    struct ks_err err;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    size_t before, n = 0;
    if (ks_recorded_read(dir, facts, u->arena, ret, &err) != KS_OK) {
        ks_say_instead(&err, nvcc_only);
        return false;
    }
    if (ret->n == 0) {
        ks_say(KS_SEV_REMARK,
               "%s: no workload: the recording '%s' has no launch of this unit that is worth a search, %s [kscc-no-workload]",
               u->path, dir, nvcc_only);
        return false;
    }
    ks_recorded_hollow(facts, &text);
    before = text.len;
    ks_recorded_draft(u, facts, ret, false, u->arena, &text);
    ks_recorded_say_refused(u, ret);
    if (text.len == before)
        return false;
    for (size_t i = 0; i < ret->n; i++)
        n += !ret->calls[i].refused;
    ks_say_progress("%s: %zu recorded call%s; kernels of this unit take %.1f %% of the device's time", u->path, n,
                    n == 1 ? "" : "s", ret->ns > 0 ? ret->ns_of_unit / ret->ns * 100 : 0.0);
    u->source = ks_arena_strndup(u->arena, ks_str_cstr(&text), text.len);
    u->source_len = text.len;
    return true;
}

static const struct ks_recorded_call *call_of(const struct ks_recorded *r, const char *entry)
{
    for (size_t i = 0; i < r->n; i++)
        if (!r->calls[i].refused && strcmp(r->calls[i].entry, entry) == 0)
            return &r->calls[i];
    return NULL;
}

const struct ks_emission_launch *ks_recorded_launch(const struct ks_unit *u, const struct ks_recorded *r, const char *entry)
{
    const struct ks_recorded_call *c = call_of(r, entry);
    if (!c)
        return NULL;
    struct ks_emission_launch *l = KS_ARENA_NEW(u->arena, struct ks_emission_launch);
    *l = (struct ks_emission_launch){.symbol = c->symbol, .shared_bytes = c->shared_bytes};
    memcpy(l->grid, c->grid, sizeof(l->grid));
    memcpy(l->block, c->block, sizeof(l->block));
    return l;
}

void ks_recorded_say_gain(const struct ks_unit *u, const struct ks_recorded *r, const struct ks_store *store,
                          const struct ks_emission *emissions, size_t n)
{
    double left = 1, share = 0;
    KS_AUTO_STR struct ks_str parts = KS_STR_INIT;
    for (size_t i = 0; i < n; i++) {
        KS_AUTO_JSON struct ks_json *certificate = ks_store_read_json(store, emissions[i].key, KS_CERTIFICATE_FILE);
        const struct ks_recorded_call *c = call_of(r, emissions[i].signature->entry);
        double gain = ks_json_get_num(ks_json_get(certificate, "speedup"), "estimate", 0);
        if (!c || gain <= 0)
            continue;
        left -= c->share * (1 - 1 / gain);
        share += c->share;
        ks_str_addf(&parts, "%s%s %.1f %% at %.2fx", parts.len ? ", " : "", c->kernel->name, c->share * 100, gain);
    }
    if (share > 0 && left > 0)
        ks_say_progress("%s: of the recorded time in kernels: %s; all of it %.2fx (were they free: %s%.2fx)", u->path,
                        ks_str_cstr(&parts), 1 / left, share < 1 ? "" : "more than ", share < 1 ? 1 / (1 - share) : 1 / left);
}
