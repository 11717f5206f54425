#include "driver/nvcc.h"

#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- finding -------------------------------------------------------------------------------------------------------- */

/* Two copies of kscc, both called nvcc, would run each other for ever: equal contents count as ourselves. */
static bool same_contents(const char *a, const char *b)
{
    FILE *fa = fopen(a, "re"), *fb = fopen(b, "re");
    bool same = fa && fb;
    while (same) {
        char ba[1 << 14], bb[1 << 14];
        size_t na = fread(ba, 1, sizeof(ba), fa), nb = fread(bb, 1, sizeof(bb), fb);
        same = na == nb && memcmp(ba, bb, na) == 0;
        if (na == 0)
            break;
    }
    if (fa)
        fclose(fa);
    if (fb)
        fclose(fb);
    return same;
}

/* The name this program was started by, a path even when it was found on PATH; "" when the kernel does not say. */
static const char *started_as(void)
{
    const char *name = (const char *)getauxval(AT_EXECFN); // NOLINT: how the interface is
    return name ? name : "";
}

/* "kscc" as the last part of a word's path: a folder of that name on the way to another program does not count. */
static bool names_self(const char *text, size_t n)
{
    static const char name[] = "kscc";
    const size_t len = sizeof(name) - 1;
    for (const char *at = text; (at = memmem(at, n - (size_t)(at - text), name, len)); at++) {
        char before = at > text ? at[-1] : ' ', after = at + len < text + n ? at[len] : ' ';
        if (!isalnum((unsigned char)before) && !strchr("_-.", before) && !isalnum((unsigned char)after) && !strchr("_-./", after))
            return true;
    }
    return false;
}

/* A script that runs kscc, and is called nvcc, would be run by kscc for ever. */
static bool is_script_for_self(const char *path)
{
    char text[1 << 12];
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof(text), f) : 0;
    if (f)
        fclose(f);
    return n > 2 && memcmp(text, "#!", 2) == 0 && names_self(text, n);
}

bool ks_nvcc_is_self(const char *path)
{
    struct stat self, other;
    const char *exe = "/proc/self/exe";
    if (stat(exe, &self) < 0 && stat(exe = started_as(), &self) < 0) /* a sandbox may lack /proc */
        return false;
    if (stat(path, &other) < 0)
        return false;
    if (self.st_dev == other.st_dev && self.st_ino == other.st_ino)
        return true;
    return (self.st_size == other.st_size && same_contents(exe, path)) || is_script_for_self(path);
}

/* A compiler cache that stands in for compilers by links of their names ("/usr/lib/ccache/nvcc"): it runs the next program of
 * that name on PATH. */
static bool is_cache(const char *path)
{
    static const char *const names[] = {"ccache", "distcc", "icecc", "sccache"};
    char real[PATH_MAX];
    if (readlink(path, real, 1) < 0 || !realpath(path, real))
        return false;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(ks_path_base(real), names[i]) == 0)
            return true;
    return false;
}

static bool is_other(const char *path)
{
    return !ks_nvcc_is_self(path);
}

static bool is_other_and_no_cache(const char *path)
{
    return is_other(path) && !is_cache(path);
}

/* First executable `name` of the PATH that fits; caller frees, NULL: none. */
static char *first_on_path(const char *name, bool (*fits)(const char *path))
{
    const char *path = getenv("PATH");
    while (path) {
        size_t len = strcspn(path, ":");
        KS_AUTO_STR struct ks_str file = KS_STR_INIT;
        ks_str_addn(&file, len ? path : ".", len ? len : 1);
        ks_str_addf(&file, "/%s", name);
        if (ks_file_is_executable(ks_str_cstr(&file)) && fits(ks_str_cstr(&file)))
            return ks_str_detach(&file, NULL);
        path = path[len] ? path + len + 1 : NULL;
    }
    return NULL;
}

/* First executable `name` of the PATH that is not this program, nor a cache that would run this program, which is on the PATH by
 * that name, for ever; caller frees, NULL: none. */
static char *path_without_self(const char *name)
{
    char *found = first_on_path(name, is_other);
    KS_AUTO_FREE char *self = found && is_cache(found) ? first_on_path(name, ks_nvcc_is_self) : NULL;
    if (!self)
        return found;
    free(found);
    return first_on_path(name, is_other_and_no_cache);
}

/* argv[0] must be absolute, but only by putting the current folder in front: links stay. */
static char *make_absolute(char *path)
{
    char cwd[PATH_MAX];
    if (path[0] == '/' || !getcwd(cwd, sizeof(cwd)))
        return path;
    KS_AUTO_STR struct ks_str abs = KS_STR_INIT;
    ks_str_addf(&abs, "%s/%s", cwd, path);
    free(path);
    return ks_str_detach(&abs, NULL);
}

/* The nvcc of the toolkit that this shim folder stands for ("kscc shim"), when kscc was started through one; caller frees. */
static char *nvcc_of_shim(void)
{
    char target[PATH_MAX];
    KS_AUTO_STR struct ks_str link = KS_STR_INIT;
    ks_path_dir(&link, started_as());
    ks_str_add(&link, "/" KS_SHIM_LINK);
    ssize_t n = readlink(ks_str_cstr(&link), target, sizeof(target) - 1);
    if (n <= 0)
        return NULL;
    target[n] = '\0';
    return ks_file_is_executable(target) && !ks_nvcc_is_self(target) ? ks_xstrdup(target) : NULL;
}

enum ks_code ks_nvcc_find(const char *given, char **ret_path, struct ks_err *err)
{
    if (given) {
        if (!ks_file_is_executable(given))
            return ks_fail(err, KS_ERR_NOT_FOUND, "cannot run '%s' as nvcc: no executable file", given);
        if (ks_nvcc_is_self(given))
            return ks_fail(err, KS_ERR_NOT_FOUND, "cannot use '%s' as the real nvcc: it is kscc", given);
        *ret_path = make_absolute(ks_xstrdup(given));
        return KS_OK;
    }
    char *found = nvcc_of_shim();
    if (!found)
        found = path_without_self("nvcc");
    if (found) {
        *ret_path = make_absolute(found);
        return KS_OK;
    }
    KS_AUTO_STR struct ks_str brought = KS_STR_INIT; /* the toolkit that bootstrap brings where none is installed */
    KS_AUTO_FREE char *self_dir = NULL;
    struct ks_err ignored;
    if (ks_path_self_dir(&self_dir, &ignored) == KS_OK)
        ks_path_join(&brought, self_dir, "../cuda/nvidia/cu13");
    const char *const roots[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", ks_str_cstr(&brought)};
    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]); i++) {
        KS_AUTO_STR struct ks_str file = KS_STR_INIT;
        if (!roots[i] || !*roots[i])
            continue;
        ks_str_addf(&file, "%s/bin/nvcc", roots[i]);
        if (ks_file_is_executable(ks_str_cstr(&file)) && !ks_nvcc_is_self(ks_str_cstr(&file))) {
            *ret_path = make_absolute(ks_str_detach(&file, NULL));
            return KS_OK;
        }
    }
    return ks_fail(err, KS_ERR_NOT_FOUND,
                   "cannot find nvcc (looked in PATH, CUDA_HOME, CUDA_PATH and /usr/local/cuda/bin; KSCC_NVCC=PATH names it)");
}

/* ---- recursion guard ------------------------------------------------------------------------------------------------ */

/* By its program's file; where that may not be read (another user's, a hardened kernel) by the name the kernel shows. */
static bool process_is_nvcc(pid_t pid)
{
    char path[64], name[PATH_MAX];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(path, name, sizeof(name) - 1);
    if (n > 0) {
        name[n] = '\0';
        return strcmp(ks_path_base(name), "nvcc") == 0 && !ks_nvcc_is_self(name);
    }
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    FILE *f = fopen(path, "re");
    bool is_nvcc = f && fgets(name, sizeof(name), f) && strcmp(name, "nvcc\n") == 0;
    if (f)
        fclose(f);
    return is_nvcc;
}

static pid_t parent_of(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "re");
    int parent = 0;
    if (f && fscanf(f, "%*d (%*[^)]) %*c %d", &parent) != 1)
        parent = 0;
    if (f)
        fclose(f);
    return parent;
}

/* A process's words, one after the other with a NUL behind each; at most the first 64 KiB.  Returns how many bytes. */
static size_t words_of(pid_t pid, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, size - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    return n;
}

/* "nvcc -run": its child may be the program that it made, which may call us as a compiler. */
static bool runs_programs(pid_t nvcc)
{
    char text[1 << 16];
    size_t n = words_of(nvcc, text, sizeof(text));
    for (const char *w = text; w < text + n; w += strlen(w) + 1)
        if (strcmp(w, "-run") == 0 || strcmp(w, "--run") == 0)
            return true;
    return false;
}

/* A line that nvcc wrote for its host compiler, as the compiler, a shell or a script that stands for it has it: this macro is
 * among the first words of each. */
static bool has_host_compiler_line(pid_t pid)
{
    static const char mark[] = "-D__CUDA_ARCH_LIST__=";
    char text[1 << 16];
    return memmem(text, words_of(pid, text, sizeof(text)), mark, sizeof(mark) - 1);
}

/* nvcc puts _HERE_ and _SPACE_ into the environment of its children, and starts them directly or through one shell.  A script
 * that stands for the host compiler may lie between. */
bool ks_nvcc_is_parent(void)
{
    if (!getenv("_HERE_") || !getenv("_SPACE_"))
        return false;
    bool is_host_compiler = has_host_compiler_line(getpid());
    pid_t above = getppid();
    for (int level = 0; level < 3 && above > 1; level++, above = parent_of(above)) {
        if (process_is_nvcc(above))
            return is_host_compiler || !runs_programs(above);
        is_host_compiler = is_host_compiler || has_host_compiler_line(above);
    }
    return false;
}

char *ks_host_compiler_find(bool cxx)
{
    return path_without_self(cxx ? "g++" : "gcc");
}

enum ks_code ks_nvcc_exec_host_compiler(char *const *argv, struct ks_err *err)
{
    bool is_c = false;
    for (size_t i = 1; argv[i]; i++)
        if (strcmp(argv[i], "-x") == 0 && argv[i + 1])
            is_c = strcmp(argv[i + 1], "c") == 0;
    KS_AUTO_FREE char *path = ks_host_compiler_find(!is_c);
    if (!path)
        return ks_fail(err, KS_ERR_NOT_FOUND, "cannot find '%s', and kscc was called as nvcc's host compiler",
                       is_c ? "gcc" : "g++");
    KS_AUTO_ARGS struct ks_args args;
    ks_args_init(&args);
    ks_args_add(&args, path);
    ks_args_add_all(&args, argv + 1);
    execv(path, args.v);
    return ks_fail_errno(err, KS_ERR_IO, "cannot run '%s'", path);
}
