#ifndef KS_DRIVER_OPENED_H
#define KS_DRIVER_OPENED_H

/* A unit opened by a command ("kscc try FILE.cu nvcc-options"), with all that a trial needs to know: contracts, facts, device,
 * store, keys.  Two steps, so that a command can take its own words out of the line between them. */

#include "driver/command_args.h"
#include "driver/entry_session.h"
#include "harness/contract.h"

struct ks_opened {
    struct ks_arena arena;
    struct ks_settings settings;
    struct ks_args words; /* words.v[0] plays nvcc's name */
    struct ks_cmdline cmdline;
    struct ks_unit unit;
    struct ks_contract *contracts;
    size_t n_contracts;
    struct ks_facts *facts;
    struct ks_parse_options parse;
    struct ks_device_chosen device;
    struct ks_store store;
    char unit_hash[65];
};

/* Takes kscc's switches out of argv[1..]; the rest are words.  False: said. */
bool ks_opened_words(struct ks_opened *o, char *const *argv);
/* Reads the words as nvcc would: exactly one CUDA input, whose path is *ret_path (borrowed).  Errors: KS_ERR_USAGE. */
KS_NODISCARD enum ks_code ks_opened_input(struct ks_opened *o, const char **ret_path, struct ks_err *err);
/* After ks_opened_input().  The store: --kscc-dir, or .kscc beside the file. */
KS_NODISCARD enum ks_code ks_opened_store(struct ks_opened *o, struct ks_err *err);
/* Everything else.  text_path: a file that stands in for the input (its text, its hash; includes are still looked for beside the
 * input), or NULL.  What is wrong with contracts and source is said as it is found; *err has the sentence for the end. */
KS_NODISCARD enum ks_code ks_opened_read(struct ks_opened *o, const char *text_path, struct ks_err *err);
void ks_opened_release(struct ks_opened *o); /* also after a failure, and on a zeroed one */

/* The contract of `entry`; NULL: the only one.  Errors: KS_ERR_NOT_FOUND, KS_ERR_USAGE when there are several, naming them. */
KS_NODISCARD enum ks_code ks_opened_contract(const struct ks_opened *o, const char *entry, const struct ks_contract **ret,
                                             struct ks_err *err);
/* What entries share; borrows o. */
struct ks_entry_context ks_opened_context(const struct ks_opened *o);

/* Takes "NAME VALUE" or "NAME=VALUE" out of `words` ("--layer compute").  NULL: not there.  *ret_missing: NAME without a value.
 * Caller frees. */
char *ks_opened_option(struct ks_args *words, const char *name, bool *ret_missing);

#endif
