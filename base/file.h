#ifndef KS_BASE_FILE_H
#define KS_BASE_FILE_H

/* Files and folders.  All descriptors are CLOEXEC.  ks_file_write_atomic() is write, fsync, rename in the same folder: a
 * reader sees the old or the new contents, never half. */

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <sys/types.h>

/* Reads a whole regular file.  Errors: KS_ERR_NOT_FOUND, KS_ERR_DENIED, KS_ERR_IO, KS_ERR_LIMIT (> max_bytes). */
KS_NODISCARD enum ks_code ks_file_read(const char *path, size_t max_bytes, struct ks_str *out, struct ks_err *err);
/* On a network file system a file that another machine replaces is gone for whoever reads the old one; the new one is there by
 * its name.  True, a few times: read it again. */
bool ks_file_was_replaced(const struct ks_err *why, int *tries);
KS_NODISCARD enum ks_code ks_file_write_atomic(const char *path, const void *data, size_t len, mode_t mode, struct ks_err *err);
/* For what only the living read: atomic, mode 0600, not written to disk for a crash of the machine, and never fails. */
void ks_file_write_brief(const char *path, const void *data, size_t len);
KS_NODISCARD enum ks_code ks_file_append_line(const char *path, const char *line,
                                              struct ks_err *err); /* one O_APPEND write + '\n', on a line of its own */
KS_NODISCARD enum ks_code ks_file_copy(const char *from, const char *to, struct ks_err *err); /* atomic, mode kept */
/* Errors: KS_ERR_MISMATCH: a folder, pipe or device, also behind a link.  Others as of ks_file_read. */
KS_NODISCARD enum ks_code ks_file_check_plain(const char *path, struct ks_err *err);
bool ks_file_exists(const char *path);
bool ks_file_is_executable(const char *path);
KS_NODISCARD enum ks_code ks_dir_make(const char *path, struct ks_err *err); /* mkdir -p, 0777 & ~umask */
KS_NODISCARD enum ks_code ks_dir_sync(const char *path, struct ks_err *err); /* its names, on disk */
KS_NODISCARD enum ks_code ks_dir_make_temp(const char *prefix, char **ret_path,
                                           struct ks_err *err);                /* under $TMPDIR; caller frees */
KS_NODISCARD enum ks_code ks_dir_remove(const char *path, struct ks_err *err); /* rm -r, does not follow symlinks */
void ks_path_join(struct ks_str *out, const char *dir, const char *name);      /* replaces out */
const char *ks_path_base(const char *path);                                    /* borrowed tail of path */
void ks_path_cache(struct ks_str *out, const char *name); /* replaces out: ${XDG_CACHE_HOME:-$HOME/.cache}/kscc/NAME */
void ks_path_dir(struct ks_str *out, const char *path);   /* "." when there is none */
/* Absolute path of `name` in $PATH (or of a name with '/'), symlinks unresolved.  Caller frees *ret_path. */
KS_NODISCARD enum ks_code ks_path_search(const char *name, char **ret_path, struct ks_err *err);
/* Folder of the running program, resolved.  Caller frees. */
KS_NODISCARD enum ks_code ks_path_self_dir(char **ret_path, struct ks_err *err);

#endif
