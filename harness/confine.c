#include "harness/confine.h"

#include "harness/build.h"

#include "base/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PATHS      400 /* kscc-worker takes 512 with its own */
#define MAX_DEPS_BYTES (16u << 20)

static void add(struct ks_args *out, const char *path)
{
    for (size_t i = 0; i < out->n; i++)
        if (strcmp(out->v[i], path) == 0)
            return;
    if (out->n < MAX_PATHS && *path)
        ks_args_add(out, path);
}

/* A toolkit's or a compiler's own folder, and not, say, the home folder of who keeps a wrapper in its bin. */
static bool is_installation(const char *dir)
{
    static const char *const marks[] = {"nvvm", "lib/gcc", "lib64/gcc", "libexec/gcc"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        ks_path_join(&path, dir, marks[i]);
        if (ks_file_exists(path.data))
            return true;
    }
    return false;
}

/* The folder above the one that `program` lies in, as it is called and as it is: a toolkit, a compiler. */
static void add_installation(struct ks_args *out, const char *program)
{
    KS_AUTO_FREE char *path = NULL;
    char real[PATH_MAX];
    struct ks_err ignored;
    if (ks_path_search(program, &path, &ignored) != KS_OK)
        return;
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, above = KS_STR_INIT;
    ks_path_dir(&dir, path);
    add(out, ks_str_cstr(&dir));
    if (!realpath(path, real))
        return;
    ks_path_dir(&dir, real);
    ks_path_dir(&above, ks_str_cstr(&dir));
    add(out, ks_str_cstr(&dir));
    if (is_installation(ks_str_cstr(&above)))
        add(out, ks_str_cstr(&above));
}

/* Every path of a list like CPATH. */
static void add_list(struct ks_args *out, const char *list)
{
    KS_AUTO_FREE char *copy = list ? ks_xstrdup(list) : NULL;
    char *save = NULL;
    for (char *p = copy ? strtok_r(copy, ":", &save) : NULL; p; p = strtok_r(NULL, ":", &save))
        add(out, p);
}

/* Options whose value is a path that the compiler reads; both "-x v" and "-xv" or "-x=v". */
static void add_options(struct ks_args *out, char *const *argv)
{
    static const char *const names[] = {"-I",       "--include-path", "-isystem", "--system-include",
                                        "-include", "--pre-include",  "-iquote",  "-idirafter",
                                        "-L",       "--library-path", "-optf",    "--options-file"};
    for (size_t i = 1; argv[i]; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            size_t n = strlen(names[k]);
            if (strcmp(argv[i], names[k]) == 0 && argv[i + 1])
                add(out, argv[i + 1]);
            else if (strncmp(argv[i], names[k], n) == 0 && argv[i][n] == '=')
                add(out, argv[i] + n + 1);
            else if ((k == 0 || strcmp(names[k], "-L") == 0) && strncmp(argv[i], names[k], n) == 0 && argv[i][n])
                add(out, argv[i] + n);
        }
    for (size_t i = 1; argv[i]; i++) { /* what is handed to the host compiler, a list with commas */
        const char *value = strcmp(argv[i], "-Xcompiler") == 0 || strcmp(argv[i], "--compiler-options") == 0 ? argv[i + 1] : NULL;
        if (ks_str_starts(argv[i], "-Xcompiler=") || ks_str_starts(argv[i], "--compiler-options="))
            value = strchr(argv[i], '=') + 1;
        KS_AUTO_FREE char *copy = value ? ks_xstrdup(value) : NULL;
        char *save = NULL;
        for (char *item = copy ? strtok_r(copy, ", ", &save) : NULL; item; item = strtok_r(NULL, ", ", &save))
            if (*item == '/')
                add(out, item);
            else if (strchr(item, '/') && *item == '-')
                add(out, strchr(item, '/'));
    }
}

static bool in_system(const char *path)
{
    static const char *const system[] = {"/usr/", "/lib/", "/lib64/", "/opt/"};
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        if (ks_str_starts(path, system[i]))
            return true;
    return false;
}

static bool is_below(const struct ks_args *out, const char *path)
{
    for (size_t i = 0; i < out->n; i++) {
        size_t n = strlen(out->v[i]);
        if (strncmp(path, out->v[i], n) == 0 && path[n] == '/')
            return true;
    }
    return false;
}

void ks_confine_add(struct ks_args *out, const char *path)
{
    char real[PATH_MAX];
    if (realpath(path, real) && !in_system(real) && !is_below(out, real))
        add(out, real);
}

/* "target: a b \\\n c\\ d": the files behind the colon. */
static void add_dependencies(struct ks_args *out, const char *deps_path)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, word = KS_STR_INIT;
    struct ks_err ignored;
    if (ks_file_read(deps_path, MAX_DEPS_BYTES, &text, &ignored) != KS_OK)
        return;
    const char *p = strstr(ks_str_cstr(&text), ": ");
    for (p = p ? p + 1 : ""; *p;) {
        p += strspn(p, " \t\r\n");
        if (p[0] == '\\' && p[1] == '\n') {
            p += 2;
            continue;
        }
        ks_str_clear(&word);
        for (; *p && !strchr(" \t\r\n", *p); p++) {
            if (*p == '\\' && (p[1] == ' ' || p[1] == '#' || p[1] == '\\'))
                p++;
            else if (*p == '$' && p[1] == '$')
                p++;
            ks_str_addc(&word, *p);
        }
        if (word.len)
            ks_confine_add(out, ks_str_cstr(&word));
    }
}

void ks_confine_paths(const struct ks_session_options *opt, const char *deps_path, struct ks_args *out)
{
    add_installation(out, opt->nvcc_argv[0]);
    if (opt->toolkit_dir && is_installation(opt->toolkit_dir))
        add(out, opt->toolkit_dir);
    for (size_t i = 1; opt->nvcc_argv[i]; i++) {
        const char *w = opt->nvcc_argv[i], *next = opt->nvcc_argv[i + 1];
        if ((strcmp(w, "-ccbin") == 0 || strcmp(w, "--compiler-bindir") == 0) && next)
            add_installation(out, next);
        else if (ks_str_starts(w, "-ccbin=") || ks_str_starts(w, "--compiler-bindir="))
            add_installation(out, strchr(w, '=') + 1);
    }
    if (getenv("NVCC_CCBIN"))
        add_installation(out, getenv("NVCC_CCBIN"));
    add_options(out, opt->nvcc_argv);
    add_list(out, getenv("CPATH"));
    add_list(out, getenv("C_INCLUDE_PATH"));
    add_list(out, getenv("CPLUS_INCLUDE_PATH"));
    add_list(out, getenv("LIBRARY_PATH"));
    add_list(out, getenv("LD_LIBRARY_PATH"));
    if (deps_path)
        add_dependencies(out, deps_path);
    KS_AUTO_STR struct ks_str linked = KS_STR_INIT; /* with every candidate */
    ks_path_join(&linked, opt->work_dir, KS_LAST_ERROR_DIR);
    add(out, linked.data);
}

void ks_confine_command(const struct ks_session_options *opt, const char *dir, const struct ks_args *argv, struct ks_args *out)
{
    KS_AUTO_STR struct ks_str worker = KS_STR_INIT;
    ks_path_join(&worker, opt->bin_dir, "kscc-worker");
    ks_args_add(out, worker.data);
    ks_args_add(out, "--confine");
    for (size_t i = 0; i < opt->confined_to->n; i++) {
        ks_args_add(out, "-r");
        ks_args_add(out, opt->confined_to->v[i]);
    }
    ks_args_add(out, "-w");
    ks_args_add(out, dir);
    ks_args_add(out, "--");
    ks_args_add_all(out, argv->v);
}
