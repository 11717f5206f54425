#ifndef KS_DRIVER_PIPELINE_H
#define KS_DRIVER_PIPELINE_H

/* One .cu under -O-agent, after its baseline object exists: from the source to the replaced object. */

#include "driver/cmdline.h"
#include "driver/options.h"

/* What was emitted, for those who would keep it (again.h). */
struct ks_emitted {
    char object_hash[65]; /* "": nothing was */
    struct ks_str ids;    /* ks_again_id() of every entry, in the order of the contracts */
};

/* `input`: index into c->inputs; `object`: its baseline object, NULL: where nvcc puts it for this line.  `rule`: what nvcc -M
 * said of the unit in this build, NULL: it was not asked.  ret may be NULL. Whatever goes wrong is said on stderr and leaves the
 * baseline object in place.  Returns true when a candidate that passed the gate was emitted, for every entry of the unit. */
KS_NODISCARD bool ks_pipeline_run(const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc, size_t input,
                                  const char *object, const char *rule, struct ks_emitted *ret);

/* The same for people who want the text: nothing is emitted; *text gets the verified text of the first entry that has one (of
 * `entry` alone unless NULL) and *ret_entry its name (caller frees).  False: there is none, and it has been said. */
KS_NODISCARD bool ks_pipeline_text(const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc, size_t input,
                                   const char *object, const char *entry, struct ks_str *text, char **ret_entry);

#endif
