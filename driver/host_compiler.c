#include "driver/host_compiler.h"

#include "base/file.h"
#include "base/process.h"
#include "driver/nvcc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- which one it is ------------------------------------------------------------------------------------------------ */

/* -ccbin or NVCC_CCBIN as nvcc reads it, a folder or a program, in the spelling for the language: "g++-12" is "gcc-12" for C.
 * NULL: not set or not to be found.  Caller frees. */
static char *from_ccbin(const char *given, bool cxx)
{
    static const char *const names[][2] = {{"clang++", "clang"}, {"g++", "gcc"}, {"c++", "cc"}};
    struct stat st;
    KS_AUTO_STR struct ks_str name = KS_STR_INIT;
    char *path = NULL;
    if (stat(given, &st) == 0 && S_ISDIR(st.st_mode)) {
        ks_str_addf(&name, "%s/%s", given, cxx ? "g++" : "gcc");
        return ks_xstrdup(ks_str_cstr(&name));
    }
    const char *base = ks_path_base(given);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *from = names[i][cxx ? 1 : 0], *to = names[i][cxx ? 0 : 1], *at = strstr(base, from);
        if (!at || strstr(base, to) == at)
            continue;
        ks_str_addf(&name, "%.*s%s%s", (int)(at - given), given, to, at + strlen(from));
        if (ks_path_search(ks_str_cstr(&name), &path, NULL) == KS_OK && ks_file_is_executable(path))
            return path;
        free(path);
        break;
    }
    path = NULL;
    return ks_path_search(given, &path, NULL) == KS_OK ? path : NULL;
}

char *ks_host_compiler_choose(const char *ccbin, bool cxx)
{
    const char *given = ccbin ? ccbin : getenv("NVCC_CCBIN");
    char *path = given && *given ? from_ccbin(given, cxx) : NULL;
    if (path && !ks_nvcc_is_self(path))
        return path;
    free(path);
    return ks_host_compiler_find(cxx);
}

/* ---- what it says about itself -------------------------------------------------------------------------------------- */

static enum ks_code ask(char *const *argv, struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str errors = KS_STR_INIT;
    struct ks_spawn s;
    struct ks_exit e;
    ks_spawn_init(&s);
    s.argv = argv;
    s.timeout_ms = 30000;
    KS_TRY(ks_process_run(&s, out, &errors, &e, err));
    return ks_exit_ok(&e) ? KS_OK : ks_fail(err, KS_ERR_UNSUPPORTED, "'%s' does not answer '%s'", argv[0], argv[1]);
}

/* The number that "#define NAME" gives; -1: not defined. */
static int macro(const char *text, const char *name)
{
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    int value = -1;
    ks_str_addf(&line, "#define %s ", name);
    const char *p = strstr(text, ks_str_cstr(&line));
    return p && sscanf(p + line.len, "%d", &value) == 1 ? value : -1;
}

enum ks_code ks_host_compiler_query(const char *ccbin, struct ks_arena *arena, struct ks_host_compiler *ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str macros = KS_STR_INIT, library = KS_STR_INIT, dir = KS_STR_INIT;
    KS_AUTO_FREE char *path = ks_host_compiler_choose(ccbin, true);
    if (!path)
        return ks_fail(err, KS_ERR_NOT_FOUND, "cannot find nvcc's host compiler '%s'", ccbin ? ccbin : "g++");
    char *const defines[] = {path, "-dM", "-E", "-x", "c++", "/dev/null", NULL};
    char *const where[] = {path, "-print-libgcc-file-name", NULL};
    KS_TRY(ask(defines, &macros, err));
    int major = macro(ks_str_cstr(&macros), "__GNUC__"), minor = macro(ks_str_cstr(&macros), "__GNUC_MINOR__"),
        patch = macro(ks_str_cstr(&macros), "__GNUC_PATCHLEVEL__");
    *ret = (struct ks_host_compiler){.path = ks_arena_strdup(arena, path)};
    if (major >= 0 && minor >= 0 && patch >= 0)
        ret->gnuc_version = ks_arena_printf(arena, "%d.%d.%d", major, minor, patch);
    if (macro(ks_str_cstr(&macros), "__clang__") < 0 && ask(where, &library, err) == KS_OK) {
        ks_path_dir(&dir, ks_str_cstr(&library));
        if (ks_str_cstr(&dir)[0] == '/')
            ret->gcc_dir = ks_arena_strdup(arena, ks_str_cstr(&dir));
    }
    return KS_OK;
}
