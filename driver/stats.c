#include "driver/stats.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_NAME "stats"
/* Another list of counters is another file format. */
#define MAGIC 0x32302d54534b534bu /* "KSKST-02" */

struct file {
    _Atomic uint64_t magic;
    _Atomic uint64_t counters[KS_N_STATS];
};
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "counters are shared between processes: they must need no lock");

static const char *used_dir;
static struct file *counted; /* mapped until the process ends */
static bool tried;

static const struct {
    int depth;
    const char *text;
} rows[] = {
#define X(id, depth, text) {depth, text},
#include "driver/stats.def"
#undef X
};

const char *ks_stat_text(enum ks_stat what, int *ret_depth)
{
    *ret_depth = rows[what].depth;
    return rows[what].text;
}

/* The file's memory, NULL with errno.  A file that is too short is made longer with its blocks on disk, because memory without
 * blocks behind it kills the process when the disk is full; two that do it at once do the same. */
static struct file *map(const char *dir, int flags)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct stat st;
    ks_path_join(&path, dir, FILE_NAME);
    KS_AUTO_FD int fd = open(ks_str_cstr(&path), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fd < 0 || fstat(fd, &st) < 0)
        return NULL;
    if (!S_ISREG(st.st_mode)) {
        errno = EINVAL;
        return NULL;
    }
    if (st.st_size < (off_t)sizeof(struct file)) {
        int failed = flags & O_CREAT ? posix_fallocate(fd, 0, sizeof(struct file)) : EINVAL;
        if (failed) {
            errno = failed;
            return NULL;
        }
    }
    int protection = (flags & O_ACCMODE) == O_RDONLY ? PROT_READ : PROT_READ | PROT_WRITE;
    void *memory = mmap(NULL, sizeof(struct file), protection, MAP_SHARED, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void ks_stats_use(const char *dir)
{
    used_dir = dir;
    tried = false;
}

/* The first count opens the file, and makes store and file when they are not there. */
static struct file *open_counters(void)
{
    struct ks_err err;
    if (!used_dir || tried)
        return counted;
    tried = true;
    struct file *f = map(used_dir, O_RDWR | O_CREAT);
    if (!f && errno == ENOENT && ks_dir_make(used_dir, &err) == KS_OK)
        f = map(used_dir, O_RDWR | O_CREAT);
    if (!f)
        return NULL;
    uint64_t none = 0;
    if (!atomic_compare_exchange_strong(&f->magic, &none, MAGIC) && none != MAGIC) {
        munmap(f, sizeof(*f));
        return NULL;
    }
    return counted = f;
}

void ks_stats_count(enum ks_stat what)
{
    struct file *f = open_counters();
    if (f)
        atomic_fetch_add_explicit(&f->counters[what], 1, memory_order_relaxed);
}

static enum ks_code open_existing(const char *dir, int flags, struct file **ret, struct ks_err *err)
{
    struct file *f = map(dir, flags);
    if (!f && errno == ENOENT)
        return ks_fail(err, KS_ERR_NOT_FOUND, "nothing was counted in '%s' yet (counting is on with --kscc-dir or KSCC_DIR)",
                       dir);
    if (!f)
        return ks_fail_errno(err, errno == EACCES || errno == EROFS ? KS_ERR_DENIED : KS_ERR_SYNTAX,
                             "cannot use the counters in '%s'", dir);
    if (f->magic != MAGIC) {
        munmap(f, sizeof(*f));
        return ks_fail(err, KS_ERR_SYNTAX, "the file 'stats' in '%s' is not one of this version's", dir);
    }
    *ret = f;
    return KS_OK;
}

enum ks_code ks_stats_read(const char *dir, uint64_t ret[KS_N_STATS], struct ks_err *err)
{
    struct file *f = NULL;
    KS_TRY(open_existing(dir, O_RDONLY, &f, err));
    for (int i = 0; i < KS_N_STATS; i++)
        ret[i] = f->counters[i];
    munmap(f, sizeof(*f));
    return KS_OK;
}

enum ks_code ks_stats_zero(const char *dir, struct ks_err *err)
{
    struct file *f = NULL;
    KS_TRY(open_existing(dir, O_RDWR, &f, err));
    for (int i = 0; i < KS_N_STATS; i++)
        f->counters[i] = 0;
    munmap(f, sizeof(*f));
    return KS_OK;
}
