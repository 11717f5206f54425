#include "driver/demangle.h"

#include "base/mem.h"
#include "base/str.h"

#include <stddef.h>
#include <string.h>

/* Of the C++ runtime; its header <cxxabi.h> is for C++. */
char *__cxa_demangle(const char *symbol, char *buffer, size_t *size, int *ret_status);

char *ks_demangle(const char *symbol)
{
    int status = 0;
    return __cxa_demangle(symbol, NULL, NULL, &status);
}

bool ks_demangles_same(const char *a, const char *b)
{
    if (strcmp(a, b) == 0)
        return true;
    if (!ks_str_starts(a, "_Z") || !ks_str_starts(b, "_Z"))
        return false;
    KS_AUTO_FREE char *x = ks_demangle(a), *y = ks_demangle(b);
    return x && ks_streq(x, y);
}
