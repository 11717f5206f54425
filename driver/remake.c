#include "driver/remake.h"

#include "base/file.h"
#include "base/process.h"
#include "driver/again_line.h"
#include "driver/fingerprint.h"
#include "driver/kept_object.h"
#include "driver/nvcc.h"
#include "driver/paths.h"
#include "driver/portable.h"
#include "driver/work_dir.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

#define TIMEOUT_MS 600000

/* ---- comparing ------------------------------------------------------------------------------------------------------ */

/* What follows is another one each time: nvcc's "tmpxft_PPPPPPPP_NNNNNNNN", our "kscc-emit.XXXXXX". */
static void blank_after(struct ks_str *bytes, const char *prefix, size_t n)
{
    char *p = bytes->data, *end = bytes->data + bytes->len;
    size_t len = strlen(prefix);
    while (p && (p = memmem(p, (size_t)(end - p), prefix, len))) {
        p += len;
        for (size_t i = 0; i < n && p < end && (isalnum((unsigned char)*p) || *p == '_'); i++)
            *p++ = '0';
    }
}

static bool is_same(struct ks_str *a, struct ks_str *b)
{
    struct ks_str *const both[] = {a, b};
    for (size_t i = 0; i < 2; i++) {
        blank_after(both[i], "tmpxft_", 17);
        blank_after(both[i], "kscc-emit.", 6);
    }
    return a->len == b->len && memcmp(ks_str_cstr(a), ks_str_cstr(b), a->len) == 0;
}

/* ---- the line ------------------------------------------------------------------------------------------------------- */

static void record_words(const struct ks_json *record, const char *root, struct ks_args *out)
{
    const struct ks_json *words = ks_json_get(record, "line");
    for (size_t i = 0; i < ks_json_len(words); i++) {
        KS_AUTO_STR struct ks_str word = KS_STR_INIT;
        const char *text = ks_json_str(ks_json_at(words, i));
        ks_root_show(root, text ? text : "", text ? strlen(text) : 0, &word);
        ks_args_add(out, ks_str_cstr(&word));
    }
}

/* A name that leads to a program or folder below root, seen from the current folder. */
static bool is_of_tree(const char *name, const char *root)
{
    char resolved[PATH_MAX];
    size_t len = strlen(root);
    return realpath(name, resolved) && strncmp(resolved, root, len) == 0 && (resolved[len] == '/' || !resolved[len]);
}

/* The line came with the store, and whoever looks at a store does not mean to run what is in the work tree: it is a compilation
 * and nothing more, by no compiler of the tree, with words whose meaning is known. */
static enum ks_code check_line(const struct ks_json *record, const char *root, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv, line;
    KS_AUTO_STR struct ks_str rule = KS_STR_INIT;
    KS_AUTO_FREE char *nvcc = NULL;
    struct ks_arena arena;
    struct ks_cmdline c;
    size_t input;
    char here[65], elsewhere[65];
    enum ks_code code = KS_OK;
    ks_args_init(&argv);
    ks_args_init(&line);
    ks_arena_init(&arena);
    ks_args_add(&argv, "kscc");
    record_words(record, root, &argv);
    ks_cmdline_parse(argv.v, NULL, NULL, &arena, &c);
    const char *compiler = ks_cmdline_value(&c, "compiler-bindir");
    if (c.has_ours || !ks_again_line_is_plain(&c))
        code = ks_fail(err, KS_ERR_UNSUPPORTED, "its line is more than a compilation");
    else if (compiler && is_of_tree(compiler, root))
        code = ks_fail(err, KS_ERR_UNSUPPORTED, "its line runs '%s'", compiler);
    else
        code = ks_nvcc_find(getenv("KSCC_NVCC"), &nvcc, err);
    if (code == KS_OK) {
        ks_cmdline_build_argv(&c, nvcc, 0, NULL, NULL, "kept.o", &line, &input);
        code = ks_fingerprint(line.v, input, root, here, elsewhere, &rule, err);
    }
    ks_cmdline_release(&c);
    ks_arena_release(&arena);
    return code;
}

/* ---- making --------------------------------------------------------------------------------------------------------- */

static void make_line(const struct ks_json *record, const char *root, const char *store_dir, const char *object,
                      struct ks_args *out)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, bin = KS_STR_INIT;
    ks_paths_bin(&bin);
    ks_path_join(&path, ks_str_cstr(&bin), "kscc");
    ks_args_add(out, ks_str_cstr(&path));
    ks_args_add(out, "-O-agent");
    ks_args_add(out, "--kscc-kept=off");
    ks_args_add(out, "--kscc-policy=approved");
    ks_args_addf(out, "--kscc-dir=%s", store_dir);
    ks_args_addf(out, "--kscc-lines-root=%s", ks_json_get_str(record, KS_KEPT_MADE_IN, ""));
    record_words(record, root, out);
    ks_args_add(out, "-o");
    ks_args_add(out, object);
}

/* Variables that are words of the line already. */
static char **environment(void)
{
    size_t n = 0, k = 0;
    while (environ[n])
        n++;
    char **env = ks_xcalloc(n + 1, sizeof(*env));
    for (size_t i = 0; i < n; i++)
        if (!ks_str_starts(environ[i], "NVCC_PREPEND_FLAGS=") && !ks_str_starts(environ[i], "NVCC_APPEND_FLAGS="))
            env[k++] = environ[i];
    return env;
}

/* The last remark or error, which says why there is nothing to compare. */
static const char *last_reason(const struct ks_str *said, size_t *ret_len)
{
    const char *found = "it says nothing";
    for (const char *p = ks_str_cstr(said); p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL)
        if (memmem(p, strcspn(p, "\n"), "remark: ", 8) || memmem(p, strcspn(p, "\n"), "error", 5))
            found = p;
    *ret_len = strcspn(found, "\n");
    return found;
}

static enum ks_code emit_again(const struct ks_json *record, const char *root, const char *store_dir, const char *object,
                               struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT, said = KS_STR_INIT;
    KS_AUTO_FREE char **env = environment();
    struct ks_spawn spawn;
    struct ks_exit e;
    size_t len;
    ks_args_init(&argv);
    KS_TRY(check_line(record, root, err));
    make_line(record, root, store_dir, object, &argv);
    ks_spawn_init(&spawn);
    spawn.argv = argv.v;
    spawn.envp = env;
    spawn.timeout_ms = TIMEOUT_MS;
    spawn.own_group = spawn.die_with_parent = true;
    KS_TRY(ks_process_run(&spawn, &out, &said, &e, err));
    if (ks_exit_ok(&e) && strstr(ks_str_cstr(&said), "kscc: emitted "))
        return KS_OK;
    const char *why = last_reason(&said, &len);
    return ks_fail(err, KS_ERR_BUILD, "cannot be made here: %.*s", (int)len, why);
}

/* In the folder of the record. */
static enum ks_code emit_there(const struct ks_store *s, const struct ks_json *record, const char *root, const char *object,
                               struct ks_err *err)
{
    KS_AUTO_STR struct ks_str folder = KS_STR_INIT;
    KS_AUTO_FD int back = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *hidden = ks_json_get_str(record, "folder", "");
    char store_dir[PATH_MAX];
    if (back < 0 || !realpath(s->dir, store_dir))
        return ks_fail_errno(err, KS_ERR_IO, "cannot find '%s'", s->dir);
    ks_root_show(root, hidden, strlen(hidden), &folder);
    if (!is_of_tree(ks_str_cstr(&folder), root) || chdir(ks_str_cstr(&folder)) < 0)
        return ks_fail(err, KS_ERR_BUILD, "it was made in '%s', which is not here", ks_str_cstr(&folder));
    enum ks_code code = emit_again(record, root, store_dir, object, err);
    return fchdir(back) < 0 && code == KS_OK ? ks_fail_errno(err, KS_ERR_IO, "cannot go back") : code;
}

/* Line information of the unit itself: folders and times of the sources. */
static bool tells_sources(const struct ks_json *record)
{
    const struct ks_json *words = ks_json_get(record, "line");
    bool tells = false;
    for (size_t i = 0; i < ks_json_len(words); i++)
        tells |= ks_word_tells_paths(ks_json_str(ks_json_at(words, i)));
    return tells;
}

enum ks_code ks_remake_check(const struct ks_store *s, const char *key, const char *name, char ret_hash[65], struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *record = NULL;
    KS_AUTO_STR struct ks_str kept = KS_STR_INIT, made = KS_STR_INIT, root = KS_STR_INIT, object = KS_STR_INIT;
    struct ks_work_dir scratch;
    KS_TRY(ks_kept_check(s, key, name, &record, ret_hash, &kept, err));
    if (!ks_root_of(s->dir, &root))
        return ks_fail(err, KS_ERR_BUILD, "the store lies in the root of the file system");
    const char *made_in = ks_json_get_str(record, KS_KEPT_MADE_IN, "");
    KS_TRY(ks_work_dir_open("kscc-remake", &scratch, err));
    ks_path_join(&object, scratch.path, "kept.o");
    enum ks_code code = emit_there(s, record, ks_str_cstr(&root), ks_str_cstr(&object), err);
    if (code == KS_OK)
        code = ks_file_read(ks_str_cstr(&object), SIZE_MAX, &made, err);
    bool moved = !ks_streq(made_in, ks_str_cstr(&root)) || tells_sources(record);
    /* whoever plants one can write any folder into its record: it does not count for less than a difference */
    if (code == KS_OK && !is_same(&kept, &made))
        code = ks_fail(err, KS_ERR_MISMATCH, "it is not what the sources and the certificates make here%s%s%s",
                       moved ? "; it says that it was made in '" : "", moved ? made_in : "", moved ? "': compare it there" : "");
    ks_work_dir_close(&scratch);
    return code;
}
