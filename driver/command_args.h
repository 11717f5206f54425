#ifndef KS_DRIVER_COMMAND_ARGS_H
#define KS_DRIVER_COMMAND_ARGS_H

/* Arguments of a command: kscc's own switches, then words. */

#include "base/json.h"
#include "driver/options.h"
#include "driver/store.h"

/* Takes the switches of ours out of argv[1..]; the rest goes to `words` (argv[0] is left out).  False: said and done. */
bool ks_command_args(char *const *argv, struct ks_settings *ret, struct ks_args *words);
/* Takes the word `flag` out of `words`; true when it was there. */
bool ks_command_flag(struct ks_args *words, const char *flag);
/* Takes "option=value" out of the words, "--counters" for example; the last one counts.  NULL: not there.  Caller frees. */
char *ks_command_value(struct ks_args *words, const char *option);
/* "500M": bytes; -1: no size. */
int64_t ks_command_size(const char *text);
/* Runs `program` with our own streams, its stdout on stdout_fd where that is not -1; a bad end is said as a warning that goes on
 * with `kept`.  Its status, 128 + the signal as shells have it; -1: it could not be run. */
int ks_command_run(char *const *program, int stdout_fd, const char *kept, struct ks_err *err);
/* A command's answer as JSON, on stdout. */
void ks_command_print(const struct ks_json *j);
/* Prints the command's usage; returns 2. */
int ks_command_usage(const char *name);
/* Opens the store that --kscc-dir names, or .kscc in the current folder.  False: said. */
bool ks_command_store(const struct ks_settings *s, struct ks_store *ret);
/* Runs `visit` for the keys that the words name (any unique beginning), or for all; returns the visits' statuses, ored. */
typedef int ks_command_key_fn(const struct ks_store *store, const char *key);
int ks_command_for_keys(const struct ks_store *store, const struct ks_args *words, ks_command_key_fn *visit);

#endif
