#include "driver/fingerprint.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/process.h"
#include "driver/portable.h"
#include "driver/work_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define TIMEOUT_MS     120000
#define SETTLED_S      2 /* a program changed later may have changed within one tick of the file system's clock */
#define HOST_UNIT_TEXT "#include \"crt/host_runtime.h\"\n"
#define TEMP_NAME      "tmpxft_" /* "tmpxft_PPPPPPPP_NNNNNNNN-6_unit.ptx": P is nvcc's process */

/* One line and what has been found out about it. */
struct reader {
    char *const *line;
    size_t input_index;
    const char *dir;  /* scratch */
    const char *root; /* what other machines may have elsewhere */
    struct ks_hash hash, portable;
    bool paths_count;   /* the object tells where its sources were */
    struct ks_str plan; /* what --dryrun says */
    struct ks_str *rule;
    char *path, *libraries, *cicc; /* of the plan: PATH, LD_LIBRARY_PATH, CICC_PATH */
    char *env_tmp, *env_path, *env_libraries;
};

static void add_portable(struct reader *r, const char *text, size_t len)
{
    KS_AUTO_STR struct ks_str relative = KS_STR_INIT;
    ks_root_hide(r->root, text, len, &relative);
    ks_hash_update_field(&r->portable, ks_str_cstr(&relative), relative.len);
}

static void add_text(struct reader *r, const char *text)
{
    ks_hash_update_field(&r->hash, text, strlen(text));
    add_portable(r, text, strlen(text));
}

/* ---- running -------------------------------------------------------------------------------------------------------- */

/* nvcc's variables are words of the line already. */
static char **environment(const struct reader *r)
{
    static const char *const left_out[] = {"TMPDIR=", "NVCC_PREPEND_FLAGS=", "NVCC_APPEND_FLAGS="};
    size_t n = 0, k = 0;
    while (environ[n])
        n++;
    char **env = ks_xcalloc(n + 4, sizeof(*env));
    for (size_t i = 0; i < n; i++) {
        bool out = (r->env_path && ks_str_starts(environ[i], "PATH=")) ||
                   (r->env_libraries && ks_str_starts(environ[i], "LD_LIBRARY_PATH="));
        for (size_t j = 0; j < sizeof(left_out) / sizeof(left_out[0]); j++)
            out |= ks_str_starts(environ[i], left_out[j]);
        if (!out)
            env[k++] = environ[i];
    }
    env[k++] = r->env_tmp;
    if (r->env_path)
        env[k++] = r->env_path;
    if (r->env_libraries)
        env[k++] = r->env_libraries;
    return env;
}

/* stdout and stderr into one text, or apart. */
static enum ks_code run(const struct reader *r, char *const *argv, struct ks_str *out, struct ks_str *errors, struct ks_err *err)
{
    KS_AUTO_FREE char **env = environment(r);
    struct ks_spawn s;
    struct ks_exit e;
    ks_spawn_init(&s);
    s.argv = argv;
    s.envp = env;
    s.own_group = s.die_with_parent = true;
    s.timeout_ms = TIMEOUT_MS;
    KS_TRY(ks_process_run(&s, out, errors, &e, err));
    return ks_exit_ok(&e) ? KS_OK : ks_fail(err, KS_ERR_BUILD, "'%s' fails", argv[0]);
}

/* ---- the programs --------------------------------------------------------------------------------------------------- */

/* Copy of what follows "#$ NAME=" in the plan; NULL: not there. */
static char *plan_value(const struct reader *r, const char *name)
{
    KS_AUTO_STR struct ks_str key = KS_STR_INIT;
    ks_str_addf(&key, "#$ %s=", name);
    const char *p = strstr(ks_str_cstr(&r->plan), ks_str_cstr(&key));
    return p ? ks_xstrndup(p + key.len, strcspn(p + key.len, "\n")) : NULL;
}

enum ks_code ks_fingerprint_stat(const char *path, struct ks_str *out, time_t *ret_changed, struct ks_err *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return ks_fail_errno(err, KS_ERR_NOT_FOUND, "cannot find '%s'", path);
    ks_str_addf(out, "%s %llu %llu %lld %lld.%09ld %lld.%09ld", path, (unsigned long long)st.st_dev,
                (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec,
                (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
    *ret_changed = st.st_ctime;
    return KS_OK;
}

static enum ks_code add_stat(struct reader *r, const char *path, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    time_t changed;
    KS_TRY(ks_fingerprint_stat(path, &text, &changed, err));
    if (time(NULL) - changed < SETTLED_S)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "'%s' has just been changed", path);
    ks_hash_update_field(&r->hash, ks_str_cstr(&text), text.len);
    add_portable(r, path, strlen(path));
    return ks_program_sample(path, &r->portable, err);
}

/* A program as nvcc's shell would find it. */
static enum ks_code add_program(struct reader *r, const char *name, struct ks_err *err)
{
    static const char variable[] = "$CICC_PATH/";
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    if (ks_str_starts(name, variable)) {
        ks_str_addf(&path, "%s/%s", r->cicc ? r->cicc : "", name + strlen(variable));
        return add_stat(r, ks_str_cstr(&path), err);
    }
    if (strchr(name, '/'))
        return add_stat(r, name, err);
    for (const char *at = r->path ? r->path : ""; *at; at += *at == ':') {
        size_t len = strcspn(at, ":");
        ks_str_clear(&path);
        ks_str_addn(&path, at, len);
        ks_str_addf(&path, len ? "/%s" : "./%s", name);
        if (ks_file_is_executable(ks_str_cstr(&path)))
            return add_stat(r, ks_str_cstr(&path), err);
        at += len;
    }
    return ks_fail(err, KS_ERR_NOT_FOUND, "cannot find program '%s'", name);
}

/* What a host compiler would do is another plan: a driver runs other programs, with words that its specs, its configuration or a
 * script around it add, and that "-march=native" stands for.  Lines that begin with a blank are commands. */
static enum ks_code add_host_plan(struct reader *r, char *const *argv, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args words;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, plan = KS_STR_INIT;
    size_t n_programs = 0;
    ks_args_init(&words);
    ks_args_add_all(&words, argv);
    ks_args_add(&words, "-###");
    KS_TRY(run(r, words.v, &out, &plan, err));
    for (const char *p = ks_str_cstr(&plan); *p; p += strcspn(p, "\n"), p += *p == '\n') {
        KS_AUTO_ARGS struct ks_args command;
        ks_args_init(&command);
        if (*p != ' ')
            continue;
        ks_fingerprint_split(p, &command);
        if (command.n == 0)
            continue;
        KS_TRY(add_program(r, command.v[0], err));
        n_programs++;
        for (size_t i = 1; i < command.n; i++) /* "/tmp/ccABCDEF.s": another one each time */
            if (strncmp(command.v[i], r->dir, strlen(r->dir)) != 0)
                add_text(r, command.v[i]);
    }
    return n_programs ? KS_OK : ks_fail(err, KS_ERR_UNSUPPORTED, "cannot tell what '%s' runs", argv[0]);
}

/* ---- the plan ------------------------------------------------------------------------------------------------------- */

/* The plan as it would read in any other folder and process. */
static void add_plan(struct reader *r)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    size_t dir_len = strlen(r->dir);
    for (const char *p = ks_str_cstr(&r->plan); *p;) {
        if (strncmp(p, r->dir, dir_len) == 0) {
            ks_str_addc(&text, '@');
            p += dir_len;
        } else if (ks_str_starts(p, TEMP_NAME)) {
            p += strlen(TEMP_NAME);
            p += strspn(p, "0123456789abcdef");
            ks_str_add(&text, TEMP_NAME);
        } else {
            ks_str_addc(&text, *p++);
        }
    }
    ks_hash_update_field(&r->hash, ks_str_cstr(&text), text.len);
    for (const char *p = ks_str_cstr(&text); *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (!ks_str_starts(p, "#$ PATH=")) /* the programs that it leads to count by themselves */
            add_portable(r, p, strcspn(p, "\n"));
}

/* The header that the last command reads: its words, on a text of ours in the place of the one that cudafe++ would write. */
static enum ks_code add_host_unit(struct reader *r, const struct ks_args *words, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, errors = KS_STR_INIT, unit = KS_STR_INIT;
    ks_args_init(&argv);
    ks_path_join(&unit, r->dir, "host_unit.cpp");
    KS_TRY(ks_file_write_atomic(ks_str_cstr(&unit), HOST_UNIT_TEXT, strlen(HOST_UNIT_TEXT), 0600, err));
    for (size_t i = 0; i < words->n; i++) {
        const char *w = words->v[i];
        bool is_output = strcmp(w, "-o") == 0 && i + 1 < words->n;
        if (is_output)
            i++;
        else
            ks_args_add(&argv, ks_str_ends(w, ".cudafe1.cpp") ? ks_str_cstr(&unit) : w);
    }
    KS_TRY(add_host_plan(r, argv.v, err));
    for (size_t i = 0; i < argv.n; i++)
        if (strcmp(argv.v[i], "-c") == 0) {
            free(argv.v[i]);
            argv.v[i] = ks_xstrdup("-E");
        }
    KS_TRY(run(r, argv.v, &out, &errors, err));
    /* its first lines name our folder */
    for (const char *p = ks_str_cstr(&out); *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (!memmem(p, strcspn(p, "\n"), r->dir, strlen(r->dir))) {
            ks_hash_update_field(&r->hash, p, strcspn(p, "\n"));
            ks_hash_update_field(&r->portable, p, strcspn(p, "\n"));
        }
    return KS_OK;
}

static bool is_assignment(const char *command)
{
    size_t n = strspn(command, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
    return n && command[n] == '=';
}

static bool compiles_host(const struct ks_args *words)
{
    bool compiles = false, host_unit = false;
    for (size_t i = 1; i < words->n; i++) {
        compiles |= strcmp(words->v[i], "-c") == 0;
        host_unit |= ks_str_ends(words->v[i], ".cudafe1.cpp");
    }
    return compiles && host_unit;
}

static enum ks_code read_commands(struct reader *r, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args seen;
    bool compiled = false;
    ks_args_init(&seen);
    for (const char *p = ks_str_cstr(&r->plan); *p; p += strcspn(p, "\n"), p += *p == '\n') {
        KS_AUTO_ARGS struct ks_args words;
        ks_args_init(&words);
        if (!ks_str_starts(p, "#$ ") || is_assignment(p + 3))
            continue;
        ks_fingerprint_split(p + 3, &words);
        if (words.n == 0)
            continue;
        KS_TRY(ks_fingerprint_check_line(&words, err));
        bool host = compiles_host(&words), old = false;
        for (size_t i = 0; i < seen.n; i++)
            old |= strcmp(seen.v[i], words.v[0]) == 0;
        if (host) {
            KS_TRY(add_program(r, words.v[0], err));
            KS_TRY(add_host_unit(r, &words, err));
            compiled = true;
        } else if (!old) {
            KS_TRY(add_program(r, words.v[0], err));
            ks_args_add(&seen, words.v[0]);
        }
    }
    return compiled ? KS_OK : ks_fail(err, KS_ERR_UNSUPPORTED, "cannot tell how '%s' compiles", r->line[0]);
}

static enum ks_code read_plan(struct reader *r, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, libdevice = KS_STR_INIT;
    ks_args_init(&argv);
    ks_args_add_all(&argv, r->line);
    ks_args_add(&argv, "--dryrun");
    KS_TRY(run(r, argv.v, &out, &r->plan, err));
    r->path = plan_value(r, "PATH");
    r->libraries = plan_value(r, "LD_LIBRARY_PATH");
    r->cicc = plan_value(r, "CICC_PATH");
    KS_AUTO_FREE char *nvvm = plan_value(r, "NVVMIR_LIBRARY_DIR");
    if (!r->path || !r->cicc || !nvvm)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "cannot read the plan of '%s'", r->line[0]);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_addf(&text, "PATH=%s", r->path);
    r->env_path = ks_str_detach(&text, NULL);
    ks_str_addf(&text, "LD_LIBRARY_PATH=%s", r->libraries ? r->libraries : "");
    r->env_libraries = r->libraries ? ks_str_detach(&text, NULL) : NULL;
    add_plan(r);
    ks_path_join(&libdevice, nvvm, "libdevice.10.bc");
    KS_TRY(add_stat(r, ks_str_cstr(&libdevice), err));
    KS_TRY(add_program(r, r->line[0], err));
    return read_commands(r, err);
}

/* ---- the preprocessor ----------------------------------------------------------------------------------------------- */

/* Where lines come from may be elsewhere; all else in the text may not. */
static void add_preprocessed_text(struct reader *r, const struct ks_str *text)
{
    static const char *const asks[] = {"__builtin_FILE", "__builtin_source_location"};
    KS_AUTO_STR struct ks_str all = KS_STR_INIT;
    const char *p = ks_str_cstr(text);
    ks_hash_update_field(&r->hash, p, text->len);
    for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
        r->paths_count |= strstr(p, asks[i]) != NULL;
    for (size_t len; *p; p += len) {
        len = strcspn(p, "\n");
        len += p[len] == '\n';
        if (p[0] == '#')
            ks_root_hide(r->root, p, len, &all);
        else
            ks_str_addn(&all, p, len);
    }
    ks_hash_update_field(&r->portable, ks_str_cstr(&all), all.len);
}

/* What nvcc left in the folder: one file for the host, one for each architecture. */
static enum ks_code add_preprocessed(struct reader *r, const char *dir, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args names;
    ks_args_init(&names);
    DIR *d = opendir(dir);
    if (!d)
        return ks_fail_errno(err, KS_ERR_IO, "cannot read '%s'", dir);
    for (struct dirent *e; (e = readdir(d));)
        if (ks_str_ends(e->d_name, ".ii"))
            ks_args_add(&names, e->d_name);
    closedir(d);
    if (names.n < 2)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "cannot find what the preprocessor makes");
    ks_args_sort(&names, 0);
    for (size_t i = 0; i < names.n; i++) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
        ks_path_join(&path, dir, names.v[i]);
        KS_TRY(ks_file_read(ks_str_cstr(&path), KS_MAX_PTX_BYTES, &text, err));
        KS_TRY(ks_fingerprint_check_text(ks_str_cstr(&text), err));
        add_text(r, names.v[i]);
        add_preprocessed_text(r, &text);
    }
    return KS_OK;
}

static enum ks_code preprocess(struct reader *r, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    KS_AUTO_STR struct ks_str errors = KS_STR_INIT, dir = KS_STR_INIT;
    ks_args_init(&argv);
    ks_path_join(&dir, r->dir, "ii");
    KS_TRY(ks_dir_make(ks_str_cstr(&dir), err));
    for (size_t i = 0; r->line[i]; i++)
        if (i + 1 == r->input_index)
            ks_args_add(&argv, "-M");
        else if (i != r->input_index + 1 && i != r->input_index + 2) /* all but "-o OBJECT" */
            ks_args_add(&argv, r->line[i]);
    ks_args_add(&argv, "--keep");
    ks_args_add(&argv, "--keep-dir");
    ks_args_add(&argv, ks_str_cstr(&dir));
    KS_TRY(run(r, argv.v, r->rule, &errors, err));
    return add_preprocessed(r, ks_str_cstr(&dir), err);
}

/* ---- variables ------------------------------------------------------------------------------------------------------ */

static bool compilers_read(const char *variable)
{
    static const char *const names[] = {"NVCC_",
                                        "CICC",
                                        "PTXAS",
                                        "CUDAFE",
                                        "FATBINARY",
                                        "NVVM",
                                        "INCLUDES=",
                                        "SYSTEM_",
                                        "LIBRARIES=",
                                        "GCC_",
                                        "COMPILER_",
                                        "COLLECT_",
                                        "LIBRARY_PATH=",
                                        "CPATH=",
                                        "C_INCLUDE",
                                        "CPLUS_INCLUDE",
                                        "OBJC",
                                        "DEPENDENCIES_OUTPUT=",
                                        "SUNPRO_",
                                        "SOURCE_DATE_EPOCH=",
                                        "LD_",
                                        "LANG",
                                        "LC_",
                                        "CCC_",
                                        "CCACHE",
                                        "CUDA_",
                                        "GLIBC_TUNABLES=",
                                        "TERM=",
                                        "NO_COLOR=",
                                        "AS_",
                                        "POSIXLY_CORRECT=",
                                        "PWD=",
                                        "QT_",
                                        "SDKROOT="};
    return ks_str_starts_one(variable, names, sizeof(names) / sizeof(names[0])) &&
           !ks_str_starts(variable, "NVCC_PREPEND_FLAGS=") && !ks_str_starts(variable, "NVCC_APPEND_FLAGS=");
}

static void add_variables(struct reader *r)
{
    KS_AUTO_ARGS struct ks_args list;
    ks_args_init(&list);
    for (size_t i = 0; environ[i]; i++)
        if (compilers_read(environ[i]))
            ks_args_add(&list, environ[i]);
    ks_args_sort(&list, 0);
    for (size_t i = 0; i < list.n; i++) {
        ks_hash_update_field(&r->hash, list.v[i], strlen(list.v[i]));
        if (!ks_variable_is_of_messages(list.v[i]))
            add_portable(r, list.v[i], strlen(list.v[i]));
    }
}

/* ---- all of it ------------------------------------------------------------------------------------------------------ */

static enum ks_code take(struct reader *r, struct ks_err *err)
{
    KS_AUTO_FREE char *cwd = getcwd(NULL, 0);
    if (!cwd)
        return ks_fail_errno(err, KS_ERR_IO, "cannot find the current folder");
    if (getenv("DEPENDENCIES_OUTPUT") || getenv("SUNPRO_DEPENDENCIES"))
        return ks_fail(err, KS_ERR_UNSUPPORTED, "a variable makes the compiler write files of its own");
    add_text(r, "fingerprint 1");
    for (size_t i = 0; r->line[i]; i++)
        r->paths_count |= ks_word_tells_paths(r->line[i]);
    add_text(r, cwd); /* in debug information */
    add_variables(r);
    KS_TRY(read_plan(r, err));
    return preprocess(r, err);
}

enum ks_code ks_fingerprint(char *const *line, size_t input_index, const char *root, char ret_hex[65], char ret_portable[65],
                            struct ks_str *rule, struct ks_err *err)
{
    struct ks_work_dir scratch;
    KS_TRY(ks_work_dir_open("kscc-print", &scratch, err));
    struct reader r = {
        .line = line, .input_index = input_index, .dir = scratch.path, .root = root, .rule = rule, .plan = KS_STR_INIT};
    KS_AUTO_STR struct ks_str tmp = KS_STR_INIT;
    ks_str_addf(&tmp, "TMPDIR=%s", scratch.path);
    r.env_tmp = tmp.data;
    ks_hash_init(&r.hash);
    ks_hash_init(&r.portable);
    enum ks_code code = take(&r, err);
    if (code == KS_OK) {
        const char *place = r.paths_count ? root : "";
        ks_hash_update_field(&r.portable, place, strlen(place));
        ks_hash_final_hex(&r.hash, ret_hex);
        ks_hash_final_hex(&r.portable, ret_portable);
    }
    ks_str_release(&r.plan);
    free(r.path);
    free(r.libraries);
    free(r.cicc);
    free(r.env_path);
    free(r.env_libraries);
    ks_work_dir_close(&scratch);
    return code;
}
