/* Alone in its file: kscc itself asks it while it reads options, and links nothing of what slurm.c needs. */
#include "harness/remote/slurm.h"

#include "base/str.h"

#include <ctype.h>
#include <string.h>

bool ks_slurm_spec_ok(const char *spec)
{
    static const char *const names[] = {
        "partition=", "gres=", "constraint=", "account=", "qos=", "nodelist=", "exclude=", "time=", "dir=", "files="};
    while (*spec) {
        size_t n = strcspn(spec, ","), len = 0;
        for (size_t i = 0; i < sizeof names / sizeof *names && !len; i++)
            len = ks_str_starts(spec, names[i]) ? strlen(names[i]) : 0;
        if (!len || len >= n)
            return false;
        bool number = ks_str_starts(spec, "time=");
        for (const char *p = spec + len; p < spec + n; p++)
            if (number ? !isdigit((unsigned char)*p) : !isalnum((unsigned char)*p) && !strchr("_.:-+/|&*()[]", *p))
                return false;
        if (ks_str_starts(spec, "dir=") && spec[4] != '/')
            return false;
        bool files = ks_str_starts(spec, "files=shared") || ks_str_starts(spec, "files=sbcast");
        if (ks_str_starts(spec, "files=") && (!files || n != strlen("files=shared")))
            return false;
        spec += n;
        if (*spec && !*++spec)
            return false;
    }
    return true;
}
