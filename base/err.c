#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    const char *text;
    int exit_status;
} code_table[KS_N_CODES] = {
#define X(name, text, status) [KS_##name] = {"KS_" #name, text, status},
#include "base/codes.def"
#undef X
};

const char *ks_code_name(enum ks_code code)
{
    return (unsigned)code < KS_N_CODES ? code_table[code].name : "KS_?";
}

const char *ks_code_text(enum ks_code code)
{
    return (unsigned)code < KS_N_CODES ? code_table[code].text : "unknown code";
}

int ks_code_exit_status(enum ks_code code)
{
    return (unsigned)code < KS_N_CODES ? code_table[code].exit_status : 70;
}

static enum ks_code fail(struct ks_err *err, enum ks_code code, int os_errno, const char *fmt, va_list ap)
{
    if (!err)
        return code;
    memset(err, 0, sizeof(*err));
    err->code = code;
    err->os_errno = os_errno;
    vsnprintf(err->message, sizeof(err->message), fmt, ap);
    return code;
}

enum ks_code ks_fail(struct ks_err *err, enum ks_code code, const char *fmt, ...)
{
    int os_errno = errno;
    va_list ap;
    va_start(ap, fmt);
    fail(err, code, os_errno, fmt, ap);
    va_end(ap);
    return code;
}

void ks_err_place(struct ks_err *err, const char *file, uint32_t line, uint32_t col)
{
    if (!err || err->loc.line)
        return;
    snprintf(err->loc.file, sizeof(err->loc.file), "%s", file);
    err->loc.line = line;
    err->loc.col = col;
}

enum ks_code ks_fail_at(struct ks_err *err, enum ks_code code, const char *file, uint32_t line, uint32_t col, const char *fmt,
                        ...)
{
    va_list ap;
    va_start(ap, fmt);
    fail(err, code, 0, fmt, ap);
    va_end(ap);
    ks_err_place(err, file, line, col);
    return code;
}

enum ks_code ks_fail_errno(struct ks_err *err, enum ks_code code, const char *fmt, ...)
{
    int os_errno = errno;
    va_list ap;
    va_start(ap, fmt);
    fail(err, code, os_errno, fmt, ap);
    va_end(ap);
    if (err) {
        size_t len = strlen(err->message);
        snprintf(err->message + len, sizeof(err->message) - len, ": %s", strerror(os_errno));
    }
    return code;
}

enum ks_code ks_wrap(struct ks_err *err, const char *fmt, ...)
{
    char context[sizeof(err->message)], joined[sizeof(err->message)];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(context, sizeof(context), fmt, ap);
    va_end(ap);
    int n = snprintf(joined, sizeof(joined), "%s: ", context);
    size_t used = n < 0 ? 0 : (size_t)n < sizeof(joined) ? (size_t)n : sizeof(joined) - 1;
    snprintf(joined + used, sizeof(joined) - used, "%s", err->message);
    memcpy(err->message, joined, sizeof(joined));
    return err->code;
}

void ks_bug(const char *file, int line, const char *what)
{
    fprintf(stderr, "kscc: %s:%d: internal error: %s [kscc-internal-error]\n", file, line, what);
    abort();
}
