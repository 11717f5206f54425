#include "driver/commands.h"

#include <string.h>

const struct ks_command ks_commands[] = {
#define X(name, function, usage, help) {name, function, usage, help},
#include "driver/commands.def"
#undef X
};
const size_t ks_n_commands = sizeof(ks_commands) / sizeof(ks_commands[0]);

const struct ks_command *ks_command_find(const char *name)
{
    for (size_t i = 0; i < ks_n_commands; i++)
        if (strcmp(ks_commands[i].name, name) == 0)
            return &ks_commands[i];
    return NULL;
}

void ks_commands_help(struct ks_str *out)
{
    ks_str_add(out, "\nCommands:\n");
    for (size_t i = 0; i < ks_n_commands; i++)
        ks_str_addf(out, "  kscc %s\n      %s\n", ks_commands[i].usage, ks_commands[i].help);
}
