#include "driver/diff.h"

#include "base/process.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* An anonymous file with the text; -1 on failure. */
static int text_fd(const char *name, const char *text, size_t len)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    while (fd >= 0 && len) {
        ssize_t n = write(fd, text, len);
        if (n <= 0) {
            close(fd);
            return -1;
        }
        text += n;
        len -= (size_t)n;
    }
    return fd;
}

void ks_diff_texts(const char *a, size_t a_len, const char *b, size_t b_len, struct ks_str *out)
{
    KS_AUTO_FD int fd_a = text_fd("original", a, a_len);
    KS_AUTO_FD int fd_b = text_fd("candidate", b, b_len);
    char path_a[32], path_b[32];
    snprintf(path_a, sizeof(path_a), "/dev/fd/%d", fd_a);
    snprintf(path_b, sizeof(path_b), "/dev/fd/%d", fd_b);
    char *const argv[] = {"diff", "-u", "--label", "original", "--label", "candidate", path_a, path_b, NULL};
    const int keep[] = {fd_a, fd_b};
    KS_AUTO_STR struct ks_str text = KS_STR_INIT, errors = KS_STR_INIT;
    struct ks_spawn s;
    struct ks_exit e;
    struct ks_err err;
    ks_spawn_init(&s);
    s.argv = argv;
    s.keep_fds = keep;
    s.n_keep_fds = 2;
    s.timeout_ms = 30000;
    /* diff's status: 0 equal, 1 different, more: trouble */
    if (fd_a < 0 || fd_b < 0 || ks_process_run(&s, &text, &errors, &e, &err) != KS_OK || e.kind != KS_EXIT_STATUS || e.status > 1)
        ks_str_add(out, "(the difference could not be made: no diff program)\n");
    else
        ks_str_addn(out, ks_str_cstr(&text), text.len);
}
