#ifndef KS_DRIVER_COMMANDS_H
#define KS_DRIVER_COMMANDS_H

/* The commands: "kscc NAME arguments".  argv[0] is the command's name.  Each returns an exit status: 0 done, 1 no, 2 usage. */

#include "base/str.h"

struct ks_command {
    const char *name;
    int (*run)(char *const *argv);
    const char *usage; /* "analyze FILE.cu [--json] [nvcc options]" */
    const char *help;
};
extern const struct ks_command ks_commands[];
extern const size_t ks_n_commands;
const struct ks_command *ks_command_find(const char *name); /* NULL: none */
void ks_commands_help(struct ks_str *out);                  /* for --kscc-help */

#define X(name, function, usage, help) int function(char *const *argv);
#include "driver/commands.def"
#undef X

#endif
