#ifndef KS_DRIVER_AGAIN_LOOK_H
#define KS_DRIVER_AGAIN_LOOK_H

/* What a unit's object would be made of now, asked and not remembered: contracts, policies, the certificates that would be
 * emitted, and the hashes of all that the compilers would read.  Two looks with equal keys stand for the same object.  Nothing is
 * said about what is found; whatever would have a word said about it leaves the keys empty. */

#include "driver/cmdline.h"
#include "driver/device_choice.h"
#include "driver/known.h"
#include "driver/policy.h"
#include "driver/store.h"
#include "driver/unit.h"

/* What is asked about.  Borrowed. */
struct ks_look_line {
    const struct ks_cmdline *cmdline;
    const struct ks_settings *settings;
    const char *nvcc, *object, *deps; /* deps: NULL: no dependency file */
};

struct ks_look {
    struct ks_arena arena;
    struct ks_unit unit;
    struct ks_contract *contracts;
    size_t n_contracts;
    struct ks_policies policies;
    struct ks_device_chosen device;
    struct ks_store store, shared;
    struct ks_peek *peeks; /* n_peeks of them; all entries when the object is known */
    size_t n_peeks;
    struct ks_str root;   /* "": nothing can be said of other machines */
    char fingerprint[65]; /* of the unit; "": it has none */
    char elsewhere[65];   /* the same, for other machines */
    char key[65];         /* of the object; "": not all entries can be emitted */
    char portable[65];    /* the same, for other machines; "": none */
    struct ks_str ids;    /* as ks_emitted has them */
    struct ks_args read;  /* every file that unit and candidates are made of */
    const char *why;      /* it has no fingerprint; NULL: nobody asked for one; arena */
};

/* For what has not been looked at. */
void ks_look_init(struct ks_look *l);
void ks_look_release(struct ks_look *l);
/* Fills *ret, which the caller releases also when nothing can be said about the unit (false). */
bool ks_look_at(const struct ks_look_line *line, struct ks_look *ret);
/* Who may sign approvals; NULL: anybody's count. */
const char *ks_look_signers(const struct ks_look *l);

#endif
