#ifndef KS_DRIVER_HELP_H
#define KS_DRIVER_HELP_H

/* Help made from the tables of options and commands (options.def, commands.def, nvcc_flags.def), so that --kscc-help, the manual
 * page and the shells' completions name the same things.  All append to out. */

#include "driver/options.h"

/* kscc(1) in man(7) macros. */
void ks_help_man(struct ks_str *out);
/* Completion script for "bash", "zsh" or "fish".  False: no such shell. */
bool ks_help_completion(const char *shell, struct ks_str *out);
/* What the tables say about one command ("report") or option ("--kscc-ask", "ask").  False: nothing. */
bool ks_help_topic(const char *topic, struct ks_str *out);

#endif
