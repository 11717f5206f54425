#include "harness/worker/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/mount.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool file_write(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        close(fd);
    return ok;
}

/* The same numbers inside and outside, so that files keep their owners. */
static bool ids_map(unsigned uid, unsigned gid)
{
    char line[64];
    if (!file_write("/proc/self/setgroups", "deny") && errno != ENOENT)
        return false;
    snprintf(line, sizeof line, "%u %u 1", gid, gid);
    if (!file_write("/proc/self/gid_map", line))
        return false;
    snprintf(line, sizeof line, "%u %u 1", uid, uid);
    return file_write("/proc/self/uid_map", line);
}

bool ks_capabilities_drop(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2];
    memset(none, 0, sizeof none);
    for (int cap = 0; cap < 64; cap++)
        if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
            prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return syscall(SYS_capset, &head, none) == 0;
}

static int (*watch)(void);

void ks_namespaces_watch(int (*tick)(void))
{
    watch = tick;
}

static const char *writable;

void ks_namespaces_writable(const char *folder)
{
    writable = folder;
}

/* Ends as the child did.  Only the child's end of the socket may keep the parent waiting, so ours are closed. */
static _Noreturn void end_like(pid_t child, int status_fd)
{
    int status = 0;
    pid_t got;
    while ((got = waitpid(child, &status, watch ? WNOHANG : 0)) == 0 || (got < 0 && errno == EINTR)) {
        int end = got == 0 && watch ? watch() : 0;
        if (end) { /* the others die with this one */
            status = end << 8;
            got = child;
            break;
        }
        if (got == 0)
            usleep(100000);
    }
    if (status_fd >= 0) { /* the namespace's first process cannot die of a signal of its own */
        ssize_t n = write(status_fd, &status, sizeof status);
        _exit(n == (ssize_t)sizeof status && got == child ? 0 : 125);
    }
    _exit(125);
}

static _Noreturn void die_like(int status)
{
    struct rlimit none = {0, 0};
    if (WIFSIGNALED(status)) {
        setrlimit(RLIMIT_CORE, &none);
        signal(WTERMSIG(status), SIG_DFL);
        kill(getpid(), WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 125);
}

static void fds_close(const int *fds, int n_fds)
{
    for (int i = 0; i < n_fds; i++)
        close(fds[i]);
}

/* Forks twice; returns in the grandchild. */
static bool pid_namespace_enter(const int *fds, int n_fds)
{
    int report[2];
    if (pipe2(report, O_CLOEXEC) < 0)
        return false;
    pid_t first = fork();
    if (first < 0) {
        fds_close(report, 2);
        return false;
    }
    if (first > 0) { /* outside */
        int status = 0;
        close(report[1]);
        fds_close(fds, n_fds);
        ssize_t n = read(report[0], &status, sizeof status);
        while (waitpid(first, NULL, 0) < 0 && errno == EINTR)
            continue;
        die_like(n == (ssize_t)sizeof status ? status : 9 /* the namespace was killed as a whole */);
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(report[0]);
    pid_t worker = fork();
    if (worker != 0) {
        fds_close(fds, n_fds);
        end_like(worker, report[1]);
    }
    close(report[1]);
    return true;
}

/* Where other programs of the same user listen and do as they are told. */
static void sockets_hide(void)
{
    static const char *const files[] = {"/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
                                        "/run/crio/crio.sock"};
    (void)!mount("none", "/run/user", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "size=4k");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        (void)!mount("/dev/null", files[i], NULL, MS_BIND, NULL);
}

/* Everything read-only but one folder. */
static bool mounts_seal(void)
{
    struct mount_attr seal = {.attr_set = MOUNT_ATTR_RDONLY}, open = {.attr_clr = MOUNT_ATTR_RDONLY};
    return writable && mount(writable, writable, NULL, MS_BIND, NULL) == 0 &&
           syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &seal, sizeof seal) == 0 &&
           syscall(SYS_mount_setattr, AT_FDCWD, writable, 0, &open, sizeof open) == 0;
}

static bool mounts_hide(bool new_pids, bool seal, bool *ret_read_only)
{
    struct mount_attr attr = {.attr_set = MOUNT_ATTR_RDONLY};
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
        return false;
    if (new_pids) /* where the kernel does not allow a new one, the old one stays, which names other processes by their numbers */
        (void)!mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    *ret_read_only = seal && syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &attr, sizeof attr) == 0;
    return true;
}

void ks_network_leave(void)
{
    unsigned uid = getuid(), gid = getgid();
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0)
        (void)ids_map(uid, gid);
    else
        (void)unshare(CLONE_NEWNET); /* as root without user namespaces */
    ks_capabilities_drop();
}

void ks_namespaces_enter(struct ks_namespaces *ret, enum ks_namespaces_without without, const int *fds, int n_fds)
{
    unsigned uid = getuid(), gid = getgid();
    memset(ret, 0, sizeof *ret);
    ret->user = unshare(CLONE_NEWUSER) == 0;
    if (ret->user && !ids_map(uid, gid))
        ret->user = false; /* without numbers of our own nothing below works either */
    ret->net = without != KS_WITH_NETWORK && unshare(CLONE_NEWNET) == 0;
    ret->ipc = unshare(CLONE_NEWIPC) == 0;
    ret->uts = unshare(CLONE_NEWUTS) == 0;
    bool wanted = without != KS_WITHOUT_PIDS, pids = wanted && unshare(CLONE_NEWPID) == 0,
         mounts = wanted && unshare(CLONE_NEWNS) == 0;
    ret->pid = pids && pid_namespace_enter(fds, n_fds);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    ret->mount = mounts && mounts_hide(ret->pid, without == KS_WITHOUT_NONE, &ret->read_only);
    if (ret->mount && without == KS_WITH_NETWORK) {
        sockets_hide();
        ret->read_only = mounts_seal();
    }
    ret->no_capabilities = ks_capabilities_drop();
}

void ks_namespaces_report(const struct ks_namespaces *n, struct ks_str *json)
{
    const struct {
        const char *name;
        bool active;
    } list[] = {{"user", n->user},
                {"pid", n->pid},
                {"net", n->net},
                {"ipc", n->ipc},
                {"uts", n->uts},
                {"mount", n->mount},
                {"read-only mounts", n->read_only}};
    bool any = false;
    ks_str_add(json, ",\"namespaces\":[");
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (list[i].active)
            ks_str_addf(json, "%s\"%s\"", any ? "," : "", list[i].name);
        any |= list[i].active;
    }
    ks_str_addf(json, "],\"capabilities\":\"%s\"", n->no_capabilities ? "none" : "kept");
}
