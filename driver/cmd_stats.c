#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/say.h"
#include "driver/stats.h"

#include <inttypes.h>
#include <stdio.h>

/* The totals, and of their parts those that happened. */
static void print_text(const uint64_t *counters)
{
    for (int i = 0; i < KS_N_STATS; i++) {
        int depth;
        const char *text = ks_stat_text((enum ks_stat)i, &depth);
        if (depth == 0 || counters[i])
            printf("%*s%-*s %10" PRIu64 "\n", 2 * depth, "", 52 - 2 * depth, text, counters[i]);
    }
}

static void print_json(const uint64_t *counters)
{
    static const char *const names[] = {
#define X(id, depth, text) #id,
#include "driver/stats.def"
#undef X
    };
    for (int i = 0; i < KS_N_STATS; i++) {
        printf("%s\"", i ? ", " : "{");
        for (const char *p = names[i]; *p; p++)
            putchar(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p);
        printf("\": %" PRIu64, counters[i]);
    }
    puts("}");
}

int ks_cmd_stats(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words;
    struct ks_settings s;
    struct ks_err err;
    uint64_t counters[KS_N_STATS];
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    bool json = ks_command_flag(&words, "--json"), zero = ks_command_flag(&words, "--zero");
    if (words.n || (json && zero))
        return ks_command_usage("stats");
    const char *dir = s.dir ? s.dir : ".kscc";
    if ((zero ? ks_stats_zero(dir, &err) : ks_stats_read(dir, counters, &err)) != KS_OK) {
        ks_say(KS_SEV_ERROR, "%s", err.message);
        return 1;
    }
    if (json)
        print_json(counters);
    else if (!zero)
        print_text(counters);
    return 0;
}
