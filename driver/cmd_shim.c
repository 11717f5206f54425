/* kscc shim DIR: a folder that looks like the CUDA toolkit, with kscc as its nvcc, for builds that want the toolkit's root and
 * not a compiler: CUDA_HOME, CUDAToolkit_ROOT, rules_cuda.  Everything but bin/nvcc is a symbolic link into the toolkit. */

#include "base/file.h"
#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/nvcc.h"
#include "driver/paths.h"
#include "driver/say.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes `link` point to `target`.  Errors: KS_ERR_DENIED when something else than a symbolic link is there. */
static enum ks_code make_link(const char *target, const char *link, struct ks_err *err)
{
    struct stat st;
    if (lstat(link, &st) == 0 && !S_ISLNK(st.st_mode))
        return ks_fail(err, KS_ERR_DENIED, "cannot replace '%s': it is no symbolic link", link);
    KS_AUTO_STR struct ks_str fresh = KS_STR_INIT;
    ks_str_addf(&fresh, "%s.kscc-%d", link, (int)getpid());
    if (symlink(target, ks_str_cstr(&fresh)) < 0)
        return ks_fail_errno(err, KS_ERR_IO, "cannot link '%s'", link);
    if (rename(ks_str_cstr(&fresh), link) == 0)
        return KS_OK;
    int why = errno;
    unlink(ks_str_cstr(&fresh));
    errno = why;
    return ks_fail_errno(err, KS_ERR_IO, "cannot link '%s'", link);
}

/* Links everything in `from` but `without` from `to`. */
static enum ks_code link_all(const char *from, const char *without, const char *to, struct ks_err *err)
{
    DIR *d = opendir(from);
    if (!d)
        return ks_fail_errno(err, KS_ERR_IO, "cannot read '%s'", from);
    enum ks_code code = KS_OK;
    for (struct dirent *e; code == KS_OK && (e = readdir(d));) {
        KS_AUTO_STR struct ks_str target = KS_STR_INIT, link = KS_STR_INIT;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 || strcmp(e->d_name, without) == 0)
            continue;
        ks_path_join(&target, from, e->d_name);
        ks_path_join(&link, to, e->d_name);
        code = make_link(ks_str_cstr(&target), ks_str_cstr(&link), err);
    }
    closedir(d);
    return code;
}

/* A folder that holds other things is not made a toolkit. */
static enum ks_code check_folder(const char *dir, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str mark = KS_STR_INIT;
    struct stat st;
    ks_str_addf(&mark, "%s/bin/" KS_SHIM_LINK, dir);
    DIR *d = opendir(dir);
    if (!d)
        return errno == ENOENT ? KS_OK : ks_fail_errno(err, KS_ERR_IO, "cannot use '%s'", dir);
    size_t n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    if (n > 2 && lstat(ks_str_cstr(&mark), &st) < 0)
        return ks_fail(err, KS_ERR_DENIED, "'%s' is not empty and no shim", dir);
    return KS_OK;
}

static enum ks_code make_shim(const char *dir, const char *nvcc, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str bin = KS_STR_INIT, root = KS_STR_INIT, to_bin = KS_STR_INIT, link = KS_STR_INIT, self = KS_STR_INIT;
    ks_path_dir(&bin, nvcc);
    ks_path_dir(&root, ks_str_cstr(&bin));
    KS_TRY(check_folder(dir, err));
    ks_path_join(&to_bin, dir, "bin");
    KS_TRY(ks_dir_make(ks_str_cstr(&to_bin), err));
    ks_path_join(&link, ks_str_cstr(&to_bin), KS_SHIM_LINK);
    KS_TRY(make_link(nvcc, ks_str_cstr(&link), err)); /* first: it marks the folder as a shim */
    KS_TRY(link_all(ks_str_cstr(&root), "bin", dir, err));
    KS_TRY(link_all(ks_str_cstr(&bin), "nvcc", ks_str_cstr(&to_bin), err));
    ks_paths_bin(&self);
    ks_str_add(&self, "/kscc");
    ks_path_join(&link, ks_str_cstr(&to_bin), "nvcc");
    return make_link(ks_str_cstr(&self), ks_str_cstr(&link), err);
}

int ks_cmd_shim(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words;
    KS_AUTO_FREE char *nvcc = NULL;
    struct ks_settings s;
    struct ks_err err;
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    if (words.n != 1 || words.v[0][0] == '-')
        return ks_command_usage("shim");
    if (ks_nvcc_find(s.nvcc, &nvcc, &err) != KS_OK || make_shim(words.v[0], nvcc, &err) != KS_OK) {
        ks_say_error(&err);
        return 1;
    }
    char resolved[PATH_MAX];
    printf("%s\n", realpath(words.v[0], resolved) ? resolved : words.v[0]);
    return 0;
}
