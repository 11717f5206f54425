#include "harness/worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Numbers are resolved at start; a name the libseccomp at hand does not know is skipped. */
static const struct {
    const char *name;
    bool deadly, builds;
} refused[] = {
#define X(name, deadly, builds) {#name, deadly, builds},
#include "harness/worker/syscalls.def"
#undef X
};
static struct {
    int number;
    char name[32];
} known[sizeof refused / sizeof *refused + 8];
static int n_known;
static struct ks_wire_head *head;

void ks_sandbox_limits(uint64_t cpu_limit_s, bool gpu)
{
    struct rlimit none = {0, 0}, files = {gpu ? 1024 : 256, gpu ? 1024 : 256}, cpu = {cpu_limit_s, cpu_limit_s + 2};
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setrlimit(RLIMIT_NOFILE, &files);
    if (cpu_limit_s)
        (void)setrlimit(RLIMIT_CPU, &cpu);
    if (gpu) /* the driver sizes shared files of its own and looks itself up below /proc */
        return;
    (void)setrlimit(RLIMIT_FSIZE, &none);
    (void)prctl(PR_SET_DUMPABLE, 0);
}

/* Async-signal context: note what was refused, then die by the same signal. */
static void on_refused(int sig, siginfo_t *info, void *context)
{
    (void)context;
    int number = info->si_syscall;
    const char *name = "";
    for (int i = 0; i < n_known; i++)
        if (known[i].number == number)
            name = known[i].name;
    size_t n = strlen(name);
    memcpy(head->refused_name, name, n < sizeof head->refused_name ? n : sizeof head->refused_name - 1);
    head->refused_syscall = (uint32_t)number + 1;
    signal(sig, SIG_DFL);
    raise(sig);
    _exit(159);
}

static void landlock_allow(int ruleset, const char *path, uint64_t access)
{
    int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return;
    struct landlock_path_beneath_attr beneath = {.allowed_access = access, .parent_fd = fd};
    (void)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
    close(fd);
}

#define LANDLOCK_READ  (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define LANDLOCK_WRITE LANDLOCK_ACCESS_FS_WRITE_FILE
#define LANDLOCK_MAKE                                                                                                            \
    (LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |                             \
     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |   \
     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM)

/* Returns the ABI, 0: not offered. */
static int ruleset_make(int *ret_ruleset)
{
    int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 1)
        return 0;
    struct landlock_ruleset_attr attr = {.handled_access_fs = LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_MAKE};
    *ret_ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
    return *ret_ruleset < 0 ? 0 : abi;
}

/* Read below the system's folders and the two named files, device nodes on a GPU; nothing else.  Returns the ABI, 0: not offered.
 */
static int landlock(const struct ks_sandbox *s)
{
    const uint64_t read = LANDLOCK_READ, write = LANDLOCK_WRITE;
    int ruleset, abi = ruleset_make(&ruleset);
    if (abi < 1)
        return 0;
    const struct {
        const char *path;
        uint64_t access;
        bool gpu_only;
    } rules[] = {
        {"/usr", read, false},
        {"/lib", read, false},
        {"/lib64", read, false},
        {"/opt", read, false},
        {"/etc/ld.so.cache", LANDLOCK_ACCESS_FS_READ_FILE, false},
        {"/dev/null", LANDLOCK_ACCESS_FS_READ_FILE | write, false},
        {"/etc", read, true},
        {"/dev", read | write, true},
        {"/proc", read, true},
        {"/sys", read, true},
        {"/var", read, true},
        {"/run", read, true},
        {s->candidate, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE, false},
        {s->runtime, LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_EXECUTE, false},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].path && (s->gpu || !rules[i].gpu_only))
            landlock_allow(ruleset, rules[i].path, rules[i].access);
    char folders[KS_MAX_PATH_BYTES], *save = NULL; /* where the user's library path says that libraries are */
    const char *library_path = getenv("LD_LIBRARY_PATH");
    if (library_path && snprintf(folders, sizeof folders, "%s", library_path) < (int)sizeof folders)
        for (char *dir = strtok_r(folders, ":", &save); dir; dir = strtok_r(NULL, ":", &save))
            landlock_allow(ruleset, dir, read);
    int rc = (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
    close(ruleset);
    return rc == 0 ? abi : 0;
}

static int refuse(scmp_filter_ctx filter, const char *name, bool deadly)
{
    int number = seccomp_syscall_resolve_name(name);
    if (number < 0) /* unknown here */
        return 0;
    if (n_known < (int)(sizeof known / sizeof *known)) {
        known[n_known].number = number;
        snprintf(known[n_known].name, sizeof known[n_known].name, "%s", name);
        n_known++;
    }
    return seccomp_rule_add(filter, deadly ? SCMP_ACT_TRAP : SCMP_ACT_ERRNO(EPERM), number, 0);
}

static int filter_load(const struct ks_sandbox *s)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return -ENOMEM;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sizeof refused / sizeof *refused; i++)
        rc = refuse(filter, refused[i].name, !s->gpu || refused[i].deadly);
    /* Threads may be made (the emulated device's own, the driver's), processes not.  glibc falls back from clone3 to clone. */
    known[n_known].number = SCMP_SYS(clone);
    snprintf(known[n_known].name, sizeof known[n_known].name, "fork (clone)");
    n_known++;
    if (rc == 0)
        rc = seccomp_rule_add(filter, SCMP_ACT_TRAP, SCMP_SYS(clone), 1, SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    if (rc == 0)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
    if (rc == 0) /* signals to itself only: abort() works */
        rc = seccomp_rule_add(filter, SCMP_ACT_TRAP, SCMP_SYS(tgkill), 1, SCMP_A0(SCMP_CMP_NE, (scmp_datum_t)getpid()));
    if (rc == 0 && !s->gpu) /* nothing is opened for writing; Landlock says the same where it exists */
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(openat), 1, SCMP_A2(SCMP_CMP_MASKED_EQ, O_CREAT, O_CREAT));
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    return rc;
}

/* What a certificate must say: walls that this kernel, or what we run in, does not give. */
static void missing_report(const struct ks_namespaces *n, int abi, bool seccomp, struct ks_str *json)
{
    const struct {
        const char *name;
        bool active;
    } layers[] = {{"Landlock", abi > 0},
                  {"seccomp", seccomp},
                  {"user namespace", n->user},
                  {"process namespace", n->pid},
                  {"network namespace", n->net},
                  {"ipc namespace", n->ipc},
                  {"mount namespace", n->mount},
                  {"read-only mounts", n->read_only},
                  {"dropped capabilities", n->no_capabilities}};
    bool any = false;
    ks_str_add(json, ",\"missing\":[");
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        if (!layers[i].active)
            ks_str_addf(json, "%s\"%s\"", any ? "," : "", layers[i].name);
        any |= !layers[i].active;
    }
    ks_str_add(json, "]");
}

enum ks_code ks_sandbox_seal(const struct ks_sandbox *s, struct ks_str *ret_json, struct ks_err *err)
{
    head = s->head;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return ks_fail_errno(err, KS_ERR_SANDBOX, "set no_new_privs");
    int abi = landlock(s);
    struct sigaction action = {.sa_sigaction = on_refused, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSYS, &action, NULL);
    int rc = filter_load(s);
    ks_str_addf(ret_json, "{\"no_new_privs\":true,\"landlock_abi\":%d,\"seccomp\":%s,\"rlimits\":true", abi,
                rc == 0 ? "true" : "false");
    ks_namespaces_report(s->namespaces, ret_json);
    missing_report(s->namespaces, abi, rc == 0, ret_json);
    ks_str_add(ret_json, "}");
    return KS_OK;
}

static bool confine(const struct ks_confine_path *paths, size_t n, bool sockets, bool agent)
{
    int ruleset = -1, abi = ruleset_make(&ruleset);
    if (abi < 1 && !sockets) /* a shell without walls is none */
        return false;
    for (size_t i = 0; abi > 0 && i < n; i++) {
        struct stat st;
        bool folder = stat(paths[i].path, &st) == 0 && S_ISDIR(st.st_mode);
        uint64_t access = LANDLOCK_READ | (paths[i].writable ? LANDLOCK_WRITE | LANDLOCK_MAKE : 0);
        landlock_allow(ruleset, paths[i].path,
                       folder ? access
                              : access &
                                    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE));
    }
    if ((agent && abi < 1) || (abi > 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) != 0))
        return false;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    int rc = filter ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < sizeof refused / sizeof *refused; i++) {
        int number = refused[i].builds ? seccomp_syscall_resolve_name(refused[i].name) : -1;
        rc = number < 0 ? 0 : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
    }
    if (rc == 0 && sockets && !agent) /* none but sockets between processes of this machine */
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_NE, AF_UNIX));
    else if (rc == 0 && !agent)
        rc = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 0);
    if (rc == 0)
        rc = seccomp_load(filter);
    if (filter)
        seccomp_release(filter);
    return rc == 0 || (sockets && (rc == -EINVAL || rc == -ENOSYS));
}

bool ks_sandbox_confine(const struct ks_confine_path *paths, size_t n, bool sockets)
{
    return confine(paths, n, sockets, false);
}

bool ks_sandbox_confine_agent(const struct ks_confine_path *paths, size_t n)
{
    return confine(paths, n, true, true);
}

enum ks_code ks_sandbox_seal_code(const struct ks_sandbox *s, struct ks_err *err)
{
    if (s->gpu) /* the driver maps code as it goes */
        return KS_OK;
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter)
        return ks_fail(err, KS_ERR_SANDBOX, "make the second system call filter");
    const char *names[] = {"mprotect", "mmap", "pkey_mprotect"};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < 3; i++) {
        int number = seccomp_syscall_resolve_name(names[i]);
        known[n_known].number = number;
        snprintf(known[n_known].name, sizeof known[n_known].name, "%s of executable memory", names[i]);
        n_known++;
        rc = seccomp_rule_add(filter, SCMP_ACT_TRAP, number, 1, SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, PROT_EXEC));
    }
    if (rc == 0)
        rc = seccomp_load(filter);
    seccomp_release(filter);
    (void)rc; /* without seccomp the first seal has said so */
    return KS_OK;
}
