#include "base/file.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/options.h"
#include "driver/paths.h"
#include "driver/program.h"
#include "driver/run_emulated.h"
#include "driver/say.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The emulated runtime reads its card from here. */
#define ARCH_VARIABLE "KSCC_EMU_ARCH"

/* A program that took NVIDIA's runtime into itself never asks for the library that is put in its way. */
static void warn_static(const char *name)
{
    KS_AUTO_FREE char *path = NULL;
    struct ks_err err;
    if (ks_path_search(name, &path, &err) == KS_OK && ks_program_has_static_runtime(path))
        ks_say(
            KS_SEV_WARNING,
            "'%s' is linked with the static CUDA runtime, which cannot be replaced: link it with 'nvcc -cudart shared' to run it "
            "on the emulated device [kscc-unsupported]",
            name);
}

bool ks_run_emulated_prepare(const struct ks_settings *s, const char *program)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    const char *old = getenv("LD_LIBRARY_PATH");
    ks_paths_emulated(&path);
    if (path.len == 0) {
        ks_say(KS_SEV_ERROR, "cannot find the emulated device's libcudart.so.13 [kscc-not-found]");
        return false;
    }
    if (old && *old)
        ks_str_addf(&path, ":%s", old);
    setenv("LD_LIBRARY_PATH", ks_str_cstr(&path), 1);
    if (s->device.arch[0])
        setenv(ARCH_VARIABLE, s->device.arch, 1);
    warn_static(program);
    return true;
}

int ks_cmd_run(char *const *argv)
{
    struct ks_settings s;
    struct ks_err err;
    ks_settings_init(&s);
    size_t i = 1;
    for (; argv[i] && strcmp(argv[i], "--") != 0 && argv[i][0] == '-'; i++)
        if (ks_settings_apply(&s, argv[i], &err) != KS_OK) {
            ks_say_error(&err);
            return 2;
        }
    if (argv[i] && strcmp(argv[i], "--") == 0)
        i++;
    if (!argv[i])
        return ks_command_usage("run");
    bool emulated = s.device.choice == KS_CHOOSE_EMULATED || s.device.choice == KS_CHOOSE_AUTO;
    if (emulated && !ks_run_emulated_prepare(&s, argv[i]))
        return 1;
    execvp(argv[i], argv + i);
    int why = errno; /* printing may change it */
    ks_say(KS_SEV_ERROR, "cannot run '%s': %s [kscc-not-found]", argv[i], strerror(why));
    return why == ENOENT ? 127 : 126;
}
