#include "harness/client.h"

#include "harness/cgroup.h"
#include "harness/remote/remote.h"

#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define END_MS   3000 /* a worker that has closed its end may take to end */
#define WATCH_MS 20   /* how often the resident memory is looked at */

struct ks_worker {
    pid_t pid;   /* 0: gone */
    pid_t inner; /* who answers: in a process namespace of its own the process that we started is not the worker */
    int fd, inner_fd;
    unsigned char *shm;
    size_t shm_bytes, memory_limit_bytes;
    uint32_t seq;
    int64_t asked_ns, last_wall_ns;
    struct ks_str device_text;
    struct ks_cgroup cgroup;
    struct ks_lane lane; /* lane.remote not NULL: the worker is there, and of the above only shm and device_text are used */
};

/* Three variables of the user's pass: where the driver and our own libraries lie, and which GPUs are meant. */
static char *const *scrubbed_environment(void)
{
    static const char *const passed[] = {"LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"};
    static char text[3][KS_MAX_PATH_BYTES];
    /* without the cache of each thread, through which memory goes from hand to hand as it is */
    static char *env[7] = {(char *)(uintptr_t) "PATH=/usr/bin:/bin", (char *)(uintptr_t) "LC_ALL=C",
                           (char *)(uintptr_t) "GLIBC_TUNABLES=glibc.malloc.tcache_count=0"};
    size_t n = 3;
    for (size_t i = 0; i < 3; i++) {
        const char *v = getenv(passed[i]);
        if (v && snprintf(text[i], sizeof text[i], "%s=%s", passed[i], v) < (int)sizeof text[i])
            env[n++] = text[i];
    }
    env[n] = NULL;
    return env;
}

static enum ks_code spawn(struct ks_worker *w, const struct ks_worker_options *opt, int peer, int shm_fd, struct ks_err *err)
{
    char peer_text[16], shm_text[16];
    snprintf(peer_text, sizeof peer_text, "%d", peer);
    snprintf(shm_text, sizeof shm_text, "%d", shm_fd);
    char *argv[] = {(char *)(uintptr_t)opt->program,
                    peer_text,
                    shm_text,
                    (char *)(uintptr_t)ks_walls_text(opt->walls),
                    w->cgroup.path ? w->cgroup.path : (char *)(uintptr_t) "-",
                    NULL};
    KS_AUTO_FD int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct ks_spawn s;
    ks_spawn_init(&s);
    s.argv = argv;
    s.envp = scrubbed_environment();
    s.stdout_fd = s.stderr_fd = null_fd; /* a candidate may print as much as it likes */
    s.keep_fds = (const int[]){peer, shm_fd};
    s.n_keep_fds = 2;
    s.own_group = true;
    s.die_with_parent = true;
    KS_TRY(ks_process_start(&s, &w->pid, err));
    w->inner = w->pid;
    return KS_OK;
}

/* The same, elsewhere: the shared memory is a copy of ours. */
static enum ks_code start_elsewhere(const struct ks_worker_options *opt, struct ks_worker **ret_worker, struct ks_err *err)
{
    struct ks_worker *w = ks_xcalloc(1, sizeof *w);
    w->fd = w->inner_fd = -1;
    w->shm_bytes = opt->hello.shm_bytes;
    w->shm = mmap(NULL, w->shm_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (w->shm == MAP_FAILED) {
        free(w);
        return ks_fail_errno(err, KS_ERR_IO, "map memory");
    }
    w->lane = (struct ks_lane){.remote = opt->remote, .shm = w->shm, .shm_bytes = w->shm_bytes};
    if (ks_lane_start(&w->lane, opt, &w->device_text, err) != KS_OK) {
        ks_worker_stop(w);
        return err->code;
    }
    *ret_worker = w;
    return KS_OK;
}

/* A worker that has closed its end is dying itself: its own end says why, a signal of ours would not.  Leaves it unreaped. */
static void await_end(pid_t pid)
{
    siginfo_t info;
    for (int i = 0; i < END_MS; i++) {
        memset(&info, 0, sizeof info);
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == pid)
            return;
        usleep(1000);
    }
}

/* True: it is dead or dying. */
static bool inner_kill(const struct ks_worker *w)
{
    return w->inner_fd >= 0 && (syscall(SYS_pidfd_send_signal, w->inner_fd, SIGKILL, NULL, 0) == 0 || errno == ESRCH);
}

/* The worker itself first: those around it then end by themselves, and nobody is left for others to bury. */
static void kill_group(struct ks_worker *w)
{
    if (w->pid > 0) {
        if (inner_kill(w))
            await_end(w->pid);
        kill(-w->pid, SIGKILL);
        kill(w->pid, SIGKILL);
        while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
            ;
        w->pid = 0;
    }
}

void ks_worker_stop(struct ks_worker *w)
{
    if (!w)
        return;
    if (w->lane.remote) {
        ks_lane_stop(&w->lane);
    } else {
        kill_group(w);
        ks_cgroup_end(&w->cgroup);
        close(w->fd);
    }
    if (w->inner_fd >= 0)
        close(w->inner_fd);
    if (w->shm)
        munmap(w->shm, w->shm_bytes);
    ks_str_release(&w->device_text);
    free(w);
}

void ks_worker_condemn(struct ks_worker *w)
{
    if (w && w->pid > 0)
        (void)inner_kill(w);
}

bool ks_worker_ends(const struct ks_worker *w)
{
    struct pollfd p = {.fd = w->fd, .events = POLLIN};
    return w->pid <= 0 || poll(&p, 1, 0) != 0; /* it speaks when it is asked, and at its end */
}

unsigned char *ks_worker_shm(struct ks_worker *w)
{
    return w->shm;
}

void ks_worker_cgroup(const struct ks_worker *w, struct ks_json *sandbox)
{
    if (!w->lane.remote) /* there its report has it already */
        ks_cgroup_report(&w->cgroup, sandbox);
}

const char *ks_worker_device_text(const struct ks_worker *w)
{
    return ks_str_cstr(&w->device_text);
}

bool ks_worker_alive(const struct ks_worker *w)
{
    return w && (w->lane.remote ? w->lane.alive && !ks_remote_lost(w->lane.remote) : w->pid > 0);
}

/* Memory that the worker holds of its own: anonymous pages and those of shared memory it made, less what of ours it has mapped.
 */
static size_t resident_bytes(const struct ks_worker *w)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)w->inner);
    FILE *f = fopen(path, "re");
    unsigned long kib = 0;
    size_t anon = 0, shmem = 0;
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "RssAnon: %lu", &kib) == 1)
            anon = (size_t)kib << 10;
        else if (sscanf(line, "RssShmem: %lu", &kib) == 1)
            shmem = (size_t)kib << 10;
    }
    if (f)
        fclose(f);
    return anon + (shmem > w->shm_bytes ? shmem - w->shm_bytes : 0);
}

pid_t ks_worker_pid(const struct ks_worker *w)
{
    return w->pid > 0 ? w->inner : 0;
}

int ks_worker_threads(const struct ks_worker *w)
{
    return w->lane.remote ? w->lane.threads : ks_process_threads(w->inner);
}

/* The worker's end of the socket is closed: learn why. */
static enum ks_code explain_death(struct ks_worker *w, const char *during, struct ks_err *err)
{
    int status = 0;
    pid_t got;
    await_end(w->pid);
    kill(-w->pid, SIGKILL); /* whatever it left behind */
    while ((got = waitpid(w->pid, &status, 0)) < 0 && errno == EINTR)
        ;
    w->pid = 0;
    const struct ks_wire_head *head = (const struct ks_wire_head *)w->shm;
    if (got < 0)
        return ks_fail_errno(err, KS_ERR_PROTOCOL, "wait for the worker");
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
        char name[sizeof head->refused_name];
        memcpy(name, head->refused_name, sizeof name);
        name[sizeof name - 1] = 0;
        if (!head->refused_syscall)
            return ks_fail(err, KS_ERR_SANDBOX,
                           "the candidate made a system call that is refused to it, with signals blocked (as system and "
                           "posix_spawn do)");
        return ks_fail(err, KS_ERR_SANDBOX, "the candidate made a system call that is refused to it: %s (number %d)",
                       name[0] ? name : "?", (int)head->refused_syscall - 1);
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        return ks_fail(err, KS_ERR_TIMEOUT, "the worker used up its processor time during the %s", during);
    if (WIFSIGNALED(status))
        return ks_fail(err, KS_ERR_SIGNAL, "the worker was killed by signal %d (SIG%s) during the %s", WTERMSIG(status),
                       sigabbrev_np(WTERMSIG(status)) ? sigabbrev_np(WTERMSIG(status)) : "?", during);
    return ks_fail(err, KS_ERR_EXIT_STATUS, "the worker ended with exit status %d during the %s", WEXITSTATUS(status), during);
}

/* The first answer comes from before there was a candidate: its sender is the worker. */
static ssize_t reply_read(struct ks_worker *w, struct ks_wire_reply *reply, bool first)
{
    union {
        char room[CMSG_SPACE(sizeof(struct ucred))];
        struct cmsghdr align;
    } control;
    struct iovec part = {reply, sizeof *reply};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    ssize_t got = recvmsg(w->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    struct cmsghdr *c = got > 0 && first ? CMSG_FIRSTHDR(&m) : NULL;
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
        struct ucred who;
        memcpy(&who, CMSG_DATA(c), sizeof who);
        w->inner = who.pid;
        w->inner_fd = (int)syscall(SYS_pidfd_open, who.pid, 0);
    }
    return got;
}

static enum ks_code command_send(struct ks_worker *w, struct ks_wire_command *c, struct ks_err *err)
{
    if (w->pid <= 0)
        return ks_fail(err, KS_ERR_PROTOCOL, "ask a worker that is gone");
    c->magic = KS_WIRE_MAGIC;
    c->seq = ++w->seq;
    size_t bytes = ks_wire_command_bytes((enum ks_wire_op)c->op);
    w->asked_ns = ks_clock_ns();
    if (send(w->fd, c, bytes, MSG_NOSIGNAL) != (ssize_t)bytes)
        return explain_death(w, ks_wire_op_text((enum ks_wire_op)c->op), err);
    return KS_OK;
}

/* The answer to the last command. */
static enum ks_code reply_await(struct ks_worker *w, enum ks_wire_op op, int64_t timeout_ms, struct ks_wire_reply *ret_reply,
                                struct ks_err *err)
{
    const char *during = ks_wire_op_text(op);
    int64_t deadline_ns = w->asked_ns + timeout_ms * 1000000;
    struct ks_wire_reply reply;
    for (;;) {
        struct pollfd p = {.fd = w->fd, .events = POLLIN};
        int64_t left_ms = (deadline_ns - ks_clock_ns()) / 1000000;
        if (left_ms <= 0) {
            kill_group(w);
            return ks_fail(err, KS_ERR_TIMEOUT, "the worker did not finish the %s within its time limit and was killed", during);
        }
        int n = poll(&p, 1, left_ms < WATCH_MS ? (int)left_ms : WATCH_MS);
        if (n == 0 && w->memory_limit_bytes && resident_bytes(w) > w->memory_limit_bytes) {
            kill_group(w);
            return ks_fail(err, KS_ERR_MEMORY_LIMIT, "the worker used more than %zu MiB of host memory and was killed",
                           w->memory_limit_bytes >> 20);
        }
        if (n <= 0)
            continue;
        ssize_t got = reply_read(w, &reply, op == KS_OP_HELLO);
        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (got <= 0)
            return explain_death(w, during, err);
        if (got != (ssize_t)sizeof reply || reply.magic != KS_WIRE_MAGIC || reply.seq != w->seq || reply.op != (uint32_t)op ||
            reply.code >= KS_N_CODES) {
            kill_group(w);
            return ks_fail(err, KS_ERR_PROTOCOL, "the worker's answer to the %s is not one", during);
        }
        break;
    }
    w->last_wall_ns = ks_clock_ns() - w->asked_ns;
    reply.text[sizeof reply.text - 1] = 0;
    if (reply.code != KS_OK)
        return ks_fail(err, (enum ks_code)reply.code, "%s", reply.text);
    *ret_reply = reply;
    return KS_OK;
}

enum ks_code ks_worker_ask(struct ks_worker *w, struct ks_wire_command *c, int64_t timeout_ms, struct ks_wire_reply *ret_reply,
                           struct ks_err *err)
{
    if (w->lane.remote) {
        enum ks_code code = ks_lane_ask(&w->lane, c, timeout_ms, ret_reply, err);
        w->last_wall_ns = w->lane.wall_ns;
        return code;
    }
    KS_TRY(command_send(w, c, err));
    return reply_await(w, (enum ks_wire_op)c->op, timeout_ms, ret_reply, err);
}

enum ks_code ks_worker_launch(const struct ks_worker_options *opt, struct ks_worker **ret_worker, struct ks_err *err)
{
    KS_AUTO_FD int shm_fd = memfd_create("kscc", MFD_CLOEXEC);
    int pair[2];
    if (shm_fd < 0 || ftruncate(shm_fd, (off_t)opt->hello.shm_bytes) != 0)
        return ks_fail_errno(err, KS_ERR_IO, "make shared memory of %llu bytes", (unsigned long long)opt->hello.shm_bytes);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return ks_fail_errno(err, KS_ERR_IO, "make a socket pair");
    struct ks_worker *w = ks_xcalloc(1, sizeof *w);
    w->fd = pair[0];
    w->inner_fd = -1;
    setsockopt(w->fd, SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)); /* who answers, in our numbers */
    w->shm_bytes = opt->hello.shm_bytes;
    w->memory_limit_bytes = opt->memory_limit_bytes;
    w->shm = mmap(NULL, w->shm_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shm_fd, 0);
    enum ks_code code;
    if (w->shm == MAP_FAILED) {
        w->shm = NULL;
        code = ks_fail_errno(err, KS_ERR_IO, "map shared memory");
    } else {
        if (opt->walls != KS_WALLS_PLAIN)
            ks_cgroup_make(opt->memory_limit_bytes ? opt->memory_limit_bytes + opt->hello.shm_bytes : 0, &w->cgroup);
        code = spawn(w, opt, pair[1], shm_fd, err);
    }
    close(pair[1]);
    if (code == KS_OK) {
        struct ks_wire_command *c = ks_xcalloc(1, sizeof *c);
        c->op = KS_OP_HELLO;
        c->u.hello = opt->hello;
        code = command_send(w, c, err);
        free(c);
    }
    if (code != KS_OK) {
        ks_worker_stop(w);
        return ks_wrap(err, "start a worker");
    }
    *ret_worker = w;
    return KS_OK;
}

enum ks_code ks_worker_await(struct ks_worker *w, int64_t timeout_ms, struct ks_err *err)
{
    struct ks_wire_reply reply;
    KS_TRY(reply_await(w, KS_OP_HELLO, timeout_ms, &reply, err));
    ks_worker_text(w, &reply, &w->device_text);
    if (!ks_cgroup_used(&w->cgroup))
        ks_cgroup_end(&w->cgroup);
    return KS_OK;
}

enum ks_code ks_worker_start(const struct ks_worker_options *opt, struct ks_worker **ret_worker, struct ks_err *err)
{
    struct ks_worker *w;
    if (opt->remote)
        return start_elsewhere(opt, ret_worker, err);
    KS_TRY(ks_worker_launch(opt, &w, err));
    if (ks_worker_await(w, opt->timeout_ms, err) != KS_OK) {
        ks_worker_stop(w);
        return ks_wrap(err, "start a worker");
    }
    *ret_worker = w;
    return KS_OK;
}

void ks_worker_text(struct ks_worker *w, const struct ks_wire_reply *reply, struct ks_str *out)
{
    size_t n = reply->value[0] >= 0 && reply->value[0] <= KS_WIRE_REPORT_BYTES ? (size_t)reply->value[0] : 0;
    ks_str_addn(out, w->shm + KS_WIRE_HEAD_BYTES, n);
}

int64_t ks_worker_last_wall_ns(const struct ks_worker *w)
{
    return w->last_wall_ns;
}
