#include "driver/human.h"

#include "base/limits.h"
#include "base/mem.h"
#include "base/process.h"
#include "driver/say.h"
#include "driver/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOK_MS 200 /* how long a signal or the end of the time may wait */

struct ks_human {
    int fd;
    bool terminal, ended;
    struct ks_str read; /* what was read and is not taken yet */
};

enum ks_code ks_human_open(const char *path, struct ks_human **ret, struct ks_err *err)
{
    struct stat st;
    const char *name = path ? path : "/dev/tty";
    bool fifo = path && stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
    /* a fifo is opened for writing too: it does not end when one writer goes */
    int fd = open(name, (fifo || !path ? O_RDWR : O_RDONLY) | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return ks_fail_errno(err, KS_ERR_IO, path ? "cannot read questions from '%s'" : "cannot find a terminal ('%s') to ask at",
                             name);
    struct ks_human *h = ks_xcalloc(1, sizeof *h);
    *h = (struct ks_human){.fd = fd, .terminal = !path, .read = KS_STR_INIT};
    *ret = h;
    return KS_OK;
}

void ks_human_free(struct ks_human *h)
{
    if (!h)
        return;
    close(h->fd);
    ks_str_release(&h->read);
    free(h);
}

/* More input; false: there is none, or nobody waits for it any more. */
static bool read_more(struct ks_human *h, int64_t deadline_ns)
{
    char buf[512];
    while (!h->ended && !ks_stop_asked() && (!deadline_ns || ks_clock_ns() < deadline_ns)) {
        struct pollfd p = {.fd = h->fd, .events = POLLIN};
        if (poll(&p, 1, LOOK_MS) <= 0)
            continue;
        ssize_t n = read(h->fd, buf, sizeof buf);
        if (n > 0) {
            ks_str_addn(&h->read, buf, (size_t)n);
            return true;
        }
        h->ended = n == 0 || (errno != EINTR && errno != EAGAIN);
    }
    return false;
}

/* The next line without its end, the last one of a file also without one.  A line longer than a question may be is read to its
 * end and comes as it is. */
static bool next_line(struct ks_human *h, int64_t deadline_ns, struct ks_str *out)
{
    char *end;
    while (!(end = memchr(ks_str_cstr(&h->read), '\n', h->read.len)))
        if (!read_more(h, deadline_ns))
            break;
    if (!end && (!h->ended || h->read.len == 0))
        return false;
    size_t len = end ? (size_t)(end - h->read.data) : h->read.len, taken = len + (end != NULL);
    ks_str_clear(out);
    for (size_t i = 0; i < len; i++) /* control characters have no place in a trace or on a terminal */
        ks_str_addc(out, (unsigned char)h->read.data[i] < ' ' || h->read.data[i] == 127 ? ' ' : h->read.data[i]);
    memmove(h->read.data, h->read.data + taken, h->read.len - taken + 1);
    h->read.len -= taken;
    while (out->len && out->data[out->len - 1] == ' ')
        out->data[--out->len] = '\0';
    return true;
}

/* "compute: ..." is about compute. */
static enum ks_layer take_layer(struct ks_str *line)
{
    enum ks_layer layer = KS_N_LAYERS;
    const char *colon = strchr(ks_str_cstr(line), ':');
    KS_AUTO_FREE char *word = colon ? ks_xstrndup(line->data, (size_t)(colon - line->data)) : NULL;
    if (!word || !ks_layer_parse(word, &layer))
        return KS_N_LAYERS;
    KS_AUTO_FREE char *rest = ks_xstrdup(colon + 1 + strspn(colon + 1, " "));
    ks_str_clear(line);
    ks_str_add(line, rest);
    return layer;
}

bool ks_human_ask(struct ks_human *h, const char *point, int64_t deadline_ns, enum ks_layer *ret_layer, struct ks_str *out)
{
    while (!h->ended || h->read.len) {
        if (h->terminal)
            dprintf(h->fd, "kscc: your question (%s; 'LAYER: question', an empty line for none): ", point);
        if (!next_line(h, deadline_ns, out))
            return false;
        if (out->len <= KS_MAX_OWN_QUESTION_BYTES) {
            *ret_layer = take_layer(out);
            return out->len > 0;
        }
        ks_say(KS_SEV_WARNING, "a question has %zu bytes, more than %d, it was not asked [kscc-limit-exceeded]", out->len,
               KS_MAX_OWN_QUESTION_BYTES);
    }
    return false;
}
