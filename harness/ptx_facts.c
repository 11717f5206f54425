#include "harness/ptx_facts.h"

#include "base/str.h"
#include "harness/emulated/ptx_ast.h"

#include <string.h>

struct counts {
    int64_t loads, stores, vector_loads, vector_stores, widest_load_bytes, local_bytes, local_accesses, tensor, fp64,
        integer_divisions, calls;
};

static bool has_mod(const struct ptx_insn *i, const char *mod)
{
    for (uint32_t k = 0; k < i->n_mods; k++)
        if (ks_streq(i->mods[k], mod))
            return true;
    return false;
}

static bool is_any(const char *s, const char *const *list)
{
    for (; *list; list++)
        if (ks_streq(s, *list))
            return true;
    return false;
}

static enum ptx_type type_of(const struct ptx_insn *i)
{
    const char *last = i->n_mods ? i->mods[i->n_mods - 1] : "";
    return ks_ptx_type_find(last, strlen(last));
}

static int lanes_of(const struct ptx_insn *i)
{
    return has_mod(i, "v8") ? 8 : has_mod(i, "v4") ? 4 : has_mod(i, "v2") ? 2 : 1;
}

static void count_memory(const struct ptx_insn *i, struct counts *c)
{
    static const char *const elsewhere[] = {"param", "const", NULL};
    bool load = ks_streq(i->base, "ld");
    if (has_mod(i, "local")) {
        c->local_accesses++;
        return;
    }
    for (uint32_t k = 0; k < i->n_mods; k++)
        if (is_any(i->mods[k], elsewhere) || ks_str_starts(i->mods[k], "shared") || ks_str_starts(i->mods[k], "param"))
            return;
    int lanes = lanes_of(i);
    int64_t bytes = (int64_t)ks_ptx_type_bytes(type_of(i)) * lanes;
    c->loads += load;
    c->stores += !load;
    c->vector_loads += load && lanes > 1;
    c->vector_stores += !load && lanes > 1;
    if (load && bytes > c->widest_load_bytes)
        c->widest_load_bytes = bytes;
}

static void count(const struct ptx_module *m, const struct ptx_insn *i, struct counts *c)
{
    static const char *const tensor[] = {"mma", "wmma", "wgmma", "tcgen05", NULL};
    static const char *const arithmetic[] = {"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "neg", "min", "max", NULL};
    enum ptx_type t = type_of(i);
    if (ks_streq(i->base, "ld") || ks_streq(i->base, "st"))
        count_memory(i, c);
    bool multiplies = ks_streq(i->base, "mma") || has_mod(i, "mma") || has_mod(i, "mma_async");
    c->tensor += is_any(i->base, tensor) && multiplies;
    c->fp64 += t == PTX_f64 && is_any(i->base, arithmetic);
    bool divides = ks_streq(i->base, "div") || ks_streq(i->base, "rem");
    c->integer_divisions += divides && (ks_ptx_type_class(t) == PTX_CLASS_S || ks_ptx_type_class(t) == PTX_CLASS_U);
    for (uint32_t k = 0; ks_streq(i->base, "call") && k < i->n_operands; k++) {
        const struct ptx_operand *o = &i->operands[k];
        const struct ptx_func *f = o->kind == PTX_OP_FUNC && o->name ? ks_ptx_func(m, o->name) : NULL;
        c->calls += f && !f->is_extern;
    }
}

static struct ks_json *facts_of(const struct ptx_module *m, const struct ptx_func *f)
{
    struct counts c = {0};
    struct ks_json *j = ks_json_object();
    for (uint32_t k = 0; k < f->n_vars; k++)
        c.local_bytes += f->vars[k]->space == PTX_LOCAL ? (int64_t)f->vars[k]->size_bytes : 0;
    for (uint32_t k = 0; k < f->n_insns; k++)
        count(m, &f->insns[k], &c);
    int64_t threads = 1;
    for (int d = 0; d < 3; d++) {
        int64_t n = f->req_ntid[d] ? f->req_ntid[d] : f->max_ntid[d];
        threads *= n ? n : d ? 1 : 0;
    }
#define SET(name) ks_json_set_i64(j, #name, c.name);
    SET(loads)
    SET(stores)
    SET(vector_loads)
    SET(vector_stores)
    SET(widest_load_bytes)
    SET(local_bytes)
    SET(local_accesses)
    SET(tensor)
    SET(fp64)
    SET(integer_divisions)
    SET(calls)
#undef SET
    ks_json_set_i64(j, "max_threads", threads);
    ks_json_set_i64(j, "min_blocks", f->min_ctas);
    return j;
}

void ks_ptx_facts_add(struct ks_json *kernels, const char *ptx, size_t len)
{
    struct ptx_module *m;
    struct ks_err ignored; /* the device that runs it says what is wrong with it */
    if (len == 0 || ks_ptx_parse(ptx, len, &m, &ignored) != KS_OK)
        return;
    for (uint32_t i = 0; i < m->n_funcs; i++) {
        const struct ptx_func *f = m->funcs[i];
        struct ks_json *found = NULL;
        if (!f->is_entry)
            continue;
        for (size_t k = 0; k < ks_json_len(kernels) && !found; k++)
            if (ks_streq(ks_json_get_str(ks_json_at(kernels, k), "name", ""), f->name))
                found = ks_json_at(kernels, k);
        if (!found) {
            found = ks_json_object();
            ks_json_set_str(found, "name", f->name);
            ks_json_push(kernels, found);
        }
        ks_json_set(found, "ptx", facts_of(m, f));
    }
    ks_ptx_free(m);
}
