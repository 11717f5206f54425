#include "driver/crew.h"

#include "base/process.h"
#include "driver/say.h"
#include "driver/try_client.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define END_MS   10000 /* for a process that is to end */
#define LOOK_US  20000 /* between two looks at another's trial */
#define MAX_LOST 2     /* processes that one text may take with it */

/* Where a text's trial is, for the processes that judge others: in memory that all of them share, because the search may be
 * waiting for its agent when they ask.  The hashes are written before the state that says so. */
enum stage { STAGE_WAITS, STAGE_BUILDS, STAGE_BUILT, STAGE_JUDGED };
struct shared {
    _Atomic int stage;
    char source_hash[65], code_hash[65]; /* "": does not build */
};
#define MAX_SHARED 4096 /* trials; of later ones nobody asks */

struct ks_crew_job {
    struct shared *shared; /* NULL: a confirmation, or one too many */
    bool confirm, done;
    const char *source;
    size_t len;
    int n_lost;
    struct ks_judged judged;
    struct ks_crew_job *next;
};

struct member {
    pid_t pid; /* 0: gone */
    int fd;
    struct ks_crew_job *job; /* what it is at; NULL: free */
};

struct ks_crew {
    struct member *members;
    int n;
    struct ks_crew_job *waiting; /* in order */
    struct shared *shared;       /* MAX_SHARED of them, by the order in which they were begun */
    int n_shared;
    struct ks_err why;           /* of the last that was lost */
};

/* ---- the process of one device -------------------------------------------------------------------------------------- */

static struct ks_json *failure(const struct ks_err *err)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "error", err->message);
    ks_json_set_i64(j, "code", err->code);
    return j;
}

/* The i-th of the GPUs that this process may use, under the name that NVML has for it, too. */
static void see_one_gpu(int i)
{
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    KS_AUTO_STR struct ks_str one = KS_STR_INIT;
    for (int skip = i; visible && skip > 0; skip--)
        visible = strchr(visible, ',') ? strchr(visible, ',') + 1 : NULL;
    if (visible)
        ks_str_addn(&one, visible, strcspn(visible, ","));
    else
        ks_str_addf(&one, "%d", i);
    setenv("CUDA_VISIBLE_DEVICES", ks_str_cstr(&one), 1);
    setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 0);
}

/* What a process is at. */
struct at {
    struct shared *all, *own; /* own: NULL while nobody asks about it */
};

/* The session's question (ks_session_on_code): says what the text compiles to, and waits for those before it. */
static bool code_of_another(void *ctx, const char *code_hash, char ret_source_hash[65])
{
    const struct at *at = ctx;
    if (!at->own)
        return false;
    memcpy(at->own->code_hash, code_hash, sizeof(at->own->code_hash));
    atomic_store(&at->own->stage, STAGE_BUILT);
    for (const struct shared *s = at->all; s < at->own; s++) {
        int stage = atomic_load(&s->stage);
        for (; stage == STAGE_BUILDS || (stage == STAGE_BUILT && strcmp(s->code_hash, code_hash) == 0);
             stage = atomic_load(&s->stage))
            usleep(LOOK_US);
        if (stage == STAGE_JUDGED && strcmp(s->code_hash, code_hash) == 0) {
            memcpy(ret_source_hash, s->source_hash, sizeof(s->source_hash));
            return true;
        }
    }
    return false;
}

/* One line from the search; NULL: no answer to it. */
static struct ks_json *obey(struct ks_entry_session *e, const struct ks_contract *contract, struct at *at,
                            const struct ks_json *order)
{
    int64_t number = ks_json_get_i64(order, "number", -1);
    const char *op = ks_json_get_str(order, "op", ""), *source = ks_json_get_str(order, "source", "");
    struct ks_judged judged;
    struct ks_err err;
    if (strcmp(op, "know") == 0) {
        ks_session_know(e->session, ks_json_get_str(order, "code_hash", ""), source);
        return NULL;
    }
    if (strcmp(op, "device") == 0)
        return ks_session_device_json(e->session);
    at->own = number < 0 ? NULL : &at->all[number];
    if (ks_judged_by(e->session, contract, strcmp(op, "confirm") == 0, source, strlen(source), &judged, &err) != KS_OK)
        return failure(&err);
    if (at->own) {
        memcpy(at->own->code_hash, judged.code_hash, sizeof(judged.code_hash));
        atomic_store(&at->own->stage, STAGE_JUDGED);
    }
    struct ks_json *j = ks_judged_to_json(&judged);
    ks_judged_release(&judged);
    return j;
}

static void serve(const struct ks_entry_context *x, const struct ks_contract *contract, const struct ks_signature *signature,
                  const char *key, struct shared *shared, int fd)
{
    struct at at = {.all = shared};
    struct ks_entry_session e = {.work = {.lock_fd = -1}};
    struct ks_err err;
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    enum ks_code code = ks_entry_session_open(x, contract, signature, key, &e, &err);
    KS_AUTO_JSON struct ks_json *hello = code == KS_OK ? ks_json_object() : failure(&err);
    if (code == KS_OK) {
        ks_json_set(hello, "device", ks_json_copy(e.device));
        ks_json_set(hello, "profile", ks_json_copy(e.profile));
        ks_session_on_code(e.session, code_of_another, &at);
    }
    bool alive = ks_line_write(fd, hello, &err) == KS_OK && code == KS_OK;
    while (alive && ks_line_read(fd, &line, &err) == KS_OK) {
        KS_AUTO_JSON struct ks_json *order = NULL, *answer = NULL;
        if (ks_json_parse(ks_str_cstr(&line), line.len, "order", &order, &err) != KS_OK)
            break;
        answer = obey(&e, contract, &at, order);
        alive = !answer || ks_line_write(fd, answer, &err) == KS_OK;
    }
    ks_entry_session_close(&e);
}

static enum ks_code member_start(struct ks_crew *c, int i, const struct ks_entry_context *x, const struct ks_contract *contract,
                                 const struct ks_signature *signature, const char *key, struct ks_err *err)
{
    int ends[2];
    pid_t parent = getpid();
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot make a socket for device %d", i);
    pid_t pid = fork();
    if (pid < 0) {
        ks_fail_errno(err, KS_ERR_IO, "cannot start a process for device %d", i);
        close(ends[0]);
        close(ends[1]);
        return KS_ERR_IO;
    }
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(1);
        close(ends[0]);
        for (int k = 0; k < i; k++)
            close(c->members[k].fd);
        if (x->device->kind == KS_DEVICE_CUDA && !x->device->host[0] && !x->device->batch) /* sbatch hands the environment on */
            see_one_gpu(i);
        serve(x, contract, signature, key, c->shared, ends[1]);
        _exit(0); /* what stdio holds is the parent's */
    }
    close(ends[1]);
    c->members[i] = (struct member){.pid = pid, .fd = ends[0]};
    c->n = i + 1;
    return KS_OK;
}

/* ---- the search's side ---------------------------------------------------------------------------------------------- */

int ks_crew_size(const struct ks_crew *c)
{
    int n = 0;
    for (int i = 0; i < c->n; i++)
        n += c->members[i].pid != 0;
    return n;
}

static void member_end(struct member *m)
{
    struct ks_exit e;
    struct ks_err ignored;
    if (!m->pid)
        return;
    close(m->fd);
    (void)!ks_process_wait(m->pid, END_MS, false, &e, &ignored);
    m->pid = 0;
}

static void queue(struct ks_crew *c, struct ks_crew_job *job)
{
    struct ks_crew_job **at = &c->waiting;
    while (*at)
        at = &(*at)->next;
    job->next = NULL;
    *at = job;
}

/* It answers no more.  Its text is the next one's, before those that wait. */
static void member_lost(struct ks_crew *c, struct member *m, const struct ks_err *why)
{
    struct ks_crew_job *job = m->job;
    c->why = *why;
    m->job = NULL;
    member_end(m);
    int left = ks_crew_size(c);
    KS_AUTO_STR struct ks_str instead = KS_STR_INIT;
    ks_str_addf(&instead, "the search goes on with %d device%s", left, ks_plural_s(left));
    if (left)
        ks_say_instead(why, ks_str_cstr(&instead));
    if (!job)
        return;
    job->n_lost++;
    if (job->shared)
        atomic_store(&job->shared->stage, STAGE_WAITS);
    job->next = c->waiting;
    c->waiting = job;
}

static bool ask(struct ks_crew *c, struct member *m, const struct ks_json *order)
{
    struct ks_err err;
    if (ks_line_write(m->fd, order, &err) == KS_OK)
        return true;
    ks_wrap(&err, "device %d", (int)(m - c->members));
    member_lost(c, m, &err);
    return false;
}

static enum ks_code answer_of(struct ks_crew *c, struct member *m, struct ks_json **ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    struct ks_json *j = NULL;
    enum ks_code code = ks_line_read(m->fd, &line, err);
    if (code == KS_OK)
        code = ks_json_parse(ks_str_cstr(&line), line.len, "answer", &j, err);
    const char *error = code == KS_OK ? ks_json_get_str(j, "error", NULL) : NULL;
    if (error) {
        int64_t number = ks_json_get_i64(j, "code", KS_ERR_DEVICE);
        code = ks_fail(err, number > 0 && number < KS_N_CODES ? (enum ks_code)number : KS_ERR_DEVICE, "%s", error);
        ks_json_free(j);
    }
    if (code == KS_OK)
        *ret = j;
    return code == KS_OK ? code : ks_wrap(err, "device %d", (int)(m - c->members));
}

static void hand_out(struct ks_crew *c)
{
    for (int i = 0; i < c->n && c->waiting; i++) {
        struct member *m = &c->members[i];
        if (!m->pid || m->job)
            continue;
        KS_AUTO_JSON struct ks_json *order = ks_json_object();
        struct ks_crew_job *job = m->job = c->waiting;
        c->waiting = job->next;
        KS_AUTO_FREE char *text = ks_xstrndup(job->source, job->len);
        ks_json_set_str(order, "op", job->confirm ? "confirm" : "try");
        ks_json_set_str(order, "source", text);
        if (job->shared) {
            ks_json_set_i64(order, "number", job->shared - c->shared);
            atomic_store(&job->shared->stage, STAGE_BUILDS);
        }
        ask(c, m, order);
    }
}

static void take_answer(struct ks_crew *c, struct member *m)
{
    struct ks_err err;
    KS_AUTO_JSON struct ks_json *j = NULL;
    enum ks_code code = answer_of(c, m, &j, &err);
    if (code == KS_OK && !ks_judged_from_json(j, &m->job->judged))
        code = ks_fail(&err, KS_ERR_PROTOCOL, "device %d gave an answer that is none", (int)(m - c->members));
    if (code != KS_OK) {
        member_lost(c, m, &err);
        return;
    }
    m->job->done = true;
    m->job = NULL;
}

/* Waits until somebody has something to say. */
static void wait_for_answers(struct ks_crew *c)
{
    KS_AUTO_FREE struct pollfd *fds = ks_xcalloc((size_t)c->n, sizeof(*fds));
    for (int i = 0; i < c->n; i++)
        fds[i] = (struct pollfd){.fd = c->members[i].pid && c->members[i].job ? c->members[i].fd : -1, .events = POLLIN};
    if (poll(fds, (nfds_t)c->n, -1) < 0)
        return; /* a signal: the trials under way are waited for */
    for (int i = 0; i < c->n; i++)
        if (fds[i].revents && c->members[i].pid && c->members[i].job)
            take_answer(c, &c->members[i]);
}

struct ks_crew_job *ks_crew_begin(struct ks_crew *c, bool confirm, const char *source, size_t len, const char *hash)
{
    struct ks_crew_job *job = ks_xcalloc(1, sizeof(*job));
    *job = (struct ks_crew_job){.confirm = confirm, .source = source, .len = len};
    if (!confirm && c->n_shared < MAX_SHARED) {
        job->shared = &c->shared[c->n_shared++];
        snprintf(job->shared->source_hash, sizeof(job->shared->source_hash), "%s", hash);
    }
    queue(c, job);
    hand_out(c);
    return job;
}

static void unqueue(struct ks_crew *c, const struct ks_crew_job *job)
{
    for (struct ks_crew_job **at = &c->waiting; *at; at = &(*at)->next)
        if (*at == job) {
            *at = job->next;
            return;
        }
}

enum ks_code ks_crew_end(struct ks_crew *c, struct ks_crew_job *job, struct ks_judged *ret, struct ks_err *err)
{
    enum ks_code code = KS_OK;
    while (!job->done && code == KS_OK) {
        hand_out(c);
        if (ks_crew_size(c) == 0 || job->n_lost >= MAX_LOST)
            code = (*err = c->why).code;
        else
            wait_for_answers(c);
    }
    if (code == KS_OK)
        *ret = job->judged;
    else
        unqueue(c, job);
    free(job);
    return code;
}

void ks_crew_know(struct ks_crew *c, const char *code_hash, const char *source_hash)
{
    KS_AUTO_JSON struct ks_json *order = ks_json_object();
    ks_json_set_str(order, "op", "know");
    ks_json_set_str(order, "code_hash", code_hash);
    ks_json_set_str(order, "source", source_hash);
    for (int i = 0; i < c->n; i++)
        if (c->members[i].pid)
            ask(c, &c->members[i], order);
}

struct ks_json *ks_crew_device_json(struct ks_crew *c)
{
    KS_AUTO_JSON struct ks_json *order = ks_json_object();
    ks_json_set_str(order, "op", "device");
    for (int i = 0; i < c->n; i++) {
        struct member *m = &c->members[i];
        struct ks_json *j = NULL;
        struct ks_err err;
        if (!m->pid || m->job || !ask(c, m, order))
            continue;
        if (answer_of(c, m, &j, &err) == KS_OK)
            return j;
        member_lost(c, m, &err);
    }
    return NULL;
}

/* The session of member i as it says hello.  One that is another kind of device than the first is not used: its times are no
 * measure of the others'. */
static enum ks_code meet(struct ks_crew *c, int i, struct ks_json **device, struct ks_json **profile, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *hello = NULL;
    KS_TRY(answer_of(c, &c->members[i], &hello, err));
    const struct ks_json *its = ks_json_get(hello, "device");
    static const char *const same[] = {"kind", "name", "arch"};
    for (size_t k = 0; *device && k < sizeof(same) / sizeof(same[0]); k++)
        if (!ks_streq(ks_json_get_str(its, same[k], ""), ks_json_get_str(*device, same[k], "")))
            return ks_fail(err, KS_ERR_DEVICE, "device %d is another one than the first: '%s', not '%s'", i,
                           ks_json_get_str(its, same[k], ""), ks_json_get_str(*device, same[k], ""));
    if (!*device) {
        *device = ks_json_copy(its);
        *profile = ks_json_copy(ks_json_get(hello, "profile"));
    }
    return KS_OK;
}

enum ks_code ks_crew_open(const struct ks_entry_context *x, const struct ks_contract *contract,
                          const struct ks_signature *signature, const char *key, int n, struct ks_crew **ret,
                          struct ks_json **ret_device, struct ks_json **ret_profile, struct ks_err *err)
{
    struct ks_crew *c = ks_xcalloc(1, sizeof(*c));
    struct ks_err why[2]; /* the first one's, and of the others */
    enum ks_code code = KS_OK, first = KS_OK;
    *ret_device = *ret_profile = NULL;
    c->members = ks_xcalloc((size_t)n, sizeof(*c->members));
    c->shared = mmap(NULL, MAX_SHARED * sizeof(*c->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c->shared == MAP_FAILED) {
        c->shared = NULL;
        code = ks_fail_errno(&why[0], KS_ERR_IO, "cannot share memory between the processes of %d devices", n);
    }
    for (int i = 0; i < n && code == KS_OK; i++)
        code = member_start(c, i, x, contract, signature, key, &why[0]);
    if (code != KS_OK && c->n)
        ks_say_instead(&why[0], "the search goes on with the devices before it");
    for (int i = 0; i < c->n; i++) {
        struct ks_err *e = first == KS_OK ? &why[0] : &why[1];
        code = meet(c, i, ret_device, ret_profile, e);
        if (code != KS_OK && first == KS_OK)
            first = code;
        if (code != KS_OK)
            member_lost(c, &c->members[i], e);
    }
    if (ks_crew_size(c) == 0) {
        *err = why[0];
        ks_crew_close(c);
        return err->code;
    }
    *ret = c;
    return KS_OK;
}

void ks_crew_close(struct ks_crew *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->n; i++)
        if (c->members[i].pid)
            shutdown(c->members[i].fd, SHUT_RDWR); /* all at once, then one after the other is waited for */
    for (int i = 0; i < c->n; i++)
        member_end(&c->members[i]);
    if (c->shared)
        munmap(c->shared, MAX_SHARED * sizeof(*c->shared));
    free(c->members);
    free(c);
}
