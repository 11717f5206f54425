#include "driver/workspace.h"

#include "base/file.h"
#include "base/process.h"
#include "driver/paths.h"
#include "driver/try_client.h"
#include "harness/worker/confine_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_OUTPUT_BYTES 16384
#define GRACE_MS         5000 /* after the worker's own limit on time */

/* ---- making --------------------------------------------------------------------------------------------------------- */

static char *below(const struct ks_workspace *w, const char *name)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_path_join(&path, w->dir, name);
    return ks_str_detach(&path, NULL);
}

enum ks_code ks_workspace_write(const struct ks_workspace *w, const char *name, const char *text, size_t len, struct ks_err *err)
{
    KS_AUTO_FREE char *path = below(w, name);
    return ks_file_write_atomic(path, text, len, 0644, err);
}

static enum ks_code make_folder(const struct ks_workspace *w, const char *name, struct ks_err *err)
{
    KS_AUTO_FREE char *path = below(w, name);
    KS_TRY(ks_dir_make(path, err));
    return chmod(path, 0700) == 0 ? KS_OK : ks_fail_errno(err, KS_ERR_IO, "cannot close '%s' to others", path);
}

/* Its own logins, where the preset says that they are files. */
static enum ks_code copy_home(const struct ks_workspace *w, const struct ks_command_preset *p, struct ks_err *err)
{
    const char *home = getenv("HOME");
    for (size_t i = 0; home && i < p->home.n; i++) {
        KS_AUTO_STR struct ks_str from = KS_STR_INIT, name = KS_STR_INIT, dir = KS_STR_INIT;
        ks_path_join(&from, home, p->home.v[i]);
        if (!ks_file_exists(ks_str_cstr(&from)))
            continue;
        ks_str_addf(&name, "home/%s", p->home.v[i]);
        KS_AUTO_FREE char *to = below(w, ks_str_cstr(&name));
        ks_path_dir(&dir, to);
        KS_TRY(ks_dir_make(ks_str_cstr(&dir), err));
        KS_TRY(ks_file_copy(ks_str_cstr(&from), to, err));
    }
    return KS_OK;
}

static enum ks_code open_socket(struct ks_workspace *w, struct ks_err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(w->socket) >= sizeof(a.sun_path))
        return ks_fail(err, KS_ERR_LIMIT, "the folder for temporary files has too long a name for a socket: '%s'", w->dir);
    strncpy(a.sun_path, w->socket, sizeof(a.sun_path) - 1);
    w->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (w->listen_fd < 0 || bind(w->listen_fd, (const struct sockaddr *)&a, sizeof(a)) < 0 || chmod(w->socket, 0600) < 0 ||
        listen(w->listen_fd, 8) < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot listen on '%s'", w->socket);
    return KS_OK;
}

enum ks_code ks_workspace_make(struct ks_workspace *w, const char *dir, const char *unit_path, const struct ks_command_preset *p,
                               struct ks_err *err)
{
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT, kscc = KS_STR_INIT;
    *w = (struct ks_workspace){.listen_fd = -1, .output_fd = -1, .dir = ks_xstrdup(dir)};
    w->unit = below(w, ks_path_base(unit_path));
    w->task = below(w, "TASK.md");
    w->socket = below(w, "try.sock");
    KS_TRY(make_folder(w, "bin", err));
    KS_TRY(make_folder(w, "home", err));
    KS_TRY(make_folder(w, "tmp", err));
    KS_TRY(copy_home(w, p, err));
    ks_paths_bin(&bin);
    ks_path_join(&kscc, ks_str_cstr(&bin), "kscc");
    KS_AUTO_FREE char *link = below(w, "bin/kscc");
    if (symlink(ks_str_cstr(&kscc), link) < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot make '%s'", link);
    return open_socket(w, err);
}

/* ---- walls ---------------------------------------------------------------------------------------------------------- */

static void may_read(struct ks_args *argv, const char *path)
{
    if (!*path || access(path, F_OK) < 0)
        return;
    ks_args_add(argv, "-r");
    ks_args_add(argv, path);
}

/* Folders of the libraries that this process has loaded: kscc loads them again. */
static int add_library(struct dl_phdr_info *info, size_t size, void *ctx)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    char real[PATH_MAX];
    (void)size;
    if (!info->dlpi_name || !strchr(info->dlpi_name, '/') || !realpath(info->dlpi_name, real))
        return 0;
    ks_path_dir(&dir, real);
    may_read(ctx, ks_str_cstr(&dir));
    ks_path_dir(&dir, info->dlpi_name);
    may_read(ctx, ks_str_cstr(&dir));
    return 0;
}

/* The folder that a program lies in, and the one above a "bin": never the home folder itself, or the root. */
static void add_program(struct ks_args *argv, const char *path)
{
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT, above = KS_STR_INIT;
    char real[PATH_MAX];
    const char *home = getenv("HOME");
    may_read(argv, path);
    if (!realpath(path, real))
        return;
    may_read(argv, real);
    for (int i = 0; i < 2; i++) {
        ks_path_dir(&dir, i ? real : path);
        if (strcmp(ks_path_base(ks_str_cstr(&dir)), "bin") != 0)
            continue;
        ks_path_dir(&above, ks_str_cstr(&dir));
        bool too_much = strcmp(ks_str_cstr(&above), "/") == 0 || (home && ks_str_starts(home, ks_str_cstr(&above)));
        may_read(argv, too_much ? ks_str_cstr(&dir) : ks_str_cstr(&above));
    }
}

static void add_walls(const struct ks_workspace *w, const struct ks_command_preset *p, const char *program, struct ks_args *argv)
{
    static const char *const system[] = {"/usr",
                                         "/lib",
                                         "/lib32",
                                         "/lib64",
                                         "/bin",
                                         "/sbin",
                                         "/opt",
                                         "/etc/alternatives",
                                         "/etc/ld.so.cache",
                                         "/etc/localtime",
                                         "/sys/devices/system/cpu",
                                         "/dev/urandom",
                                         "/dev/zero",
                                         "/etc/ssl",
                                         "/etc/ca-certificates",
                                         "/etc/pki",
                                         "/etc/resolv.conf",
                                         "/etc/hosts",
                                         "/etc/nsswitch.conf",
                                         "/etc/host.conf",
                                         "/etc/gai.conf",
                                         "/etc/services",
                                         "/etc/protocols",
                                         "/etc/passwd",
                                         "/etc/group",
                                         "/etc/os-release",
                                         "/etc/terminfo",
                                         "/proc",
                                         "/dev/random",
                                         "/dev/tty"};
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    const char *home = getenv("HOME");
    for (size_t i = 0; i < sizeof(system) / sizeof(system[0]); i++)
        may_read(argv, system[i]);
    ks_paths_bin(&path);
    may_read(argv, ks_str_cstr(&path));
    ks_paths_core(&path);
    may_read(argv, ks_str_cstr(&path));
    dl_iterate_phdr(add_library, argv);
    add_program(argv, program);
    for (size_t i = 0; i < p->read.n; i++) {
        ks_str_clear(&path);
        if (ks_str_starts(p->read.v[i], "~/"))
            ks_str_addf(&path, "%s/%s", home ? home : "", p->read.v[i] + 2);
        else
            ks_str_add(&path, p->read.v[i]);
        may_read(argv, ks_str_cstr(&path));
    }
    ks_args_add(argv, "-w");
    ks_args_add(argv, w->dir);
}

static void add_environment(const struct ks_workspace *w, const struct ks_command_preset *p, struct ks_args *env)
{
    static const char *const kept[] = {
        "LANG",        "LC_ALL",   "TZ",        "http_proxy", "https_proxy",   "no_proxy",     "HTTP_PROXY",
        "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "all_proxy",  "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
        "CUDA_HOME",   "CUDA_PATH"};
    const char *path = getenv("PATH");
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (getenv(kept[i]))
            ks_args_addf(env, "%s=%s", kept[i], getenv(kept[i]));
    for (size_t i = 0; i < p->env.n; i++)
        if (getenv(p->env.v[i]))
            ks_args_addf(env, "%s=%s", p->env.v[i], getenv(p->env.v[i]));
    ks_args_add_all(env, p->set.v ? p->set.v : (char *[]){NULL});
    ks_args_addf(env, "PATH=%s/bin:%s", w->dir, path ? path : "/usr/bin:/bin");
    ks_args_addf(env, "HOME=%s/home", w->dir);
    ks_args_addf(env, "TMPDIR=%s/tmp", w->dir);
    ks_args_add(env, "TERM=dumb");
    ks_args_addf(env, "%s=%s", KS_TRY_SOCKET, w->socket);
}

/* ---- running -------------------------------------------------------------------------------------------------------- */

enum ks_code ks_workspace_start(struct ks_workspace *w, const struct ks_command_preset *p, const char *prompt, struct ks_err *err)
{
    KS_AUTO_ARGS struct ks_args argv, env;
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT;
    KS_AUTO_FREE char *program = NULL;
    struct ks_spawn s;
    int out[2];
    ks_args_init(&argv);
    ks_args_init(&env);
    KS_TRY(ks_path_search(p->program, &program, err));
    ks_paths_bin(&bin);
    ks_args_addf(&argv, "%s/kscc-worker", ks_str_cstr(&bin));
    ks_args_add(&argv, "--confine");
    ks_args_add(&argv, "-a");
    ks_args_addf(&argv, "%lld", (long long)p->timeout_s);
    add_walls(w, p, program, &argv);
    ks_args_add(&argv, "--");
    const struct ks_command_places places = {.prompt = prompt, .task = w->task, .unit = w->unit, .workspace = w->dir};
    ks_command_preset_argv(p, program, &places, &argv);
    add_environment(w, p, &env);
    if (pipe2(out, O_CLOEXEC) < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot make a pipe");
    ks_spawn_init(&s);
    s.argv = argv.v;
    s.envp = env.v;
    s.cwd = w->dir;
    s.stdout_fd = out[1];
    s.stderr_fd = out[1];
    s.own_group = true;
    s.die_with_parent = true;
    enum ks_code code = ks_process_start(&s, &w->pid, err);
    close(out[1]);
    w->output_fd = out[0];
    w->deadline_ns = ks_clock_ns() + p->timeout_s * 1000000000 + (int64_t)GRACE_MS * 1000000;
    ks_str_clear(&w->output);
    free(ks_steal(w->ended));
    if (code != KS_OK)
        w->pid = 0;
    return code;
}

static void drain(struct ks_workspace *w)
{
    char buf[1 << 14];
    struct pollfd p = {.fd = w->output_fd, .events = POLLIN};
    for (int i = 0; i < 64 && w->output_fd >= 0 && poll(&p, 1, 0) > 0; i++) { /* it may print faster than anybody reads */
        ssize_t n = read(w->output_fd, buf, sizeof(buf));
        if (n <= 0) {
            close(w->output_fd);
            w->output_fd = -1;
            break;
        }
        ks_str_addn(&w->output, buf, (size_t)n);
        if (w->output.len > MAX_OUTPUT_BYTES) {
            memmove(w->output.data, w->output.data + w->output.len - MAX_OUTPUT_BYTES, MAX_OUTPUT_BYTES + 1);
            w->output.len = MAX_OUTPUT_BYTES;
        }
    }
}

/* What the worker's statuses mean (confine.h), else how it ended. */
static void describe(struct ks_workspace *w, const struct ks_exit *e)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    const char *words = e->kind == KS_EXIT_TIMEOUT         ? "was ended: its time was up"
                        : e->kind != KS_EXIT_STATUS        ? NULL
                        : e->status == KS_CONFINE_TOO_MANY ? "was ended: it made too many processes"
                        : e->status == KS_CONFINE_TOO_FULL ? "was ended: it filled its workspace"
                        : e->status == KS_CONFINE_TOO_LONG ? "was ended: its time was up"
                                                           : NULL;
    if (words)
        ks_str_add(&text, words);
    else
        ks_exit_describe(e, &text);
    w->ended = ks_str_detach(&text, NULL);
}

static void reap(struct ks_workspace *w, int64_t timeout_ms)
{
    struct ks_exit e = {0};
    struct ks_err err;
    drain(w);
    if (ks_process_wait(w->pid, timeout_ms, true, &e, &err) == KS_OK)
        describe(w, &e);
    kill(-w->pid, SIGKILL); /* where there is no process namespace, what is left of its group */
    drain(w);
    w->pid = 0;
    if (w->output_fd >= 0)
        close(w->output_fd);
    w->output_fd = -1;
}

bool ks_workspace_alive(struct ks_workspace *w)
{
    siginfo_t info = {0};
    if (!w->pid)
        return false;
    drain(w);
    if (ks_clock_ns() > w->deadline_ns)
        reap(w, 1);
    else if (waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == w->pid)
        reap(w, 1000);
    return w->pid != 0;
}

void ks_workspace_stop(struct ks_workspace *w)
{
    if (!w->pid)
        return;
    kill(-w->pid, SIGKILL);
    reap(w, 1000);
}

void ks_workspace_release(struct ks_workspace *w)
{
    ks_workspace_stop(w);
    if (w->listen_fd >= 0)
        close(w->listen_fd);
    ks_str_release(&w->output);
    free(w->dir);
    free(w->unit);
    free(w->task);
    free(w->socket);
    free(w->ended);
    *w = (struct ks_workspace){.listen_fd = -1, .output_fd = -1};
}
