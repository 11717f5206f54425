#ifndef KS_DRIVER_LOOKED_H
#define KS_DRIVER_LOOKED_H

/* A unit opened by a command that looks at it and compiles nothing: "kscc analyze FILE.cu nvcc-options". */

#include "analyzer/facts.h"
#include "analyzer/hypothesis.h"
#include "driver/cmdline.h"
#include "driver/unit.h"

struct ks_looked {
    struct ks_arena arena;
    struct ks_settings settings;
    struct ks_args words;
    struct ks_cmdline cmdline;
    struct ks_unit unit;
    struct ks_facts *facts; /* after ks_look_parse() */
    char *counters;         /* --counters=FILE, NULL: none; owned */
    bool profile;           /* --profile was among the words */
    bool json;              /* --json was among the words */
    bool sarif, yaml;       /* so were --sarif, --yaml */
    int refusal;            /* exit status when something is refused: 2 for a wrong command line, else 1 */
};

/* The words after the command's name are read as nvcc would read them; argv[0] plays nvcc's own name.  False: said.  Release in
 * either case. */
KS_NODISCARD bool ks_look(char *const *argv, struct ks_looked *l);
/* Fills l->facts; warnings and errors of the source are said. */
KS_NODISCARD bool ks_look_parse(struct ks_looked *l);
/* Counters of the emulated device for every contract of the unit, [{"unit", "entry", "profile"}, ...]; empty: it could not be
 * done, and it has been said.  Caller frees. */
struct ks_json *ks_look_profile(struct ks_looked *l);
/* What `kscc profile --json` wrote into l->counters; or, with --profile, what it would write; *ret_profile is NULL without either
 * and else part of *ret_all, which the caller frees.  False: it could not be read, and it has been said. */
KS_NODISCARD bool ks_look_counters(struct ks_looked *l, struct ks_json **ret_all, const struct ks_json **ret_profile);
/* Hypotheses of l->facts with a profile (harness/session.h) or NULL.  Arena: l->arena. */
void ks_look_derive(struct ks_looked *l, const struct ks_json *profile, struct ks_hypotheses *ret);
void ks_looked_release(struct ks_looked *l);

#endif
