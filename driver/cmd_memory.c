/* kscc memory: what came of asking which question, shown, taken out, taken in, and put together. */

#include "base/file.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/say.h"
#include "questions/bank.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Loads a memory that has to be there. */
static enum ks_code load(const char *path, struct ks_memory **ret, struct ks_err *err)
{
    if (!ks_file_exists(path))
        return ks_fail(err, KS_ERR_NOT_FOUND, "found no memory '%s'", path);
    return ks_memory_load(path, ret, err);
}

static enum ks_code show(const char *own, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_memory *m = NULL;
    KS_TRY(load(own, &m, err)); /* a broken file is an error, not a text */
    ks_memory_free(m);
    KS_TRY(ks_file_read(own, 64u << 20, &text, err));
    fputs(ks_str_cstr(&text), stdout);
    return KS_OK;
}

/* Writes the sum of n memories. */
static enum ks_code merge(char *const *paths, size_t n, const char *out, struct ks_err *err)
{
    struct ks_memory *sum = NULL;
    KS_TRY(ks_memory_load(NULL, &sum, err));
    enum ks_code code = KS_OK;
    for (size_t i = 0; i < n && code == KS_OK; i++) {
        struct ks_memory *m = NULL;
        code = load(paths[i], &m, err);
        if (code == KS_OK)
            ks_memory_merge(sum, m);
        ks_memory_free(m);
    }
    if (code == KS_OK)
        code = ks_memory_save(sum, out, err);
    if (code == KS_OK)
        ks_say(KS_SEV_NOTE, "%s: %zu answer%s of %zu memor%s [kscc-memory]", out, ks_memory_answers(sum),
               ks_plural_s((int64_t)ks_memory_answers(sum)), n, n == 1 ? "y" : "ies");
    ks_memory_free(sum);
    return code;
}

static enum ks_code import(const struct ks_settings *s, const char *own, const char *path, struct ks_err *err)
{
    struct ks_store store;
    KS_AUTO_FD int lock_fd = -1;
    KS_TRY(ks_store_open(s->dir ? s->dir : ".kscc", &store, err));
    enum ks_code code = ks_store_lock(&store, "memory", NULL, NULL, &lock_fd, err);
    char *both[] = {(char *)own, (char *)path};
    if (code == KS_OK)
        code = ks_file_exists(own) ? merge(both, 2, own, err) : merge(both + 1, 1, own, err);
    ks_store_close(&store);
    return code;
}

int ks_cmd_memory(char *const *argv)
{
    struct ks_settings s;
    struct ks_err err;
    KS_AUTO_ARGS struct ks_args words;
    KS_AUTO_STR struct ks_str own = KS_STR_INIT;
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    ks_path_join(&own, s.dir ? s.dir : ".kscc", "memory.json");
    char *file = (char *)ks_str_cstr(&own);
    const char *verb = words.n ? words.v[0] : "show";
    enum ks_code code;
    if (ks_streq(verb, "show") && words.n <= 1)
        code = show(file, &err);
    else if (ks_streq(verb, "export") && words.n == 2)
        code = merge(&file, 1, words.v[1], &err);
    else if (ks_streq(verb, "import") && words.n == 2)
        code = import(&s, file, words.v[1], &err);
    else if (ks_streq(verb, "merge") && words.n >= 3)
        code = merge(words.v + 2, words.n - 2, words.v[1], &err);
    else
        return ks_command_usage("memory");
    if (code != KS_OK)
        ks_say_error(&err);
    return code == KS_OK ? 0 : 1;
}
