#ifndef KS_DRIVER_KNOWN_H
#define KS_DRIVER_KNOWN_H

/* What the store already knows about a key, before a search is worth its time. */

#include "driver/entry.h"

/* How every sentence about an entry that stays as it is ends. */
#define KS_KEEP_BASELINE "the baseline object stays"

enum ks_known {
    KS_KNOWN_NOTHING,     /* search */
    KS_KNOWN_CERTIFICATE, /* emit */
    KS_KNOWN_NO_GAIN,     /* a search with at least this budget found nothing */
    KS_KNOWN_NOT_ALLOWED  /* the policy wants an approved certificate: said */
};
/* entry, contract: for saying what has changed since a certificate that no longer holds. */
enum ks_known ks_known_look_up(const struct ks_entry_context *x, const char *key, const char *entry,
                               const struct ks_json *contract);
/* Whether this store has a certificate that the policy lets out; nothing is said but where it came from. */
bool ks_known_certificate(const struct ks_entry_context *x, const char *key);
/* Before a search: what has changed since there was a certificate, as a step of the build. */
void ks_known_say_stale(const struct ks_entry_context *x, const char *entry, const struct ks_json *contract);
/* After a search that found nothing, or failed: is there a valid certificate of an earlier one?  It loses nothing of its worth.
 */
bool ks_known_older(const struct ks_entry_context *x, const char *key);

/* What a build would emit for an entry without a search, found without a word. */
struct ks_peek {
    const struct ks_store *store;
    const struct ks_device_chosen *device; /* of the proof */
    char key[65];
    struct ks_json *certificate; /* caller frees */
};
/* Looks where ks_entry_optimise() would.  x->facts is not needed.  False: a search or a word would be due. */
bool ks_known_peek(const struct ks_entry_context *x, const struct ks_contract *contract, struct ks_peek *ret);
/* Says where it came from. */
void ks_known_say(const struct ks_entry_context *x, const struct ks_peek *peek);

#endif
