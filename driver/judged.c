#include "driver/judged.h"

#include "driver/queue.h"
#include "driver/trace.h"

#include <stdio.h>
#include <string.h>

enum ks_code ks_judged_by(struct ks_session *session, const struct ks_contract *contract, bool confirm, const char *source,
                          size_t len, struct ks_judged *ret, struct ks_err *err)
{
    struct ks_verdict v = {0};
    ks_queue_doing(confirm ? "confirmation: build" : "trial: build");
    enum ks_code code =
        confirm ? ks_session_confirm(session, source, len, &v, err) : ks_session_try(session, source, len, &v, err);
    ks_queue_free();
    KS_TRY(code);
    KS_AUTO_JSON struct ks_json *whole = ks_verdict_to_json(&v, contract);
    *ret = (struct ks_judged){.wall = ks_json_wall_part(whole)};
    ks_trial_from_verdict(&v, contract, &ret->trial);
    memcpy(ret->code_hash, v.code_hash, sizeof(ret->code_hash));
    memcpy(ret->object_hash, v.object_hash, sizeof(ret->object_hash));
    memcpy(ret->same_as, v.same_as, sizeof(ret->same_as));
    ks_verdict_release(&v);
    return KS_OK;
}

void ks_judged_release(struct ks_judged *j)
{
    ks_trial_release(&j->trial);
    ks_json_free(j->wall);
    *j = (struct ks_judged){0};
}

struct ks_json *ks_judged_to_json(const struct ks_judged *j)
{
    struct ks_json *out = ks_json_object();
    ks_json_set(out, "trial", ks_trial_to_json(&j->trial));
    ks_json_set_str(out, "code_hash", j->code_hash);
    ks_json_set_str(out, "object_hash", j->object_hash);
    ks_json_set_str(out, "same_as", j->same_as);
    ks_json_set(out, "wall", ks_json_copy(j->wall));
    return out;
}

static void take_hash(const struct ks_json *j, const char *name, char ret[65])
{
    snprintf(ret, 65, "%s", ks_json_get_str(j, name, ""));
}

bool ks_judged_from_json(const struct ks_json *j, struct ks_judged *ret)
{
    struct ks_judged out = {0};
    if (!ks_trial_from_json(ks_json_get(j, "trial"), &out.trial))
        return false;
    take_hash(j, "code_hash", out.code_hash);
    take_hash(j, "object_hash", out.object_hash);
    take_hash(j, "same_as", out.same_as);
    out.wall = ks_json_copy(ks_json_get(j, "wall"));
    *ret = out;
    return true;
}
