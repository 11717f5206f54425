#ifndef KS_DRIVER_AGAIN_H
#define KS_DRIVER_AGAIN_H

/* A build of what was built before.  When every entry of a unit has a certificate that may be emitted, and everything that the
 * object was made of is the same, the object of the last emission is put in place, with what nvcc said then and its dependency
 * file; neither nvcc nor libclang runs.  The object is the one that an emission would make, nvcc's names of temporary files
 * aside.
 *
 * "Everything" is found out anew each time: the fingerprint of the unit's line and of each candidate's (fingerprint.h), the
 * content key of every entry with its certificate and approval (known.h), the words of the line, the programs of ours.  An object
 * is kept only when the fingerprint after the emission is the one before it and no file that was read is younger than this build.
 *
 * The same is looked for under a key that holds on other machines, among the objects that came with the store (kept_object.h).
 *
 * Whatever is not certain means: build as always. */

#include "driver/cmdline.h"
#include "driver/echo.h"
#include "driver/options.h"
#include "driver/pipeline.h"

struct ks_again;

/* Never NULL; the caller frees.  Says nothing.  Borrows all. */
struct ks_again *ks_again_open(const struct ks_cmdline *c, const struct ks_settings *s, const char *nvcc);
void ks_again_free(struct ks_again *a);

/* True: the object is in place, and it has been said. */
bool ks_again_emit(struct ks_again *a);
/* What nvcc -M said of the unit; NULL: it was not asked. */
const char *ks_again_rule(const struct ks_again *a);
/* For the compiler's words, when the object may be kept; NULL: it may not. */
struct ks_echo *ks_again_echo(struct ks_again *a);
/* After an emission of all entries. */
void ks_again_keep(struct ks_again *a, const struct ks_emitted *emitted);

/* Appends what an emission was made by: key, hash of the certificate beside the candidate, architecture, place.  Nothing when it
 * has no certificate. */
void ks_again_id(const char *key, const char *arch, const char *candidate_path, struct ks_str *out);
/* The progress line of an emission; candidate_path: NULL: not kept. */
void ks_again_say(const char *object, const char *entry, const char *candidate_path);

#endif
