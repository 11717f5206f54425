#include "driver/junit.h"

#include <string.h>

static bool has_outcome(const struct ks_json *verdict, const char *outcome)
{
    return ks_streq(ks_json_get_str(verdict, "outcome", ""), outcome);
}

static void add_result(const struct ks_json *verdict, struct ks_html *h)
{
    const char *reason = ks_json_get_str(verdict, "reason", "");
    if (has_outcome(verdict, "accepted"))
        return;
    bool slow = has_outcome(verdict, "no gain");
    ks_html_open(h, slow ? "skipped" : "failure");
    ks_html_attr(h, "message", reason);
    if (!slow) {
        ks_html_attr(h, "type", ks_json_get_str(verdict, "gate", "unknown"));
        ks_html_text(h, reason);
    }
    ks_html_close(h);
}

/* What the gates said and what was measured. */
static void add_output(const struct ks_json *verdict, struct ks_html *h)
{
    const struct ks_json *gates = ks_json_get(verdict, "gates");
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    for (size_t i = 0; i < ks_json_len(gates); i++)
        ks_str_addf(&text, "%s: %s\n", ks_json_key(ks_json_at(gates, i)), ks_json_str(ks_json_at(gates, i)));
    double speedup = ks_json_get_num(verdict, "speedup", 0);
    if (speedup > 0)
        ks_str_addf(&text, "speed-up: %.4f [%.4f, %.4f]\n", speedup, ks_json_get_num(verdict, "speedup_lo", 0),
                    ks_json_get_num(verdict, "speedup_hi", 0));
    ks_html_leaf(h, "system-out", NULL, ks_str_cstr(&text));
}

static void add_case(const struct ks_json *verdict, const char *kind, const char *class_name, struct ks_html *h)
{
    KS_AUTO_STR struct ks_str name = KS_STR_INIT;
    const char *hypothesis = ks_json_get_str(verdict, "hypothesis", NULL);
    ks_str_addf(&name, "%s %d", kind, (int)ks_json_get_i64(verdict, "n", 0));
    if (hypothesis)
        ks_str_addf(&name, ": %s", hypothesis);
    ks_html_open(h, "testcase");
    ks_html_attr(h, "classname", class_name);
    ks_html_attr(h, "name", ks_str_cstr(&name));
    add_result(verdict, h);
    add_output(verdict, h);
    ks_html_close(h);
}

static size_t count(const struct ks_json *verdicts, const char *outcome)
{
    size_t n = 0;
    for (size_t i = 0; i < ks_json_len(verdicts); i++)
        n += has_outcome(ks_json_at(verdicts, i), outcome);
    return n;
}

void ks_junit_suite(const struct ks_json *report, struct ks_html *out)
{
    const struct ks_json *trials = ks_json_get(report, "trials"), *confirmations = ks_json_get(report, "confirmations");
    size_t n = ks_json_len(trials) + ks_json_len(confirmations);
    size_t accepted = count(trials, "accepted") + count(confirmations, "accepted");
    size_t skipped = count(trials, "no gain") + count(confirmations, "no gain");
    KS_AUTO_STR struct ks_str name = KS_STR_INIT;
    ks_str_addf(&name, "%s:%s", ks_json_get_str(report, "unit", "?"), ks_json_get_str(report, "entry", "?"));
    ks_html_open(out, "testsuite");
    ks_html_attr(out, "name", ks_str_cstr(&name));
    ks_html_attrf(out, "tests", "%zu", n);
    ks_html_attrf(out, "failures", "%zu", n - accepted - skipped);
    ks_html_attrf(out, "skipped", "%zu", skipped);
    ks_html_attr(out, "errors", "0");
    ks_html_open(out, "properties");
    static const char *const names[] = {"key", "state", "agent", "kscc", "toolkit"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = ks_json_get_str(report, names[i], NULL);
        if (!value)
            continue;
        ks_html_open(out, "property");
        ks_html_attr(out, "name", names[i]);
        ks_html_attr(out, "value", value);
        ks_html_close(out);
    }
    ks_html_close(out);
    for (size_t i = 0; i < ks_json_len(trials); i++)
        add_case(ks_json_at(trials, i), "trial", ks_str_cstr(&name), out);
    for (size_t i = 0; i < ks_json_len(confirmations); i++)
        add_case(ks_json_at(confirmations, i), "confirmation", ks_str_cstr(&name), out);
    ks_html_close(out);
}
