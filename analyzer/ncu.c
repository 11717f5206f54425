#include "analyzer/ncu.h"

#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NORM        2.5 /* how shares.c joins the times of resources */
#define MAX_COLUMNS 2048

enum slot {
#define X(name, metric) SLOT_##name,
#include "analyzer/ncu.def"
#undef X
    N_SLOTS
};

static const char *const metrics[N_SLOTS] = {
#define X(name, metric) [SLOT_##name] = metric,
#include "analyzer/ncu.def"
#undef X
};

struct launch {
    char *id, *name; /* owned */
    char arch[16];
    double v[N_SLOTS]; /* NAN: not told */
};

struct reading {
    KS_VEC(struct launch) launches;
    KS_VEC(char *) cells; /* of the line being read; into `line` */
    KS_VEC(char *) head;  /* owned */
    KS_VEC(char *) units; /* owned; raw pages */
};

/* ---- CSV --------------------------------------------------------------------------------------------------------------------
 */

/* Cuts a line, which is changed, at its commas; every cell stands in quotes, a quote in it is doubled. */
static void cut(struct reading *r, char *line)
{
    r->cells.n = 0;
    while (*line == '"' && r->cells.n < MAX_COLUMNS) {
        char *from = ++line, *to = from;
        while (*line && (*line != '"' || line[1] == '"')) {
            line += *line == '"';
            *to++ = *line++;
        }
        line += *line == '"';
        line += *line == ',';
        *to = '\0';
        ks_vec_push(&r->cells, from);
    }
}

static size_t column(const struct reading *r, const char *name)
{
    for (size_t i = 0; i < r->head.n; i++)
        if (ks_streq(r->head.data[i], name))
            return i;
    return SIZE_MAX;
}

static const char *cell(const struct reading *r, const char *name)
{
    size_t at = column(r, name);
    return at < r->cells.n ? r->cells.data[at] : "";
}

/* "1,398,208" in "Kbyte": 1398208000. */
static double number(const char *text, const char *unit)
{
    static const struct {
        const char *unit;
        double by;
    } units[] = {{"us", 1e3},     {"usecond", 1e3}, {"ms", 1e6},    {"msecond", 1e6}, {"s", 1e9},
                 {"second", 1e9}, {"Kbyte", 1e3},   {"Mbyte", 1e6}, {"Gbyte", 1e9},   {"Tbyte", 1e12}};
    char plain[64], *end;
    size_t n = 0;
    for (; *text && n + 1 < sizeof plain; text++)
        if (*text != ',')
            plain[n++] = *text;
    plain[n] = '\0';
    double v = strtod(plain, &end);
    if (end == plain || *end)
        return NAN;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (ks_streq(units[i].unit, unit))
            return v * units[i].by;
    return v;
}

/* ---- launches ---------------------------------------------------------------------------------------------------------------
 */

static struct launch *launch_of(struct reading *r)
{
    const char *id = cell(r, "ID"), *name = cell(r, "Kernel Name");
    for (size_t i = 0; i < r->launches.n; i++)
        if (ks_streq(r->launches.data[i].id, id))
            return &r->launches.data[i];
    size_t end = strcspn(name, "(<"), from = end; /* "void shop::scale<float>(float *)": scale */
    while (from > 0 && name[from - 1] != ' ' && name[from - 1] != ':')
        from--;
    struct launch l = {.id = ks_xstrdup(id), .name = ks_xstrndup(name + from, end - from)};
    int major = 0, minor = 0;
    if (sscanf(cell(r, "CC"), "%d.%d", &major, &minor) == 2)
        snprintf(l.arch, sizeof l.arch, "sm_%d%d", major, minor);
    for (size_t i = 0; i < N_SLOTS; i++)
        l.v[i] = NAN;
    ks_vec_push(&r->launches, l);
    return &r->launches.data[r->launches.n - 1];
}

static void set(struct launch *l, const char *metric, const char *value, const char *unit)
{
    for (size_t i = 0; i < N_SLOTS; i++)
        if (ks_streq(metrics[i], metric))
            l->v[i] = number(value, unit);
}

static void read_line(struct reading *r)
{
    bool is_head = r->cells.n && ks_streq(r->cells.data[0], "ID");
    for (size_t i = 0; is_head && i < r->cells.n; i++)
        ks_vec_push(&r->head, ks_xstrdup(r->cells.data[i]));
    if (is_head || r->head.n == 0 || r->cells.n == 0)
        return;
    if (column(r, "Metric Name") < r->head.n) { /* details: a line for each metric */
        set(launch_of(r), cell(r, "Metric Name"), cell(r, "Metric Value"), cell(r, "Metric Unit"));
        return;
    }
    if (r->units.n == 0 && r->cells.data[0][0] == '\0') { /* raw: units, then a line for each launch */
        for (size_t i = 0; i < r->cells.n; i++)
            ks_vec_push(&r->units, ks_xstrdup(r->cells.data[i]));
        return;
    }
    struct launch *l = launch_of(r);
    for (size_t i = 0; i < r->cells.n && i < r->head.n; i++)
        set(l, r->head.data[i], r->cells.data[i], i < r->units.n ? r->units.data[i] : "");
}

/* ---- as the emulated device says it -----------------------------------------------------------------------------------------
 */

static void add(struct ks_json *j, const char *name, double v)
{
    double before = ks_json_get_num(j, name, 0);
    if (v == v)
        ks_json_set_num(j, name, before + v);
}

static void put(struct ks_json *j, const char *name, double v)
{
    if (v == v)
        ks_json_set_num(j, name, v);
}

/* What this resource alone would take: as busy as it was, for as long as the launch took. */
static void add_terms(struct ks_json *terms, const struct launch *l)
{
    static const struct {
        const char *name;
        enum slot pct;
    } shares[] = {{"issue_ns", SLOT_issue_pct},     {"fp32_ns", SLOT_fp32_pct},     {"fp64_ns", SLOT_fp64_pct},
                  {"special_ns", SLOT_special_pct}, {"tensor_ns", SLOT_tensor_pct}, {"lsu_ns", SLOT_lsu_pct},
                  {"shared_ns", SLOT_shared_pct},   {"l2_ns", SLOT_l2_pct},         {"dram_ns", SLOT_dram_pct}};
    double sum = 0;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        double part = l->v[shares[i].pct] / 100;
        put(terms, shares[i].name, part >= 0 ? part * l->v[SLOT_time_ns] : 0);
        sum += part > 0 ? pow(part, NORM) : 0;
    }
    /* what no resource explains was waited */
    put(terms, "latency_ns", sum < 1 ? l->v[SLOT_time_ns] * pow(1 - sum, 1 / NORM) : 0);
}

static void add_launch(struct ks_json *k, const struct launch *l)
{
    const double *v = l->v;
    struct ks_json *classes = ks_json_object(), *occupancy = ks_json_object(), *measured = ks_json_object(),
                   *terms = ks_json_object();
    double conflicts = v[SLOT_shared_load_conflicts] + v[SLOT_shared_store_conflicts];
    add(k, "launches", 1);
    add(k, "measured_ns", v[SLOT_time_ns]);
    add(k, "blocks", v[SLOT_blocks]);
    put(k, "threads_per_block", v[SLOT_threads_per_block]);
    add(k, "warp_insts", v[SLOT_warp_insts]);
    add(k, "thread_insts", v[SLOT_thread_insts]);
    add(k, "global_load_requests", v[SLOT_load_requests]);
    add(k, "global_store_requests", v[SLOT_store_requests]);
    add(k, "global_load_sectors", v[SLOT_load_sectors]);
    add(k, "global_store_sectors", v[SLOT_store_sectors]);
    add(k, "global_load_bytes_requested", v[SLOT_load_sectors] * v[SLOT_load_bytes_sector]);
    add(k, "global_store_bytes_requested", v[SLOT_store_sectors] * v[SLOT_store_bytes_sector]);
    add(k, "global_atomic_requests", v[SLOT_atomic_requests] + v[SLOT_reduction_requests]);
    add(k, "l1_miss_sectors", v[SLOT_l2_read_sectors]);
    /* ncu empties the caches before a launch, so each byte comes from DRAM once at least */
    add(k, "l2_unique_read_bytes", v[SLOT_dram_read_bytes]);
    add(k, "dram_bytes", v[SLOT_dram_read_bytes] + v[SLOT_dram_write_bytes]);
    add(k, "shared_load_requests", v[SLOT_shared_loads]);
    add(k, "shared_store_requests", v[SLOT_shared_stores]);
    add(k, "shared_conflicts", conflicts);
    add(k, "shared_ideal", v[SLOT_shared_load_passes] + v[SLOT_shared_store_passes] - conflicts);
    add(k, "local_requests", v[SLOT_local_loads] + v[SLOT_local_stores]);
    add(k, "flops_fp32", v[SLOT_fadd] + v[SLOT_fmul] + 2 * v[SLOT_ffma]);
    put(classes, "special", v[SLOT_special_insts]);
    ks_json_set(k, "inst_by_class", classes);
    put(occupancy, "warps_per_sm", v[SLOT_warps_active]);
    put(occupancy, "registers", v[SLOT_registers]);
    ks_json_set(k, "occupancy", occupancy);
    put(measured, "waves", v[SLOT_waves]);
    add_terms(terms, l);
    ks_json_set(measured, "terms", terms);
    ks_json_set(k, "measured", measured);
}

static struct ks_json *kernel_named(struct ks_json *kernels, const char *name)
{
    for (size_t i = 0; i < ks_json_len(kernels); i++)
        if (ks_streq(ks_json_get_str(ks_json_at(kernels, i), "name", ""), name))
            return ks_json_at(kernels, i);
    struct ks_json *k = ks_json_object();
    ks_json_set_str(k, "name", name);
    ks_json_push(kernels, k);
    return k;
}

static void reading_release(struct reading *r)
{
    for (size_t i = 0; i < r->launches.n; i++) {
        free(r->launches.data[i].id);
        free(r->launches.data[i].name);
    }
    for (size_t i = 0; i < r->head.n; i++)
        free(r->head.data[i]);
    for (size_t i = 0; i < r->units.n; i++)
        free(r->units.data[i]);
    ks_vec_release(&r->launches);
    ks_vec_release(&r->head);
    ks_vec_release(&r->units);
    ks_vec_release(&r->cells);
}

bool ks_ncu_is_csv(const char *text)
{
    return strncmp(text, "\"ID\",", 5) == 0 || strstr(text, "\n\"ID\",") != NULL;
}

enum ks_code ks_ncu_read(const char *text, struct ks_json **ret_profile, struct ks_err *err)
{
    struct reading r = {0};
    struct ks_json *profile = ks_json_object(), *device = ks_json_object(), *kernels = ks_json_array();
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "\r\n");
        KS_AUTO_FREE char *line = ks_xstrndup(p, len);
        cut(&r, line);
        read_line(&r);
        p += len + strspn(p + len, "\r\n");
    }
    size_t n_told = 0;
    for (size_t i = 0; i < r.launches.n; i++) {
        for (size_t k = 0; k < N_SLOTS; k++)
            n_told += r.launches.data[i].v[k] == r.launches.data[i].v[k];
        add_launch(kernel_named(kernels, r.launches.data[i].name), &r.launches.data[i]);
    }
    ks_json_set_str(device, "kind", "cuda");
    ks_json_set_str(device, "arch", r.launches.n ? r.launches.data[0].arch : "");
    ks_json_set(profile, "device", device);
    ks_json_set_bool(profile, "modelled", false);
    ks_json_set(profile, "kernels", kernels);
    reading_release(&r);
    if (n_told > 0)
        return *ret_profile = profile, KS_OK;
    ks_json_free(profile);
    return ks_fail(err, KS_ERR_SYNTAX, "found no launch with a metric of 'kscc analyze --ncu-metrics' in the CSV");
}

void ks_ncu_metrics(struct ks_str *out)
{
    for (size_t i = 0; i < N_SLOTS; i++)
        ks_str_addf(out, "%s%s", i ? "," : "", metrics[i]);
}
