#include "driver/compile.h"

#include "base/file.h"
#include "driver/cmdline.h"
#include "driver/commands.h"
#include "driver/nvcc.h"
#include "driver/options.h"
#include "driver/pipeline.h"
#include "driver/say.h"
#include "driver/stand_aside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What make and shells report for a command that is not there. */
#define STATUS_NO_NVCC 127

static const char *get_env(const char *name)
{
    return getenv(name);
}

/* Settings out of the environment and the words of ours, in nvcc's reading order. */
static enum ks_code read_settings(const struct ks_cmdline *c, struct ks_settings *s, struct ks_err *err)
{
    ks_settings_init(s);
    enum ks_code env_code = ks_settings_apply_env(s, get_env, err);
    enum ks_code code = env_code;
    for (size_t i = 0; i < c->words.n; i++) {
        struct ks_err word_err;
        if (!c->words.data[i].ours || ks_settings_apply(s, c->words.data[i].text, &word_err) == KS_OK || code != KS_OK)
            continue;
        code = word_err.code;
        *err = word_err;
    }
    ks_settings_finish(s, get_env);
    return code;
}

static void set_or_unset(const char *name, const struct ks_str *value)
{
    if (value->len)
        setenv(name, ks_str_cstr(value), 1);
    else
        unsetenv(name);
}

static int fail_without_nvcc(const struct ks_err *err)
{
    ks_say(KS_SEV_ERROR, "%s; nothing was compiled", err->message);
    return STATUS_NO_NVCC;
}

/* Baseline first, exactly as asked; then the agent, which can only replace an object that is already there. */
static int compile_with_agent(const struct ks_cmdline *c, const struct ks_settings *s, char *const *baseline_argv)
{
    struct ks_err err;
    struct ks_wait_status status;
    if (ks_nvcc_run(baseline_argv, &status, &err) != KS_OK)
        return fail_without_nvcc(&err);
    if (status.by_signal || status.value != 0)
        ks_end_like(&status);
    /* the flags in these variables are words of our own lines from here on */
    unsetenv("NVCC_PREPEND_FLAGS");
    unsetenv("NVCC_APPEND_FLAGS");
    bool gate_missing = false;
    for (size_t i = 0; i < c->inputs.n; i++)
        if (c->inputs.data[i].lang == KS_LANG_CUDA && !ks_pipeline_run(c, s, baseline_argv[0], i))
            gate_missing = true;
    return gate_missing && s->require_gate ? 1 : 0;
}

static int compile_parsed(const struct ks_cmdline *c, const char *given_nvcc, char *const *argv)
{
    struct ks_settings s;
    struct ks_err err, settings_err = {0};
    enum ks_code settings_code = read_settings(c, &s, &settings_err);
    if (s.show_version || s.show_help) {
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        if (s.show_help) {
            ks_options_help(&text);
            ks_commands_help(&text);
        } else {
            ks_str_add(&text, "kscc " KSCC_VERSION "\n");
        }
        fputs(ks_str_cstr(&text), stdout);
        return 0;
    }
    KS_AUTO_FREE char *nvcc = NULL;
    if (ks_nvcc_find(given_nvcc ? given_nvcc : s.nvcc, &nvcc, &err) != KS_OK)
        return fail_without_nvcc(&err);
    KS_AUTO_ARGS struct ks_args clean;
    KS_AUTO_STR struct ks_str prepend = KS_STR_INIT, append = KS_STR_INIT;
    bool env_changed = false;
    ks_args_init(&clean);
    if (c->has_ours) {
        ks_cmdline_nvcc_argv(c, nvcc, &clean, &prepend, &append, &env_changed);
    } else {
        ks_args_add(&clean, nvcc);
        ks_args_add_all(&clean, argv[0] ? argv + 1 : argv);
    }
    if (env_changed) {
        set_or_unset("NVCC_PREPEND_FLAGS", &prepend);
        set_or_unset("NVCC_APPEND_FLAGS", &append);
    }
    bool wanted = s.o_agent || (settings_code != KS_OK && c->has_ours);
    struct ks_stand_aside aside = wanted ? ks_stand_aside(c) : (struct ks_stand_aside){true, NULL};
    ks_say_quiet(s.quiet);
    if (!aside.yes && settings_code == KS_OK && s.policy != KS_POLICY_OFF)
        return compile_with_agent(c, &s, clean.v);
    if (settings_code != KS_OK && !(aside.yes && !aside.reason))
        ks_say_instead(&settings_err, "compiling with nvcc only");
    else if (aside.reason)
        ks_say(KS_SEV_REMARK, "%s, compiling with nvcc only", aside.reason);
    else if (!aside.yes)
        ks_say(KS_SEV_REMARK, "policy is off, compiling with nvcc only");
    ks_nvcc_exec(clean.v, &err);
    return fail_without_nvcc(&err);
}

/* "kscc /path/to/nvcc -c a.cu", as CMAKE_CUDA_COMPILER_LAUNCHER calls: a line that nvcc itself rejects.
 * Returns the named nvcc (caller frees) or NULL. */
static char *launched_nvcc(char *const *argv)
{
    if (!argv[0] || !argv[1] || strcmp(ks_path_base(argv[1]), "nvcc") != 0)
        return NULL;
    char *path = NULL;
    if (ks_path_search(argv[1], &path, NULL) != KS_OK)
        return NULL;
    if (ks_file_is_executable(path))
        return path;
    free(path);
    return NULL;
}

int ks_compile(char *const *argv)
{
    struct ks_err err;
    if (ks_nvcc_is_parent()) {
        ks_nvcc_exec_host_compiler(argv, &err);
        return fail_without_nvcc(&err);
    }
    KS_AUTO_FREE char *launched = launched_nvcc(argv);
    if (launched)
        argv++;
    struct ks_arena arena;
    struct ks_cmdline c;
    ks_arena_init(&arena);
    ks_cmdline_parse(argv, getenv("NVCC_PREPEND_FLAGS"), getenv("NVCC_APPEND_FLAGS"), &arena, &c);
    int status = compile_parsed(&c, launched && !ks_nvcc_is_self(launched) ? launched : NULL, argv);
    ks_cmdline_release(&c);
    ks_arena_release(&arena);
    return status;
}
