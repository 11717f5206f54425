#include "harness/device_lock.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define COUNTER_BYTE (INT64_MAX - 1) /* who has it may count */
#define MAX_NUMBER   (INT64_MAX / 2)

int ks_device_first(const char **ret_name)
{
    static const char letters[] = "0123456789-abcdefABCDEFGPUMIG";
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    size_t n = visible ? strspn(visible, letters) : 0;
    *ret_name = n ? visible : "0";
    return n ? (int)n : 1;
}

static int open_lock(const char *what)
{
    const char *tmp = getenv("TMPDIR"), *device;
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    int n = ks_device_first(&device);
    ks_str_addf(&path, "%s/kscc-gpu%.*s.%s", tmp && *tmp ? tmp : "/tmp", n, device, what);
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

/* Locks of an open file, not of a process, and of bytes that need not be there. */
static bool bytes_lock(int fd, short how, int64_t from, int64_t len)
{
    struct flock f = {.l_type = how, .l_whence = SEEK_SET, .l_start = from, .l_len = len};
    int r;
    while ((r = fcntl(fd, F_OFD_SETLKW, &f)) < 0 && errno == EINTR)
        continue;
    return r == 0;
}

/* Numbers begin at 1: a length of 0 would be the whole file.  0: there are none, and who enters waits for nobody's turn. */
static int64_t number_take(int fd)
{
    int64_t n = 0;
    if (fd < 0 || !bytes_lock(fd, F_WRLCK, COUNTER_BYTE, 1))
        return 0;
    bool known = pread(fd, &n, sizeof n, 0) == sizeof n && n > 0 && n < MAX_NUMBER;
    n = known ? n + 1 : 1;
    bool taken = bytes_lock(fd, F_WRLCK, n, 1) && pwrite(fd, &n, sizeof n, 0) == sizeof n;
    bytes_lock(fd, F_UNLCK, COUNTER_BYTE, 1);
    return taken ? n : 0;
}

static void enter(struct ks_device_lock *l, int how)
{
    lock(l->lock_fd, LOCK_UN); /* converting a held lock could wait for itself */
    int64_t n = number_take(l->gate_fd);
    if (n && bytes_lock(l->gate_fd, F_RDLCK, 0, n))
        bytes_lock(l->gate_fd, F_UNLCK, 0, n);
    lock(l->lock_fd, how);
    if (n)
        bytes_lock(l->gate_fd, F_UNLCK, n, 1);
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
