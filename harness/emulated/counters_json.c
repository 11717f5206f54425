#include "harness/emulated/counters.h"

/* Counters as JSON; docs/EMULATED.md names them. */

static struct ks_json *dims(const uint32_t d[3])
{
    struct ks_json *a = ks_json_array();
    for (int i = 0; i < 3; i++)
        ks_json_push(a, ks_json_number(d[i]));
    return a;
}

static const char *const class_names[] = {
#define X(name) #name,
#include "harness/emulated/insn_class.def"
#undef X
};

/* What did not happen at a line is left out. */
static void set_some(struct ks_json *o, const char *name, double v)
{
    if (v != 0)
        ks_json_set_num(o, name, v);
}

static struct ks_json *classes_json(const double by_class[EMU_N_CLASSES], bool all)
{
    struct ks_json *o = ks_json_object();
    for (int k = 0; k < EMU_N_CLASSES; k++)
        if (all || by_class[k] != 0)
            ks_json_set_num(o, class_names[k], by_class[k]);
    return o;
}

static struct ks_json *lines_json(const struct emu_counters *c)
{
    struct ks_json *lines = ks_json_array();
    for (size_t i = 0; i < c->lines.n; i++) {
        const struct emu_line_count *l = &c->lines.data[i];
        struct ks_json *o = ks_json_object();
        ks_json_set_str(o, "file", l->file);
        ks_json_set_i64(o, "line", l->line);
#define X(name) set_some(o, #name, l->name);
        EMU_LINE_COUNTERS(X)
#undef X
        ks_json_set(o, "inst_by_class", classes_json(l->by_class, false));
        ks_json_push(lines, o);
    }
    return lines;
}

static struct ks_json *operators_json(const struct emu_counters *c)
{
    struct ks_json *all = ks_json_array();
    for (size_t i = 0; i < c->operators.n; i++) {
        const struct emu_operator_count *at = &c->operators.data[i];
        struct ks_json *o = ks_json_object();
        ks_json_set_str(o, "access", at->access);
        ks_json_set_str(o, "operator", at->name);
        ks_json_set_num(o, "requests", at->requests);
        ks_json_set_num(o, "sectors", at->sectors);
        ks_json_set_num(o, "bytes", at->bytes);
        ks_json_push(all, o);
    }
    return all;
}

static struct ks_json *occupancy_json(const struct emu_counters *c)
{
    struct ks_json *occ = ks_json_object(), *limits = ks_json_object();
    ks_json_set_i64(occ, "blocks_per_sm", c->occupancy.blocks_per_sm);
    ks_json_set_i64(occ, "warps_per_sm", c->occupancy.warps_per_sm);
    ks_json_set_str(occ, "limiter", c->occupancy.limiter);
    ks_json_set_i64(occ, "registers", c->registers);
    ks_json_set_i64(occ, "shared_bytes", c->shared_bytes);
    ks_json_set_i64(limits, "blocks", c->occupancy.by_blocks);
    ks_json_set_i64(limits, "warps", c->occupancy.by_warps);
    ks_json_set_i64(limits, "registers", c->occupancy.by_registers);
    ks_json_set_i64(limits, "shared", c->occupancy.by_shared);
    ks_json_set(occ, "limits", limits);
    return occ;
}

static struct ks_json *model_json(const struct emu_counters *c)
{
    struct ks_json *model = ks_json_object(), *terms = ks_json_object();
    ks_json_set_str(model, "bound", c->terms.bound);
    ks_json_set_num(model, "waves", c->terms.waves);
    ks_json_set_num(model, "launch_ns", c->terms.launch_ns);
#define X(name) ks_json_set_num(terms, #name "_ns", c->terms.name##_ns);
    EMU_MODEL_TERMS(X)
#undef X
    ks_json_set(model, "terms", terms);
    return model;
}

static struct ks_json *to_json(const struct emu_counters *c)
{
    struct ks_json *j = ks_json_object();
    ks_json_set_str(j, "name", c->name);
    ks_json_set_i64(j, "launches", (int64_t)c->launches);
    ks_json_set_i64(j, "blocks", (int64_t)c->blocks);
    ks_json_set_i64(j, "blocks_run", (int64_t)c->blocks_run);
    ks_json_set_i64(j, "threads_per_block", (int64_t)c->block[0] * c->block[1] * c->block[2]);
    ks_json_set(j, "grid", dims(c->grid));
    ks_json_set(j, "block", dims(c->block));
#define X(name) ks_json_set_num(j, #name, c->name);
    EMU_COUNTERS(X)
#undef X
    ks_json_set_num(j, "l2_unique_bytes", c->l2_unique_read_bytes + c->l2_unique_write_bytes);
    ks_json_set_num(j, "shared_conflicts",
                    c->shared_load_wavefronts + c->shared_store_wavefronts + c->shared_atomic_wavefronts - c->shared_ideal);
    ks_json_set_num(j, "active_lanes_avg", c->warp_insts > 0 ? c->thread_insts / c->warp_insts : 0);
    ks_json_set(j, "inst_by_class", classes_json(c->by_class, true));
    ks_json_set(j, "operators", operators_json(c));
    ks_json_set(j, "occupancy", occupancy_json(c));
    ks_json_set_num(j, "modelled_ns", c->modelled_ns);
    ks_json_set(j, "modelled", model_json(c));
    ks_json_set(j, "lines", lines_json(c));
    return j;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(struct emu_counters *const *)a)->name, (*(struct emu_counters *const *)b)->name);
}

struct ks_json *ks_emu_counters(struct ks_emu *emu)
{
    struct ks_json *a = ks_json_array();
    if (emu->counters.n)
        qsort(emu->counters.data, emu->counters.n, sizeof(*emu->counters.data), by_name);
    for (size_t i = 0; i < emu->counters.n; i++)
        ks_json_push(a, to_json(emu->counters.data[i]));
    return a;
}
