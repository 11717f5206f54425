#ifndef KS_DRIVER_JUDGED_H
#define KS_DRIVER_JUDGED_H

/* What a session said about one text, as plain data: it may have been said in another process (crew.h). */

#include "driver/trial.h"

struct ks_judged {
    struct ks_trial trial;
    char code_hash[65], object_hash[65]; /* "": not built */
    char same_as[65];     /* hash of the known text that compiles to the same; "": none.  Then `trial` counts for nothing */
    struct ks_json *wall; /* owned: what differs between equal runs */
};

/* Errors: the session cannot go on. */
KS_NODISCARD enum ks_code ks_judged_by(struct ks_session *session, const struct ks_contract *contract, bool confirm,
                                       const char *source, size_t len, struct ks_judged *ret, struct ks_err *err);
void ks_judged_release(struct ks_judged *j);
struct ks_json *ks_judged_to_json(const struct ks_judged *j);
bool ks_judged_from_json(const struct ks_json *j, struct ks_judged *ret); /* false: it is none */

#endif
