#include "driver/work_dir.h"

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of every scratch folder. */
static const char *const prefixes[] = {"kscc-work.", "kscc-store.",   "kscc-emit.",   "kscc-print.",   "kscc-link.",
                                       "kscc-sign.", "kscc-prelude.", "kscc-remake.", "kscc-optimize."};
/* A folder is made first and locked then: a younger one may be on the way. */
#define MIN_AGE_S 60

static int open_folder(const char *path)
{
    return open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

enum ks_code ks_work_dir_open(const char *prefix, struct ks_work_dir *ret, struct ks_err *err)
{
    char *path;
    KS_TRY(ks_dir_make_temp(prefix, &path, err));
    *ret = (struct ks_work_dir){.path = path, .lock_fd = open_folder(path)};
    /* without a lock, on a file system that has none, the folder could be swept while it is in use: better no search */
    if (ret->lock_fd < 0 || flock(ret->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        enum ks_code code = ks_fail_errno(err, KS_ERR_IO, "cannot lock the scratch folder '%s'", path);
        ks_work_dir_close(ret);
        return code;
    }
    return KS_OK;
}

void ks_work_dir_close(struct ks_work_dir *w)
{
    struct ks_err err;
    if (!w->path)
        return;
    enum ks_code removed = ks_dir_remove(w->path, &err);
    (void)removed; /* a leftover in the folder for temporary files hurts nobody */
    if (w->lock_fd >= 0)
        close(w->lock_fd);
    free(w->path);
    w->path = NULL;
}

static void sweep_one(const char *path, void *context)
{
    (void)context;
    struct stat st;
    struct ks_err err;
    KS_AUTO_FD int fd = open_folder(path);
    if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid() || time(NULL) - st.st_mtime < MIN_AGE_S)
        return;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return; /* in use */
    enum ks_code removed = ks_dir_remove(path, &err);
    (void)removed;
}

void ks_work_dir_each(const char *prefix, void (*visit)(const char *path, void *context), void *context)
{
    const char *tmp = getenv("TMPDIR");
    tmp = tmp && *tmp ? tmp : "/tmp";
    DIR *d = opendir(tmp);
    for (struct dirent *e; d && (e = readdir(d));) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        struct stat st;
        if (!ks_str_starts(e->d_name, prefix))
            continue;
        ks_path_join(&path, tmp, e->d_name);
        if (lstat(ks_str_cstr(&path), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
            visit(path.data, context);
    }
    if (d)
        closedir(d);
}

bool ks_work_dir_held(const char *path)
{
    KS_AUTO_FD int fd = open_folder(path);
    return fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) < 0;
}

void ks_work_dir_sweep(void)
{
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
        ks_work_dir_each(prefixes[i], sweep_one, NULL);
}
