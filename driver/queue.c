#include "driver/queue.h"

#include "base/file.h"
#include "driver/device_choice.h"
#include "driver/work_dir.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DOING "doing.json"

static struct {
    const char *dir; /* NULL: nothing is shown */
    const struct ks_unit *unit;
    const char *entry;
    const struct ks_device_chosen *device;
    char doing[64];
} now;

void ks_queue_doing(const char *what)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT;
    KS_AUTO_JSON struct ks_json *j = NULL;
    if (!now.dir || strncmp(now.doing, what, sizeof(now.doing) - 1) == 0)
        return;
    strncpy(now.doing, what, sizeof(now.doing) - 1);
    j = ks_json_object();
    ks_json_set_i64(j, "pid", getpid());
    ks_json_set_str(j, "unit", now.unit->path);
    ks_json_set_str(j, "entry", now.entry);
    ks_json_set_str(j, "device", now.device->label);
    KS_AUTO_STR struct ks_str where = KS_STR_INIT;
    if (now.device->batch)
        ks_str_addf(&where, "slurm%s%s", now.device->host[0] ? ":" : "", now.device->host);
    else if (now.device->host[0])
        ks_str_addf(&where, "ssh:%s", now.device->host);
    else
        ks_str_add(&where, "here");
    ks_json_set_str(j, "where", where.data);
    ks_json_set_str(j, "doing", now.doing);
    ks_json_set_i64(j, "since", (int64_t)time(NULL));
    ks_json_print(j, &text);
    ks_path_join(&path, now.dir, DOING);
    ks_file_write_brief(path.data, text.data, text.len);
}

void ks_queue_begin(const char *work_dir, const struct ks_unit *u, const char *entry, const struct ks_device_chosen *d)
{
    now.dir = work_dir;
    now.unit = u;
    now.entry = entry;
    now.device = d;
    now.doing[0] = 0;
    ks_queue_doing("the original");
}

void ks_queue_gate(const char *gate, bool confirm)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_addf(&text, "%s: %s", confirm ? "confirmation" : "trial", gate);
    ks_queue_doing(text.data);
}

void ks_queue_free(void)
{
    ks_queue_doing("waits for a candidate");
}

void ks_queue_end(void)
{
    now.dir = NULL;
}

static struct ks_json *read_json(const char *dir, const char *file)
{
    KS_AUTO_STR struct ks_str path = KS_STR_INIT;
    struct ks_json *j = NULL;
    struct ks_err ignored;
    ks_path_join(&path, dir, file);
    return ks_json_read_file(path.data, &j, &ignored) == KS_OK ? j : NULL;
}

/* Before the first word of its owner a folder may not be locked yet, and trying would keep the owner out. */
static void visit(const char *path, void *context)
{
    KS_VEC(struct ks_json *) *rows = context;
    struct ks_json *j = read_json(path, DOING);
    if (!j || !ks_work_dir_held(path)) {
        ks_json_free(j);
        return;
    }
    struct ks_json *job = read_json(path, KS_QUEUE_JOB);
    if (job)
        ks_json_set(j, "job", job);
    ks_vec_push(rows, j);
}

static int by_age(const void *a, const void *b)
{
    int64_t x = ks_json_get_i64(*(struct ks_json *const *)a, "since", 0),
            y = ks_json_get_i64(*(struct ks_json *const *)b, "since", 0);
    return (x > y) - (x < y);
}

struct ks_json *ks_queue_read(void)
{
    KS_VEC(struct ks_json *) rows = {0};
    struct ks_json *out = ks_json_array();
    ks_work_dir_each("kscc-work.", visit, &rows);
    if (rows.n)
        qsort(rows.data, rows.n, sizeof(*rows.data), by_age);
    for (size_t i = 0; i < rows.n; i++)
        ks_json_push(out, rows.data[i]);
    ks_vec_release(&rows);
    return out;
}
