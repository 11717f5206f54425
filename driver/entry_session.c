#include "driver/entry_session.h"

#include "base/file.h"
#include "base/hash.h"
#include "driver/certificate.h"
#include "driver/crew.h"
#include "driver/entry_check.h"
#include "driver/inner.h"
#include "driver/live.h"
#include "driver/paths.h"
#include "driver/queue.h"
#include "driver/say.h"
#include "driver/signature.h"
#include "driver/stop.h"
#include "harness/health.h"

#include <string.h>

static void add_text(struct ks_hash *h, const char *text)
{
    ks_hash_update_field(h, text, strlen(text));
}

void ks_entry_key(const struct ks_entry_context *x, const struct ks_json *contract, char ret_hex[65])
{
    const struct ks_settings *s = x->unit->settings;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_hash h;
    ks_hash_init(&h);
    add_text(&h, x->unit_hash);
    ks_json_print(contract, &text);
    add_text(&h, ks_str_cstr(&text));
    add_text(&h, x->device->label);
    ks_str_clear(&text);
    ks_str_addf(&text, "gate %d delta %.17g regress %.17g sample %lld", KS_GATE_VERSION, s->delta, s->regress,
                (long long)s->sample);
    add_text(&h, ks_str_cstr(&text));
    ks_hash_final_hex(&h, ret_hex);
}

bool ks_entry_bind(const struct ks_entry_context *x, const struct ks_contract *contract, const char *instead,
                   struct ks_signature *ret)
{
    struct ks_diags d;
    struct ks_err err;
    bool ok = false, in_source = strcmp(contract->path, x->unit->path) == 0;
    ks_diags_init(&d);
    const struct ks_entry *entry = ks_entry_check(x->facts, contract, &d);
    if (entry && ks_inner_signature(x->unit, x->facts, entry, contract->entry, x->unit->arena, ret, &err) != KS_OK)
        ks_diags_add(&d, KS_SEV_ERROR, contract->path, contract->entry_line, contract->entry_col,
                     (uint32_t)strlen(contract->entry), "contract", "%s", err.message);
    else if (entry)
        ok = ks_contract_bind(contract, ret, &d, &err) == KS_OK;
    if (ok && contract->oracle) {
        const struct ks_node *function = ks_oracle_check(x->facts, contract, &d);
        struct ks_signature *oracle = KS_ARENA_NEW(x->unit->arena, struct ks_signature);
        ok = function != NULL;
        if (ok) {
            ks_signature_of_function(function, x->unit->arena, oracle);
            ok = ks_contract_bind_oracle(contract, oracle, &d, &err) == KS_OK;
        }
        ret->oracle = oracle;
    }
    ks_say_diags(&d, in_source ? x->unit->source : NULL, in_source ? x->unit->source_len : 0);
    if (!ok)
        ks_say(KS_SEV_WARNING, "the contract of '%s' does not fit, %s [kscc-contract]", contract->entry, instead);
    ks_diags_release(&d);
    return ok;
}

static void on_gate(const char *gate, bool confirm)
{
    ks_live_gate(gate, confirm);
    ks_queue_gate(gate, confirm);
}

static void on_place(const char *text)
{
    ks_say(KS_SEV_REMARK, "%s; trials go on elsewhere, and 'kscc queue' shows it [kscc-quarantine]", text);
}

enum ks_code ks_entry_session_open(const struct ks_entry_context *x, const struct ks_contract *contract,
                                   const struct ks_signature *signature, const char *key, struct ks_entry_session *ret,
                                   struct ks_err *err)
{
    *ret = (struct ks_entry_session){.work = {.lock_fd = -1}};
    const struct ks_unit *u = x->unit;
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT, health = KS_STR_INIT;
    unsigned char secret[32];
    ks_health_folder(&health);
    ks_paths_bin(&bin);
    ks_work_dir_sweep();
    KS_TRY(ks_work_dir_open("kscc-work", &ret->work, err));
    ks_queue_begin(ret->work.path, u, contract->entry, x->device);
    if (x->device->batch) { /* a null test, a confirmation of four trials' time, and the way there */
        KS_AUTO_STR struct ks_str tell = KS_STR_INIT;
        int64_t minutes = (int64_t)(u->settings->trial_timeout_s * 5 / 60) + 10;
        KS_TRY(ks_slurm_new(x->device->host, ks_str_cstr(&bin), minutes, ks_stop_asked, &ret->slurm, err));
        ks_path_join(&tell, ret->work.path, KS_QUEUE_JOB);
        ks_slurm_tell(ret->slurm, tell.data);
        ret->remote = ks_remote_new(ks_slurm_via(ret->slurm));
    } else if (x->device->host[0]) {
        KS_TRY(ks_ssh_new(x->device->host, ks_str_cstr(&bin), &ret->ssh, err));
        ret->remote = ks_remote_new(ks_ssh_via(ret->ssh));
    }
    ks_random_bytes(secret, sizeof(secret));
    if (x->device->kind == KS_DEVICE_EMULATED) { /* a repeatable run; who has seen the key of this unit can tell its inputs */
        char hex[65];
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        ks_str_addf(&text, "session of %s", key);
        ks_hash_hex(ks_str_cstr(&text), text.len, hex);
        memcpy(secret, hex, sizeof(secret));
    }
    struct ks_session_options opt = {
        .unit_path = u->path,
        .source = u->source,
        .source_len = u->source_len,
        .nvcc_argv = u->build_argv.v,
        .toolkit_dir = u->toolkit_path,
        .input_index = u->input_index,
        .contract = contract,
        .recording = u->settings->workload,
        .signature = signature,
        .device = x->device->kind,
        .arch = x->device->arch,
        .work_dir = ret->work.path,
        .bin_dir = ks_str_cstr(&bin),
        .remote = ret->remote,
        .secret = secret,
        .delta = u->settings->delta,
        .regress_limit = u->settings->regress,
        .trial_timeout_ms = (int64_t)(u->settings->trial_timeout_s * 1000),
        .sample_thread_insts = u->settings->sample,
        .standby = true,
        .on_gate = on_gate,
        .health_dir = health.data,
        .on_place = on_place,
    };
    KS_TRY(ks_session_new(&opt, &ret->session, err));
    KS_TRY(ks_session_check_state(ret->session, err));
    ks_queue_free();
    ret->device = ks_session_device_json(ret->session);
    return ks_session_profile(ret->session, &ret->profile, err);
}

void ks_entry_session_close(struct ks_entry_session *s)
{
    ks_crew_close(s->crew);
    if (s->work.path)
        ks_queue_end();
    ks_session_free(s->session);
    ks_remote_free(s->remote);
    ks_ssh_free(s->ssh);
    ks_slurm_free(s->slurm);
    ks_json_free(s->device);
    ks_json_free(s->profile);
    ks_work_dir_close(&s->work);
    *s = (struct ks_entry_session){.work = {.lock_fd = -1}};
}
