#include "driver/call.h"

#include "base/file.h"
#include "driver/nvcc.h"

#include <stdlib.h>
#include <string.h>

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
    return code;
}

/* "kscc /path/to/nvcc -c a.cu", as CMAKE_CUDA_COMPILER_LAUNCHER calls, behind switches of ours where the launcher is a list
 * ("kscc -O-agent /path/to/nvcc -c a.cu"): a line that nvcc itself rejects.  The compiler may be kscc under whatever name.
 * Returns it (caller frees) or NULL. */
static char *launched_nvcc(const char *word)
{
    if (!word || word[0] == '-' || strchr(ks_path_base(word), '.'))
        return NULL;
    bool named_nvcc = strcmp(ks_path_base(word), "nvcc") == 0;
    char *path = NULL;
    if ((!named_nvcc && !strchr(word, '/')) || ks_path_search(word, &path, NULL) != KS_OK)
        return NULL;
    if (ks_file_is_executable(path) && (named_nvcc || ks_nvcc_is_self(path)))
        return path;
    free(path);
    return NULL;
}

/* The line without word `at`. */
static char *const *without_word(char *const *argv, size_t at, struct ks_arena *arena)
{
    size_t n = 0;
    while (argv[n])
        n++;
    char **line = KS_ARENA_ARRAY(arena, char *, n);
    memcpy(line, argv, at * sizeof(*line));
    memcpy(line + at, argv + at + 1, (n - at) * sizeof(*line)); /* the NULL too */
    return line;
}

void ks_call_read(char *const *argv, struct ks_call *ret)
{
    size_t at = argv[0] ? 1 : 0;
    while (argv[at] && ks_word_is_ours(argv[at]))
        at++;
    *ret = (struct ks_call){.argv = argv, .launched = launched_nvcc(at ? argv[at] : NULL)};
    ks_arena_init(&ret->arena);
    if (ret->launched)
        ret->argv = without_word(argv, at, &ret->arena);
    ks_cmdline_parse(ret->argv, getenv("NVCC_PREPEND_FLAGS"), getenv("NVCC_APPEND_FLAGS"), &ret->arena, &ret->cmdline);
    ret->settings_code = read_settings(&ret->cmdline, &ret->settings, &ret->settings_err);
}

void ks_call_release(struct ks_call *call)
{
    ks_cmdline_release(&call->cmdline);
    ks_arena_release(&call->arena);
    free(call->launched);
}

bool ks_call_asks(const struct ks_call *call)
{
    return call->cmdline.has_ours || call->settings.o_agent;
}

void ks_call_mark_ours(const struct ks_call *call, bool *ret_ours)
{
    const struct ks_words *w = &call->cmdline.words;
    for (size_t i = 0, k = 0; i < w->n; i++)
        if (w->data[i].source == KS_WORD_ARGV && w->data[i].file_option == KS_NO_WORD)
            ret_ours[k++] = w->data[i].ours;
}

enum ks_code ks_call_find_nvcc(const struct ks_call *call, char **ret_path, struct ks_err *err)
{
    bool launched = call->launched && !ks_nvcc_is_self(call->launched);
    return ks_nvcc_find(launched ? call->launched : call->settings.nvcc, ret_path, err);
}

static void set_or_unset(const char *name, const struct ks_str *value)
{
    if (value->len)
        setenv(name, ks_str_cstr(value), 1);
    else
        unsetenv(name);
}

void ks_call_take_out(const struct ks_call *call, const char *nvcc, struct ks_args *out)
{
    KS_AUTO_STR struct ks_str prepend = KS_STR_INIT, append = KS_STR_INIT;
    bool env_changed = false;
    ks_cmdline_nvcc_argv(&call->cmdline, nvcc, out, &prepend, &append, &env_changed);
    if (env_changed) {
        set_or_unset("NVCC_PREPEND_FLAGS", &prepend);
        set_or_unset("NVCC_APPEND_FLAGS", &append);
    }
}

static void take_variable(const char *name, char **kept)
{
    const char *value = getenv(name);
    if (!value)
        return;
    free(*kept);
    *kept = ks_xstrdup(value);
    unsetenv(name);
}

void ks_call_parse_command(char *const *argv, struct ks_arena *arena, struct ks_cmdline *ret)
{
    static char *prepend, *append;
    take_variable("NVCC_PREPEND_FLAGS", &prepend);
    take_variable("NVCC_APPEND_FLAGS", &append);
    ks_cmdline_parse(argv, prepend, append, arena, ret);
}
