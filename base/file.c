#include "base/file.h"

#include "base/limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum ks_code code_of_errno(int os_errno)
{
    return os_errno == ENOENT || os_errno == ENOTDIR                      ? KS_ERR_NOT_FOUND
           : os_errno == EACCES || os_errno == EPERM || os_errno == EROFS ? KS_ERR_DENIED
                                                                          : KS_ERR_IO;
}

static enum ks_code read_once(const char *path, size_t max_bytes, struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return ks_fail_errno(err, code_of_errno(errno), "cannot open '%s'", path);
    struct stat st;
    if (fstat(fd, &st) < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot stat '%s'", path);
    if (S_ISDIR(st.st_mode))
        return ks_fail(err, KS_ERR_IO, "cannot read '%s': is a directory", path);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    for (;;) {
        ks_str_reserve(&text, 1 << 16);
        ssize_t n = read(fd, text.data + text.len, 1 << 16);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return ks_fail_errno(err, KS_ERR_IO, "cannot read '%s'", path);
        if (n == 0)
            break;
        text.len += (size_t)n;
        text.data[text.len] = '\0';
        if (text.len > max_bytes)
            return ks_fail(err, KS_ERR_LIMIT, "'%s' is larger than %zu bytes", path, max_bytes);
    }
    ks_str_addn(out, ks_str_cstr(&text), text.len);
    return KS_OK;
}

bool ks_file_was_replaced(const struct ks_err *why, int *tries)
{
    return why->os_errno == ESTALE && ++*tries < 4;
}

enum ks_code ks_file_read(const char *path, size_t max_bytes, struct ks_str *out, struct ks_err *err)
{
    struct ks_err why = {0};
    int tries = 0;
    enum ks_code code;
    do
        code = read_once(path, max_bytes, out, &why);
    while (code != KS_OK && ks_file_was_replaced(&why, &tries));
    if (code != KS_OK && err)
        *err = why;
    return code;
}

static bool write_all(int fd, const void *data, size_t len)
{
    const char *p = data;
    while (len) {
        ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

static enum ks_code write_by_rename(const char *path, const void *data, size_t len, mode_t mode, bool synced, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str temp = KS_STR_INIT;
    ks_str_addf(&temp, "%s.XXXXXX", path);
    int fd = mkostemp(temp.data, O_CLOEXEC);
    if (fd < 0)
        return ks_fail_errno(err, code_of_errno(errno), "cannot create '%s'", path);
    bool ok = write_all(fd, data, len) && fchmod(fd, mode) == 0 && (!synced || fsync(fd) == 0);
    int os_errno = errno;
    if (close(fd) < 0 && ok) {
        ok = false;
        os_errno = errno;
    }
    if (ok && rename(temp.data, path) < 0) {
        ok = false;
        os_errno = errno;
    }
    if (ok)
        return KS_OK;
    unlink(temp.data);
    errno = os_errno;
    return ks_fail_errno(err, code_of_errno(os_errno), "cannot write '%s'", path);
}

enum ks_code ks_file_write_atomic(const char *path, const void *data, size_t len, mode_t mode, struct ks_err *err)
{
    return write_by_rename(path, data, len, mode, true, err);
}

void ks_file_write_brief(const char *path, const void *data, size_t len)
{
    struct ks_err ignored;
    (void)!write_by_rename(path, data, len, 0600, false, &ignored);
}

/* A kill in the middle of an earlier line must not cost the next one. */
static bool ends_in_a_line(int fd)
{
    char last = '\n';
    off_t size = lseek(fd, 0, SEEK_END);
    return size <= 0 || pread(fd, &last, 1, size - 1) != 1 || last == '\n';
}

enum ks_code ks_file_append_line(const char *path, const char *line, struct ks_err *err)
{
    KS_AUTO_FD int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return ks_fail_errno(err, code_of_errno(errno), "cannot open '%s'", path);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_addf(&text, "%s%s\n", ends_in_a_line(fd) ? "" : "\n", line);
    if (!write_all(fd, text.data, text.len) || fdatasync(fd) < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot append to '%s'", path);
    return KS_OK;
}

enum ks_code ks_file_copy(const char *from, const char *to, struct ks_err *err)
{
    struct stat st;
    if (stat(from, &st) < 0)
        return ks_fail_errno(err, code_of_errno(errno), "cannot stat '%s'", from);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    KS_TRY(ks_file_read(from, SIZE_MAX, &text, err));
    return ks_file_write_atomic(to, ks_str_cstr(&text), text.len, st.st_mode & 07777, err);
}

enum ks_code ks_file_check_plain(const char *path, struct ks_err *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return ks_fail_errno(err, code_of_errno(errno), "cannot open '%s'", path);
    return S_ISREG(st.st_mode) ? KS_OK : ks_fail(err, KS_ERR_MISMATCH, "'%s' is no plain file", path);
}

bool ks_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool ks_file_is_executable(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

enum ks_code ks_dir_make(const char *path, struct ks_err *err)
{
    KS_AUTO_FREE char *copy = ks_xstrdup(path);
    for (char *p = copy + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char saved = *p;
        *p = '\0';
        if (mkdir(copy, 0777) < 0 && errno != EEXIST)
            return ks_fail_errno(err, code_of_errno(errno), "cannot make folder '%s'", copy);
        *p = saved;
        if (!saved)
            break;
    }
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return ks_fail(err, KS_ERR_IO, "cannot make folder '%s': a file of that name exists", path);
    return KS_OK;
}

enum ks_code ks_dir_sync(const char *path, struct ks_err *err)
{
    KS_AUTO_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL)) /* a file system that cannot, has nothing to be told */
        return ks_fail_errno(err, KS_ERR_IO, "cannot write folder '%s' to disk", path);
    return KS_OK;
}

enum ks_code ks_dir_make_temp(const char *prefix, char **ret_path, struct ks_err *err)
{
    const char *tmp = getenv("TMPDIR");
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    ks_str_addf(&path, "%s/%s.XXXXXX", tmp && *tmp ? tmp : "/tmp", prefix);
    if (!mkdtemp(path.data))
        return ks_fail_errno(err, code_of_errno(errno), "cannot make a temporary folder '%s'", path.data);
    *ret_path = ks_str_detach(&path, NULL);
    return KS_OK;
}

/* Removes what is below the open folder `fd`; takes over fd. */
static enum ks_code remove_below(int fd, const char *path, struct ks_err *err)
{
    DIR *dir = fdopendir(fd);
    if (!dir) {
        close(fd);
        return ks_fail_errno(err, KS_ERR_IO, "cannot read folder '%s'", path);
    }
    enum ks_code code = KS_OK;
    const struct dirent *e;
    while (code == KS_OK && (e = readdir(dir))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(dirfd(dir), e->d_name, 0) == 0)
            continue;
        if (errno != EISDIR && errno != EPERM) {
            code = ks_fail_errno(err, KS_ERR_IO, "cannot remove '%s/%s'", path, e->d_name);
            break;
        }
        int sub = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub < 0) {
            code = ks_fail_errno(err, KS_ERR_IO, "cannot open '%s/%s'", path, e->d_name);
            break;
        }
        code = remove_below(sub, e->d_name, err);
        if (code == KS_OK && unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR) < 0)
            code = ks_fail_errno(err, KS_ERR_IO, "cannot remove '%s/%s'", path, e->d_name);
    }
    closedir(dir);
    return code;
}

enum ks_code ks_dir_remove(const char *path, struct ks_err *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return ks_fail_errno(err, code_of_errno(errno), "cannot open folder '%s'", path);
    KS_TRY(remove_below(fd, path, err));
    if (rmdir(path) < 0)
        return ks_fail_errno(err, code_of_errno(errno), "cannot remove '%s'", path);
    return KS_OK;
}

void ks_path_join(struct ks_str *out, const char *dir, const char *name)
{
    KS_AUTO_STR struct ks_str joined = KS_STR_INIT;
    if (name[0] == '/' || !*dir)
        ks_str_add(&joined, name);
    else
        ks_str_addf(&joined, ks_str_ends(dir, "/") ? "%s%s" : "%s/%s", dir, name);
    ks_str_clear(out);
    ks_str_add(out, ks_str_cstr(&joined));
}

const char *ks_path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void ks_path_cache(struct ks_str *out, const char *name)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    ks_str_clear(out);
    if (cache && *cache)
        ks_str_addf(out, "%s/kscc/%s", cache, name);
    else
        ks_str_addf(out, "%s/.cache/kscc/%s", home && *home ? home : "/tmp", name);
}

void ks_path_dir(struct ks_str *out, const char *path)
{
    KS_AUTO_FREE char *copy = ks_xstrdup(path);
    char *slash = strrchr(copy, '/');
    if (slash)
        slash[slash == copy ? 1 : 0] = '\0';
    ks_str_clear(out);
    ks_str_add(out, slash ? copy : ".");
}

enum ks_code ks_path_search(const char *name, char **ret_path, struct ks_err *err)
{
    if (strchr(name, '/')) {
        if (!ks_file_is_executable(name))
            return ks_fail(err, KS_ERR_NOT_FOUND, "cannot find program '%s'", name);
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        if (name[0] != '/') {
            KS_AUTO_FREE char *cwd = getcwd(NULL, 0);
            if (!cwd)
                return ks_fail_errno(err, KS_ERR_IO, "cannot read the working directory");
            ks_str_addf(&path, "%s/", cwd);
        }
        ks_str_add(&path, name);
        *ret_path = ks_str_detach(&path, NULL);
        return KS_OK;
    }
    const char *at = getenv("PATH");
    for (at = at ? at : "/usr/local/bin:/usr/bin:/bin"; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        size_t len = strcspn(at, ":");
        ks_str_addn(&path, at, len);
        ks_str_addf(&path, len ? "/%s" : "./%s", name);
        if (ks_file_is_executable(path.data)) {
            *ret_path = ks_str_detach(&path, NULL);
            return KS_OK;
        }
    }
    return ks_fail(err, KS_ERR_NOT_FOUND, "cannot find program '%s' in PATH", name);
}

enum ks_code ks_path_self_dir(char **ret_path, struct ks_err *err)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (n < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot read '/proc/self/exe'");
    path[n] = '\0';
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    ks_path_dir(&dir, path);
    *ret_path = ks_str_detach(&dir, NULL);
    return KS_OK;
}
