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

static const char *const names[] = {
#define X(id, depth, text) #id,
#include "driver/stats.def"
#undef X
};

static void add_lower(const char *name, struct ks_str *out)
{
    for (; *name; name++)
        ks_str_addc(out, (char)(*name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name));
}

static void print_json(const uint64_t *counters)
{
    for (int i = 0; i < KS_N_STATS; i++) {
        KS_AUTO_STR struct ks_str name = KS_STR_INIT;
        add_lower(names[i], &name);
        printf("%s\"%s\": %" PRIu64, i ? ", " : "{", ks_str_cstr(&name), counters[i]);
    }
    puts("}");
}

/* The text format that Prometheus scrapes, from a file for its node exporter for example. */
static void print_prometheus(const uint64_t *counters)
{
    for (int i = 0; i < KS_N_STATS; i++) {
        int depth;
        KS_AUTO_STR struct ks_str name = KS_STR_INIT;
        ks_str_add(&name, "kscc_");
        add_lower(names[i], &name);
        ks_str_add(&name, "_total");
        const char *n = ks_str_cstr(&name);
        printf("# HELP %s %s\n# TYPE %s counter\n%s %" PRIu64 "\n", n, ks_stat_text((enum ks_stat)i, &depth), n, n, counters[i]);
    }
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
    bool json = ks_command_flag(&words, "--json"), prometheus = ks_command_flag(&words, "--prometheus"),
         zero = ks_command_flag(&words, "--zero");
    if (words.n || json + prometheus + zero > 1)
        return ks_command_usage("stats");
    const char *dir = s.dir ? s.dir : ".kscc";
    if ((zero ? ks_stats_zero(dir, &err) : ks_stats_read(dir, counters, &err)) != KS_OK) {
        ks_say_error(&err);
        return 1;
    }
    if (json)
        print_json(counters);
    else if (prometheus)
        print_prometheus(counters);
    else if (!zero)
        print_text(counters);
    return 0;
}
