#include "driver/pipeline.h"

#include "analyzer/facts.h"
#include "base/file.h"
#include "base/limits.h"
#include "driver/again.h"
#include "driver/beside.h"
#include "driver/certificate.h"
#include "driver/device_choice.h"
#include "driver/emit.h"
#include "driver/entry.h"
#include "driver/known.h"
#include "driver/parse_line.h"
#include "driver/policy.h"
#include "driver/recorded_unit.h"
#include "driver/say.h"
#include "driver/stats.h"
#include "driver/stop.h"
#include "driver/store.h"

#include <string.h>

#define MAX_PARSE_ERRORS_SHOWN 5

static const char nvcc_only[] = "compiling with nvcc only";

struct pipeline {
    struct ks_arena arena;
    const char *object; /* NULL: as nvcc names it */
    const char *rule;   /* NULL: to be asked for */
    struct ks_unit unit;
    struct ks_contract *contracts;
    size_t n_contracts;
    bool contracts_failed; /* others than these could not be read */
    struct ks_facts *facts;
    struct ks_parse_options parse;
    struct ks_device_chosen device;
    struct ks_policies policies;
    struct ks_store store;
    struct ks_store read_only; /* the user's, when it can be read only; store is a temporary one then */
    struct ks_store shared;    /* --kscc-shared-dir */
    char unit_hash[65];
    struct ks_emission *emissions;
    size_t n_emissions;
    char object_hash[65];        /* of what was emitted */
    const char *only;            /* the one entry that is asked for; NULL: all */
    struct ks_recorded recorded; /* the unit's workload where it has no contract; no calls: it has */
    struct ks_str *text;         /* takes the verified text in place of an emission; NULL: emit */
};

/* ---- contracts ------------------------------------------------------------------------------------------------------ */

static void say_no_workload(const char *path, const char *sidecar)
{
    ks_say(KS_SEV_REMARK,
           "%s: no workload: neither a contract ('// kscc: entry ...') in the source nor '%s', %s [kscc-no-workload]", path,
           sidecar, nvcc_only);
}

/* Most units of a project have none: they are told before anything is asked of nvcc, and those without a kernel stay silent. */
static bool may_have_contract(const char *path, const struct ks_settings *s)
{
    KS_AUTO_STR struct ks_str sidecar = KS_STR_INIT;
    if (s->workload || ks_unit_may_have_contract(path))
        return true;
    ks_sidecar_path(path, &sidecar);
    if (ks_unit_may_have_kernel(path))
        say_no_workload(path, ks_str_cstr(&sidecar));
    return false;
}

static bool read_contracts(struct pipeline *p)
{
    struct ks_diags diags;
    struct ks_err err;
    ks_diags_init(&diags);
    enum ks_code code = ks_contracts_parse(p->unit.path, p->unit.source, p->unit.source_len, &p->arena, &diags, &p->contracts,
                                           &p->n_contracts, &err);
    ks_say_diags(&diags, p->unit.source, p->unit.source_len);
    ks_diags_release(&diags);
    ks_diags_init(&diags);
    KS_AUTO_STR struct ks_str sidecar = KS_STR_INIT;
    ks_sidecar_path(p->unit.path, &sidecar);
    struct ks_err sidecar_err;
    enum ks_code sidecar_code = KS_OK;
    if (ks_file_exists(ks_str_cstr(&sidecar)))
        sidecar_code = ks_sidecar_read(ks_str_cstr(&sidecar), &p->arena, &diags, &p->contracts, &p->n_contracts, &sidecar_err);
    ks_say_diags(&diags, NULL, 0);
    ks_diags_release(&diags);
    const char *instead = p->n_contracts ? "going on with the contracts without errors" : nvcc_only;
    if (code != KS_OK)
        ks_say_instead(&err, instead);
    if (sidecar_code != KS_OK)
        ks_say_instead(&sidecar_err, instead);
    p->contracts_failed = code != KS_OK || sidecar_code != KS_OK;
    if (p->n_contracts == 0 && !p->contracts_failed && !p->unit.settings->workload)
        say_no_workload(p->unit.path, ks_str_cstr(&sidecar));
    return p->n_contracts > 0;
}

/* ---- policy --------------------------------------------------------------------------------------------------------- */

static bool read_policies(struct pipeline *p)
{
    struct ks_diags diags;
    struct ks_err err;
    const char *text = NULL;
    ks_diags_init(&diags);
    enum ks_code code = ks_policies_read(p->unit.settings, p->unit.path, &p->arena, &diags, &text, &p->policies, &err);
    ks_say_diags(&diags, text, text ? strlen(text) : 0);
    if (code != KS_OK)
        ks_say_instead(&err, nvcc_only);
    ks_diags_release(&diags);
    return code == KS_OK;
}

/* Contracts of entries that the policy leaves alone are out of the way.  False: it leaves all alone. */
static bool drop_contracts_off(struct pipeline *p)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_contracts; i++) {
        const char *where;
        if (ks_policies_of(&p->policies, p->contracts[i].entry, &where) != KS_POLICY_OFF)
            p->contracts[n++] = p->contracts[i];
        else
            ks_say(KS_SEV_REMARK, "%s: policy is off for %s%s%s%s, %s [kscc-policy]", p->unit.path, p->contracts[i].entry,
                   where ? " (" : "", where ? where : "", where ? ")" : "", KS_KEEP_BASELINE);
    }
    p->n_contracts = n;
    return n > 0;
}

/* ---- facts ---------------------------------------------------------------------------------------------------------- */

static bool read_facts(struct pipeline *p)
{
    struct ks_diags diags;
    struct ks_err err;
    ks_unit_parse_options(&p->unit, &p->parse);
    ks_diags_init(&diags);
    enum ks_code code =
        ks_facts_parse(p->unit.path, p->unit.source, p->unit.source_len, &p->parse, &p->arena, &diags, &p->facts, &err);
    if (code != KS_OK) {
        for (size_t i = 0, shown = 0; i < diags.n && shown < MAX_PARSE_ERRORS_SHOWN; i++) {
            bool here = ks_streq(diags.data[i].file, p->unit.path);
            if (diags.data[i].severity == KS_SEV_ERROR && ++shown)
                ks_say_diag(&diags.data[i], here ? p->unit.source : NULL, here ? p->unit.source_len : 0);
        }
        ks_wrap(&err, "cannot analyse '%s'", p->unit.path);
        ks_say_instead(&err, nvcc_only);
    }
    ks_diags_release(&diags);
    return code == KS_OK;
}

/* ---- a recorded workload -------------------------------------------------------------------------------------------- */

/* Where neither source nor sidecar has a contract, a recording may say what to try. */
static bool read_recording(struct pipeline *p)
{
    return !p->contracts_failed && p->unit.settings->workload && read_facts(p) &&
           ks_recorded_apply(&p->unit, p->facts, &p->recorded) && read_contracts(p);
}

/* ---- store ---------------------------------------------------------------------------------------------------------- */

/* A build that only looks up makes no store. */
static bool may_search(const struct pipeline *p)
{
    const char *where;
    for (size_t i = 0; i < p->n_contracts; i++)
        if (ks_policies_of(&p->policies, p->contracts[i].entry, &where) == KS_POLICY_EXPLORE)
            return true;
    return false;
}

static bool open_store(struct pipeline *p)
{
    struct ks_err err;
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    ks_store_dir_of(p->unit.settings, p->unit.path, &dir);
    enum ks_code code = KS_OK;
    if (may_search(p) || ks_file_exists(ks_str_cstr(&dir)))
        code = ks_store_open(ks_str_cstr(&dir), &p->store, &err);
    else
        ks_store_open_none(ks_str_cstr(&dir), &p->store);
    if (code != KS_OK) {
        struct ks_err none;
        bool readable = ks_store_open_existing(ks_str_cstr(&dir), &p->read_only, &none) == KS_OK;
        ks_say_instead(&err, readable ? "looking up there and searching with a temporary store: nothing new will be kept"
                                      : "searching with a temporary store: nothing will be kept");
        code = ks_store_open_temporary(&p->store, &err);
    }
    if (code != KS_OK)
        ks_say_instead(&err, nvcc_only);
    const char *shared = p->unit.settings->shared_dir;
    struct ks_err shared_err;
    if (code == KS_OK && shared && ks_store_open_existing(shared, &p->shared, &shared_err) != KS_OK)
        ks_say_instead(&shared_err, "going on with the store of one's own");
    return code == KS_OK;
}

/* ---- the list ------------------------------------------------------------------------------------------------------- */

static bool open_unit(struct pipeline *p, const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc, size_t input)
{
    struct ks_err err;
    if (ks_unit_open(c, s, nvcc, input, &p->arena, &p->unit, &err) == KS_OK) {
        p->unit.object = p->object ? p->object : p->unit.object;
        p->unit.rule = p->rule;
        return true;
    }
    ks_say_instead(&err, nvcc_only);
    return false;
}

static bool hash_unit(struct pipeline *p)
{
    struct ks_err err;
    if (ks_unit_hash(&p->unit, p->unit_hash, &err) == KS_OK)
        return true;
    ks_say_instead(&err, nvcc_only);
    return false;
}

/* What could not be emitted is not searched. */
static bool can_emit(struct pipeline *p)
{
    struct ks_err err;
    if ((p->recorded.n ? ks_emit_check_launches(&p->unit, &err) : ks_emit_check_unit(&p->unit, &err)) == KS_OK)
        return true;
    ks_err_place(&err, p->contracts[0].path, p->contracts[0].entry_line, p->contracts[0].entry_col);
    ks_say_instead(&err, nvcc_only);
    return false;
}

static bool choose_device(struct pipeline *p)
{
    struct ks_err err;
    if (ks_device_choose(&p->unit, &p->device, &err) == KS_OK)
        return true;
    ks_say_instead(&err, nvcc_only);
    return false;
}

static bool optimise_entries(struct pipeline *p)
{
    struct ks_entry_context x = {.unit = &p->unit,
                                 .facts = p->facts,
                                 .parse = &p->parse,
                                 .device = &p->device,
                                 .store = &p->store,
                                 .read_only = p->read_only.dir ? &p->read_only : NULL,
                                 .shared = p->shared.dir ? &p->shared : NULL,
                                 .unit_hash = p->unit_hash,
                                 .allowed_signers = p->unit.settings->allowed_signers ? p->unit.settings->allowed_signers
                                                                                      : p->policies.allowed_signers};
    p->emissions = KS_ARENA_ARRAY(&p->arena, struct ks_emission, p->n_contracts);
    for (size_t i = 0; i < p->n_contracts; i++) {
        const char *where;
        if (p->only && strcmp(p->contracts[i].entry, p->only) != 0)
            continue;
        x.policy = ks_policies_of(&p->policies, p->contracts[i].entry, &where);
        struct ks_emission *e = &p->emissions[p->n_emissions];
        if (ks_entry_optimise(&x, &p->contracts[i], e)) {
            e->launch = ks_recorded_launch(&p->unit, &p->recorded, p->contracts[i].entry);
            p->n_emissions++;
        }
        if (p->text && p->n_emissions)
            break;
    }
    if (p->recorded.n)
        ks_recorded_say_gain(&p->unit, &p->recorded, &p->store, p->emissions, p->n_emissions);
    return p->n_emissions > 0;
}

static bool emit(struct pipeline *p)
{
    struct ks_err err;
    if (p->text) {
        if (ks_file_read(p->emissions[0].candidate_path, KS_MAX_SOURCE_BYTES, p->text, &err) == KS_OK)
            return true;
        ks_say_error(&err);
        return false;
    }
    if (ks_emit(&p->unit, p->emissions, p->n_emissions, p->object_hash, &err) != KS_OK) {
        ks_wrap(&err, "cannot emit the verified candidate");
        ks_say_instead(&err, "the baseline object stays");
        return false;
    }
    for (size_t i = 0; i < p->n_emissions; i++)
        ks_again_say(p->unit.object, p->emissions[i].signature->entry,
                     p->emissions[i].candidate_is_kept ? p->emissions[i].candidate_path : NULL);
    return true;
}

static void release(struct pipeline *p)
{
    for (size_t i = 0; i < p->n_emissions; i++)
        ks_json_free((struct ks_json *)p->emissions[i].contract);
    ks_recorded_release(&p->recorded);
    ks_store_close(&p->store);
    ks_store_close(&p->read_only);
    ks_store_close(&p->shared);
    ks_unit_close(&p->unit);
    ks_arena_release(&p->arena);
}

/* The list.  Each step says on stderr why it was the last. */
static enum ks_stat run_steps(struct pipeline *p, const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc,
                              size_t input)
{
    if (!may_have_contract(c->inputs.data[input].path, s))
        return KS_STAT_NO_WORKLOAD;
    if (!open_unit(p, c, s, nvcc, input))
        return KS_STAT_NOT_PARSED;
    if (!read_contracts(p) && !read_recording(p))
        return p->contracts_failed ? KS_STAT_NO_CONTRACT : KS_STAT_NO_WORKLOAD;
    if (!read_policies(p))
        return KS_STAT_BAD_VALUE;
    if (!drop_contracts_off(p))
        return KS_STAT_POLICY_OFF;
    if (!can_emit(p))
        return KS_STAT_OBSTACLE;
    if (!read_facts(p))
        return KS_STAT_NOT_PARSED;
    if (!choose_device(p))
        return KS_STAT_NO_DEVICE;
    if (!hash_unit(p))
        return KS_STAT_NOT_HASHED;
    if (!open_store(p))
        return KS_STAT_NO_STORE;
    if (!optimise_entries(p))
        return KS_STAT_NO_ENTRY;
    return emit(p) ? KS_STAT_EMITTED : KS_STAT_NOT_EMITTED;
}

bool ks_pipeline_text(const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc, size_t input, const char *object,
                      const char *entry, struct ks_str *text, char **ret_entry)
{
    struct pipeline p = {.object = object,
                         .only = entry,
                         .text = text,
                         .store = {.scratch_fd = -1},
                         .read_only = {.scratch_fd = -1},
                         .shared = {.scratch_fd = -1}};
    ks_arena_init(&p.arena);
    ks_stop_install();
    bool found = run_steps(&p, c, s, nvcc, input) == KS_STAT_EMITTED;
    if (found)
        *ret_entry = ks_xstrdup(p.emissions[0].signature->entry);
    release(&p);
    return found;
}

/* What was emitted, in words that a later build can compare. */
static void tell_emitted(const struct pipeline *p, struct ks_emitted *ret)
{
    memcpy(ret->object_hash, p->object_hash, sizeof(ret->object_hash));
    for (size_t i = 0; i < p->n_emissions; i++)
        ks_again_id(p->emissions[i].key, p->emissions[i].arch, p->emissions[i].candidate_path, &ret->ids);
}

bool ks_pipeline_run(const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc, size_t input, const char *object,
                     const char *rule, struct ks_emitted *ret)
{
    struct pipeline p = {.object = object,
                         .rule = rule,
                         .store = {.scratch_fd = -1},
                         .read_only = {.scratch_fd = -1},
                         .shared = {.scratch_fd = -1}};
    ks_arena_init(&p.arena);
    ks_stop_install();
    ks_stats_count(KS_STAT_UNITS);
    enum ks_stat end = run_steps(&p, c, s, nvcc, input);
    ks_stats_count(end);
    bool all = end == KS_STAT_EMITTED && p.n_emissions == p.n_contracts && !p.contracts_failed;
    if (all && ret && !p.recorded.n) /* a recording may change: nothing is kept */
        tell_emitted(&p, ret);
    release(&p);
    return all;
}
