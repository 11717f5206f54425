#include "driver/database.h"

#include "base/file.h"
#include "base/json.h"
#include "base/str.h"

#include <string.h>
#include <sys/stat.h>
#include <wordexp.h>

/* "arguments", or "command" as a shell would split it; NULL: neither, or no words of a shell. */
static char **words_of(const struct ks_json *entry, struct ks_arena *arena)
{
    const struct ks_json *list = ks_json_get(entry, "arguments");
    if (ks_json_is_array(list)) {
        size_t n = ks_json_len(list);
        char **argv = KS_ARENA_ARRAY(arena, char *, n + 1);
        for (size_t i = 0; i < n; i++) {
            const char *word = ks_json_str(ks_json_at(list, i));
            if (!word)
                return NULL;
            argv[i] = ks_arena_strdup(arena, word);
        }
        return n ? argv : NULL;
    }
    wordexp_t split;
    const char *command = ks_json_get_str(entry, "command", NULL);
    if (!command || wordexp(command, &split, WRDE_NOCMD | WRDE_UNDEF) != 0)
        return NULL;
    char **argv = KS_ARENA_ARRAY(arena, char *, split.we_wordc + 1);
    for (size_t i = 0; i < split.we_wordc; i++)
        argv[i] = ks_arena_strdup(arena, split.we_wordv[i]);
    bool some = split.we_wordc > 0;
    wordfree(&split);
    return some ? argv : NULL;
}

static bool is_cuda(const char *file)
{
    size_t len = strlen(file);
    return len > 3 && strcmp(file + len - 3, ".cu") == 0;
}

enum ks_code ks_database_read(const char *path, struct ks_arena *arena, struct ks_database_command **ret, size_t *ret_n,
                              struct ks_err *err)
{
    KS_AUTO_STR struct ks_str file = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *all = NULL;
    struct stat st;
    if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        ks_str_add(&file, path);
    else
        ks_path_join(&file, path, "compile_commands.json");
    if (!ks_file_exists(ks_str_cstr(&file)))
        return ks_fail(err, KS_ERR_NOT_FOUND, "found no compilation database '%s'", ks_str_cstr(&file));
    KS_TRY(ks_json_read_file(ks_str_cstr(&file), &all, err));
    if (!ks_json_is_array(all))
        return ks_fail(err, KS_ERR_SYNTAX, "read '%s': no array of commands", ks_str_cstr(&file));
    size_t n = ks_json_len(all), n_cuda = 0;
    struct ks_database_command *commands = KS_ARENA_ARRAY(arena, struct ks_database_command, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct ks_json *entry = ks_json_at(all, i);
        const char *unit = ks_json_get_str(entry, "file", NULL), *directory = ks_json_get_str(entry, "directory", NULL);
        if (unit && !is_cuda(unit))
            continue;
        char **argv = words_of(entry, arena);
        if (!unit || !directory || !argv)
            return ks_fail(err, KS_ERR_SYNTAX, "read '%s': entry %zu lacks directory, file or words", ks_str_cstr(&file), i + 1);
        commands[n_cuda++] = (struct ks_database_command){ks_arena_strdup(arena, directory), ks_arena_strdup(arena, unit), argv};
    }
    *ret = commands;
    *ret_n = n_cuda;
    return KS_OK;
}
