#include "harness/health.h"

#include "base/file.h"
#include "base/json.h"

#include <ctype.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HOUR_S        3600
#define DAY_S         86400
#define MAX_IN_ROW    3 /* losses in a row before a quarantine */
#define MAX_BYTES     ((size_t)1 << 20)
#define KEPT_BYTES    ((size_t)1 << 16) /* of a file that has grown beyond four times that */
#define MAX_NAME      200
#define PLAIN_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-@:=[]"

static const char *const texts[KS_N_HEALTH] = {[KS_HEALTH_TRIAL] = "trial",
                                               [KS_HEALTH_LOST] = "lost",
                                               [KS_HEALTH_NULL_PASSED] = "null passed",
                                               [KS_HEALTH_NULL_FAILED] = "null failed",
                                               [KS_HEALTH_RELEASED] = "released"};

void ks_health_folder(struct ks_str *out)
{
    ks_path_cache(out, "devices");
}

static void path_of(const char *dir, const char *place, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str name = KS_STR_INIT;
    for (const char *p = place; *p && name.len < MAX_NAME; p++)
        if (strchr(PLAIN_LETTERS, *p) || (*p == '.' && p > place))
            ks_str_addc(&name, *p);
        else
            ks_str_addf(&name, "%%%02X", (unsigned char)*p);
    ks_str_add(&name, ".jsonl");
    ks_path_join(out, dir, name.data);
}

/* What is long past counts no more.  A line that another kscc adds meanwhile may be lost with it. */
static void shorten(const char *path)
{
    KS_AUTO_STR struct ks_str all = KS_STR_INIT;
    struct ks_err ignored;
    if (ks_file_read(path, MAX_BYTES, &all, &ignored) != KS_OK || all.len < 4 * KEPT_BYTES)
        return;
    const char *tail = strchr(all.data + all.len - KEPT_BYTES, '\n');
    if (tail)
        (void)!ks_file_write_atomic(path, tail + 1, (size_t)(all.data + all.len - tail - 1), 0600, &ignored);
}

void ks_health_note(const char *dir, const char *place, enum ks_health_what what, double aa, const char *why)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, line = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *j = ks_json_object();
    struct ks_err ignored;
    if (!dir || !place || ks_dir_make(dir, &ignored) != KS_OK)
        return;
    path_of(dir, place, &path);
    ks_json_set_str(j, "place", place);
    ks_json_set_i64(j, "at", (int64_t)time(NULL));
    ks_json_set_str(j, "what", texts[what]);
    if (aa > 0)
        ks_json_set_num(j, "aa", aa);
    if (why)
        ks_json_set_str(j, "why", why);
    ks_json_print(j, &line);
    if (ks_file_append_line(path.data, line.data, &ignored) == KS_OK)
        shorten(path.data);
}

static void failure_add(struct ks_health *h, int64_t at_s, int in_row)
{
    int64_t length_s = HOUR_S;
    for (int i = 1; i < in_row && length_s < DAY_S; i++)
        length_s *= 2;
    h->until_s = at_s + (length_s < DAY_S ? length_s : DAY_S);
}

static void failures_forget(struct ks_health *h)
{
    h->until_s = 0;
    h->n_in_row = 0;
}

/* *n_lost: trials in a row under which it was lost. */
static void line_add(struct ks_health *h, const struct ks_json *j, int *n_lost)
{
    const char *what = ks_json_get_str(j, "what", ""), *why = ks_json_get_str(j, "why", NULL);
    int64_t at_s = ks_json_get_i64(j, "at", 0);
    double aa = ks_json_get_num(j, "aa", 0);
    snprintf(h->place, sizeof h->place, "%s", ks_json_get_str(j, "place", ""));
    h->last_s = at_s;
    if (why)
        snprintf(h->why, sizeof h->why, "%s", why);
    if (aa > 0) {
        h->aa = aa;
        h->aa_worst = h->aa_worst > 0 && fabs(h->aa_worst - 1) > fabs(aa - 1) ? h->aa_worst : aa;
    }
    if (ks_streq(what, texts[KS_HEALTH_LOST])) {
        h->n_lost++;
        if (++*n_lost >= MAX_IN_ROW)
            failure_add(h, at_s, h->n_in_row = *n_lost - MAX_IN_ROW + 1);
        return;
    }
    *n_lost = 0;
    h->n_trials += ks_streq(what, texts[KS_HEALTH_TRIAL]);
    if (ks_streq(what, texts[KS_HEALTH_NULL_PASSED])) {
        h->n_null++;
        h->null_s = at_s;
        failures_forget(h);
    } else if (ks_streq(what, texts[KS_HEALTH_NULL_FAILED])) {
        h->n_null++;
        h->n_null_failed++;
        failure_add(h, at_s, ++h->n_in_row);
    } else if (ks_streq(what, texts[KS_HEALTH_RELEASED])) {
        h->null_s = 0;
        failures_forget(h);
    }
}

static bool read_file(const char *path, struct ks_health *ret)
{
    KS_AUTO_STR struct ks_str all = KS_STR_INIT;
    struct ks_err ignored;
    struct ks_health h = {0};
    int n_lost = 0;
    if (ks_file_read(path, MAX_BYTES, &all, &ignored) != KS_OK)
        return false;
    for (const char *p = ks_str_cstr(&all), *end; *p; p = *end ? end + 1 : end) {
        KS_AUTO_JSON struct ks_json *j = NULL;
        end = p + strcspn(p, "\n");
        if (ks_json_parse(p, (size_t)(end - p), path, &j, &ignored) == KS_OK)
            line_add(&h, j, &n_lost);
    }
    if (!h.place[0])
        return false;
    *ret = h;
    return true;
}

bool ks_health_read(const char *dir, const char *place, struct ks_health *ret)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    path_of(dir, place, &path);
    return read_file(path.data, ret);
}

static int by_place(const void *a, const void *b)
{
    return strcmp(((const struct ks_health *)a)->place, ((const struct ks_health *)b)->place);
}

size_t ks_health_all(const char *dir, struct ks_health **ret)
{
    KS_VEC(struct ks_health) all = {0};
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        KS_AUTO_STR struct ks_str path = KS_STR_INIT;
        struct ks_health h;
        if (!ks_str_ends(e->d_name, ".jsonl"))
            continue;
        ks_path_join(&path, dir, e->d_name);
        if (read_file(path.data, &h))
            ks_vec_push(&all, h);
    }
    if (d)
        closedir(d);
    if (all.n)
        qsort(all.data, all.n, sizeof *all.data, by_place);
    *ret = all.data;
    return all.n;
}

bool ks_health_in_quarantine(const struct ks_health *h, int64_t now_s)
{
    return now_s < h->until_s;
}

bool ks_health_null_due(const struct ks_health *h, int64_t now_s)
{
    return h->until_s || now_s - h->null_s >= DAY_S;
}
