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
void ks_run_warn_static(const char *name)
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

enum ks_code ks_run_emulated_words(const struct ks_settings *s, struct ks_args *out, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    const char *old = getenv("LD_LIBRARY_PATH");
    ks_paths_emulated(&path);
    if (path.len == 0)
        return ks_fail(err, KS_ERR_NOT_FOUND, "cannot find the emulated device's libcudart.so.13");
    ks_args_addf(out, "LD_LIBRARY_PATH=%s%s%s", ks_str_cstr(&path), old && *old ? ":" : "", old ? old : "");
    if (s->device.arch[0])
        ks_args_addf(out, ARCH_VARIABLE "=%s", s->device.arch);
    return KS_OK;
}

void ks_environment_set(const struct ks_args *words)
{
    for (size_t i = 0; i < words->n; i++) {
        size_t n = strcspn(words->v[i], "=");
        KS_AUTO_FREE char *name = ks_xstrndup(words->v[i], n);
        setenv(name, words->v[i] + n + 1, 1);
    }
}

bool ks_run_emulated_prepare(const struct ks_settings *s, const char *program)
{
    KS_AUTO_ARGS struct ks_args words;
    struct ks_err err;
    ks_args_init(&words);
    if (ks_run_emulated_words(s, &words, &err) != KS_OK) {
        ks_say_error(&err);
        return false;
    }
    ks_environment_set(&words);
    ks_run_warn_static(program);
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
