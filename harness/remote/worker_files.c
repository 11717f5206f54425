#include "harness/remote/worker_files.h"

#include "base/file.h"
#include "base/hash.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WORKER "bin/kscc-worker"

enum ks_code ks_worker_files_find(const char *bin_dir, struct ks_worker_files *ret, struct ks_err *err)
{
    static const char *const runtimes[] = {"lib/emulated/libcudart.so.13", "lib/kscc/emulated/libcudart.so.13"};
    KS_AUTO_STR struct ks_str root = KS_STR_INIT, path = KS_STR_INIT;
    struct ks_worker_files f = {0};
    struct ks_hash h;
    ks_path_dir(&root, bin_dir);
    for (size_t i = 0; i < 2 && !f.runtime; i++) {
        ks_path_join(&path, ks_str_cstr(&root), runtimes[i]);
        if (ks_file_exists(path.data))
            f.runtime = runtimes[i];
    }
    const char *const files[] = {WORKER, f.runtime};
    ks_hash_init(&h);
    for (size_t i = 0; i < 2 && files[i]; i++) {
        char hex[65];
        ks_path_join(&path, ks_str_cstr(&root), files[i]);
        KS_TRY(ks_hash_file_hex(path.data, hex, err));
        ks_hash_update_field(&h, hex, 64);
    }
    ks_hash_final_hex(&h, f.key);
    f.root = ks_str_detach(&root, NULL);
    *ret = f;
    return KS_OK;
}

void ks_worker_files_release(struct ks_worker_files *f)
{
    free(f->root);
    f->root = NULL;
}

static enum ks_code copy_one(const struct ks_worker_files *f, const char *to, const char *file, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str from = KS_STR_INIT, path = KS_STR_INIT, dir = KS_STR_INIT;
    ks_path_join(&from, f->root, file);
    ks_path_join(&path, to, file);
    ks_path_dir(&dir, path.data);
    KS_TRY(ks_dir_make(dir.data, err));
    return ks_file_copy(from.data, path.data, err);
}

enum ks_code ks_worker_files_copy(const struct ks_worker_files *f, const char *dir, struct ks_str *out, struct ks_err *err)
{
    KS_AUTO_STR struct ks_str temp = KS_STR_INIT, name = KS_STR_INIT;
    struct ks_err ignored;
    ks_str_addf(&name, "worker-%s", f->key);
    ks_path_join(out, dir, name.data);
    if (ks_file_exists(out->data))
        return KS_OK;
    KS_TRY(ks_dir_make(dir, err));
    ks_path_join(&temp, dir, "new.XXXXXX");
    if (!mkdtemp(temp.data))
        return ks_fail_errno(err, KS_ERR_IO, "make a folder in '%s'", dir);
    enum ks_code code = copy_one(f, temp.data, WORKER, err);
    if (code == KS_OK && f->runtime)
        code = copy_one(f, temp.data, f->runtime, err);
    if (code == KS_OK && rename(temp.data, out->data) != 0 && errno != EEXIST && errno != ENOTEMPTY)
        code = ks_fail_errno(err, KS_ERR_IO, "make the folder '%s'", out->data);
    (void)!ks_dir_remove(temp.data, &ignored); /* not there any more, or another one was first */
    return code;
}
