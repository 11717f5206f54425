#include "driver/roofline.h"

#include <math.h>
#include <string.h>

static void add_quantity(struct ks_str *out, double v, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    size_t i = 0;
    for (; v >= 1000 && i + 1 < sizeof prefixes / sizeof *prefixes; i++)
        v /= 1000;
    ks_str_addf(out, "%.3g %s%s", v, prefixes[i], unit);
}

bool ks_roofline_text(const struct ks_json *profile, struct ks_str *out)
{
    const struct ks_json *r = ks_json_get(profile, "roofline"), *ceiling = ks_json_get(r, "ceiling");
    double roof = ks_json_get_num(r, "roof_ns", 0), time = ks_json_get_num(r, "time_ns", 0), ops = ks_json_get_num(r, "ops", 0);
    if (!(roof > 0))
        return false;
    ks_str_addf(out, "at %s ", ks_json_get_str(r, "shape", "?"));
    add_quantity(out, ks_json_get_num(r, "bytes", 0), "B");
    if (ops > 0) {
        ks_str_add(out, " and ");
        add_quantity(out, ops, "FLOP");
    }
    ks_str_addf(out, " take the %s at least %.3g us, bound by %s", ks_json_get_str(ceiling, "board", "device"), roof / 1000,
                ks_streq(ks_json_get_str(r, "bound", ""), "compute") ? "arithmetic" : "memory");
    if (time > 0)
        ks_str_addf(out, "; the original takes %.3g us%s, so %.3g %% of the roofline is reached", time / 1000,
                    ks_json_get_bool(profile, "modelled", false) ? " (modelled)" : "", 100 * roof / time);
    return true;
}

void ks_roofline_diag(const struct ks_json *profile, const struct ks_facts *facts, struct ks_diags *out)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    const char *name = ks_json_get_str(ks_json_get(profile, "roofline"), "entry", "");
    const struct ks_entry *e = ks_facts_entry(facts, name, NULL);
    if (!e || !ks_roofline_text(profile, &text))
        return;
    ks_diags_add(out, KS_SEV_REMARK, facts->path, e->node->line, e->node->col, (uint32_t)strlen(e->name), "roofline", "%s: %s",
                 e->name, ks_str_cstr(&text));
}
