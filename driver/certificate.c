#include "driver/certificate.h"

#include "base/file.h"
#include "base/hash.h"
#include "driver/diff.h"

#include <string.h>

static struct ks_json *speedup_to_json(const struct ks_trial *t)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_num(j, "estimate", t->speedup);
    ks_json_set_num(j, "lo", t->speedup_lo);
    ks_json_set_num(j, "hi", t->speedup_hi);
    if (!t->modelled) /* a model has no spread */
        ks_json_set_num(j, "confidence", 0.95);
    ks_json_set_bool(j, "modelled", t->modelled);
    return j;
}

struct ks_json *ks_unit_flags_json(const struct ks_unit *u)
{
    struct ks_json *flags = ks_json_array();
    for (size_t i = 1; i + 4 <= u->build_argv.n; i++) /* neither the input nor the output */
        if (i != u->input_index && i + 1 != u->input_index)
            ks_json_push(flags, ks_json_string(u->build_argv.v[i]));
    return flags;
}

/* What certificate and outcome have in common. */
static struct ks_json *finding_to_json(const struct ks_finding *f)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_i64(j, "gate_version", KS_GATE_VERSION);
    ks_json_set_str(j, "kscc", KSCC_VERSION);
    ks_json_set_str(j, "key", f->key);
    ks_json_set_str(j, "unit", ks_path_base(f->unit->path));
    ks_json_set_str(j, "entry", f->contract->entry);
    ks_json_set_str(j, "toolkit", f->unit->toolkit.version);
    ks_json_set_str(j, "toolkit_path", f->unit->toolkit_path);
    ks_json_set(j, "flags", ks_unit_flags_json(f->unit));
    ks_json_set_str(j, "included_sha256", f->unit->included_hash);
    ks_json_set_str(j, "variables_sha256", f->unit->variables_hash);
    ks_json_set(j, "device", ks_json_repeatable(f->device));
    ks_json_set_str(j, "agent", f->agent);
    ks_json_set_i64(j, "trials", f->result->n_trials);
    ks_json_set_i64(j, "trials_accepted", f->result->n_accepted);
    ks_json_set_str(j, "stopped_by", f->result->stopped_by);
    ks_json_set_i64(j, "budget_trials", f->budget.trials);
    return j;
}

static void set_hash(struct ks_json *hashes, const char *file, const char *data, size_t len)
{
    char hex[65];
    ks_hash_hex(data, len, hex);
    ks_json_set_str(hashes, file, hex);
}

static struct ks_json *certificate_to_json(const struct ks_finding *f)
{
    const struct ks_search_result *r = f->result;
    struct ks_json *j = finding_to_json(f), *hashes = ks_json_object();
    set_hash(hashes, KS_ORIGINAL_FILE, f->unit->source, f->unit->source_len);
    set_hash(hashes, KS_CANDIDATE_FILE, r->source, r->source_len);
    ks_json_set_str(hashes, KS_TRACE_FILE, f->trace_hash);
    ks_json_set(j, "sha256", hashes);
    ks_json_set(j, "contract", ks_json_copy(f->contract_json)); /* the domain */
    ks_json_set(j, "speedup", speedup_to_json(r->confirm));
    const struct ks_json *unchecked = ks_json_get(r->confirm->verdict, "unchecked_points"),
                         *largest = ks_json_get(r->confirm->verdict, "largest_compared");
    if (unchecked)
        ks_json_set(j, "unchecked_points", ks_json_copy(unchecked));
    if (largest)
        ks_json_set(j, "largest_compared", ks_json_copy(largest));
    ks_json_set(j, "trial", ks_json_copy(r->trial->verdict));
    ks_json_set(j, "confirmation", ks_json_copy(r->confirm->verdict));
    return j;
}

static enum ks_code store_texts(const struct ks_store *store, const struct ks_finding *f, struct ks_err *err)
{
    const struct ks_search_result *r = f->result;
    const struct ks_unit *u = f->unit;
    KS_AUTO_STR struct ks_str diff = KS_STR_INIT;
    ks_diff_texts(u->source, u->source_len, r->source, r->source_len, &diff);
    KS_TRY(ks_store_write(store, f->key, KS_CANDIDATE_FILE, r->source, r->source_len, err));
    return ks_store_write(store, f->key, KS_DIFF_FILE, ks_str_cstr(&diff), diff.len, err);
}

enum ks_code ks_finding_store(const struct ks_store *store, const struct ks_finding *f, struct ks_err *err)
{
    bool certified = f->result->confirm != NULL;
    KS_AUTO_JSON struct ks_json *j = certified ? certificate_to_json(f) : finding_to_json(f);
    KS_AUTO_STR struct ks_str report = KS_STR_INIT;
    KS_TRY(ks_store_write(store, f->key, KS_ORIGINAL_FILE, f->unit->source, f->unit->source_len, err));
    if (certified)
        KS_TRY(store_texts(store, f, err));
    KS_TRY(certified ? ks_store_write_certificate(store, f->key, j, err)
                     : ks_store_write_json(store, f->key, KS_OUTCOME_FILE, j, err));
    ks_report_text(store, f->key, &report);
    KS_TRY(ks_store_write(store, f->key, KS_REPORT_FILE, ks_str_cstr(&report), report.len, err));
    struct ks_err index_err; /* the index can be rebuilt: a failure here loses nothing */
    enum ks_code indexed = ks_index_put(store, f->key, &index_err);
    (void)indexed;
    return KS_OK;
}
