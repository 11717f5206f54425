#include "driver/try_client.h"

#include "base/limits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

bool ks_try_has_parent(void)
{
    const char *path = getenv(KS_TRY_SOCKET);
    return path && *path;
}

enum ks_code ks_line_write(int fd, const struct ks_json *j, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    ks_json_print(j, &line);
    ks_str_addc(&line, '\n');
    for (size_t at = 0; at < line.len;) {
        ssize_t n = write(fd, line.data + at, line.len - at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return ks_fail_errno(err, KS_ERR_IO, "cannot write a line");
        at += (size_t)n;
    }
    return KS_OK;
}

enum ks_code ks_line_read(int fd, struct ks_str *out, struct ks_err *err)
{
    ks_str_clear(out);
    for (;;) {
        char c[4096];
        ssize_t n = recv(fd, c, sizeof(c), MSG_PEEK), keep;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ks_fail_errno(err, KS_ERR_IO, "cannot read a line");
        if (n == 0)
            return ks_fail(err, KS_ERR_NOT_FOUND, "the other side has closed the connection");
        const char *end = memchr(c, '\n', (size_t)n);
        keep = end ? end - c + 1 : n;
        n = recv(fd, c, (size_t)keep, 0);
        if (n != keep)
            return ks_fail(err, KS_ERR_IO, "cannot read a line");
        ks_str_addn(out, c, (size_t)(end ? n - 1 : n));
        if (end)
            return KS_OK;
        if (out->len > KS_MAX_JSON_BYTES)
            return ks_fail(err, KS_ERR_LIMIT, "the line is longer than %u bytes", KS_MAX_JSON_BYTES);
    }
}

static enum ks_code connect_parent(int *ret_fd, struct ks_err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    const char *path = getenv(KS_TRY_SOCKET);
    if (strlen(path) >= sizeof(a.sun_path))
        return ks_fail(err, KS_ERR_LIMIT, "the path in %s is too long", KS_TRY_SOCKET);
    strncpy(a.sun_path, path, sizeof(a.sun_path) - 1);
    KS_AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot reach the kscc that prepared this workspace ('%s'): the search is over",
                             path);
    *ret_fd = fd;
    fd = -1;
    return KS_OK;
}

enum ks_code ks_try_client(struct ks_call_list *l, struct ks_err *err)
{
    KS_AUTO_FD int fd = -1;
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *request = ks_json_object(), *reply = NULL;
    struct ks_json *calls = ks_json_array();
    for (size_t i = 0; i < l->calls.n; i++) {
        struct ks_json *call = ks_json_object();
        ks_json_set_str(call, "tool", l->calls.data[i].tool);
        ks_json_set(call, "arguments", ks_steal(l->calls.data[i].arguments));
        ks_json_push(calls, call);
    }
    ks_json_set(request, "calls", calls);
    KS_TRY(connect_parent(&fd, err));
    KS_TRY(ks_line_write(fd, request, err));
    KS_TRY(ks_line_read(fd, &line, err));
    KS_TRY(ks_json_parse(ks_str_cstr(&line), line.len, "the answer", &reply, err));
    const char *tool = ks_json_get_str(reply, "tool", "");
    l->last = ks_json_copy(ks_json_get(reply, "content"));
    l->refused = ks_json_get_bool(reply, "refused", false);
    l->last_tool = "";
    for (size_t i = 0; i < l->calls.n; i++)
        if (strcmp(l->calls.data[i].tool, tool) == 0)
            l->last_tool = l->calls.data[i].tool;
    return KS_OK;
}
