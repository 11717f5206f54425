#include "driver/portable.h"

#include "base/file.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK         "\1root\1" /* no text of a compilation holds it */
#define N_SAMPLES    16
#define SAMPLE_BYTES ((size_t)16384)

/* ---- the folder that moves ------------------------------------------------------------------------------------------ */

bool ks_root_of(const char *store_dir, struct ks_str *ret)
{
    KS_AUTO_STR struct ks_str parent = KS_STR_INIT;
    char dir[PATH_MAX], up[PATH_MAX];
    ks_path_dir(&parent, store_dir);
    if (!realpath(ks_str_cstr(&parent), dir))
        return false;
    memcpy(up, dir, sizeof(up));
    while (up[1]) {
        KS_AUTO_STR struct ks_str git = KS_STR_INIT;
        ks_path_join(&git, up, ".git");
        if (ks_file_exists(ks_str_cstr(&git))) {
            ks_str_add(ret, up);
            return true;
        }
        char *slash = strrchr(up, '/');
        slash[slash == up] = '\0';
    }
    ks_str_add(ret, dir);
    return dir[1] != '\0';
}

static void replace(const char *from, const char *to, const char *text, size_t len, struct ks_str *out)
{
    size_t from_len = strlen(from);
    for (const char *p; from_len && (p = memmem(text, len, from, from_len));) {
        ks_str_addn(out, text, (size_t)(p - text));
        ks_str_add(out, to);
        len -= (size_t)(p - text) + from_len;
        text = p + from_len;
    }
    ks_str_addn(out, text, len);
}

void ks_root_hide(const char *root, const char *text, size_t len, struct ks_str *out)
{
    replace(root, MARK, text, len, out);
}

void ks_root_show(const char *root, const char *text, size_t len, struct ks_str *out)
{
    replace(MARK, root, text, len, out);
}

/* ---- programs ------------------------------------------------------------------------------------------------------- */

enum ks_code ks_program_sample(const char *path, struct ks_hash *h, struct ks_err *err)
{
    KS_AUTO_FREE unsigned char *bytes = ks_xcalloc(1, SAMPLE_BYTES);
    KS_AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return ks_fail_errno(err, KS_ERR_NOT_FOUND, "cannot read '%s'", path);
    int64_t size = (int64_t)st.st_size, last = size > (int64_t)SAMPLE_BYTES ? size - (int64_t)SAMPLE_BYTES : 0;
    ks_hash_update_field(h, &size, sizeof(size));
    for (int64_t i = 0; i < N_SAMPLES; i++) {
        ssize_t n = pread(fd, bytes, SAMPLE_BYTES, (off_t)(last * i / (N_SAMPLES - 1)));
        if (n < 0)
            return ks_fail_errno(err, KS_ERR_IO, "cannot read '%s'", path);
        ks_hash_update_field(h, bytes, (size_t)n);
        if (last == 0)
            break;
    }
    return KS_OK;
}

/* ---- words ---------------------------------------------------------------------------------------------------------- */

bool ks_variable_is_of_messages(const char *variable)
{
    static const char *const names[] = {
        "LANG",         "LC_",       "TERM=", "NO_COLOR=", "GCC_COLORS=", "GCC_URLS=", "QT_", "CUDA_VISIBLE_DEVICES=",
        "CUDA_DEVICE_", "CUDA_CACHE"};
    return ks_str_starts_one(variable, names, sizeof(names) / sizeof(names[0]));
}

bool ks_word_tells_paths(const char *word)
{
    static const char *const names[] = {"-g",
                                        "-G",
                                        "-lineinfo",
                                        "--generate-line-info",
                                        "-pg",
                                        "--profile",
                                        "--debug",
                                        "--device-de",
                                        "-rdc",
                                        "--relocatable-device-code",
                                        "-dc",
                                        "--device-c",
                                        "-dw",
                                        "--device-w",
                                        "--source-in-ptx",
                                        "-src-in-ptx"};
    if (strstr(word, ",-g") || strstr(word, "=-g")) /* passed on to the host compiler */
        return true;
    return ks_str_starts_one(word, names, sizeof(names) / sizeof(names[0])) && !ks_str_starts(word, "-gencode");
}
