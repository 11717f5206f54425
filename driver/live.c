#include "driver/live.h"

#include "base/diag.h"
#include "base/process.h"
#include "driver/stop.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS       250
#define LEAST_COLUMNS 20
#define ERASE         "\r\033[J" /* from the cursor to the end of the screen */
#define NO_FOLDING    "\033[?7l" /* what the terminal takes for wider than we do is cut off */
#define FOLDING       "\033[?7h"
#define LABEL_COLUMNS 14

/* ---- the block as text ---------------------------------------------------------------------------------------------- */

/* One line of at most `columns` columns; what does not fit ends in "...".  Control characters become blanks: a text may be
 * anybody's. */
static void add_fitting(const char *text, unsigned columns, struct ks_str *out)
{
    size_t len = strlen(text), at = 0, fits = out->len;
    unsigned used = 0;
    while (at < len) {
        size_t n;
        int width = ks_glyph_width(text + at, len - at, &n);
        bool control = (n == 1 && (unsigned char)text[at] < 0x20) || text[at] == 0x7f ||
                       (n == 1 && (unsigned char)text[at] >= 0x80) ||
                       (n == 2 && text[at] == '\xc2' && (unsigned char)text[at + 1] < 0xa0);
        if (used + (unsigned)width > columns) {
            out->data[out->len = fits] = '\0';
            ks_str_add(out, columns >= 3 ? "..." : "");
            return;
        }
        ks_str_addn(out, control ? " " : text + at, control ? 1 : n);
        used += control ? 1 : (unsigned)width;
        at += n;
        if (used + 3 <= columns)
            fits = out->len;
    }
}

void ks_live_add_duration(double seconds, struct ks_str *out)
{
    int64_t s = (int64_t)(seconds + 0.5);
    if (s < 60)
        ks_str_addf(out, "%lld s", (long long)s);
    else if (s < 3600)
        ks_str_addf(out, "%lld min %lld s", (long long)s / 60, (long long)s % 60);
    else
        ks_str_addf(out, "%lld h %lld min", (long long)s / 3600, (long long)s % 3600 / 60);
}

/* The rest of the budget at the pace so far; a search may end before that.  Negative: no trial says how long one takes. */
static double seconds_left(const struct ks_live_view *v)
{
    double spent = (double)v->spent_ms / 1000, left = -1;
    if (v->n_trials > 0 && v->budget_trials > 0)
        left = spent / (double)v->n_trials * (double)(v->budget_trials - v->n_trials);
    if (v->budget_s > 0 && (left < 0 || v->budget_s - spent < left))
        left = v->budget_s - spent;
    return left < 0 && v->budget_s > 0 ? 0 : left;
}

static void add_numbers(const struct ks_live_view *v, struct ks_str *out)
{
    ks_str_addf(out, "%lld of %lld done, %lld accepted; ", (long long)v->n_trials, (long long)v->budget_trials,
                (long long)v->n_accepted);
    if (v->best)
        ks_str_addf(out, "best %s", v->best);
    else
        ks_str_add(out, "none faster yet");
}

static void add_spent(const struct ks_live_view *v, struct ks_str *out)
{
    double left = seconds_left(v);
    ks_live_add_duration((double)v->spent_ms / 1000, out);
    if (v->tokens)
        ks_str_addf(out, ", %lld token%s", (long long)v->tokens, ks_plural_s(v->tokens));
    if (v->usd > 0)
        ks_str_addf(out, ", %.2f USD", v->usd);
    if (left < 0)
        return;
    ks_str_add(out, "; at most ");
    ks_live_add_duration(left, out);
    ks_str_add(out, " left");
}

struct sheet {
    struct ks_str *out;
    unsigned columns, rows_left;
    bool colour;
};

static void add_row(struct sheet *s, const char *label, const char *text)
{
    if (s->rows_left == 0 || !text || !*text)
        return;
    s->rows_left--;
    ks_str_addf(s->out, "\n%s  %-*s%s", s->colour ? "\033[2m" : "", LABEL_COLUMNS - 2, label, s->colour ? "\033[0m" : "");
    add_fitting(text, s->columns > LABEL_COLUMNS ? s->columns - LABEL_COLUMNS : 0, s->out);
}

void ks_live_render(const struct ks_live_view *v, unsigned columns, unsigned rows, bool colour, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str title = KS_STR_INIT, numbers = KS_STR_INIT, spent = KS_STR_INIT;
    struct sheet s = {out, (columns < LEAST_COLUMNS ? LEAST_COLUMNS : columns) - 1, rows > 2 ? rows - 2 : 0, colour};
    ks_str_addf(&title, "kscc: %s", v->title ? v->title : "");
    ks_str_add(out, colour ? "\033[1m" : "");
    add_fitting(ks_str_cstr(&title), s.columns, out);
    ks_str_add(out, colour ? "\033[0m" : "");
    add_numbers(v, &numbers);
    add_spent(v, &spent);
    add_row(&s, "stage", v->stage);
    add_row(&s, "trials", v->budget_trials ? ks_str_cstr(&numbers) : NULL);
    add_row(&s, "spent", ks_str_cstr(&spent));
    add_row(&s, "question", v->question);
    add_row(&s, "hypothesis", v->hypothesis);
}

/* ---- the block on the screen ---------------------------------------------------------------------------------------- */

static struct {
    bool on, ending;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct ks_str title, stage, question, hypothesis, best, shown;
    struct ks_live_view v;
    int64_t counted_ns; /* when v.spent_ms was right */
} live = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};
static volatile sig_atomic_t is_drawn;

static void put(const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDERR_FILENO, data, len);
        if (n <= 0)
            return; /* a terminal that is gone: nobody looks */
        data += n;
        len -= (size_t)n;
    }
}

/* With the lock held. */
static void wipe(void)
{
    if (is_drawn)
        put(ERASE, strlen(ERASE));
    is_drawn = 0;
    ks_str_clear(&live.shown);
}

static void draw(void)
{
    struct winsize size = {0};
    pid_t front = tcgetpgrp(STDERR_FILENO);
    if (front >= 0 && front != getpgrp()) {
        is_drawn = 0;
        ks_str_clear(&live.shown);
        return;
    }
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        size.ws_col = 80;
    if (size.ws_row == 0)
        size.ws_row = 24;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_live_view v = live.v;
    v.spent_ms += (ks_clock_ns() - live.counted_ns) / 1000000;
    KS_AUTO_STR struct ks_str stage = KS_STR_INIT;
    if (ks_stop_asked()) {
        ks_str_addf(&stage, "%s; then it ends (once more: at once)", v.stage ? v.stage : "");
        v.stage = ks_str_cstr(&stage);
    }
    ks_str_add(&text, ERASE NO_FOLDING);
    ks_live_render(&v, size.ws_col, size.ws_row, true, &text);
    ks_str_add(&text, FOLDING);
    unsigned n_below = 0;
    for (size_t i = 0; i < text.len; i++)
        n_below += text.data[i] == '\n';
    ks_str_add(&text, "\r");
    if (n_below)
        ks_str_addf(&text, "\033[%uA", n_below);
    if (is_drawn && ks_streq(ks_str_cstr(&text), ks_str_cstr(&live.shown)))
        return;
    put(text.data, text.len);
    is_drawn = 1;
    ks_str_clear(&live.shown);
    ks_str_add(&live.shown, ks_str_cstr(&text));
}

static void *keep_drawing(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&live.lock);
    while (!live.ending) {
        draw();
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += TICK_MS * 1000000L;
        t.tv_sec += t.tv_nsec / 1000000000L;
        t.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&live.wake, &live.lock, &t);
    }
    pthread_mutex_unlock(&live.lock);
    return NULL;
}

bool ks_live_on(void)
{
    return live.on;
}

static void set(struct ks_str *s, const char *text, const char **shown)
{
    ks_str_clear(s);
    ks_str_add(s, text ? text : "");
    *shown = ks_str_cstr(s);
}

static void before_fork(void)
{
    pthread_mutex_lock(&live.lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&live.lock);
}

/* The block is the parent's: a child that goes on without exec (crew.c) has no thread to draw it. */
static void in_child(void)
{
    pthread_mutex_unlock(&live.lock);
    live.on = false;
    is_drawn = 0;
}

void ks_live_begin(const char *title)
{
    static bool forks_are_seen;
    sigset_t all, before;
    if (live.on)
        return;
    if (!forks_are_seen)
        forks_are_seen = pthread_atfork(before_fork, after_fork, in_child) == 0;
    live.v = (struct ks_live_view){0};
    live.counted_ns = ks_clock_ns();
    live.ending = false;
    set(&live.title, title, &live.v.title);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    live.on = pthread_create(&live.thread, NULL, keep_drawing, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ks_live_end(void)
{
    if (!live.on)
        return;
    pthread_mutex_lock(&live.lock);
    live.ending = true;
    pthread_cond_signal(&live.wake);
    pthread_mutex_unlock(&live.lock);
    pthread_join(live.thread, NULL);
    wipe();
    live.on = false;
    struct ks_str *texts[] = {&live.title, &live.stage, &live.question, &live.hypothesis, &live.best, &live.shown};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
        ks_str_release(texts[i]);
}

void ks_live_print(const char *line, size_t len)
{
    pthread_mutex_lock(&live.lock);
    wipe();
    put(line, len);
    draw();
    pthread_mutex_unlock(&live.lock);
}

void ks_live_wipe(void)
{
    if (is_drawn)
        put(ERASE, strlen(ERASE));
}

static void change(struct ks_str *s, const char *text, const char **shown)
{
    pthread_mutex_lock(&live.lock);
    set(s, text, shown);
    pthread_cond_signal(&live.wake);
    pthread_mutex_unlock(&live.lock);
}

void ks_live_stage(const char *fmt, ...)
{
    if (!live.on)
        return;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    va_list ap;
    va_start(ap, fmt);
    ks_str_vaddf(&text, fmt, ap);
    va_end(ap);
    change(&live.stage, ks_str_cstr(&text), &live.v.stage);
}

void ks_live_gate(const char *gate, bool confirm)
{
    if (confirm)
        ks_live_stage("confirmation: gate %s", gate);
    else
        ks_live_stage("trial %lld: gate %s", (long long)live.v.n_trials + 1, gate);
}

void ks_live_question(const char *text)
{
    if (live.on)
        change(&live.question, text, &live.v.question);
}

void ks_live_hypothesis(const char *layer, double predicted, const char *text)
{
    if (!live.on)
        return;
    KS_AUTO_STR struct ks_str line = KS_STR_INIT;
    ks_str_addf(&line, "%s, predicts %.2fx: %s", layer, predicted, text);
    change(&live.hypothesis, ks_str_cstr(&line), &live.v.hypothesis);
}

void ks_live_count(const struct ks_live_view *v)
{
    if (!live.on)
        return;
    pthread_mutex_lock(&live.lock);
    struct ks_live_view old = live.v;
    live.v = *v;
    live.v.title = old.title;
    live.v.stage = old.stage;
    live.v.question = old.question;
    live.v.hypothesis = old.hypothesis;
    set(&live.best, v->best, &live.v.best);
    if (!v->best)
        live.v.best = NULL;
    live.counted_ns = ks_clock_ns();
    pthread_cond_signal(&live.wake);
    pthread_mutex_unlock(&live.lock);
}
