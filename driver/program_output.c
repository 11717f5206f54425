#include "driver/program_output.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TEXT_REL  1e-3
#define BYTES_REL 1e-4
#define BYTES_RMS 1e-5
#define TINY      1e-20 /* whole numbers up to 5e8 are smaller when they are read as float */

/* ---- text ----------------------------------------------------------------------------------------------------------- */

/* A word of letters, digits and "/%"; or a number; or one other character. */
struct piece {
    const char *p;
    size_t n;
    bool number;
};

static bool next_piece(const char **p, const char *end, struct piece *ret)
{
    while (*p < end && isspace((unsigned char)**p))
        (*p)++;
    if (*p >= end)
        return false;
    *ret = (struct piece){.p = *p, .n = 1};
    bool sign = (**p == '-' || **p == '+') && *p + 1 < end;
    if (isdigit((unsigned char)(*p)[sign]) ||
        ((*p)[sign] == '.' && *p + sign + 1 < end && isdigit((unsigned char)(*p)[sign + 1]))) {
        char *stop;
        strtod(*p, &stop);
        ret->n = (size_t)((stop > end ? end : stop) - *p);
        ret->number = true;
    } else if (isalpha((unsigned char)**p)) {
        while (ret->p + ret->n < end && (isalpha((unsigned char)ret->p[ret->n]) || strchr("/_", ret->p[ret->n])))
            ret->n++;
    }
    *p += ret->n;
    return true;
}

static bool is_of_time(const struct piece *w)
{
    static const char *const words[] = {
        "time",    "times", "timing", "timer",   "elapsed",     "duration",     "took",         "seconds",    "second",
        "sec",     "secs",  "s",      "ms",      "msec",        "us",           "usec",         "ns",         "nsec",
        "fps",     "hz",    "mhz",    "ghz",     "speedup",     "speed",        "bandwidth",    "throughput", "latency",
        "gb/s",    "mb/s",  "gib/s",  "mib/s",   "tb/s",        "gflops",       "gflop/s",      "flops",      "tflops",
        "tflop/s", "gops",  "iter/s", "runtime", "performance", "milliseconds", "microseconds", "nanoseconds"};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strlen(words[i]) == w->n && strncasecmp(words[i], w->p, w->n) == 0)
            return true;
    return false;
}

static bool line_has_time(const char *p, const char *end)
{
    struct piece w;
    while (next_piece(&p, end, &w))
        if (!w.number && is_of_time(&w))
            return true;
    return false;
}

static bool same_number(const struct piece *a, const struct piece *b)
{
    if (a->n == b->n && memcmp(a->p, b->p, a->n) == 0)
        return true;
    bool real = false;
    for (size_t i = 0; i < a->n; i++)
        real |= strchr(".eE", a->p[i]) != NULL;
    for (size_t i = 0; i < b->n; i++)
        real |= strchr(".eE", b->p[i]) != NULL;
    double x = strtod(a->p, NULL), y = strtod(b->p, NULL);
    return real && fabs(x - y) <= TEXT_REL * fabs(y);
}

static bool same_line(const char *a, const char *a_end, const char *b, const char *b_end)
{
    bool timed = line_has_time(a, a_end) && line_has_time(b, b_end);
    struct piece x, y;
    for (;;) {
        bool more = next_piece(&a, a_end, &x);
        if (more != next_piece(&b, b_end, &y))
            return false;
        if (!more)
            return true;
        if (x.number != y.number)
            return false;
        if (x.number ? !timed && !same_number(&x, &y) : x.n != y.n || memcmp(x.p, y.p, x.n) != 0)
            return false;
    }
}

bool ks_program_same_text(const char *got, const char *want, struct ks_str *why)
{
    for (size_t line = 1; *got || *want; line++) {
        const char *got_end = got + strcspn(got, "\n"), *want_end = want + strcspn(want, "\n");
        if (!same_line(got, got_end, want, want_end)) {
            ks_str_addf(why, "line %zu is '%.*s', expected '%.*s'", line, (int)(got_end - got < 200 ? got_end - got : 200), got,
                        (int)(want_end - want < 200 ? want_end - want : 200), want);
            return false;
        }
        got = got_end + (*got_end == '\n');
        want = want_end + (*want_end == '\n');
    }
    return true;
}

/* ---- bytes ---------------------------------------------------------------------------------------------------------- */

static double element(const unsigned char *data, size_t i, size_t size)
{
    float f;
    double d;
    if (size == sizeof d) {
        memcpy(&d, data + i * size, size);
        return d;
    }
    memcpy(&f, data + i * size, size);
    return (double)f;
}

/* How many powers of two the elements span; infinite: some are not finite, or all are tiny. */
static double span(const unsigned char *data, size_t n, size_t size)
{
    double least = INFINITY, most = 0, squares = 0;
    for (size_t i = 0; i < n / size; i++) {
        double v = fabs(element(data, i, size));
        if (!isfinite(v))
            return INFINITY;
        squares += v * v;
        least = v > 0 && v < least ? v : least;
        most = v > most ? v : most;
    }
    return n % size || n == 0 || sqrt(squares / (double)(n / size)) < TINY ? INFINITY : log2(most / least);
}

static bool same_reals(const unsigned char *got, const unsigned char *want, size_t n, size_t size)
{
    double squares = 0;
    for (size_t i = 0; i < n / size; i++)
        squares += element(want, i, size) * element(want, i, size);
    double rms = sqrt(squares / (double)(n / size));
    for (size_t i = 0; i < n / size; i++) {
        double w = element(want, i, size), d = fabs(element(got, i, size) - w);
        if (!(d <= BYTES_REL * fabs(w) + BYTES_RMS * rms))
            return false;
    }
    return true;
}

bool ks_program_same_bytes(const void *got, const void *want, size_t n)
{
    if (n == 0 || memcmp(got, want, n) == 0)
        return true;
    /* Floats read as doubles span eight times as much; doubles read as floats have noise in every other place. */
    double floats = fmax(span(want, n, sizeof(float)), span(got, n, sizeof(float))),
           doubles = fmax(span(want, n, sizeof(double)), span(got, n, sizeof(double)));
    if (isinf(floats) && isinf(doubles))
        return false;
    return same_reals(got, want, n, floats <= doubles ? sizeof(float) : sizeof(double));
}
