/* Alone in its file: kscc itself asks it while it reads options, and links nothing of what ssh.c needs. */
#include "harness/remote/ssh.h"

#include <ctype.h>
#include <string.h>

bool ks_ssh_host_ok(const char *host)
{
    size_t n = strlen(host);
    if (n == 0 || n > 255 || host[0] == '-')
        return false;
    for (const char *p = host; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_.-@:[]%", *p))
            return false;
    return true;
}
