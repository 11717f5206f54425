/* kscc trace show|stats|diff|replay: what a search, or a sitting, has left behind. */

#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/say.h"
#include "driver/trace_print.h"
#include "driver/trace_replay.h"

#include <stdio.h>
#include <string.h>

/* Words of "kscc trace NAME ..." after NAME, and the flags of show and stats. */
struct words {
    struct ks_args words;
    struct ks_settings settings;
    bool json, diffs;
};

static bool find(const struct words *w, size_t i, struct ks_trace_file *ret)
{
    struct ks_err err;
    if (ks_trace_find(w->words.v[i], w->settings.dir ? w->settings.dir : ".kscc", ret, &err) == KS_OK)
        return true;
    ks_say_error(&err);
    return false;
}

static int show(const struct words *w)
{
    struct ks_trace_file t;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    if (!find(w, 0, &t))
        return 1;
    ks_trace_show(&t, w->diffs, &out);
    ks_print_visible(&out);
    ks_trace_file_release(&t);
    return 0;
}

static int stats(const struct words *w)
{
    struct ks_trace_file t;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    if (!find(w, 0, &t))
        return 1;
    KS_AUTO_JSON struct ks_json *s = ks_trace_stats(&t);
    if (w->json)
        ks_json_print_pretty(s, &out);
    else
        ks_trace_stats_text(s, &out);
    ks_make_utf8(out.data, out.len);
    ks_print_visible(&out);
    ks_trace_file_release(&t);
    return 0;
}

/* As diff(1): 0 no difference, 1 some, 2 trouble. */
static int diff(const struct words *w)
{
    struct ks_trace_file a, b;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    if (!find(w, 0, &a))
        return 2;
    if (!find(w, 1, &b)) {
        ks_trace_file_release(&a);
        return 2;
    }
    size_t n = ks_trace_diff(&a, &b, &out);
    ks_print_visible(&out);
    ks_trace_file_release(&a);
    ks_trace_file_release(&b);
    return n ? 1 : 0;
}

int ks_cmd_trace(char *const *argv)
{
    static const struct {
        const char *name;
        size_t n_words;
        int (*run)(const struct words *w);
    } kinds[] = {{"diff", 2, diff}, {"show", 1, show}, {"stats", 1, stats}};
    const char *name = argv[1] ? argv[1] : "";
    if (strcmp(name, "replay") == 0)
        return ks_trace_replay(argv + 1);
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct words w = {0};
        if (strcmp(name, kinds[i].name) != 0)
            continue;
        ks_args_init(&w.words);
        bool ok = ks_command_args(argv + 1, &w.settings, &w.words);
        w.json = ok && ks_command_flag(&w.words, "--json");
        w.diffs = ok && ks_command_flag(&w.words, "--diffs");
        int status = !ok ? 2 : w.words.n != kinds[i].n_words ? ks_command_usage("trace") : kinds[i].run(&w);
        ks_args_release(&w.words);
        return status;
    }
    return ks_command_usage("trace");
}
