#include "driver/mcp_engine.h"

#include "base/limits.h"
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define MAX_SAID_BYTES 4000

void ks_mcp_engine_init(struct ks_mcp_engine *e)
{
    *e = (struct ks_mcp_engine){.in = -1, .out = -1, .err = -1};
    ks_args_init(&e->line);
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The process is gone, or about to be. */
static void forget(struct ks_mcp_engine *e)
{
    close_fd(&e->in);
    close_fd(&e->out);
    close_fd(&e->err);
    e->pid = 0;
    e->ready = false;
    ks_str_clear(&e->out_text);
    ks_str_clear(&e->err_text);
}

void ks_mcp_engine_kill(struct ks_mcp_engine *e)
{
    struct ks_exit ended;
    struct ks_err err;
    if (!e->pid)
        return;
    kill(-e->pid, SIGKILL);
    enum ks_code reaped = ks_process_wait(e->pid, 0, true, &ended, &err);
    (void)reaped;
    forget(e);
}

void ks_mcp_engine_stop(struct ks_mcp_engine *e, int grace_ms)
{
    struct ks_exit ended;
    struct ks_err err;
    if (!e->pid)
        return;
    close_fd(&e->in);
    enum ks_code reaped = ks_process_wait(e->pid, grace_ms, true, &ended, &err);
    (void)reaped;
    forget(e);
}

void ks_mcp_engine_release(struct ks_mcp_engine *e)
{
    ks_mcp_engine_kill(e);
    ks_args_release(&e->line);
    ks_json_free(e->about);
    ks_str_release(&e->out_text);
    ks_str_release(&e->err_text);
    ks_str_release(&e->said);
    ks_mcp_engine_init(e);
}

enum ks_code ks_mcp_engine_start(struct ks_mcp_engine *e, struct ks_err *err)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, errors[2] = {-1, -1};
    KS_AUTO_ARGS struct ks_args argv;
    struct ks_spawn s;
    ks_args_init(&argv);
    ks_args_add(&argv, "/proc/self/exe");
    ks_args_add(&argv, "-"); /* as kscc calls kscc-core for a command */
    ks_args_add(&argv, "kscc");
    ks_args_add(&argv, "try");
    ks_args_add(&argv, "--serve");
    ks_args_add_all(&argv, e->line.v);
    ks_str_clear(&e->said);
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0) {
        for (int i = 0; i < 2; i++) {
            close_fd(&in[i]);
            close_fd(&out[i]);
            close_fd(&errors[i]);
        }
        return ks_fail_errno(err, KS_ERR_IO, "cannot make a pipe");
    }
    ks_spawn_init(&s);
    s.argv = argv.v;
    s.stdin_fd = in[0];
    s.stdout_fd = out[1];
    s.stderr_fd = errors[1];
    s.own_group = true;
    s.die_with_parent = true;
    enum ks_code code = ks_process_start(&s, &e->pid, err);
    close(in[0]);
    close(out[1]);
    close(errors[1]);
    e->in = in[1];
    e->out = out[0];
    e->err = errors[0];
    if (code != KS_OK) {
        e->pid = 0;
        forget(e);
    }
    return code;
}

enum ks_code ks_mcp_engine_send(struct ks_mcp_engine *e, const char *tool, const struct ks_json *arguments, struct ks_err *err)
{
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    ks_json_set_i64(j, "id", 1);
    ks_json_set_str(j, "tool", tool);
    if (arguments)
        ks_json_set(j, "arguments", ks_json_copy(arguments));
    ks_json_print(j, &line);
    ks_str_addc(&line, '\n');
    for (size_t at = 0; at < line.len;) { /* it is idle and reads */
        ssize_t n = write(e->in, line.data + at, line.len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return ks_fail_errno(err, KS_ERR_IO, "cannot reach the process that judges");
        at += (size_t)n;
    }
    return KS_OK;
}

bool ks_mcp_engine_read(struct ks_mcp_engine *e, int fd)
{
    char buf[1 << 16];
    struct ks_str *text = fd == e->out ? &e->out_text : &e->err_text;
    ssize_t n = read(fd, buf, sizeof(buf));
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0 || text->len + (size_t)n > KS_MAX_JSON_BYTES)
        return false;
    ks_str_addn(text, buf, (size_t)n);
    if (fd == e->err)
        ks_str_addn(&e->said, buf, (size_t)n);
    if (e->said.len > MAX_SAID_BYTES) {
        memmove(e->said.data, e->said.data + e->said.len - MAX_SAID_BYTES, MAX_SAID_BYTES + 1);
        e->said.len = MAX_SAID_BYTES;
    }
    return true;
}

bool ks_mcp_engine_line(struct ks_str *from, struct ks_str *ret_line)
{
    char *end = from->len ? memchr(from->data, '\n', from->len) : NULL;
    if (!end)
        return false;
    size_t len = (size_t)(end - from->data);
    ks_str_clear(ret_line);
    ks_str_addn(ret_line, from->data, len);
    memmove(from->data, end + 1, from->len - len - 1);
    from->len -= len + 1;
    from->data[from->len] = '\0';
    return true;
}
