#include "driver/command_args.h"

#include "base/process.h"
#include "driver/cmdline.h"
#include "driver/commands.h"
#include "driver/say.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *get_env(const char *name)
{
    return getenv(name);
}

bool ks_command_args(char *const *argv, struct ks_settings *ret, struct ks_args *words)
{
    struct ks_err err;
    ks_settings_init(ret);
    enum ks_code code = ks_settings_apply_env(ret, get_env, &err);
    for (size_t i = 1; argv[i] && code == KS_OK; i++) {
        if (ks_word_is_ours(argv[i]))
            code = ks_settings_apply(ret, argv[i], &err);
        else
            ks_args_add(words, argv[i]);
    }
    if (code != KS_OK)
        ks_say_error(&err);
    return code == KS_OK;
}

void ks_command_print(const struct ks_json *j)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_json_print_pretty(j, &text);
    fputs(ks_str_cstr(&text), stdout);
}

bool ks_command_flag(struct ks_args *words, const char *flag)
{
    for (size_t i = 0; i < words->n; i++) {
        if (strcmp(words->v[i], flag) != 0)
            continue;
        free(words->v[i]);
        memmove(words->v + i, words->v + i + 1, (words->n - i) * sizeof(*words->v)); /* with the NULL at the end */
        words->n--;
        return true;
    }
    return false;
}

char *ks_command_value(struct ks_args *words, const char *option)
{
    char *value = NULL;
    size_t len = strlen(option);
    for (size_t i = 0; i < words->n; i++) {
        if (strncmp(words->v[i], option, len) != 0 || words->v[i][len] != '=')
            continue;
        free(value);
        value = ks_xstrdup(words->v[i] + len + 1);
        KS_AUTO_FREE char *word = ks_xstrdup(words->v[i]);
        ks_command_flag(words, word);
        i--;
    }
    return value;
}

int64_t ks_command_size(const char *text)
{
    static const char units[] = "KMGT";
    char *end;
    double v = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    for (const char *u = units; unit && u <= unit; u++)
        v *= 1024;
    bool whole = *end == '\0' || (unit && (end[1] == '\0' || strcmp(end + 1, "B") == 0));
    return end != text && whole && v >= 0 && v < 9e18 ? (int64_t)v : -1;
}

int ks_command_run(char *const *program, int stdout_fd, const char *kept, struct ks_err *err)
{
    struct ks_spawn spawn;
    struct ks_exit end;
    pid_t pid;
    ks_spawn_init(&spawn);
    spawn.argv = program;
    spawn.stdin_fd = STDIN_FILENO;
    spawn.stdout_fd = stdout_fd; /* -1: ours */
    if (ks_process_start(&spawn, &pid, err) != KS_OK || ks_process_wait(pid, 0, false, &end, err) != KS_OK)
        return -1;
    if (!ks_exit_ok(&end)) {
        KS_AUTO_STR struct ks_str how = KS_STR_INIT;
        ks_exit_describe(&end, &how);
        ks_say(KS_SEV_WARNING, "'%s' %s, %s [kscc-%s]", program[0], ks_str_cstr(&how), kept,
               end.kind == KS_EXIT_STATUS ? "non-zero-exit-status" : "killed-by-signal");
    }
    return end.kind == KS_EXIT_STATUS ? end.status : 128 + end.status;
}

int ks_command_usage(const char *name)
{
    ks_say(KS_SEV_ERROR, "usage: kscc %s [kscc-usage]", ks_command_find(name)->usage);
    return 2;
}

bool ks_command_store(const struct ks_settings *s, struct ks_store *ret)
{
    struct ks_err err;
    if (ks_store_open_existing(s->dir ? s->dir : ".kscc", ret, &err) == KS_OK)
        return true;
    ks_say_error(&err);
    return false;
}

int ks_command_for_keys(const struct ks_store *store, const struct ks_args *words, ks_command_key_fn *visit)
{
    KS_AUTO_ARGS struct ks_args keys;
    struct ks_err err;
    int status = 0;
    ks_args_init(&keys);
    if (words->n == 0 && ks_store_keys(store, &keys, &err) != KS_OK) {
        ks_say_error(&err);
        return 1;
    }
    for (size_t i = 0; i < words->n; i++) {
        KS_AUTO_FREE char *key = NULL;
        if (ks_store_resolve(store, words->v[i], &key, &err) != KS_OK) {
            ks_say_error(&err);
            status = 1;
        } else {
            ks_args_add(&keys, key);
        }
    }
    for (size_t i = 0; i < keys.n; i++)
        status |= visit(store, keys.v[i]);
    return status;
}
