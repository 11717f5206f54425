/* The part of a report's page that says how each trial was judged, and on what. */

#include "base/mem.h"
#include "driver/demangle.h"
#include "driver/report_html.h"
#include "driver/report_parts.h"

#include <string.h>

/* ---- what the gates saw --------------------------------------------------------------------------------------------- */

/* "n_throttled_left_out" is "throttled left out" to a reader. */
static void add_words(const char *name, struct ks_str *out)
{
    for (name += ks_str_starts(name, "n_") ? 2 : 0; *name; name++)
        ks_str_addc(out, *name == '_' ? ' ' : *name);
}

/* "memcheck: clean; racecheck: clean", of the members that are text or numbers; nothing for none. */
static void add_members(const struct ks_json *details, struct ks_str *out)
{
    for (size_t i = 0; i < ks_json_len(details); i++) {
        const struct ks_json *m = ks_json_at(details, i);
        if (!ks_json_str(m) && !ks_json_is_number(m))
            continue;
        ks_str_add(out, out->len ? "; " : "");
        add_words(ks_json_key(m), out);
        if (ks_json_str(m))
            ks_str_addf(out, ": %s", ks_json_str(m));
        else
            ks_str_addf(out, ": %.4g", ks_json_num(m, 0));
    }
}

/* What the constants of the built code had the gates try (docs/HARNESS.md). */
static void add_named_sizes(const struct ks_json *sizes, struct ks_str *out)
{
    const char *before = "sizes that its code led to: ";
    for (size_t i = 0; i < ks_json_len(sizes); i++) {
        const struct ks_json *kind = ks_json_at(sizes, i);
        int64_t found = ks_json_get_i64(kind, "found", -1), tried = ks_json_get_i64(kind, "tried", 0);
        if (found < 0)
            continue;
        ks_str_addf(out, "%s%s: %lld found, %lld call%s", before, ks_json_key(kind), (long long)found, (long long)tried,
                    ks_plural_s(tried));
        before = "; ";
    }
}

static void add_kernels(const struct ks_json *kernels, struct ks_str *out)
{
    for (size_t i = 0; i < ks_json_len(kernels); i++) {
        const struct ks_json *k = ks_json_at(kernels, i);
        KS_AUTO_FREE char *name = ks_demangle(ks_json_get_str(k, "kernel", "?"));
        ks_str_addf(out, "%s%s: %lld registers, %lld bytes of static shared memory, %lld spilled", out->len ? "; " : "",
                    name ? name : ks_json_get_str(k, "kernel", "?"), (long long)ks_json_get_i64(k, "registers", 0),
                    (long long)ks_json_get_i64(k, "shared_bytes", 0),
                    (long long)(ks_json_get_i64(k, "spill_store_bytes", 0) + ks_json_get_i64(k, "spill_load_bytes", 0)));
    }
}

static void add_clocks(const struct ks_json *clocks, struct ks_str *out)
{
    if (!ks_json_get_bool(clocks, "known", false))
        return;
    ks_str_addf(out, "%sSM clock %g MHz before and %g MHz after, memory %g MHz, %g C, %s", out->len ? "; " : "",
                ks_json_get_num(clocks, "sm_mhz_before", 0), ks_json_get_num(clocks, "sm_mhz_after", 0),
                ks_json_get_num(clocks, "memory_mhz", 0), ks_json_get_num(clocks, "celsius", 0),
                ks_json_get_bool(clocks, "throttled", false) ? "throttled" : "not throttled");
}

static void gate_line(struct ks_html *h, const char *gate, const struct ks_str *text)
{
    if (!text->len)
        return;
    ks_html_begin(h, "div", "dim");
    ks_html_leaf(h, "b", NULL, gate);
    ks_html_textf(h, " %s", ks_str_cstr(text));
    ks_html_close(h);
}

static void gate_details(struct ks_html *h, const struct ks_json *t)
{
    const struct ks_json *details = ks_json_get(t, "details");
    KS_AUTO_STR struct ks_str numerics = KS_STR_INIT, sizes = KS_STR_INIT, safety = KS_STR_INIT, resources = KS_STR_INIT,
                              time = KS_STR_INIT;
    add_members(ks_json_get(details, "numerics"), &numerics);
    add_named_sizes(ks_json_get(t, "named_sizes"), &sizes);
    add_members(ks_json_get(details, "safety"), &safety);
    add_kernels(ks_json_get(ks_json_get(details, "resources"), "kernels"), &resources);
    add_members(ks_json_get(details, "time"), &time);
    add_clocks(ks_json_get(ks_json_get(details, "time"), "clocks"), &time);
    if (numerics.len + sizes.len + safety.len + resources.len + time.len == 0)
        return;
    ks_html_open(h, "details");
    ks_html_leaf(h, "summary", NULL, "what the gates saw");
    gate_line(h, "numerics", &numerics);
    gate_line(h, "numerics", &sizes);
    gate_line(h, "safety", &safety);
    gate_line(h, "resources", &resources);
    gate_line(h, "time", &time);
    ks_html_close(h);
}

/* ---- the table ------------------------------------------------------------------------------------------------------ */

/* One cell for each gate of the trial, named in the first row. */
static void gate_cells(struct ks_html *h, const struct ks_json *gates, bool names)
{
    for (size_t i = 0; i < ks_json_len(gates); i++) {
        const struct ks_json *g = ks_json_at(gates, i);
        const char *state = ks_json_str(g) ? ks_json_str(g) : "";
        if (names)
            ks_html_leaf(h, "th", NULL, ks_json_key(g));
        else
            ks_html_leaf(h, "td", state, strcmp(state, "skipped") == 0 ? "-" : state);
    }
}

/* Two rows: the gates, and below them, over the whole width, what was edited, why it failed and what was seen. */
static void gate_row(struct ks_html *h, const char *what, const struct ks_json *t)
{
    const struct ks_json *gates = ks_json_get(t, "gates");
    ks_html_begin(h, "tr", "above");
    ks_html_leaff(h, "td", "num", "%s%lld", what, (long long)ks_json_get_i64(t, "n", 0));
    ks_part_speedup(h, t);
    gate_cells(h, gates, false);
    ks_html_close(h);
    ks_html_open(h, "tr");
    ks_html_open(h, "td");
    ks_html_attrf(h, "colspan", "%zu", ks_json_len(gates) + 2);
    ks_html_begin(h, "div", "below");
    ks_html_leaf(h, "span", "mono", ks_json_get_str(t, "transform", ""));
    if (ks_json_get(t, "reason"))
        ks_html_leaf(h, "div", "fail", ks_json_get_str(t, "reason", ""));
    gate_details(h, t);
    ks_html_close(h);
    ks_html_close(h);
    ks_html_close(h);
}

void ks_report_gates(struct ks_html *h, const struct ks_json *r)
{
    const struct ks_json *trials = ks_json_get(r, "trials"), *confirmations = ks_json_get(r, "confirmations");
    bool folded = ks_part_fold(h, ks_json_len(trials), "trials");
    ks_html_begin(h, "div", "scroll");
    ks_html_open(h, "table");
    ks_html_open(h, "tr");
    ks_html_leaf(h, "th", NULL, "trial");
    ks_html_leaf(h, "th", NULL, "speed-up");
    gate_cells(h, ks_json_get(ks_json_at(trials, 0), "gates"), true);
    ks_html_close(h);
    for (size_t i = 0; i < ks_json_len(trials); i++)
        gate_row(h, "", ks_json_at(trials, i));
    for (size_t i = 0; i < ks_json_len(confirmations); i++)
        gate_row(h, "confirmation ", ks_json_at(confirmations, i));
    ks_part_end_table(h);
    ks_part_end_fold(h, folded);
}

/* ---- the device ----------------------------------------------------------------------------------------------------- */

static void device_row(struct ks_html *h, const char *name, const struct ks_str *text)
{
    if (!text->len)
        return;
    ks_html_open(h, "tr");
    ks_html_leaf(h, "td", "dim", name);
    ks_html_leaf(h, "td", NULL, ks_str_cstr(text));
    ks_html_close(h);
}

static void add_list(const struct ks_json *list, struct ks_str *out)
{
    for (size_t i = 0; i < ks_json_len(list); i++)
        ks_str_addf(out, "%s%s", i ? ", " : "", ks_json_str(ks_json_at(list, i)));
}

static void add_card(const struct ks_json *d, struct ks_str *out)
{
    if (!ks_json_get(d, "sms"))
        return;
    ks_str_addf(out, "%lld SMs, L2 %.3g MB, memory %.4g GB%s, clocks up to %.4g MHz (SM) and %.4g MHz (memory, %lld bits)",
                (long long)ks_json_get_i64(d, "sms", 0), ks_json_get_num(d, "l2_bytes", 0) / 1e6,
                ks_json_get_num(d, "memory_bytes", 0) / 1e9, ks_json_get_bool(d, "ecc", false) ? " with ECC" : "",
                ks_json_get_num(d, "max_clock_khz", 0) / 1e3, ks_json_get_num(d, "max_memory_clock_khz", 0) / 1e3,
                (long long)ks_json_get_i64(d, "memory_bus_bits", 0));
}

void ks_report_device(struct ks_html *h, const struct ks_json *d)
{
    const struct ks_json *control = ks_json_get(d, "control");
    KS_AUTO_STR struct ks_str name = KS_STR_INIT, driver = KS_STR_INIT, card = KS_STR_INIT, same = KS_STR_INIT,
                              tests = KS_STR_INIT, missing = KS_STR_INIT;
    if (!d)
        return;
    ks_str_addf(&name, "%s %s", ks_json_get_str(d, "name", ks_json_get_str(d, "kind", "?")), ks_json_get_str(d, "arch", ""));
    if (ks_json_get(d, "driver"))
        ks_str_addf(&driver, "for CUDA %s", ks_json_get_str(d, "driver", ""));
    add_card(d, &card);
    if (control)
        ks_str_addf(&same, "%.4f [%.4f, %.4f] over %lld pairs", ks_json_get_num(control, "aa_ratio", 0),
                    ks_json_get_num(control, "aa_lo", 0), ks_json_get_num(control, "aa_hi", 0),
                    (long long)ks_json_get_i64(control, "n_pairs", 0));
    add_list(ks_json_get(d, "self_test_rejects"), &tests);
    add_list(ks_json_get(ks_json_get(d, "sandbox"), "missing"), &missing);
    ks_html_leaf(h, "h2", NULL, "Device");
    ks_html_begin(h, "div", "scroll");
    ks_html_begin(h, "table", "pairs");
    device_row(h, "device", &name);
    device_row(h, "driver", &driver);
    device_row(h, "card", &card);
    device_row(h, "the original against itself", &same);
    device_row(h, "the harness, tried first, refused", &tests);
    device_row(h, "walls that could not be raised", &missing);
    ks_part_end_table(h);
}
