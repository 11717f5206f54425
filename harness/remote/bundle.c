#include "harness/remote/bundle.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MIN_PAUSE_US 1000
#define MAX_PAUSE_US 20000

struct manifest {
    bool open;
    int64_t bytes;
    char hash[65];
    struct ks_bundle_limits limits;
};

/* ---- files ---------------------------------------------------------------------------------------------------------- */

static enum ks_code append(const char *path, const void *data, size_t len, struct ks_err *err)
{
    KS_AUTO_FD int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return ks_fail_errno(err, KS_ERR_IO, "open '%s'", path);
    for (size_t done = 0; done < len;) {
        ssize_t n = write(fd, (const char *)data + done, len - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ks_fail_errno(err, KS_ERR_IO, "write '%s'", path);
        done += (size_t)n;
    }
    return KS_OK;
}

enum ks_code ks_bundle_more(const char *dir, const char *file, size_t *at, struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct stat st;
    ks_path_join(&path, dir, file);
    KS_AUTO_FD int fd = open(path.data, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 && errno == ENOENT)
        return KS_OK;
    if (fd < 0 || fstat(fd, &st) != 0)
        return ks_fail_errno(err, KS_ERR_IO, "open '%s'", path.data);
    size_t left = (size_t)st.st_size > *at ? (size_t)st.st_size - *at : 0;
    if (left == 0)
        return KS_OK;
    ks_str_reserve(out, left);
    ssize_t n = pread(fd, out->data + out->len, left, (off_t)*at);
    if (n < 0)
        return ks_fail_errno(err, KS_ERR_IO, "read '%s'", path.data);
    out->len += (size_t)n;
    out->data[out->len] = 0;
    *at += (size_t)n;
    return KS_OK;
}

static enum ks_code json_write(const char *dir, const char *file, const struct ks_json *j, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    ks_path_join(&path, dir, file);
    ks_json_print_pretty(j, &text);
    return ks_file_write_atomic(path.data, text.data, text.len, 0600, err);
}

/* ---- the manifest --------------------------------------------------------------------------------------------------- */

/* Of what, and not only of the bytes: the same steps are another bundle to another version or under other limits. */
static enum ks_code bundle_hash(const char *dir, const char *version, const struct ks_bundle_limits *l, char ret[65],
                                struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, head = KS_STR_INIT;
    char steps[65];
    struct ks_hash h;
    ks_path_join(&path, dir, "steps");
    KS_TRY(ks_hash_file_hex(path.data, steps, err));
    ks_str_addf(&head, "kscc bundle %d, wall %lld s", KS_BUNDLE_FORMAT, (long long)l->wall_s);
    ks_hash_init(&h);
    ks_hash_update_field(&h, head.data, head.len);
    ks_hash_update_field(&h, version, strlen(version));
    ks_hash_update_field(&h, steps, 64);
    ks_hash_final_hex(&h, ret);
    return KS_OK;
}

static enum ks_code manifest_write(const char *dir, const struct manifest *m, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *j = ks_json_object(), *limits = ks_json_object();
    ks_json_set_i64(j, "kscc_bundle", KS_BUNDLE_FORMAT);
    ks_json_set_str(j, "version", ks_step_version());
    ks_json_set_bool(j, "open", m->open);
    ks_json_set_i64(limits, "wall_s", m->limits.wall_s);
    ks_json_set_i64(limits, "silence_s", m->limits.silence_s);
    ks_json_set(j, "limits", limits);
    limits = NULL;
    if (!m->open) {
        ks_json_set_i64(j, "steps_bytes", m->bytes);
        ks_json_set_str(j, "hash", m->hash);
    }
    return json_write(dir, "bundle.json", j, err);
}

/* What a bundle or a result says of itself, where this program can read it.  task: for messages, "run the bundle". */
static enum ks_code head_read(const char *dir, const char *file, const char *format_name, const char *task, struct ks_json **ret,
                              struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *j = NULL;
    ks_path_join(&path, dir, file);
    KS_TRY(ks_json_read_file(path.data, &j, err));
    int64_t format = ks_json_get_i64(j, format_name, 0);
    if (format != KS_BUNDLE_FORMAT)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "%s '%s': its format is %lld, this program's is %d", task, dir, (long long)format,
                       KS_BUNDLE_FORMAT);
    const char *version = ks_json_get_str(j, "version", "");
    if (ks_step_version_check(version, strlen(version), err) != KS_OK)
        return ks_wrap(err, "%s '%s'", task, dir);
    *ret = ks_steal(j);
    return KS_OK;
}

/* Of a closed one, that its steps are those that were meant. */
static enum ks_code manifest_read(const char *dir, struct manifest *ret, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *j = NULL;
    struct stat st;
    char hash[65];
    KS_TRY(head_read(dir, "bundle.json", "kscc_bundle", "run the bundle", &j, err));
    const struct ks_json *limits = ks_json_get(j, "limits");
    struct manifest m = {.open = ks_json_get_bool(j, "open", false), .bytes = ks_json_get_i64(j, "steps_bytes", -1)};
    m.limits.wall_s = ks_json_get_i64(limits, "wall_s", 0);
    m.limits.silence_s = ks_json_get_i64(limits, "silence_s", 0);
    snprintf(m.hash, sizeof m.hash, "%s", ks_json_get_str(j, "hash", ""));
    if (!m.open) {
        ks_path_join(&path, dir, "steps");
        if (stat(path.data, &st) != 0)
            return ks_fail_errno(err, KS_ERR_IO, "read '%s'", path.data);
        if (st.st_size != m.bytes)
            return ks_fail(err, KS_ERR_MISMATCH,
                           "run the bundle '%s': it is damaged: 'steps' has %lld bytes, bundle.json says %lld", dir,
                           (long long)st.st_size, (long long)m.bytes);
        KS_TRY(bundle_hash(dir, ks_json_get_str(j, "version", ""), &m.limits, hash, err));
        if (strcmp(hash, m.hash) != 0)
            return ks_fail(err, KS_ERR_MISMATCH, "run the bundle '%s': it is damaged: its hash is %s, bundle.json says %s", dir,
                           hash, m.hash);
    }
    *ret = m;
    return KS_OK;
}

/* ---- the parent ----------------------------------------------------------------------------------------------------- */

enum ks_code ks_bundle_make(const char *dir, const struct ks_bundle_limits *limits, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct manifest m = {.open = true, .limits = *limits};
    ks_path_dir(&path, dir);
    KS_TRY(ks_dir_make(ks_str_cstr(&path), err));
    if (mkdir(dir, 0700) != 0)
        return ks_fail_errno(err, KS_ERR_IO, "make the folder '%s'", dir);
    KS_TRY(ks_bundle_add(dir, "", 0, err));
    return manifest_write(dir, &m, err);
}

enum ks_code ks_bundle_add(const char *dir, const void *data, size_t len, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_path_join(&path, dir, "steps");
    return append(path.data, data, len, err);
}

void ks_bundle_touch(const char *dir)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    char now[32];
    int n = snprintf(now, sizeof now, "%lld\n", (long long)ks_clock_ns());
    ks_path_join(&path, dir, "alive");
    ks_file_write_brief(path.data, now, (size_t)n);
}

enum ks_code ks_bundle_close(const char *dir, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct manifest m;
    struct stat st;
    KS_TRY(manifest_read(dir, &m, err));
    m.open = false;
    ks_path_join(&path, dir, "steps");
    if (stat(path.data, &st) != 0)
        return ks_fail_errno(err, KS_ERR_IO, "read '%s'", path.data);
    m.bytes = st.st_size;
    KS_TRY(bundle_hash(dir, ks_step_version(), &m.limits, m.hash, err));
    return manifest_write(dir, &m, err);
}

/* ---- the runner ----------------------------------------------------------------------------------------------------- */

static volatile sig_atomic_t stopped;

void ks_bundle_stop(void)
{
    stopped = 1;
}

struct run {
    const char *dir, *result;
    struct ks_runner *runner;
    struct manifest m;
    size_t at; /* of steps: what was done */
    int64_t n_steps, start_ns, heard_ns;
    struct ks_str heard; /* what `alive` had in it */
};

/* The next frame, when all of it is there. */
static enum ks_code next_frame(struct run *r, struct ks_frame *f, struct ks_str *payload, bool *ret_there, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct stat st;
    bool end = false;
    *ret_there = false;
    ks_path_join(&path, r->dir, "steps");
    KS_AUTO_FD int fd = open(path.data, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st) != 0)
        return ks_fail_errno(err, KS_ERR_IO, "open '%s'", path.data);
    if ((uint64_t)st.st_size < r->at + sizeof *f || pread(fd, f, sizeof *f, (off_t)r->at) != (ssize_t)sizeof *f)
        return KS_OK;
    if (f->magic == KS_STEP_MAGIC && f->packed_bytes <= KS_MAX_FRAME_BYTES &&
        (uint64_t)st.st_size - r->at - sizeof *f < f->packed_bytes)
        return KS_OK;
    if (lseek(fd, (off_t)r->at, SEEK_SET) < 0)
        return ks_fail_errno(err, KS_ERR_IO, "read '%s'", path.data);
    if (ks_frame_recv(fd, 0, f, payload, &end, err) != KS_OK)
        return ks_wrap(err, "run the bundle '%s', at byte %zu of its steps", r->dir, r->at);
    r->at += sizeof *f + (size_t)f->packed_bytes;
    *ret_there = true;
    return KS_OK;
}

static enum ks_code limits_check(struct run *r, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, now = KS_STR_INIT;
    struct ks_err ignored;
    if (r->m.limits.wall_s && ks_clock_ns() - r->start_ns > r->m.limits.wall_s * 1000000000)
        return ks_fail(err, KS_ERR_TIMEOUT, "run the bundle '%s': not done within its %lld s", r->dir,
                       (long long)r->m.limits.wall_s);
    if (!r->m.open || !r->m.limits.silence_s)
        return KS_OK;
    ks_path_join(&path, r->dir, "alive");
    if (ks_file_read(path.data, 64, &now, &ignored) == KS_OK && !ks_streq(ks_str_cstr(&now), ks_str_cstr(&r->heard))) {
        ks_str_clear(&r->heard);
        ks_str_add(&r->heard, ks_str_cstr(&now));
        r->heard_ns = ks_clock_ns();
    }
    if (ks_clock_ns() - r->heard_ns > r->m.limits.silence_s * 1000000000)
        return ks_fail(err, KS_ERR_TIMEOUT, "run the bundle '%s': its parent has been silent for %lld s", r->dir,
                       (long long)r->m.limits.silence_s);
    return KS_OK;
}

/* A step may last for minutes; that its runner lives is said by a thread. */
struct beat {
    const char *result;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool started, end;
};

static void *beat_run(void *argument)
{
    struct beat *b = argument;
    pthread_mutex_lock(&b->lock);
    while (!b->end) {
        struct timespec until;
        ks_bundle_touch(b->result);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += KS_BUNDLE_BEAT_S;
        pthread_cond_timedwait(&b->ended, &b->lock, &until);
    }
    pthread_mutex_unlock(&b->lock);
    return NULL;
}

static void beat_start(struct beat *b, const char *result)
{
    *b = (struct beat){.result = result, .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};
    b->started = pthread_create(&b->thread, NULL, beat_run, b) == 0; /* else nobody hears of it, and waits for its answers */
}

static void beat_end(struct beat *b)
{
    pthread_mutex_lock(&b->lock);
    b->end = true;
    pthread_cond_signal(&b->ended);
    pthread_mutex_unlock(&b->lock);
    if (b->started)
        pthread_join(b->thread, NULL);
}

static enum ks_code steps_do(struct run *r, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str payload = KS_STR_INIT, answer = KS_STR_INIT, path = KS_STR_INIT;
    useconds_t pause_us = MIN_PAUSE_US;
    ks_path_join(&path, r->result, "answers");
    for (;;) {
        struct ks_frame f;
        bool there, open = r->m.open;
        if (stopped)
            return ks_fail(err, KS_ERR_INTERRUPTED, "run the bundle '%s': ended by a signal", r->dir);
        KS_TRY(next_frame(r, &f, &payload, &there, err));
        if (there) {
            ks_str_clear(&answer);
            KS_TRY(ks_runner_step(r->runner, &f, &payload, &answer, err));
            KS_TRY(append(path.data, answer.data, answer.len, err));
            r->n_steps++;
            pause_us = MIN_PAUSE_US;
            continue;
        }
        if (!open && r->at == (size_t)r->m.bytes)
            return KS_OK;
        if (!open)
            return ks_fail(err, KS_ERR_PROTOCOL, "run the bundle '%s': its steps end within one", r->dir);
        if (pause_us >= MAX_PAUSE_US) { /* nothing has come for a while: is this the end? */
            KS_TRY(manifest_read(r->dir, &r->m, err));
            KS_TRY(limits_check(r, err));
        }
        usleep(pause_us);
        pause_us = pause_us * 5 / 4 < MAX_PAUSE_US ? pause_us * 5 / 4 : MAX_PAUSE_US;
    }
}

static enum ks_code result_write(const struct run *r, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct stat st;
    char host[256] = "", hash[65];
    ks_path_join(&path, r->result, "answers");
    KS_TRY(ks_hash_file_hex(path.data, hash, err));
    if (stat(path.data, &st) != 0)
        return ks_fail_errno(err, KS_ERR_IO, "read '%s'", path.data);
    gethostname(host, sizeof host - 1);
    ks_json_set_i64(j, "kscc_result", KS_BUNDLE_FORMAT);
    ks_json_set_str(j, "version", ks_step_version());
    ks_json_set_str(j, "bundle", r->m.hash);
    ks_json_set_str(j, "host", host);
    ks_json_set_i64(j, "steps", r->n_steps);
    ks_json_set_i64(j, "answers_bytes", st.st_size);
    ks_json_set_str(j, "answers_hash", hash);
    return json_write(r->result, "result.json", j, err);
}

enum ks_code ks_bundle_run(const char *dir, const char *result, struct ks_runner *runner, struct ks_err *err)
{
    struct run r = {.dir = dir, .result = result, .runner = runner, .start_ns = ks_clock_ns(), .heard_ns = ks_clock_ns()};
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_TRY(manifest_read(dir, &r.m, err));
    KS_TRY(ks_dir_make(result, err));
    ks_path_join(&path, result, "answers");
    int fd = open(path.data, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST)
        return ks_fail(err, KS_ERR_MISMATCH, "run the bundle '%s': there is a result already, '%s'", dir, result);
    if (fd < 0)
        return ks_fail_errno(err, KS_ERR_IO, "make '%s'", path.data);
    close(fd);
    struct beat beat;
    beat_start(&beat, result);
    enum ks_code code = steps_do(&r, err);
    beat_end(&beat);
    ks_str_release(&r.heard);
    return code == KS_OK ? result_write(&r, err) : code;
}

enum ks_code ks_bundle_check(const char *dir, const char *result, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *j = NULL;
    struct manifest m;
    struct stat st;
    char hash[65];
    KS_TRY(manifest_read(dir, &m, err));
    if (m.open)
        return ks_fail(err, KS_ERR_MISMATCH, "check a result of the bundle '%s': the bundle is still open", dir);
    KS_TRY(head_read(result, "result.json", "kscc_result", "check the result", &j, err));
    const char *of = ks_json_get_str(j, "bundle", "");
    if (strcmp(of, m.hash) != 0)
        return ks_fail(err, KS_ERR_MISMATCH, "check the result '%s': it is of the bundle %.64s, not of '%s', which is %s", result,
                       of, dir, m.hash);
    ks_path_join(&path, result, "answers");
    if (stat(path.data, &st) != 0)
        return ks_fail_errno(err, KS_ERR_IO, "read '%s'", path.data);
    KS_TRY(ks_hash_file_hex(path.data, hash, err));
    if (st.st_size != ks_json_get_i64(j, "answers_bytes", -1) || strcmp(hash, ks_json_get_str(j, "answers_hash", "")) != 0)
        return ks_fail(err, KS_ERR_MISMATCH, "check the result '%s': it is damaged: its %lld bytes of answers have the hash %s",
                       result, (long long)st.st_size, hash);
    return KS_OK;
}
