/* kscc-core: everything that takes more than becoming nvcc.  Called by kscc (front.c) as "kscc-core NVCC|- CALL...". */

#include "driver/call.h"
#include "driver/commands.h"
#include "driver/compile.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("kscc-core: error: kscc calls this program; call kscc [kscc-usage]\n", stderr);
        return 2;
    }
    const struct ks_command *command = argc > 3 && strcmp(argv[1], KS_CORE_COMMAND) == 0 ? ks_command_find(argv[3]) : NULL;
    if (command && argc == 5 && (strcmp(argv[4], "--help") == 0 || strcmp(argv[4], "-h") == 0))
        return ks_cmd_help((char *[]){argv[4], argv[3], NULL});
    return command ? command->run(argv + 3) : ks_compile(argv + 2, argv[1]);
}
