#include "driver/echo.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/pidfd.h>
#include <termios.h>
#include <unistd.h>

#define MAX_KEPT_BYTES ((size_t)1 << 20)

void ks_echo_init(struct ks_echo *e)
{
    *e = (struct ks_echo){.read_fd = -1, .child_fd = -1, .text = KS_STR_INIT};
}

/* A terminal of the same size that changes no byte. */
static bool open_terminal(int fds[2])
{
    struct winsize size;
    struct termios raw;
    bool sized = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0;
    if (openpty(&fds[0], &fds[1], NULL, NULL, sized ? &size : NULL) < 0)
        return false;
    if (tcgetattr(fds[1], &raw) == 0) {
        cfmakeraw(&raw);
        tcsetattr(fds[1], TCSANOW, &raw);
    }
    fcntl(fds[0], F_SETFD, FD_CLOEXEC);
    fcntl(fds[1], F_SETFD, FD_CLOEXEC);
    return true;
}

bool ks_echo_open(struct ks_echo *e)
{
    int fds[2];
    if (fcntl(STDERR_FILENO, F_GETFD) < 0 || (isatty(STDERR_FILENO) ? !open_terminal(fds) : pipe2(fds, O_CLOEXEC) < 0))
        return false;
    e->read_fd = fds[0];
    e->child_fd = fds[1];
    e->whole = true;
    return true;
}

void ks_echo_in_child(const struct ks_echo *e)
{
    if (e->child_fd >= 0)
        dup2(e->child_fd, STDERR_FILENO);
}

void ks_echo_again(const char *text, size_t len)
{
    while (len) {
        ssize_t n = write(STDERR_FILENO, text, len);
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return;
        text += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
}

/* False: nothing there now, or the other end is gone. */
static bool pass_on(struct ks_echo *e)
{
    char bytes[4096];
    ssize_t n = read(e->read_fd, bytes, sizeof(bytes));
    if (n <= 0)
        return n < 0 && errno == EINTR;
    ks_echo_again(bytes, (size_t)n);
    if (e->text.len + (size_t)n > MAX_KEPT_BYTES)
        e->whole = false;
    else
        ks_str_addn(&e->text, bytes, (size_t)n);
    return true;
}

void ks_echo_pump(struct ks_echo *e, pid_t pid)
{
    if (e->read_fd < 0)
        return;
    close(e->child_fd);
    e->child_fd = -1;
    fcntl(e->read_fd, F_SETFL, O_NONBLOCK);
    int pid_fd = pidfd_open(pid, 0);
    struct pollfd fds[] = {{.fd = e->read_fd, .events = POLLIN}, {.fd = pid_fd, .events = POLLIN}};
    while (pid_fd >= 0 && !fds[1].revents) {
        if (poll(fds, 2, -1) < 0 && errno != EINTR)
            break;
        if (fds[0].revents && !pass_on(e) && (fds[0].revents & (POLLHUP | POLLERR)))
            fds[0].fd = -1; /* nobody says anything any more */
    }
    if (pid_fd >= 0) {
        close(pid_fd);
    } else { /* an old kernel: until all who could say something have ended */
        fcntl(e->read_fd, F_SETFL, 0);
    }
    while (pass_on(e))
        ;
}

void ks_echo_release(struct ks_echo *e)
{
    if (e->read_fd >= 0)
        close(e->read_fd);
    if (e->child_fd >= 0)
        close(e->child_fd);
    ks_str_release(&e->text);
    ks_echo_init(e);
}
