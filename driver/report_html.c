#include "driver/report_html.h"

#include "driver/report_chart.h"
#include "driver/report_parts.h"
#include "driver/roofline.h"

#include <string.h>

#define OPEN_ROWS 60 /* longer tables are folded */

static const char css[] =
    ":root{color-scheme:light dark;--bg:#fff;--fg:#1c2128;--dim:#667;--rule:#d8dce2;--card:#f6f7f9;--good:#12805c;--bad:#c0392b;"
    "--accent:#2457c5;--ref:#9aa5b5;--add:#e3f6ea;--del:#fde8e6}"
    "@media(prefers-color-scheme:dark){:root{--bg:#14171c;--fg:#dfe3ea;--dim:#98a1b0;--rule:#333a45;--card:#1c2128;--good:#"
    "4cc38a;"
    "--bad:#ff7b6b;--accent:#7aa2ff;--ref:#667084;--add:#173526;--del:#43201d}}"
    "*{box-sizing:border-box}body{margin:0 auto;max-width:1020px;padding:20px 16px 60px;background:var(--bg);color:var(--fg);"
    "font:15px/1.5 system-ui,sans-serif}h1{font-size:22px;margin:0 0 4px}h2{font-size:17px;margin:34px 0 8px}"
    "p{margin:6px "
    "0;overflow-wrap:anywhere}.dim{color:var(--dim)}.mono,pre,code{font-family:ui-monospace,monospace;font-size:12.5px}"
    ".facts{display:flex;flex-wrap:wrap;gap:10px;margin:16px 0}.fact{background:var(--card);border:1px solid var(--rule);"
    "border-radius:8px;padding:8px 14px;min-width:110px}.fact b{display:block;font-size:20px}.fact "
    "span{color:var(--dim);font-size:12.5px}"
    ".badge{border-radius:10px;padding:1px 9px;font-size:12.5px;border:1px solid "
    "var(--rule);margin-left:8px;vertical-align:middle}"
    ".chart,.scroll{overflow-x:auto}svg{display:block;width:100%;min-width:340px;height:auto}"
    "svg text{font:11px system-ui,sans-serif;fill:var(--dim)}svg .end{text-anchor:end}svg .mid{text-anchor:middle}"
    "svg .strong{fill:var(--fg);font-weight:600;font-size:12.5px}svg line{stroke:var(--ref);stroke-width:1}"
    "svg .grid{stroke:var(--rule)}svg .axis{stroke:var(--dim)}svg .diagonal{stroke:var(--dim);stroke-dasharray:4 4}"
    "svg .whisker{stroke:var(--fg);opacity:.5}svg .asked line{stroke:var(--accent);stroke-dasharray:2 3;opacity:.7}"
    "svg .asked text{fill:var(--accent)}svg .best{fill:none;stroke:var(--good);stroke-width:1.6}"
    "svg .good{fill:var(--good)}svg .plain{fill:var(--ref)}svg .refused{fill:none;stroke:var(--bad);stroke-width:1.6}"
    "svg .reference{fill:var(--ref)}svg .candidate{fill:var(--good)}svg .stroke{stroke:var(--accent);opacity:.45}"
    "svg .roof{stroke:var(--bad);stroke-width:2}svg .roofname{fill:var(--bad)}"
    ".caption{color:var(--dim);font-size:12.5px;margin:2px 0 8px}.above td{border-bottom:0;padding-bottom:0}"
    /* as wide as the window where the table is wider */
    ".below{position:sticky;left:0;max-width:min(960px,calc(100vw - 40px));overflow-wrap:anywhere}"
    ".pairs td:first-child{width:13em}"
    "table{border-collapse:collapse;width:100%;font-size:13.5px}th,td{text-align:left;padding:4px 8px;border-bottom:1px solid "
    "var(--rule);vertical-align:top}th{color:var(--dim);font-weight:600}td.num{white-space:nowrap;font-variant-numeric:tabular-"
    "nums}"
    ".pass{color:var(--good)}.fail{color:var(--bad);font-weight:600}.skipped{color:var(--dim)}"
    "details{margin:8px 0}summary{cursor:pointer;color:var(--accent)}a{color:var(--accent)}"
    "pre{background:var(--card);border:1px solid "
    "var(--rule);border-radius:8px;padding:10px;overflow-x:auto;line-height:1.45;tab-size:4}"
    ".line{display:block;min-height:1.45em}.added{background:var(--add)}.removed{background:var(--del)}.hunk{color:var(--dim)}"
    ".keyword{color:var(--accent)}.string,.number{color:var(--good)}.comment{color:var(--dim)}"
    "@media(max-width:600px){body{padding:14px 10px 40px}.fact{flex:1 1 40%}svg.wide{min-width:560px}"
    /* a question has the line below its other cells to itself */
    ".questions tr{display:grid;grid-template-columns:2.2em 4.6em 1fr 1.4fr;border-bottom:1px solid var(--rule)}"
    ".questions tr>*{border-bottom:0}.questions tr>:last-child{grid-column:1/-1;padding-top:0}}";

/* "1.28x [1.26, 1.29]", or without an interval for a model; "-" when there is none.  Appends to out. */
static void add_speedup(const struct ks_json *j, const char *estimate, const char *lo, const char *hi, struct ks_str *out)
{
    double v = ks_json_get_num(j, estimate, 0);
    if (!(v > 0)) {
        ks_str_addc(out, '-');
        return;
    }
    ks_str_addf(out, "%.3gx", v);
    if (ks_json_get_num(j, lo, 0) > 0 && ks_json_get_num(j, hi, 0) > ks_json_get_num(j, lo, 0))
        ks_str_addf(out, " [%#.4g, %#.4g]", ks_json_get_num(j, lo, 0), ks_json_get_num(j, hi, 0));
}

void ks_part_speedup(struct ks_html *h, const struct ks_json *j)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    add_speedup(j, "speedup", "speedup_lo", "speedup_hi", &text);
    ks_html_leaf(h, "td", "num", ks_str_cstr(&text));
}

static void cell_time(struct ks_html *h, double ns)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    if (ns > 0)
        ks_report_time(ns, &text);
    ks_html_leaf(h, "td", "num", ns > 0 ? ks_str_cstr(&text) : "-");
}

static void fact(struct ks_html *h, const char *name, const char *value)
{
    ks_html_begin(h, "div", "fact");
    ks_html_leaf(h, "b", NULL, value);
    ks_html_leaf(h, "span", NULL, name);
    ks_html_close(h);
}

void ks_part_heads(struct ks_html *h, const char *const *names)
{
    ks_html_begin(h, "div", "scroll");
    ks_html_open(h, "table");
    ks_html_open(h, "tr");
    for (; *names; names++)
        ks_html_leaf(h, "th", NULL, *names);
    ks_html_close(h);
}

void ks_part_end_table(struct ks_html *h)
{
    ks_html_close(h);
    ks_html_close(h);
}

bool ks_part_fold(struct ks_html *h, size_t n, const char *what)
{
    if (n <= OPEN_ROWS)
        return false;
    ks_html_open(h, "details");
    ks_html_leaff(h, "summary", NULL, "%zu %s", n, what);
    return true;
}

void ks_part_end_fold(struct ks_html *h, bool folded)
{
    if (folded)
        ks_html_close(h);
}

/* ---- head ----------------------------------------------------------------------------------------------------------- */

static const char *result_text(const struct ks_json *r)
{
    const char *state = ks_json_get_str(r, "state", "");
    if (strcmp(state, "no gain") == 0)
        return "no candidate passed the gate; the baseline is emitted";
    if (strcmp(state, "damaged") == 0)
        return "what the search ended with cannot be read, and counts for nothing";
    if (strcmp(state, "unfinished") == 0)
        return "the search has not ended";
    return ks_json_get_bool(r, "modelled", false) ? "modelled speed-up" : "speed-up, T_reference / T_kernel, 95 % interval";
}

static void count(struct ks_html *h, int64_t n, const char *one, const char *many)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_addf(&text, "%lld", (long long)n);
    fact(h, n == 1 ? one : many, ks_str_cstr(&text));
}

static void head(struct ks_html *h, const struct ks_json *r)
{
    const struct ks_json *device = ks_json_get(r, "device"), *spend = ks_json_get(r, "spend");
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_html_open(h, "h1");
    ks_html_textf(h, "%s in %s", ks_json_get_str(r, "entry", "?"), ks_json_get_str(r, "unit", "?"));
    ks_html_leaf(h, "span", "badge", ks_json_get_str(r, "state", "?"));
    ks_html_close(h);
    ks_str_addf(&text, "%s %s%s", ks_json_get_str(device, "name", ks_json_get_str(device, "kind", "?")),
                ks_json_get_str(device, "arch", ""),
                ks_json_get_bool(r, "modelled", false) ? ", times are modelled, not measured" : "");
    if (ks_json_get(r, "toolkit"))
        ks_str_addf(&text, "; toolkit %s", ks_json_get_str(r, "toolkit", ""));
    ks_str_addf(&text, "; agent %s; ended by %s", ks_json_get_str(r, "agent", "?"),
                ks_json_get_str(r, "stopped_by", "nothing yet"));
    ks_html_leaf(h, "p", "dim", ks_str_cstr(&text));
    ks_str_clear(&text);
    ks_html_leaff(h, "p", "dim mono", "%s", ks_json_get_str(r, "key", ""));
    ks_html_begin(h, "div", "facts");
    add_speedup(ks_json_get(r, "speedup"), "estimate", "lo", "hi", &text);
    fact(h, result_text(r), ks_str_cstr(&text));
    ks_str_clear(&text);
    count(h, ks_json_get_i64(spend, "trials", 0), "trial", "trials");
    count(h, (int64_t)ks_json_len(ks_json_get(r, "questions")), "question", "questions");
    if (ks_json_get_num(spend, "wall_s", 0) > 0) {
        ks_str_clear(&text);
        ks_str_addf(&text, "%.0f s", ks_json_get_num(spend, "wall_s", 0));
        fact(h, "spent on trials", ks_str_cstr(&text));
    }
    ks_html_close(h);
    ks_str_clear(&text);
    if (ks_roofline_text(r, &text))
        ks_html_leaff(h, "p", "dim", "Roofline: %s.", ks_str_cstr(&text));
}

/* ---- tables --------------------------------------------------------------------------------------------------------- */

static void points_table(struct ks_html *h, const struct ks_json *r)
{
    static const char *const modelled[] = {"shape", "original", "result", "speed-up", NULL};
    static const char *const measured[] = {"shape", "original",          "result",          "speed-up",
                                           "pairs", "original, warm L2", "result, warm L2", NULL};
    const struct ks_json *points = ks_json_get(r, "points");
    const char *const *names = ks_json_get_bool(r, "modelled", false) ? modelled : measured;
    ks_part_heads(h, names);
    for (size_t i = 0; i < ks_json_len(points); i++) {
        const struct ks_json *p = ks_json_at(points, i);
        ks_html_open(h, "tr");
        ks_html_leaf(h, "td", "mono", ks_json_get_str(p, "shape", "?"));
        cell_time(h, ks_json_get_num(p, "reference_ns", 0));
        cell_time(h, ks_json_get_num(p, "candidate_ns", 0));
        ks_part_speedup(h, p);
        if (names == measured) {
            ks_html_leaff(h, "td", "num", "%lld", (long long)ks_json_get_i64(p, "n_pairs", 0));
            cell_time(h, ks_json_get_num(p, "warm_reference_ns", 0));
            cell_time(h, ks_json_get_num(p, "warm_candidate_ns", 0));
        }
        ks_html_close(h);
    }
    ks_part_end_table(h);
}

static void questions_table(struct ks_html *h, const struct ks_json *r)
{
    static const char *const names[] = {"", "before trial", "because of", "layer", "question", NULL};
    const struct ks_json *questions = ks_json_get(r, "questions");
    bool folded = ks_part_fold(h, ks_json_len(questions), "questions");
    ks_html_begin(h, "div", "questions");
    ks_part_heads(h, names);
    for (size_t i = 0; i < ks_json_len(questions); i++) {
        const struct ks_json *q = ks_json_at(questions, i);
        ks_html_open(h, "tr");
        ks_html_leaff(h, "td", "num", "%lld", (long long)ks_json_get_i64(q, "n", 0));
        ks_html_leaff(h, "td", "num", "%lld", (long long)ks_json_get_i64(q, "before_trial", 0));
        ks_html_leaf(h, "td", NULL, ks_json_get_str(q, "point", ""));
        ks_html_leaf(h, "td", NULL, ks_json_get_str(q, "layer", ""));
        ks_html_leaf(h, "td", NULL, ks_json_get_str(q, "text", ""));
        ks_html_close(h);
    }
    ks_part_end_table(h);
    ks_html_close(h);
    ks_part_end_fold(h, folded);
}

static void statements(struct ks_html *h, const struct ks_json *r)
{
    static const char *const names[] = {"trial", "layer", "stated", "predicted", "measured", NULL};
    const struct ks_json *trials = ks_json_get(r, "trials");
    ks_html_open(h, "details");
    ks_html_leaf(h, "summary", NULL, "what was stated before each trial");
    ks_part_heads(h, names);
    for (size_t i = 0; i < ks_json_len(trials); i++) {
        const struct ks_json *t = ks_json_at(trials, i);
        ks_html_open(h, "tr");
        ks_html_leaff(h, "td", "num", "%lld", (long long)ks_json_get_i64(t, "n", 0));
        ks_html_leaf(h, "td", NULL, ks_json_get_str(t, "layer", ""));
        ks_html_leaf(h, "td", NULL, ks_json_get_str(t, "hypothesis", "nothing"));
        ks_html_leaff(h, "td", "num", "%.2fx", ks_json_get_num(t, "predicted", 0));
        if (ks_json_get(t, "gain"))
            ks_html_leaff(h, "td", "num", "%.2fx", ks_json_get_num(t, "gain", 0));
        else
            ks_html_leaf(h, "td", "num", "-");
        ks_html_close(h);
    }
    ks_part_end_table(h);
    ks_html_close(h);
}

static void conversation(struct ks_html *h, const struct ks_json *r)
{
    const struct ks_json *events = ks_json_get(r, "conversation");
    if (ks_json_len(events) == 0)
        return;
    ks_html_leaf(h, "h2", NULL, "Conversation");
    ks_html_open(h, "details");
    ks_html_leaff(h, "summary", NULL, "%zu event%s of the trace", ks_json_len(events), ks_plural_s((int64_t)ks_json_len(events)));
    for (size_t i = 0; i < ks_json_len(events); i++) {
        const struct ks_json *e = ks_json_at(events, i);
        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
        ks_json_print_pretty(e, &text);
        ks_html_open(h, "details");
        ks_html_leaff(h, "summary", NULL, "%s %s", ks_json_get_str(e, "ev", "?"),
                      ks_json_get_str(e, "role", ks_json_get_str(e, "tool", ks_json_get_str(e, "name", ""))));
        ks_html_leaf(h, "pre", NULL, ks_str_cstr(&text));
        ks_html_close(h);
    }
    ks_html_close(h);
}

/* Numbers of the spend under the names that a person has for them; what an agent counts besides keeps its name. */
static void spend_row(struct ks_html *h, const char *name, bool seconds, double v)
{
    static const char *const words[][2] = {{"wall_s", "trials, from beginning to verdict"},
                                           {"build_s", "of it building"},
                                           {"tools_s", "of it under the sanitizer's tools"},
                                           {"device_s", "GPU at work for both versions"},
                                           {"input_tokens", "input tokens"},
                                           {"output_tokens", "output tokens"}};
    ks_html_open(h, "tr");
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (strcmp(name, words[i][0]) == 0)
            name = words[i][1];
    ks_html_leaf(h, "td", NULL, name);
    if (seconds)
        ks_html_leaff(h, "td", "num", v < 0.01 ? "< 0.01 s" : "%.2f s", v);
    else
        ks_html_leaff(h, "td", "num", "%.10g", v);
    ks_html_close(h);
}

static void spend_table(struct ks_html *h, const struct ks_json *r)
{
    const struct ks_json *spend = ks_json_get(r, "spend"), *gates = ks_json_get(spend, "gates_s");
    ks_html_begin(h, "div", "scroll");
    ks_html_open(h, "table");
    for (size_t i = 0; i < ks_json_len(spend); i++)
        if (ks_json_is_number(ks_json_at(spend, i)))
            spend_row(h, ks_json_key(ks_json_at(spend, i)), ks_str_ends(ks_json_key(ks_json_at(spend, i)), "_s"),
                      ks_json_num(ks_json_at(spend, i), 0));
    for (size_t i = 0; i < ks_json_len(gates); i++) {
        KS_AUTO_STR struct ks_str name = KS_STR_INIT;
        ks_str_addf(&name, "gate %s", ks_json_key(ks_json_at(gates, i)));
        spend_row(h, ks_str_cstr(&name), true, ks_json_num(ks_json_at(gates, i), 0));
    }
    ks_part_end_table(h);
}

/* ---- pages ---------------------------------------------------------------------------------------------------------- */

static void trials_part(struct ks_html *h, const struct ks_json *r)
{
    if (ks_json_len(ks_json_get(r, "trials")) == 0)
        return;
    ks_html_leaf(h, "h2", NULL, "Speed-up over trials");
    ks_chart_trials(h, r);
    questions_table(h, r);
    ks_html_leaf(h, "h2", NULL, "Predicted and measured");
    ks_chart_predicted(h, r);
    statements(h, r);
    ks_html_leaf(h, "h2", NULL, "Gates");
    ks_report_gates(h, r);
}

void ks_report_html(const struct ks_json *report, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str title = KS_STR_INIT;
    ks_str_addf(&title, "kscc: %s", ks_json_get_str(report, "entry", ks_json_get_str(report, "key", "?")));
    struct ks_html *h = ks_html_new(ks_str_cstr(&title), css);
    head(h, report);
    if (ks_json_len(ks_json_get(report, "points")) > 0) {
        ks_html_leaf(h, "h2", NULL, "Timing points");
        ks_chart_points(h, report);
        points_table(h, report);
    }
    trials_part(h, report);
    if (ks_json_get(ks_json_get(report, "layers"), "before")) {
        ks_html_leaf(h, "h2", NULL, "Layers, before (grey) and after (green)");
        ks_chart_layers(h, report);
    }
    if (ks_json_get(report, "diff")) {
        ks_html_leaf(h, "h2", NULL, "What was changed");
        ks_report_diff(h, ks_json_get_str(report, "diff", ""));
    }
    conversation(h, report);
    ks_report_device(h, ks_json_get(report, "device"));
    ks_html_leaf(h, "h2", NULL, "Spent");
    spend_table(h, report);
    ks_html_finish(h, out);
}

void ks_report_index_html(const struct ks_json *reports, struct ks_str *out)
{
    static const char *const names[] = {"unit", "entry", "device", "result", "state", "trials", NULL};
    struct ks_html *h = ks_html_new("kscc: results of a store", css);
    ks_html_leaff(h, "h1", NULL, "%zu search%s", ks_json_len(reports), ks_json_len(reports) == 1 ? "" : "es");
    ks_part_heads(h, names);
    for (size_t i = 0; i < ks_json_len(reports); i++) {
        const struct ks_json *r = ks_json_at(reports, i), *device = ks_json_get(r, "device");
        KS_AUTO_STR struct ks_str speedup = KS_STR_INIT;
        add_speedup(ks_json_get(r, "speedup"), "estimate", "lo", "hi", &speedup);
        ks_html_open(h, "tr");
        ks_html_leaf(h, "td", NULL, ks_json_get_str(r, "unit", "?"));
        ks_html_open(h, "td");
        ks_html_open(h, "a");
        ks_html_attr(h, "href", ks_json_get_str(r, "href", "#"));
        ks_html_text(h, ks_json_get_str(r, "entry", ks_json_get_str(r, "key", "?")));
        ks_html_close(h);
        ks_html_close(h);
        ks_html_leaff(h, "td", NULL, "%s %s", ks_json_get_str(device, "kind", "?"), ks_json_get_str(device, "arch", ""));
        ks_html_leaff(h, "td", "num", "%s%s", ks_str_cstr(&speedup), ks_json_get_bool(r, "modelled", false) ? " modelled" : "");
        ks_html_leaf(h, "td", NULL, ks_json_get_str(r, "state", "?"));
        ks_html_leaff(h, "td", "num", "%lld", (long long)ks_json_get_i64(ks_json_get(r, "spend"), "trials", 0));
        ks_html_close(h);
    }
    ks_part_end_table(h);
    ks_html_finish(h, out);
}
