#include "driver/profile_print.h"

#include "base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SOURCE_BYTES (16u << 20)
#define CONTEXT_LINES    1

static double num(const struct ks_json *j, const char *name)
{
    return ks_json_get_num(j, name, 0);
}

static double ratio(double a, double b)
{
    return b > 0 ? a / b : 0;
}

/* ---- a kernel ------------------------------------------------------------------------------------------------------- */

static void print_shape(const struct ks_json *k, const char *name, struct ks_str *out)
{
    const struct ks_json *d = ks_json_get(k, name);
    ks_str_addf(out, ", %s %.0fx%.0fx%.0f", name, ks_json_num(ks_json_at(d, 0), 0), ks_json_num(ks_json_at(d, 1), 0),
                ks_json_num(ks_json_at(d, 2), 0));
}

static void print_instructions(const struct ks_json *k, struct ks_str *out)
{
    const struct ks_json *classes = ks_json_get(k, "inst_by_class");
    ks_str_addf(out, "  instructions   %.0f by warp, %.0f by thread (%.1f of 32 lanes active); about %.0f machine instructions\n",
                num(k, "warp_insts"), num(k, "thread_insts"), num(k, "active_lanes_avg"), num(k, "machine_insts"));
    ks_str_add(out, "    by class    ");
    for (size_t i = 0; i < ks_json_len(classes); i++)
        if (ks_json_num(ks_json_at(classes, i), 0) > 0)
            ks_str_addf(out, " %s %.0f", ks_json_key(ks_json_at(classes, i)), ks_json_num(ks_json_at(classes, i), 0));
    ks_str_addf(out, "\n    branches     %.0f, of which %.0f split a warp\n", num(k, "branch_insts"),
                num(k, "divergent_branches"));
    ks_str_addf(out, "    operations   fp32 %.0f, fp16 %.0f, fp64 %.0f, tensor %.0f FLOP; special functions %.0f\n",
                num(k, "flops_fp32"), num(k, "flops_fp16"), num(k, "flops_fp64"), num(k, "flops_tensor"),
                num(classes, "special"));
}

static void print_global(const struct ks_json *k, struct ks_str *out)
{
    static const char *const names[][4] = {
        {"load", "global_load_requests", "global_load_sectors", "global_load_bytes_requested"},
        {"store", "global_store_requests", "global_store_sectors", "global_store_bytes_requested"},
        {"atomic", "global_atomic_requests", "global_atomic_sectors", "global_atomic_bytes"}};
    ks_str_add(out, "  global memory      requests      sectors  sectors/request        bytes  of the sectors' bytes\n");
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        double requests = num(k, names[i][1]), sectors = num(k, names[i][2]), bytes = num(k, names[i][3]);
        if (requests > 0)
            ks_str_addf(out, "    %-10s %12.0f %12.0f %16.2f %12.0f %9.0f %%\n", names[i][0], requests, sectors,
                        ratio(sectors, requests), bytes, 100 * ratio(bytes, sectors * 32));
    }
    const struct ks_json *operators = ks_json_get(k, "operators");
    for (size_t i = 0; i < ks_json_len(operators); i++) {
        const struct ks_json *o = ks_json_at(operators, i);
        ks_str_addf(out, "    .%-9s %12.0f %12.0f %16.2f %12.0f            (%s)\n", ks_json_get_str(o, "operator", ""),
                    num(o, "requests"), num(o, "sectors"), ratio(num(o, "sectors"), num(o, "requests")), num(o, "bytes"),
                    ks_json_get_str(o, "access", ""));
    }
    if (num(k, "global_atomic_requests") > 0)
        ks_str_addf(out, "    atomics      %.0f updates that follow each other, %.0f of them on the busiest sector\n",
                    num(k, "global_atomic_passes") + num(k, "global_atomic_float_passes"), num(k, "global_atomic_hottest"));
    ks_str_addf(
        out, "    L2           %.0f different bytes read, %.0f written; %.0f sectors missed L1; %.0f bytes asked of DRAM\n",
        num(k, "l2_unique_read_bytes"), num(k, "l2_unique_write_bytes"), num(k, "l1_miss_sectors"), num(k, "dram_read_bytes"));
}

static void print_shared(const struct ks_json *k, struct ks_str *out)
{
    static const char *const names[][4] = {
        {"load", "shared_load_requests", "shared_load_wavefronts", "shared_load_bytes"},
        {"store", "shared_store_requests", "shared_store_wavefronts", "shared_store_bytes"},
        {"atomic", "shared_atomic_requests", "shared_atomic_wavefronts", "shared_atomic_bytes"}};
    bool any = false;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        double requests = num(k, names[i][1]), wavefronts = num(k, names[i][2]);
        if (requests <= 0)
            continue;
        if (!any)
            ks_str_add(out, "  shared memory      requests   wavefronts                         bytes\n");
        any = true;
        ks_str_addf(out, "    %-10s %12.0f %12.0f                  %12.0f\n", names[i][0], requests, wavefronts,
                    num(k, names[i][3]));
    }
    if (any)
        ks_str_addf(out, "    conflicts    %.0f wavefronts more than the %.0f without conflicts\n", num(k, "shared_conflicts"),
                    num(k, "shared_ideal"));
}

static void print_rest(const struct ks_json *k, struct ks_str *out)
{
    const struct ks_json *o = ks_json_get(k, "occupancy"), *limits = ks_json_get(o, "limits"), *m = ks_json_get(k, "modelled");
    ks_str_addf(out, "  barriers       %.0f warps came to one, %.0f times a warp had to wait\n", num(k, "barriers"),
                num(k, "barrier_waits"));
    ks_str_addf(out, "  other memory   local %.0f bytes in %.0f requests, constant %.0f bytes, parameters %.0f bytes\n",
                num(k, "local_bytes"), num(k, "local_requests"), num(k, "const_bytes"), num(k, "param_bytes"));
    ks_str_addf(out,
                "  occupancy      %.0f blocks (%.0f warps) an SM, limited by %s: blocks %.0f, warps %.0f, registers %.0f (%.0f a "
                "thread), shared memory %.0f (%.0f bytes a block)\n",
                num(o, "blocks_per_sm"), num(o, "warps_per_sm"), ks_json_get_str(o, "limiter", ""), num(limits, "blocks"),
                num(limits, "warps"), num(limits, "registers"), num(o, "registers"), num(limits, "shared"),
                num(o, "shared_bytes"));
    ks_str_addf(out, "  modelled time  %.3f us, bound by %s:", num(k, "modelled_ns") / 1000, ks_json_get_str(m, "bound", ""));
    const struct ks_json *terms = ks_json_get(m, "terms");
    for (size_t i = 0; i < ks_json_len(terms); i++) {
        const struct ks_json *t = ks_json_at(terms, i);
        double ns = ks_json_num(t, 0);
        if (ns >= 0.5)
            ks_str_addf(out, " %.*s %.3f", (int)strlen(ks_json_key(t)) - 3, ks_json_key(t), ns / 1000);
    }
    ks_str_add(out, "\n");
}

void ks_profile_print_kernels(const struct ks_json *kernels, struct ks_str *out)
{
    for (size_t i = 0; i < ks_json_len(kernels); i++) {
        const struct ks_json *k = ks_json_at(kernels, i);
        ks_str_addf(out, "%s: %.0f launch%s", ks_json_get_str(k, "name", ""), num(k, "launches"),
                    num(k, "launches") > 1 ? "es" : "");
        print_shape(k, "grid", out);
        print_shape(k, "block", out);
        if (num(k, "blocks_run") < num(k, "blocks"))
            ks_str_addf(out, "; %.0f of %.0f blocks were run, counts are scaled", num(k, "blocks_run"), num(k, "blocks"));
        ks_str_add(out, "\n");
        print_instructions(k, out);
        print_global(k, out);
        print_shared(k, out);
        print_rest(k, out);
    }
}

/* ---- source --------------------------------------------------------------------------------------------------------- */

struct counted {
    const char *file;
    int64_t line;
    double insts, lanes, threads, loads, load_sectors, stores, store_sectors, atomics, unique, wavefronts, ideal, waits;
};

struct counted_lines {
    struct counted *data;
    size_t n, cap;
};

static int by_place(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    int c = strcmp(x->file, y->file);
    return c ? c : x->line < y->line ? -1 : x->line > y->line;
}

static void collect(const struct ks_json *kernels, struct counted_lines *all)
{
    for (size_t i = 0; i < ks_json_len(kernels); i++) {
        const struct ks_json *lines = ks_json_get(ks_json_at(kernels, i), "lines");
        for (size_t k = 0; k < ks_json_len(lines); k++) {
            const struct ks_json *l = ks_json_at(lines, k);
            struct counted c = {ks_json_get_str(l, "file", NULL), ks_json_get_i64(l, "line", 0),   num(l, "warp_insts"),
                                num(l, "issued_lanes"),           num(l, "thread_insts"),          num(l, "global_load_requests"),
                                num(l, "global_load_sectors"),    num(l, "global_store_requests"), num(l, "global_store_sectors"),
                                num(l, "global_atomic_requests"), num(l, "l2_unique_bytes"),       num(l, "shared_wavefronts"),
                                num(l, "shared_ideal"),           num(l, "barrier_waits")};
            if (c.file && c.line > 0)
                ks_vec_push(all, c);
        }
    }
    if (all->n)
        qsort(all->data, all->n, sizeof(*all->data), by_place);
    size_t kept = 0;
    for (size_t i = 0; i < all->n; i++) { /* several kernels, or several launches' worth of one */
        struct counted *to = kept ? &all->data[kept - 1] : NULL, *from = &all->data[i];
        if (!to || by_place(to, from) != 0) {
            all->data[kept++] = *from;
            continue;
        }
        double *sum = &to->insts;
        const double *more = &from->insts;
        for (size_t k = 0; k < (sizeof(*to) - offsetof(struct counted, insts)) / sizeof(double); k++)
            sum[k] += more[k];
    }
    all->n = kept;
}

static void cell(struct ks_str *out, double v, int width)
{
    if (v == 0)
        ks_str_addf(out, " %*s", width, ".");
    else if (v < 1e7)
        ks_str_addf(out, " %*.0f", width, v);
    else
        ks_str_addf(out, " %*.2e", width, v);
}

static void pair(struct ks_str *out, double requests, double sectors)
{
    cell(out, requests, 8);
    if (requests > 0)
        ks_str_addf(out, " %5.1f", sectors / requests);
    else
        ks_str_add(out, "     .");
}

static void print_counts(const struct counted *c, struct ks_str *out)
{
    cell(out, c->insts, 9);
    ks_str_addf(out, " %5.1f", ratio(c->threads, c->insts));
    pair(out, c->loads, c->load_sectors);
    pair(out, c->stores, c->store_sectors);
    cell(out, c->atomics, 8);
    cell(out, ceil(c->unique / 1024), 8);
    cell(out, c->wavefronts, 9);
    cell(out, c->wavefronts - c->ideal, 9);
    cell(out, c->waits, 8);
}

static const char no_counts[] = "         .     .        .     .        .     .        .        .         .         .        .";

/* The lines [from, from + n) are of one file. */
static void print_file(const struct counted *from, size_t n, struct ks_str *out)
{
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    struct ks_err ignored; /* nothing to show then */
    if (ks_file_read(from->file, MAX_SOURCE_BYTES, &text, &ignored) != KS_OK)
        return;
    ks_str_addf(out,
                "\n%s\n"
                "    inst lanes    loads sect/   stores sect/  atomics   L2 KiB    shared conflicts    waits   line\n"
                "  (warp) (avg)           req.          req.         different  wavefr.                             \n",
                from->file);
    size_t next = 0;
    int64_t line = 1, last = -1;
    for (const char *p = ks_str_cstr(&text); *p && next < n + 1; line++) {
        size_t len = strcspn(p, "\n");
        while (next < n && from[next].line < line)
            next++;
        bool here = next < n && from[next].line == line;
        bool near =
            (next < n && from[next].line - line <= CONTEXT_LINES) || (next && line - from[next - 1].line <= CONTEXT_LINES);
        if (here || near) {
            if (last >= 0 && line > last + 1)
                ks_str_add(out, "  ...\n");
            if (here)
                print_counts(&from[next], out);
            else
                ks_str_addf(out, " %s", no_counts);
            ks_str_addf(out, " %6lld  %.*s\n", (long long)line, (int)len, p);
            last = line;
        }
        p += len + (p[len] == '\n');
    }
}

void ks_profile_print_source(const struct ks_json *kernels, struct ks_str *out)
{
    struct counted_lines all = {0};
    collect(kernels, &all);
    for (size_t i = 0; i < all.n;) {
        size_t end = i;
        while (end < all.n && strcmp(all.data[end].file, all.data[i].file) == 0)
            end++;
        print_file(&all.data[i], end - i, out);
        i = end;
    }
    ks_vec_release(&all);
}
