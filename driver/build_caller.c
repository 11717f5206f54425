#include "driver/build_caller.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_CALLERS 3 /* a shell, a launcher, the build program */

/* "1234 (name) S PARENT ...": the name may hold anything.  False: cannot be read. */
static bool read_stat(long pid, struct ks_str *name, long *ret_parent)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    struct ks_err err;
    ks_str_addf(&path, "/proc/%ld/stat", pid);
    if (ks_file_read(ks_str_cstr(&path), 4096, &text, &err) != KS_OK)
        return false;
    const char *open = strchr(ks_str_cstr(&text), '('), *close = strrchr(ks_str_cstr(&text), ')');
    if (!open || !close || close < open || sscanf(close + 1, " %*c %ld", ret_parent) != 1)
        return false;
    ks_str_clear(name);
    ks_str_addn(name, open + 1, (size_t)(close - open - 1));
    return true;
}

static bool look(void)
{
    static const char *const builders[] = {"make", "gmake", "ninja", "ninja-build", "samu", "bazel", "scons"};
    KS_AUTO_STR struct ks_str name = KS_STR_INIT;
    if (getenv("MAKELEVEL"))
        return true;
    long pid = getppid(), parent;
    for (int i = 0; i < MAX_CALLERS && pid > 1 && read_stat(pid, &name, &parent); i++, pid = parent)
        for (size_t b = 0; b < sizeof(builders) / sizeof(*builders); b++)
            if (strcmp(ks_str_cstr(&name), builders[b]) == 0)
                return true;
    return false;
}

bool ks_called_by_build(void)
{
    static int known = -1;
    if (known < 0)
        known = look();
    return known;
}
