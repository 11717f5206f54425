#include "driver/command_task.h"

#include <string.h>

#define MAX_HYPOTHESES 8

static void add_layers(struct ks_str *out)
{
    for (int i = 0; i < KS_N_LAYERS; i++)
        ks_str_addf(out, "%s`%s`", i ? ", " : "", ks_layer_text((enum ks_layer)i));
}

static void add_known(const struct ks_agent_view *view, const char *unit, struct ks_str *out)
{
    ks_str_addf(out, "\n## What holds it back, as far as the analyzer sees\n\n");
    for (size_t i = 0; i < ks_json_len(view->hypotheses) && i < MAX_HYPOTHESES; i++) {
        const struct ks_json *h = ks_json_at(view->hypotheses, i);
        ks_str_addf(out, "- %s (%.2f), %s:%lld: %s\n", ks_json_get_str(h, "layer", "?"), ks_json_get_num(h, "score", 0), unit,
                    (long long)ks_json_get_i64(h, "line", 0), ks_json_get_str(h, "text", ""));
    }
    if (view->question)
        ks_str_addf(out, "\nA question (%s): %s\n", ks_layer_text(view->question_layer), view->question);
}

static void add_tried(const struct ks_agent_view *view, struct ks_str *out)
{
    if (view->n_attempts)
        ks_str_add(out, "\n## What was tried\n\n");
    for (size_t i = 0; i < view->n_attempts; i++) {
        const struct ks_attempt *t = &view->attempts[i];
        ks_str_addf(out, "%zu. %s (%s, predicted %.2fx): %s", i + 1, t->transform, ks_layer_text(t->layer), t->predicted,
                    t->accepted  ? "accepted"
                    : t->correct ? "correct, no gain"
                                 : "rejected");
        if (t->speedup > 0)
            ks_str_addf(out, ", %.2fx%s", t->speedup, t->modelled ? " modelled" : "");
        if (!t->accepted && t->reason)
            ks_str_addf(out, ", %s: %s", t->failed_gate ? t->failed_gate : "", t->reason);
        ks_str_addc(out, '\n');
    }
}

void ks_command_task(const struct ks_agent_view *view, const char *unit, struct ks_str *out)
{
    ks_str_addf(
        out,
        "# Make `%s` in `%s` faster\n\n"
        "Edit `%s` so that calls of `%s` take less time on %s and still give the answers that the contract promises "
        "(`contract.json`, and the\n"
        "`// kscc:` lines in the source, which must stay as they are). Same symbols, same signature. Anything inside the file "
        "may change.\n"
        "A harness outside of this folder decides; nothing said here, or written elsewhere, counts.\n\n"
        "## Having the file tried\n\n"
        "```\nkscc try %s --layer LAYER --because \"what holds it back, and why this change lifts it\" --predict SPEEDUP\n```\n\n"
        "LAYER is one of ",
        view->entry, unit, unit, view->entry, view->arch ? view->arch : "the device", unit);
    add_layers(out);
    ks_str_addf(
        out,
        ".\nSPEEDUP is what you predict against the best so far, such as 1.4. Without a statement nothing is tried. The verdict "
        "names every gate: build,\n"
        "numerics, safety (bounds, races, uninitialised reads, barriers), resources, time. Exit status 0: accepted.\n\n"
        "```\nkscc try %s --ask              # a question about where else to look (--ask=LAYER)\n"
        "kscc try %s --show history     # all trials so far; also: best, profile (counters of the best text)\n```\n\n"
        "Try as often as you like; the best verified text is kept, whatever comes after it. When you see nothing left, end.\n",
        unit, unit);
    add_known(view, unit, out);
    add_tried(view, out);
}
