#include "harness/cupti_find.h"

#include "base/file.h"

#include <stdlib.h>

bool ks_cupti_find(const char *toolkit_dir, struct ks_str *out)
{
    static const char *const folders[] = {"lib64", "extras/CUPTI/lib64", "targets/x86_64-linux/lib", "lib"};
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12"};
    const char *given = getenv("KSCC_RECORD_CUPTI");
    ks_str_clear(out);
    if (given && *given) {
        ks_str_add(out, given);
        return true;
    }
    for (size_t i = 0; toolkit_dir && i < 2 * sizeof(folders) / sizeof(*folders); i++) {
        ks_str_clear(out);
        ks_str_addf(out, "%s/%s/%s", toolkit_dir, folders[i / 2], names[i % 2]);
        if (ks_file_exists(ks_str_cstr(out)))
            return true;
    }
    ks_str_clear(out);
    return false;
}
