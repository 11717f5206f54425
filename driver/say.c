#include "driver/say.h"

#include "driver/build_caller.h"
#include "driver/live.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_quiet, is_verbose, said;

bool ks_say_said(void)
{
    return said;
}

void ks_say_quiet(bool quiet)
{
    is_quiet = quiet;
}

void ks_say_verbose(bool verbose)
{
    is_verbose = verbose;
}

void ks_say_block(const char *title)
{
    const char *ci = getenv("CI");
    if (!is_quiet && ks_say_colour() && !(ci && *ci) && !ks_called_by_build())
        ks_live_begin(title);
}

bool ks_say_colour(void)
{
    const char *term = getenv("TERM");
    return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0 && !getenv("NO_COLOR");
}

/* One write per line: builds run many of us at once. */
static void put_line(struct ks_str *line)
{
    ks_str_addc(line, '\n');
    if (ks_live_on()) {
        ks_live_print(line->data, line->len);
        return;
    }
    fwrite(line->data, 1, line->len, stderr);
    fflush(stderr);
}

/* Hypotheses, reasons and names are anybody's text. */
static void add_visible(struct ks_str *line, const char *fmt, va_list ap)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_vaddf(&text, fmt, ap);
    ks_str_add_visible(line, ks_str_cstr(&text), text.len);
}

void ks_print_visible(const struct ks_str *text)
{
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_str_add_visible(&out, ks_str_cstr(text), text->len);
    fputs(ks_str_cstr(&out), stdout);
}

static void put_progress(const char *fmt, va_list ap)
{
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    ks_str_add(&line, "kscc: ");
    add_visible(&line, fmt, ap);
    put_line(&line);
}

static bool steps_are_said(void)
{
    return !is_quiet && (is_verbose || (!ks_live_on() && !ks_called_by_build()));
}

void ks_say_result(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!is_quiet)
        put_progress(fmt, ap);
    va_end(ap);
}

void ks_say_progress(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (steps_are_said())
        put_progress(fmt, ap);
    va_end(ap);
}

void ks_say_verdict(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (is_verbose && !is_quiet)
        put_progress(fmt, ap);
    va_end(ap);
}

static const char *severity_colour(enum ks_severity severity)
{
    switch (severity) {
    case KS_SEV_NOTE:
        return "\033[1;36m";
    case KS_SEV_REMARK:
        return "\033[1;34m";
    case KS_SEV_WARNING:
        return "\033[1;35m";
    case KS_SEV_ERROR:
        return "\033[1;31m";
    }
    return "";
}

void ks_say(enum ks_severity severity, const char *fmt, ...)
{
    said = true;
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    bool colour = ks_say_colour();
    va_list ap;
    va_start(ap, fmt);
    ks_str_addf(&line, "kscc: %s%s:%s ", colour ? severity_colour(severity) : "", ks_severity_text(severity),
                colour ? "\033[0m" : "");
    add_visible(&line, fmt, ap);
    va_end(ap);
    put_line(&line);
}

static void put_diag(const struct ks_diag *d, const char *source, size_t source_len)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_diag_render(d, source, source_len, ks_say_colour(), &text);
    if (text.len && text.data[text.len - 1] == '\n')
        text.data[--text.len] = '\0';
    put_line(&text);
}

void ks_say_diag(const struct ks_diag *d, const char *source, size_t source_len)
{
    said = true;
    put_diag(d, source, source_len);
}

void ks_say_progress_diag(const struct ks_diag *d, const char *source, size_t source_len)
{
    if (steps_are_said())
        put_diag(d, source, source_len);
}

void ks_say_diags(const struct ks_diags *d, const char *source, size_t source_len)
{
    for (size_t i = 0; i < d->n; i++)
        ks_say_diag(&d->data[i], source, source_len);
}

/* "i/o" is kscc-i-o. */
static const char *id_of(const struct ks_err *err, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s", ks_code_text(err->code));
    for (char *p = buffer; *p; p++)
        if (*p == ' ' || *p == '/')
            *p = '-';
    return buffer;
}

void ks_say_about(enum ks_severity severity, const struct ks_err *err, const char *fmt, ...)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    char id[32];
    va_list ap;
    va_start(ap, fmt);
    ks_str_vaddf(&text, fmt, ap);
    va_end(ap);
    ks_say(severity, "%s [kscc-%s]", ks_str_cstr(&text), id_of(err, id, sizeof(id)));
}

void ks_say_error(const struct ks_err *err)
{
    char id[32];
    ks_say(KS_SEV_ERROR, "%s [kscc-%s]", err->message, id_of(err, id, sizeof(id)));
}

void ks_say_instead(const struct ks_err *err, const char *instead)
{
    char id[32];
    id_of(err, id, sizeof(id));
    if (err->loc.line)
        ks_say(KS_SEV_WARNING, "%s:%u:%u: %s, %s [kscc-%s]", err->loc.file, err->loc.line, err->loc.col, err->message, instead,
               id);
    else
        ks_say(KS_SEV_WARNING, "%s, %s [kscc-%s]", err->message, instead, id);
}
