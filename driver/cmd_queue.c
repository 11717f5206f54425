#include "driver/command_args.h"
#include "driver/commands.h"
#include "driver/live.h"
#include "driver/queue.h"
#include "driver/say.h"
#include "harness/health.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void print_row(const struct ks_json *row, int64_t now_s)
{
    KS_AUTO_STR struct ks_str what = KS_STR_INIT, where = KS_STR_INIT;
    const struct ks_json *job = ks_json_get(row, "job");
    ks_str_addf(&what, "%s, ", ks_json_get_str(row, "doing", ""));
    ks_live_add_duration((double)(now_s - ks_json_get_i64(row, "since", now_s)), &what);
    ks_str_add(&where, ks_json_get_str(row, "where", ""));
    if (job) {
        const char *nodes = ks_json_get_str(job, "nodes", "");
        ks_str_addf(&where, ", job %s %s%s%s", ks_json_get_str(job, "job", "?"), ks_json_get_str(job, "state", ""),
                    *nodes ? " on " : "", nodes);
    }
    printf("  %s  %s: %s  on %s (%s)  pid %" PRId64 "\n", ks_str_cstr(&what), ks_json_get_str(row, "unit", ""),
           ks_json_get_str(row, "entry", ""), ks_str_cstr(&where), ks_json_get_str(row, "device", ""),
           ks_json_get_i64(row, "pid", 0));
}

static double lost_share(const struct ks_health *h)
{
    int64_t n = h->n_trials + h->n_lost;
    return n ? (double)h->n_lost / (double)n : 0;
}

static void print_place(const struct ks_health *h, int64_t now_s)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_addf(&text, "%" PRId64 " trial%s, lost under %" PRId64 " (%.0f %%)", h->n_trials, ks_plural_s(h->n_trials), h->n_lost,
                100 * lost_share(h));
    if (h->n_null)
        ks_str_addf(&text, ", %" PRId64 " of %" PRId64 " null test%s passed", h->n_null - h->n_null_failed, h->n_null,
                    ks_plural_s(h->n_null));
    if (h->aa > 0)
        ks_str_addf(&text, ", the original against itself %.3f (farthest %.3f)", h->aa, h->aa_worst);
    ks_str_add(&text, ", last used ");
    ks_live_add_duration((double)(now_s - h->last_s), &text);
    ks_str_add(&text, " ago");
    if (ks_health_in_quarantine(h, now_s)) {
        ks_str_add(&text, "\n      in quarantine for another ");
        ks_live_add_duration((double)(h->until_s - now_s), &text);
        ks_str_addf(&text, ": %s", h->why);
    }
    printf("  %s  %s\n", h->place, ks_str_cstr(&text));
}

static struct ks_json *place_json(const struct ks_health *h, int64_t now_s)
{
    struct ks_json *j = ks_json_object();
    bool kept_out = ks_health_in_quarantine(h, now_s);
    ks_json_set_str(j, "place", h->place);
    ks_json_set_i64(j, "trials", h->n_trials);
    ks_json_set_i64(j, "lost", h->n_lost);
    ks_json_set_num(j, "lost_share", lost_share(h));
    ks_json_set_i64(j, "null_tests", h->n_null);
    ks_json_set_i64(j, "null_tests_failed", h->n_null_failed);
    if (h->aa > 0) {
        ks_json_set_num(j, "aa", h->aa);
        ks_json_set_num(j, "aa_worst", h->aa_worst);
    }
    ks_json_set_i64(j, "last", h->last_s);
    ks_json_set_bool(j, "in_quarantine", kept_out);
    if (kept_out) {
        ks_json_set_i64(j, "until", h->until_s);
        ks_json_set_str(j, "why", h->why);
    }
    return j;
}

static int release(const char *dir, const char *place)
{
    struct ks_health h;
    struct ks_err err;
    if (!ks_health_read(dir, place, &h)) {
        (void)!ks_fail(&err, KS_ERR_NOT_FOUND, "take '%s' out of quarantine: no place of that name is known in '%s'", place, dir);
        ks_say_error(&err);
        return 1;
    }
    ks_health_note(dir, place, KS_HEALTH_RELEASED, 0, NULL);
    return 0;
}

int ks_cmd_queue(char *const *argv)
{
    KS_AUTO_ARGS struct ks_args words;
    KS_AUTO_STR struct ks_str dir = KS_STR_INIT;
    KS_AUTO_FREE struct ks_health *all = NULL;
    struct ks_settings s;
    int64_t now_s = (int64_t)time(NULL);
    ks_args_init(&words);
    if (!ks_command_args(argv, &s, &words))
        return 2;
    KS_AUTO_FREE char *place = ks_command_value(&words, "--release");
    bool json = ks_command_flag(&words, "--json");
    if (words.n || (place && json))
        return ks_command_usage("queue");
    ks_health_folder(&dir);
    if (place)
        return release(dir.data, place);
    KS_AUTO_JSON struct ks_json *out = ks_json_object(), *places = ks_json_array(), *rows = ks_queue_read();
    size_t n = ks_health_all(dir.data, &all), n_rows = ks_json_len(rows);
    for (size_t i = 0; json && i < n; i++)
        ks_json_push(places, place_json(&all[i], now_s));
    if (json) {
        ks_json_set(out, "running", rows);
        ks_json_set(out, "places", places);
        rows = places = NULL;
        ks_command_print(out);
        return 0;
    }
    printf("%zu at work%s\n", n_rows, n_rows ? ":" : "");
    for (size_t i = 0; i < n_rows; i++)
        print_row(ks_json_at(rows, i), now_s);
    printf("%zu place%s known%s\n", n, ks_plural_s((long long)n), n ? ":" : "");
    for (size_t i = 0; i < n; i++)
        print_place(&all[i], now_s);
    return 0;
}
