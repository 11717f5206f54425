/* kscc: a drop-in for nvcc, and a few commands of its own.  A command is taken as one only when the program was not called as
 * nvcc; nvcc itself rejects a first word of that kind, because it is neither an option nor a file it knows what to do with. */

#include "base/file.h"
#include "driver/commands.h"
#include "driver/compile.h"

#include <string.h>

int main(int argc, char **argv)
{
    const char *name = argc > 0 ? ks_path_base(argv[0]) : "";
    const struct ks_command *command = argc > 1 && strcmp(name, "nvcc") != 0 ? ks_command_find(argv[1]) : NULL;
    if (command)
        return command->run(argv + 1);
    return ks_compile(argv);
}
