#include "driver/known.h"

#include "base/file.h"
#include "base/hash.h"
#include "driver/certificate.h"
#include "driver/entry_session.h"
#include "driver/proof_device.h"
#include "driver/say.h"
#include "driver/signed.h"
#include "driver/stale.h"

#include <string.h>

/* What file:DIR proposes is not in its name: texts may have come since.  Searching again costs little, the journal has the
 * verdicts. */
static bool is_named_by_its_texts(const char *agent)
{
    return ks_str_starts(agent, "file:");
}

/* A search with at least this budget ended on its own and found nothing. */
static bool ended_without_gain(const struct ks_entry_context *x, const char *key, const struct ks_budget *budget)
{
    if (is_named_by_its_texts(x->unit->settings->agent))
        return false;
    KS_AUTO_JSON struct ks_json *j = ks_store_read_json(x->store, key, KS_OUTCOME_FILE);
    if (!j || ks_json_get_i64(j, "gate_version", -1) != KS_GATE_VERSION ||
        !ks_streq(ks_json_get_str(j, "agent", NULL), x->unit->settings->agent))
        return false;
    const char *why = ks_json_get_str(j, "stopped_by", "");
    return strcmp(why, "exhausted") == 0 ||
           (strcmp(why, "trials") == 0 && ks_json_get_i64(j, "budget_trials", 0) >= budget->trials);
}

static void say_known(const struct ks_entry_context *x, const char *key, const struct ks_json *certificate)
{
    KS_AUTO_STR struct ks_str speedup = KS_STR_INIT;
    ks_report_speedup(ks_json_get(certificate, "speedup"), &speedup);
    ks_say_progress("%s: certificate %.12s from the store: %s, %s", x->unit->path, key,
                    ks_json_get_str(certificate, "entry", "?"), ks_str_cstr(&speedup));
}

/* A certificate that would do, had nothing changed.  False: none. */
static bool find_stale(const struct ks_entry_context *x, const char *entry, const struct ks_json *contract, struct ks_str *ret)
{
    KS_AUTO_STR struct ks_str what = KS_STR_INIT;
    char key[65];
    if (!ks_stale_find(x, entry, contract, key, &what))
        return false;
    ks_str_addf(ret, "%s: certificate %.12s of %s is stale: changed since: %s", x->unit->path, key, entry, ks_str_cstr(&what));
    return true;
}

void ks_known_say_stale(const struct ks_entry_context *x, const char *entry, const struct ks_json *contract)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (find_stale(x, entry, contract, &text))
        ks_say_progress("%s; searching again", ks_str_cstr(&text));
}

/* why: of the lookup that brought no certificate. */
static enum ks_known look_up_approved(const struct ks_entry_context *x, const char *key, const struct ks_json *certificate,
                                      const struct ks_err *why, const char *entry, const struct ks_json *contract)
{
    KS_AUTO_STR struct ks_str stale = KS_STR_INIT;
    struct ks_err denied;
    if (certificate && ks_approval_check(x->store, key, x->allowed_signers, &denied) == KS_OK) {
        say_known(x, key, certificate);
        return KS_KNOWN_CERTIFICATE;
    }
    if (certificate)
        ks_say(KS_SEV_REMARK, "%s: %s and the policy is 'approved', %s [kscc-policy]", x->unit->path, denied.message,
               KS_KEEP_BASELINE);
    else if (why->code != KS_ERR_NOT_FOUND)
        ks_say_instead(why, KS_KEEP_BASELINE);
    else if (find_stale(x, entry, contract, &stale))
        ks_say(KS_SEV_REMARK, "%s; " KS_KEEP_BASELINE " [kscc-stale]", ks_str_cstr(&stale));
    else
        ks_say(KS_SEV_REMARK, "%s: no approved certificate in '%s' and the policy is 'approved', %s [kscc-policy]", x->unit->path,
               x->store->dir, KS_KEEP_BASELINE);
    return KS_KNOWN_NOT_ALLOWED;
}

/* A search that was killed while it replaced an older result: its trace, which goes first, is not the one of the certificate. */
static bool was_being_replaced(const struct ks_store *s, const char *key)
{
    KS_AUTO_JSON struct ks_json *certificate = ks_store_read_json(s, key, KS_CERTIFICATE_FILE);
    KS_AUTO_STR struct ks_str trace = KS_STR_INIT;
    struct ks_err err;
    char hex[65];
    const char *named = ks_json_get_str(ks_json_get(certificate, "sha256"), KS_TRACE_FILE, NULL);
    return named && ks_store_read(s, key, KS_TRACE_FILE, &trace, &err) == KS_OK &&
           (ks_hash_hex(ks_str_cstr(&trace), trace.len, hex), !ks_streq(named, hex));
}

enum ks_known ks_known_look_up(const struct ks_entry_context *x, const char *key, const char *entry,
                               const struct ks_json *contract)
{
    const struct ks_settings *s = x->unit->settings;
    KS_AUTO_JSON struct ks_json *certificate = NULL;
    struct ks_err err;
    enum ks_code code = ks_store_certificate_of(x->store, key, x->unit->source, x->unit->source_len, &certificate, &err);
    if (x->policy == KS_POLICY_APPROVED)
        return look_up_approved(x, key, certificate, &err, entry, contract);
    if (s->fresh)
        return KS_KNOWN_NOTHING;
    const char *stopped_by = ks_json_get_str(certificate, "stopped_by", "");
    if (certificate && (strcmp(stopped_by, "signal") == 0 || strcmp(stopped_by, "error") == 0)) {
        ks_say_progress("%s: the search that found certificate %.12s was interrupted (%s)", x->unit->path, key, stopped_by);
        return KS_KNOWN_NOTHING;
    }
    if (certificate) {
        say_known(x, key, certificate);
        return KS_KNOWN_CERTIFICATE;
    }
    if (code != KS_ERR_NOT_FOUND &&
        !was_being_replaced(x->store, key)) { /* a hand's work: not proved, nor written over unasked */
        ks_say_instead(&err, KS_KEEP_BASELINE "; --kscc-fresh searches again");
        return KS_KNOWN_NOT_ALLOWED;
    }
    if (code != KS_ERR_NOT_FOUND)
        ks_say_instead(&err, "searching again");
    return ended_without_gain(x, key, &s->budget) ? KS_KNOWN_NO_GAIN : KS_KNOWN_NOTHING;
}

/* A search that found nothing, or failed, takes nothing away from what was proved before. */
bool ks_known_older(const struct ks_entry_context *x, const char *key)
{
    KS_AUTO_JSON struct ks_json *certificate = NULL;
    struct ks_err err;
    if (ks_store_certificate_of(x->store, key, x->unit->source, x->unit->source_len, &certificate, &err) != KS_OK)
        return false;
    say_known(x, key, certificate);
    return true;
}

bool ks_known_certificate(const struct ks_entry_context *x, const char *key)
{
    KS_AUTO_JSON struct ks_json *certificate = NULL;
    struct ks_err err, denied;
    if (x->unit->settings->fresh ||
        ks_store_certificate_of(x->store, key, x->unit->source, x->unit->source_len, &certificate, &err) != KS_OK ||
        (x->policy == KS_POLICY_APPROVED && ks_approval_check(x->store, key, x->allowed_signers, &denied) != KS_OK))
        return false;
    say_known(x, key, certificate);
    return true;
}

/* ---- without a word ------------------------------------------------------------------------------------------------- */

/* The certificate of one store when nothing stands in its way; the caller frees. */
static struct ks_json *peek_store(const struct ks_entry_context *x, const struct ks_store *store, const char *key)
{
    KS_AUTO_JSON struct ks_json *c = NULL;
    struct ks_err err;
    if (ks_store_certificate_of(store, key, x->unit->source, x->unit->source_len, &c, &err) != KS_OK)
        return NULL;
    bool unusual = ks_json_get_str(ks_json_get(c, "confirmation"), "needs_approval", NULL) != NULL;
    if ((unusual || x->policy == KS_POLICY_APPROVED) && ks_approval_check(store, key, x->allowed_signers, &err) != KS_OK)
        return NULL;
    return ks_steal(c);
}

bool ks_known_peek(const struct ks_entry_context *x, const struct ks_contract *contract, struct ks_peek *ret)
{
    KS_AUTO_JSON struct ks_json *json = ks_contract_to_json(contract);
    struct ks_entry_context here = *x;
    struct ks_peek peek = {.device = ks_proof_device(x, contract->entry, json), .store = x->shared};
    if (x->unit->settings->fresh || x->policy == KS_POLICY_OFF)
        return false;
    here.device = peek.device;
    ks_entry_key(&here, json, peek.key);
    peek.certificate = x->shared ? peek_store(x, x->shared, peek.key) : NULL;
    if (!peek.certificate && x->store) {
        peek.store = x->store;
        peek.certificate = peek_store(x, x->store, peek.key);
        const char *stopped_by = ks_json_get_str(peek.certificate, "stopped_by", "");
        if (x->policy != KS_POLICY_APPROVED && (strcmp(stopped_by, "signal") == 0 || strcmp(stopped_by, "error") == 0)) {
            ks_json_free(peek.certificate);
            return false; /* that search goes on */
        }
    }
    if (!peek.certificate)
        return false;
    *ret = peek;
    return true;
}

void ks_known_say(const struct ks_entry_context *x, const struct ks_peek *peek)
{
    say_known(x, peek->key, peek->certificate);
}
