#include "driver/nvcc.h"

#include "base/file.h"
#include "base/process.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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

bool ks_nvcc_is_self(const char *path)
{
    struct stat self, other;
    if (stat("/proc/self/exe", &self) < 0 || stat(path, &other) < 0)
        return false;
    if (self.st_dev == other.st_dev && self.st_ino == other.st_ino)
        return true;
    return self.st_size == other.st_size && same_contents("/proc/self/exe", path);
}

/* First executable `name` of the PATH that is not this program; caller frees, NULL: none. */
static char *path_without_self(const char *name)
{
    const char *path = getenv("PATH");
    while (path) {
        size_t len = strcspn(path, ":");
        KS_AUTO_STR struct ks_str file = KS_STR_INIT;
        ks_str_addn(&file, len ? path : ".", len ? len : 1);
        ks_str_addf(&file, "/%s", name);
        if (ks_file_is_executable(ks_str_cstr(&file)) && !ks_nvcc_is_self(ks_str_cstr(&file)))
            return ks_str_detach(&file, NULL);
        path = path[len] ? path + len + 1 : NULL;
    }
    return NULL;
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
    char *found = path_without_self("nvcc");
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

static bool process_is_nvcc(pid_t pid)
{
    char link[64], exe[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    ssize_t n = readlink(link, exe, sizeof(exe) - 1);
    if (n <= 0)
        return false;
    exe[n] = '\0';
    return strcmp(ks_path_base(exe), "nvcc") == 0 && !ks_nvcc_is_self(exe);
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

/* nvcc puts _HERE_ and _SPACE_ into the environment of its children, and starts them directly or through one shell. */
bool ks_nvcc_is_parent(void)
{
    if (!getenv("_HERE_") || !getenv("_SPACE_"))
        return false;
    pid_t parent = getppid();
    return process_is_nvcc(parent) || process_is_nvcc(parent_of(parent));
}

enum ks_code ks_nvcc_exec_host_compiler(char *const *argv, struct ks_err *err)
{
    bool is_c = false;
    for (size_t i = 1; argv[i]; i++)
        if (strcmp(argv[i], "-x") == 0 && argv[i + 1])
            is_c = strcmp(argv[i + 1], "c") == 0;
    const char *name = is_c ? "gcc" : "g++";
    KS_AUTO_FREE char *path = path_without_self(name);
    if (!path)
        return ks_fail(err, KS_ERR_NOT_FOUND, "cannot find '%s', and kscc was called as nvcc's host compiler", name);
    KS_AUTO_ARGS struct ks_args args;
    ks_args_init(&args);
    ks_args_add(&args, path);
    ks_args_add_all(&args, argv + 1);
    execv(path, args.v);
    return ks_fail_errno(err, KS_ERR_IO, "cannot run '%s'", path);
}

/* ---- running -------------------------------------------------------------------------------------------------------- */

enum ks_code ks_nvcc_exec(char *const *argv, struct ks_err *err)
{
    execv(argv[0], argv);
    return ks_fail_errno(err, errno == ENOENT ? KS_ERR_NOT_FOUND : KS_ERR_IO, "cannot run '%s'", argv[0]);
}

static volatile sig_atomic_t child_pid;

static void pass_on(int signal_number)
{
    if (child_pid > 0)
        kill((pid_t)child_pid, signal_number);
}

static enum ks_code spawn_and_wait(char *const *argv, const posix_spawnattr_t *attr, int *ret_status, struct ks_err *err)
{
    extern char **environ;
    pid_t pid;
    int rc = posix_spawn(&pid, argv[0], NULL, attr, argv, environ);
    if (rc != 0) {
        errno = rc;
        return ks_fail_errno(err, KS_ERR_IO, "cannot run '%s'", argv[0]);
    }
    child_pid = pid;
    pid_t got;
    do {
        got = waitpid(pid, ret_status, 0);
    } while (got < 0 && errno == EINTR);
    child_pid = 0;
    return got < 0 ? ks_fail_errno(err, KS_ERR_IO, "cannot wait for '%s'", argv[0]) : KS_OK;
}

enum ks_code ks_nvcc_run(char *const *argv, struct ks_wait_status *ret, struct ks_err *err)
{
    static const int ignored[] = {SIGINT, SIGQUIT}, passed[] = {SIGTERM, SIGHUP};
    struct sigaction old_ignored[2], old_passed[2], ignore = {.sa_handler = SIG_IGN}, pass = {.sa_handler = pass_on};
    posix_spawnattr_t attr;
    sigset_t defaults;
    sigemptyset(&defaults);
    for (int i = 0; i < 2; i++) {
        sigaction(ignored[i], &ignore, &old_ignored[i]);
        /* nohup and background shells hand down ignored signals: the child must find what we found */
        if (old_ignored[i].sa_handler != SIG_IGN)
            sigaddset(&defaults, ignored[i]);
        sigaction(passed[i], NULL, &old_passed[i]);
        if (old_passed[i].sa_handler != SIG_IGN)
            sigaction(passed[i], &pass, NULL);
    }
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigdefault(&attr, &defaults);
    int status = 0;
    enum ks_code code = spawn_and_wait(argv, &attr, &status, err);
    posix_spawnattr_destroy(&attr);
    for (int i = 0; i < 2; i++) {
        sigaction(ignored[i], &old_ignored[i], NULL);
        sigaction(passed[i], &old_passed[i], NULL);
    }
    if (code == KS_OK)
        *ret = WIFSIGNALED(status) ? (struct ks_wait_status){true, WTERMSIG(status)}
                                   : (struct ks_wait_status){false, WEXITSTATUS(status)};
    return code;
}

_Noreturn void ks_end_like(const struct ks_wait_status *s)
{
    if (s->by_signal) {
        sigset_t one;
        signal(s->value, SIG_DFL);
        sigemptyset(&one);
        sigaddset(&one, s->value);
        sigprocmask(SIG_UNBLOCK, &one, NULL);
        raise(s->value);
        exit(128 + s->value); /* a signal whose default is not to kill */
    }
    exit(s->value);
}

/* ---- what it says about itself -------------------------------------------------------------------------------------- */

static enum ks_code ask_nvcc(const char *nvcc, const char *first, const char *second, struct ks_str *out, struct ks_str *errout,
                             struct ks_err *err)
{
    char *const argv[] = {(char *)nvcc, (char *)first, (char *)second, NULL};
    struct ks_spawn s;
    struct ks_exit e;
    ks_spawn_init(&s);
    s.argv = argv;
    s.timeout_ms = 30000;
    return ks_process_run(&s, out, errout, &e, err);
}

/* Copy of the text between `prefix` and the first of `stops` after it; NULL when not there. */
static char *between(const char *text, const char *prefix, const char *stops)
{
    const char *p = strstr(text, prefix);
    if (!p)
        return NULL;
    p += strlen(prefix);
    return ks_xstrndup(p, strcspn(p, stops));
}

enum ks_code ks_toolkit_query(const char *nvcc, struct ks_toolkit *ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str version = KS_STR_INIT, settings = KS_STR_INIT, nothing = KS_STR_INIT;
    KS_TRY(ask_nvcc(nvcc, "--version", NULL, &version, &nothing, err));
    /* the probe CMake uses: fails for want of an input, after printing the profile's variables */
    KS_TRY(ask_nvcc(nvcc, "-v", "__kscc_no_input", &nothing, &settings, err));
    KS_AUTO_FREE char *number = between(ks_str_cstr(&version), ", V", " \n\r");
    KS_AUTO_FREE char *top = between(ks_str_cstr(&settings), "#$ TOP=", "\r\n");
    if (!number || !top)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "cannot read %s of '%s'", number ? "the toolkit folder" : "the version", nvcc);
    *ret = (struct ks_toolkit){.nvcc = ks_xstrdup(nvcc), .top = ks_steal(top), .version = ks_steal(number)};
    return KS_OK;
}

void ks_toolkit_release(struct ks_toolkit *t)
{
    free(t->nvcc);
    free(t->top);
    free(t->version);
    *t = (struct ks_toolkit){0};
}
