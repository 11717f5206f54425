#include "harness/device_lock.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* CUDA's first device: the first that CUDA_VISIBLE_DEVICES names. */
static int open_lock(const char *what)
{
    static const char name[] = "0123456789-abcdefABCDEFGPUMIG";
    const char *tmp = getenv("TMPDIR"), *visible = getenv("CUDA_VISIBLE_DEVICES");
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    size_t n = visible ? strspn(visible, name) : 0;
    ks_str_addf(&path, "%s/kscc-gpu%.*s.%s", tmp && *tmp ? tmp : "/tmp", n ? (int)n : 1, n ? visible : "0", what);
    int fd = open(path.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd >= 0 && fchmod(fd, 0666) < 0 &&
        errno != EPERM) { /* other users' kscc share the device too; the owner has seen to it */
        close(fd);
        return -1;
    }
    return fd;
}

static void lock(int fd, int how)
{
    while (fd >= 0 && flock(fd, how) < 0 && errno == EINTR)
        continue;
}

void ks_device_lock_open(struct ks_device_lock *l)
{
    l->gate_fd = open_lock("gate");
    l->lock_fd = open_lock("lock");
}

void ks_device_lock_close(struct ks_device_lock *l)
{
    if (l->gate_fd >= 0)
        close(l->gate_fd);
    if (l->lock_fd >= 0)
        close(l->lock_fd);
    l->gate_fd = l->lock_fd = -1;
}

static void enter(struct ks_device_lock *l, int how)
{
    lock(l->lock_fd, LOCK_UN); /* converting a held lock could wait for itself */
    lock(l->gate_fd, LOCK_EX);
    lock(l->lock_fd, how);
    lock(l->gate_fd, LOCK_UN);
}

void ks_device_lock_shared(struct ks_device_lock *l)
{
    enter(l, LOCK_SH);
}

void ks_device_lock_alone(struct ks_device_lock *l)
{
    enter(l, LOCK_EX);
}

void ks_device_lock_leave(struct ks_device_lock *l)
{
    lock(l->lock_fd, LOCK_UN);
}
