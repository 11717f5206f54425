#include "driver/report_chart.h"

#include "base/layer.h"

#include <math.h>
#include <string.h>

#define WIDTH 720.0
#define MANY  120 /* trials from which marks get small */

void ks_report_time(double ns, struct ks_str *out)
{
    if (ns >= 1e7)
        ks_str_addf(out, "%.4g ms", ns / 1e6);
    else
        ks_str_addf(out, "%.4g us", ns / 1e3);
}

/* A logarithmic axis: value lo at pixel `from`, hi at `to`. */
struct axis {
    double lo, hi, from, to;
};

static double place(const struct axis *a, double v)
{
    double share = log(fmin(fmax(v, a->lo), a->hi) / a->lo) / log(a->hi / a->lo);
    return a->from + share * (a->to - a->from);
}

/* Widens lo..hi to something that can be drawn. */
static struct axis axis(double lo, double hi, double from, double to)
{
    struct axis a = {lo / 1.08, hi * 1.08, from, to};
    return a;
}

static void line(struct ks_html *h, const char *class, double x1, double y1, double x2, double y2)
{
    ks_html_begin(h, "line", class);
    ks_html_attrf(h, "x1", "%.1f", x1);
    ks_html_attrf(h, "y1", "%.1f", y1);
    ks_html_attrf(h, "x2", "%.1f", x2);
    ks_html_attrf(h, "y2", "%.1f", y2);
    ks_html_close(h);
}

static void label(struct ks_html *h, const char *class, double x, double y, const char *text)
{
    ks_html_begin(h, "text", class);
    ks_html_attrf(h, "x", "%.1f", x);
    ks_html_attrf(h, "y", "%.1f", y);
    ks_html_text(h, text);
    ks_html_close(h);
}

/* Left open, for a <title>. */
static void open_dot(struct ks_html *h, const char *class, double x, double y, double r)
{
    ks_html_begin(h, "circle", class);
    ks_html_attrf(h, "cx", "%.1f", x);
    ks_html_attrf(h, "cy", "%.1f", y);
    ks_html_attrf(h, "r", "%.1f", r);
}

static void open_bar(struct ks_html *h, const char *class, double x, double y, double width, double height)
{
    ks_html_begin(h, "rect", class);
    ks_html_attrf(h, "x", "%.1f", x);
    ks_html_attrf(h, "y", "%.1f", y);
    ks_html_attrf(h, "width", "%.1f", fmax(width, 0));
    ks_html_attrf(h, "height", "%.1f", height);
}

static void open_chart(struct ks_html *h, const char *title, double width, double height)
{
    ks_html_begin(h, "div", "chart");
    ks_html_begin(h, "svg", width > 500 ? "wide" : "small");
    ks_html_attrf(h, "viewBox", "0 0 %.0f %.0f", width, height);
    ks_html_attrf(h, "style", "max-width:%.0fpx", width);
    ks_html_attr(h, "role", "img");
    ks_html_attr(h, "aria-label", title);
}

/* The caption is the page's text: it wraps where the drawing would shrink or scroll. */
static void close_chart(struct ks_html *h, const char *caption)
{
    ks_html_close(h);
    ks_html_close(h);
    if (caption)
        ks_html_leaf(h, "p", "caption", caption);
}

/* Ticks at 1, 2, 5 times powers of ten; at every power only when they would crowd. */
static void ticks(struct ks_html *h, const struct axis *a, bool vertical, double other_from, double other_to)
{
    bool wide = a->hi / a->lo > 300;
    for (double power = pow(10, floor(log10(a->lo))); power <= a->hi; power *= 10) {
        static const double steps[] = {1, 1.2, 1.5, 2, 3, 5, 7};
        for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
            double v = power * steps[i], p;
            bool fine = steps[i] == 1.2 || steps[i] == 1.5 || steps[i] == 3 || steps[i] == 7;
            if (v < a->lo || v > a->hi || (wide && i > 0) || (fine && a->hi / a->lo > 6))
                continue;
            KS_AUTO_STR struct ks_str text = KS_STR_INIT;
            ks_str_addf(&text, "%.3gx", v);
            p = place(a, v);
            if (vertical) {
                line(h, v == 1 ? "axis" : "grid", other_from, p, other_to, p);
                label(h, "end", other_from - 6, p + 4, ks_str_cstr(&text));
            } else {
                line(h, v == 1 ? "axis" : "grid", p, other_from, p, other_to);
                label(h, "mid", p, other_to + 16, ks_str_cstr(&text));
            }
        }
    }
}

/* ---- trials --------------------------------------------------------------------------------------------------------- */

#define T_LEFT   52.0
#define T_TOP    14.0
#define T_BOTTOM 230.0
#define T_HEIGHT 272.0
#define T_LABEL  14.0 /* room for a question's number */

struct trials_chart {
    struct ks_html *h;
    struct axis y;
    size_t n;
    bool small;
};

static double trial_x(const struct trials_chart *c, double n)
{
    return T_LEFT + (WIDTH - T_LEFT - 12) * (n - 0.5) / (double)c->n;
}

static bool is_accepted(const struct ks_json *trial)
{
    return ks_streq(ks_json_get_str(trial, "outcome", ""), "accepted");
}

static void trial_title(struct ks_html *h, const struct ks_json *t)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    double lo = ks_json_get_num(t, "speedup_lo", 0);
    ks_str_addf(&text, "trial %lld: %s", (long long)ks_json_get_i64(t, "n", 0), ks_json_get_str(t, "outcome", "?"));
    if (ks_json_get_num(t, "speedup", 0) > 0)
        ks_str_addf(&text, ", %.3fx", ks_json_get_num(t, "speedup", 0));
    if (lo > 0)
        ks_str_addf(&text, " [%.3f, %.3f]", lo, ks_json_get_num(t, "speedup_hi", 0));
    if (ks_json_get(t, "transform"))
        ks_str_addf(&text, "\n%s", ks_json_get_str(t, "transform", ""));
    if (ks_json_get(t, "gate"))
        ks_str_addf(&text, "\n%s: %s", ks_json_get_str(t, "gate", ""), ks_json_get_str(t, "reason", ""));
    ks_html_leaf(h, "title", NULL, ks_str_cstr(&text));
}

static void draw_refused(const struct trials_chart *c, const struct ks_json *t, double x)
{
    double r = c->small ? 2 : 4, y = T_BOTTOM + 12;
    ks_html_begin(c->h, "path", "refused");
    ks_html_attrf(c->h, "d", "M%.1f %.1fl%.1f %.1fm0 %.1fl%.1f %.1f", x - r, y - r, 2 * r, 2 * r, -2 * r, -2 * r, 2 * r);
    trial_title(c->h, t);
    ks_html_close(c->h);
}

static void draw_trial(const struct trials_chart *c, const struct ks_json *t)
{
    double x = trial_x(c, ks_json_get_num(t, "n", 1)), speedup = ks_json_get_num(t, "speedup", 0);
    double lo = ks_json_get_num(t, "speedup_lo", 0), hi = ks_json_get_num(t, "speedup_hi", 0);
    if (!(speedup > 0)) {
        draw_refused(c, t, x);
        return;
    }
    if (lo > 0 && hi > lo)
        line(c->h, "whisker", x, place(&c->y, lo), x, place(&c->y, hi));
    open_dot(c->h, is_accepted(t) ? "good" : "plain", x, place(&c->y, speedup), c->small ? 2 : 4);
    trial_title(c->h, t);
    ks_html_close(c->h);
}

static void draw_best(const struct trials_chart *c, const struct ks_json *trials)
{
    KS_AUTO_STR struct ks_str d = KS_STR_INIT;
    ks_str_addf(&d, "M%.1f %.1f", T_LEFT, place(&c->y, 1));
    for (size_t i = 0; i < ks_json_len(trials); i++) {
        const struct ks_json *t = ks_json_at(trials, i);
        if (ks_json_get_bool(t, "best", false))
            ks_str_addf(&d, "H%.1fV%.1f", trial_x(c, ks_json_get_num(t, "n", 1)), place(&c->y, ks_json_get_num(t, "speedup", 1)));
    }
    ks_str_addf(&d, "H%.1f", WIDTH - 12);
    ks_html_begin(c->h, "path", "best");
    ks_html_attr(c->h, "d", ks_str_cstr(&d));
    ks_html_close(c->h);
}

static void draw_questions(const struct trials_chart *c, const struct ks_json *questions)
{
    bool few = ks_json_len(questions) <= 40; /* more would cover the chart: marks below it */
    double last = -T_LABEL;
    for (size_t i = 0; i < ks_json_len(questions); i++) {
        const struct ks_json *q = ks_json_at(questions, i);
        double x = trial_x(c, ks_json_get_num(q, "before_trial", 1) - 0.5);
        KS_AUTO_STR struct ks_str n = KS_STR_INIT;
        ks_str_addf(&n, "%lld", (long long)ks_json_get_i64(q, "n", 0));
        ks_html_begin(c->h, "g", "asked");
        line(c->h, NULL, x, few ? T_TOP : T_BOTTOM + 14, x, T_BOTTOM + 24);
        bool room = x - last >= T_LABEL; /* several before one trial: the first has its number */
        last = room ? x : last;
        if (few && room)
            label(c->h, "mid", x, T_BOTTOM + 38, ks_str_cstr(&n));
        ks_html_leaff(c->h, "title", NULL, "question %s (%s): %s", ks_str_cstr(&n), ks_json_get_str(q, "layer", ""),
                      ks_json_get_str(q, "text", ""));
        ks_html_close(c->h);
    }
}

void ks_chart_trials(struct ks_html *h, const struct ks_json *report)
{
    const struct ks_json *trials = ks_json_get(report, "trials");
    struct trials_chart c = {.h = h, .n = ks_json_len(trials)};
    double lo = 1, hi = 1.25;
    if (c.n == 0)
        return;
    c.small = c.n > MANY;
    for (size_t i = 0; i < c.n; i++) {
        double v = ks_json_get_num(ks_json_at(trials, i), "speedup", 0);
        lo = v > 0 ? fmin(lo, v) : lo;
        hi = fmax(hi, fmax(v, fmin(ks_json_get_num(ks_json_at(trials, i), "speedup_hi", 0), v * 4)));
    }
    c.y = axis(lo, hi, T_BOTTOM, T_TOP);
    open_chart(h, "speed-up over trials", WIDTH, T_HEIGHT);
    ticks(h, &c.y, true, T_LEFT, WIDTH - 12);
    draw_questions(&c, ks_json_get(report, "questions"));
    draw_best(&c, trials);
    for (size_t i = 0; i < c.n; i++)
        draw_trial(&c, ks_json_at(trials, i));
    close_chart(h, "trials in order; numbered lines: questions; crosses: refused before timing");
}

/* ---- predicted against measured ------------------------------------------------------------------------------------- */

void ks_chart_predicted(struct ks_html *h, const struct ks_json *report)
{
    const struct ks_json *trials = ks_json_get(report, "trials");
    double lo = 0.9, hi = 1.5;
    size_t n = 0;
    for (size_t i = 0; i < ks_json_len(trials); i++) {
        double p = ks_json_get_num(ks_json_at(trials, i), "predicted", 0), m = ks_json_get_num(ks_json_at(trials, i), "gain", 0);
        if (!(p > 0 && m > 0))
            continue;
        n++;
        lo = fmin(lo, fmin(p, m));
        hi = fmax(hi, fmax(p, m));
    }
    if (n == 0)
        return;
    struct axis x = axis(lo, hi, 52, 340), y = axis(lo, hi, 300, 12);
    open_chart(h, "predicted against measured gain", 360, 324);
    ticks(h, &y, true, 52, 340);
    ticks(h, &x, false, 12, 300);
    line(h, "diagonal", 52, 300, 340, 12);
    for (size_t i = 0; i < ks_json_len(trials); i++) {
        const struct ks_json *t = ks_json_at(trials, i);
        double p = ks_json_get_num(t, "predicted", 0), m = ks_json_get_num(t, "gain", 0);
        if (!(p > 0 && m > 0))
            continue;
        open_dot(h, is_accepted(t) ? "good" : "plain", place(&x, p), place(&y, m), n > MANY ? 2 : 4);
        ks_html_leaff(h, "title", NULL, "trial %lld: predicted %.2fx, measured %.2fx", (long long)ks_json_get_i64(t, "n", 0), p,
                      m);
        ks_html_close(h);
    }
    close_chart(h, "gain over the best before: predicted across, measured up");
}

/* ---- timing points against the roofline ----------------------------------------------------------------------------- */

#define P_LEFT  16.0
#define P_RIGHT (WIDTH - 150)
#define P_ROW   84.0

/* Pixel of a time on the linear axis 0..longest. */
static double time_x(double ns, double longest_ns)
{
    return P_LEFT + (P_RIGHT - P_LEFT) * fmin(ns / longest_ns, 1);
}

static void time_bar(struct ks_html *h, const char *class, const char *name, double y, double ns, double longest_ns)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    double x = time_x(ns, longest_ns);
    if (!(ns > 0))
        return;
    open_bar(h, class, P_LEFT, y, fmax(x - P_LEFT, 1), 14);
    ks_html_close(h);
    ks_str_addf(&text, "%s ", name);
    ks_report_time(ns, &text);
    label(h, NULL, x + 6, y + 12, ks_str_cstr(&text));
}

/* The time of every trial at the i-th point, as a stroke on the original's bar. */
static void trial_strokes(struct ks_html *h, const struct ks_json *trials, size_t i, double y, double longest_ns)
{
    for (size_t t = 0; t < ks_json_len(trials); t++) {
        double ns = ks_json_get_num(ks_json_at(ks_json_get(ks_json_at(trials, t), "points"), i), "candidate_ns", 0);
        if (ns > 0 && ns <= longest_ns)
            line(h, "stroke", time_x(ns, longest_ns), y, time_x(ns, longest_ns), y + 14);
    }
}

/* The trials' own, or that of the profile, which is of one point. */
static double roofline_of(const struct ks_json *report, const struct ks_json *p)
{
    const struct ks_json *r = ks_json_get(report, "roofline");
    bool here = ks_streq(ks_json_get_str(r, "shape", ""), ks_json_get_str(p, "shape", "?"));
    return ks_json_get_num(p, "roofline_ns", here ? ks_json_get_num(r, "roof_ns", 0) : 0);
}

static void draw_point(struct ks_html *h, const struct ks_json *report, const struct ks_json *p, double y, double longest_ns)
{
    double roofline = roofline_of(report, p), candidate = ks_json_get_num(p, "candidate_ns", 0);
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    label(h, "strong", P_LEFT, y + 16, ks_json_get_str(p, "shape", "?"));
    time_bar(h, "reference", "original", y + 24, ks_json_get_num(p, "reference_ns", 0), longest_ns);
    time_bar(h, "candidate", "result", y + 42, candidate, longest_ns);
    if (!(roofline > 0 && candidate > 0))
        return;
    double x = time_x(roofline, longest_ns);
    ks_str_add(&text, "roofline ");
    ks_report_time(roofline, &text);
    ks_str_addf(&text, ": the result reaches %.0f %% of it", 100 * roofline / candidate);
    line(h, "roof", x, y + 20, x, y + 60);
    label(h, "roofname", x - 2, y + 74, ks_str_cstr(&text));
}

void ks_chart_points(struct ks_html *h, const struct ks_json *report)
{
    const struct ks_json *points = ks_json_get(report, "points");
    double longest_ns = 0;
    for (size_t i = 0; i < ks_json_len(points); i++)
        longest_ns = fmax(longest_ns, fmax(ks_json_get_num(ks_json_at(points, i), "candidate_ns", 0),
                                           ks_json_get_num(ks_json_at(points, i), "reference_ns", 0)));
    if (!(longest_ns > 0))
        return;
    open_chart(h, "time at each timing point against the roofline", WIDTH, P_ROW * (double)ks_json_len(points));
    for (size_t i = 0; i < ks_json_len(points); i++) {
        draw_point(h, report, ks_json_at(points, i), P_ROW * (double)i, longest_ns);
        trial_strokes(h, ks_json_get(report, "trials"), i, P_ROW * (double)i + 24, longest_ns);
    }
    close_chart(h, NULL);
}

/* ---- layers --------------------------------------------------------------------------------------------------------- */

/* The highest score of a layer among hypotheses; 0: none. */
static double layer_score(const struct ks_json *hypotheses, const char *layer)
{
    double best = 0;
    for (size_t i = 0; i < ks_json_len(hypotheses); i++)
        if (ks_streq(ks_json_get_str(ks_json_at(hypotheses, i), "layer", ""), layer))
            best = fmax(best, ks_json_get_num(ks_json_at(hypotheses, i), "score", 0));
    return best;
}

static void score_bar(struct ks_html *h, const char *class, double y, double score)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_addf(&text, "%.2f", score);
    open_bar(h, class, 190, y, fmin(score, 1) * 470, 12);
    ks_html_close(h);
    label(h, NULL, 196 + fmin(score, 1) * 470, y + 11, ks_str_cstr(&text));
}

void ks_chart_layers(struct ks_html *h, const struct ks_json *report)
{
    const struct ks_json *layers = ks_json_get(report, "layers"), *before = ks_json_get(layers, "before"),
                         *after = ks_json_get(layers, "after");
    double row = after ? 42 : 28;
    if (!before)
        return;
    open_chart(h, "scores of the layers", WIDTH, row * KS_N_LAYERS);
    for (int i = 0; i < KS_N_LAYERS; i++) {
        const char *name = ks_layer_text((enum ks_layer)i);
        double y = row * i + 6;
        label(h, "end", 182, y + row / 2 - 2, name);
        score_bar(h, "reference", y, layer_score(before, name));
        if (after)
            score_bar(h, "candidate", y + 15, layer_score(after, name));
    }
    close_chart(h, NULL);
}
