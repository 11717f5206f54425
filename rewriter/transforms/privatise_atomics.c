/* privatise-atomics (synchronization): a histogram whose threads all add to the same few global counters waits for the memory
 * system's atomics.  Each block counts in shared memory instead, one copy of the bins for each warp while they fit, walks over
 * many elements in a grid-stride loop, and adds its counts to the global ones once at the end.  Integer counters only: their sum
 * does not depend on the order. */
#include "rewriter/idiom.h"
#include "rewriter/launch.h"
#include "rewriter/promise.h"

#include <string.h>

#define MAX_LAUNCHES     8
#define MAX_SHARED_BYTES 16384 /* leaves room for several blocks on a multiprocessor */

struct bins_plan {
    struct ks_outline o;
    const struct ks_node *call;   /* atomicAdd(&bins[index], value) */
    const struct ks_node *target; /* bins[index] */
    const struct ks_symbol *bins;
    const struct ks_node *index, *value;
    const struct ks_access *bytes; /* index is a byte read at the thread's own index: 16 of them fit a vector; NULL: not so */
    int64_t n_bins;
    const struct ks_launch *launches[MAX_LAUNCHES];
    size_t n_launches;
    int64_t threads;
};

/* Constant length of a one-dimensional contract buffer; -1: not known. */
static int64_t promised_length(const struct ks_json *contract, const char *name)
{
    const struct ks_json *buffers = ks_json_get(contract, "buffers");
    for (size_t i = 0; name && i < ks_json_len(buffers); i++) {
        const struct ks_json *b = ks_json_at(buffers, i), *shape = ks_json_get(b, "shape");
        if (!ks_streq(ks_json_get_str(b, "name", NULL), name) || ks_json_len(shape) != 1)
            continue;
        const char *text = ks_json_str(ks_json_at(shape, 0));
        char *end;
        long long n = text ? strtoll(text, &end, 10) : -1;
        return text && *text && *end == '\0' ? n : -1;
    }
    return -1;
}

/* Entry-level name of a pointer parameter. */
static const char *entry_buffer(const struct ks_launch *l, const struct ks_symbol *param)
{
    for (size_t i = 0; i < l->kernel->n_params && i < l->n_args; i++)
        if (l->kernel->params[i] == param && l->arg_buffers && l->arg_buffers[i])
            return l->arg_buffers[i]->name;
    return NULL;
}

static bool is_counter(const struct ks_type *t)
{
    return t && t->kind == KS_TYPE_INT && t->size_bytes == 4;
}

static bool read_call(struct bins_plan *p, const struct ks_node *stmt)
{
    if (!ks_node_is_call(stmt, "atomicAdd") || stmt->n_children != 2)
        return false;
    const struct ks_node *address = ks_node_bare(stmt->children[0]);
    p->call = stmt;
    p->value = stmt->children[1];
    if (ks_node_is_op(address, KS_NODE_UNARY, "&")) {
        p->target = ks_node_unparen(address->children[0]);
        if (!p->target || p->target->kind != KS_NODE_SUBSCRIPT)
            return false;
        const struct ks_node *base = ks_node_unparen(p->target->children[0]);
        p->bins = base && base->kind == KS_NODE_DECL_REF ? base->symbol : NULL;
        p->index = p->target->children[1];
    } else if (ks_node_is_op(address, KS_NODE_BINARY, "+")) {
        const struct ks_node *base = ks_node_unparen(address->children[0]);
        p->bins = base && base->kind == KS_NODE_DECL_REF ? base->symbol : NULL;
        p->index = address->children[1];
    }
    return p->bins && p->bins->kind == KS_SYM_PARAM && p->bins->type && p->bins->type->kind == KS_TYPE_POINTER &&
           is_counter(p->bins->type->element) && !ks_node_has_side_effects(p->index) && !ks_node_has_side_effects(p->value);
}

/* `data[i]` of unsigned bytes, i the thread's own index. */
static void read_bytes(struct bins_plan *p)
{
    const struct ks_node *n = ks_node_bare(p->index);
    const struct ks_access *a = ks_idiom_access_of(p->o.kernel, n);
    if (!a || !a->buffer || a->buffer->kind != KS_SYM_PARAM || !a->element || a->element->kind != KS_TYPE_INT ||
        a->element->size_bytes != 1 || !a->element->is_unsigned || n->kind != KS_NODE_SUBSCRIPT)
        return;
    if (ks_node_is_ref(ks_node_bare(n->children[1]), p->o.id[0]) && ks_node_is_ref(n->children[0], a->buffer))
        p->bytes = a;
}

static bool read_plan(const struct ks_rewrite_view *v, const struct ks_kernel *k, struct bins_plan *p)
{
    *p = (struct bins_plan){0};
    if (!ks_outline_read(k, &p->o) || !p->o.id[0] || p->o.id[1] || p->o.id[2] || !p->o.guard || k->n_barriers > 0 ||
        k->n_shared > 0 || p->o.n_bounds != 1 || p->o.bounds[0].id != p->o.id[0] || p->o.n_work != 1 || p->o.n_setup != 1 ||
        k->n_loops > 0 || !read_call(p, p->o.work[0]) || ks_idiom_count_builtins(p->call) > 0 || ks_node_uses(p->value, p->bins))
        return false;
    read_bytes(p);
    p->n_launches = ks_idiom_own_launches(v, k, p->launches, MAX_LAUNCHES);
    if (p->n_launches == 0)
        return false;
    p->n_bins = promised_length(v->contract, entry_buffer(p->launches[0], p->bins));
    if (p->n_bins < 0 && p->bytes)
        p->n_bins = 256;
    for (size_t i = 0; i < p->n_launches; i++) {
        int64_t threads = ks_launch_block_dim(p->launches[i], 0);
        if (threads < 32 || threads % 32 != 0 || threads > 1024 || (i > 0 && threads != p->threads) ||
            ks_launch_block_dim(p->launches[i], 1) != 1 || ks_launch_block_dim(p->launches[i], 2) != 1 ||
            !ks_idiom_can_set_dims(p->launches[i], false))
            return false;
        p->threads = threads;
    }
    return p->n_bins > 0 && p->n_bins * 4 <= MAX_SHARED_BYTES && (p->o.id_block[0] == 0 || p->o.id_block[0] == p->threads);
}

/* Elements for each thread so that a large machine is just filled once. */
static int64_t per_thread(const struct ks_rewrite_view *v, const struct bins_plan *p)
{
    const char *dim = ks_idiom_entry_name(p->launches[0], p->o.bounds[0].limit);
    int64_t n = dim ? ks_promise_time_dim(v->contract, dim, 1 << 26) : 1 << 26, each = 16;
    while (each < 256 && n / (p->threads * each * 2) >= 1024)
        each *= 2;
    return each;
}

void ks_tf_privatise_atomics_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const struct ks_kernel *kernels[32];
    size_t n = ks_idiom_kernels(v, kernels, 32);
    for (size_t i = 0; i < n; i++) {
        struct bins_plan *p = KS_ARENA_NEW(v->arena, struct bins_plan);
        if (!read_plan(v, kernels[i], p))
            continue;
        int64_t copies = p->threads / 32, each = per_thread(v, p);
        while (copies > 1 && copies * p->n_bins * 4 > MAX_SHARED_BYTES)
            copies /= 2;
        for (int pass = 0; pass < 2; pass++) {
            struct ks_site s = {.where = ks_arena_printf(v->arena, "%s.%s", kernels[i]->name, p->bins->name),
                                .kernel = kernels[i],
                                .launch = p->launches[0],
                                .data = p};
            s.param[0] = copies;
            s.param[1] = pass == 0 ? each : each > 16 ? each / 4 : each * 4;
            s.variant = ks_arena_printf(v->arena, "COPIES=%lld,EACH=%lld", (long long)s.param[0], (long long)s.param[1]);
            s.predicted = pass == 0 ? 8.0 : 6.0;
            s.hypothesis =
                ks_arena_printf(v->arena,
                                "All threads of '%s' add to the same %lld counters of '%s' in global memory and wait for one "
                                "another there; counters of the block's own in shared memory take the contention away.",
                                kernels[i]->name, (long long)p->n_bins, p->bins->name);
            ks_idiom_add_site(v, &s, out);
        }
    }
}

/* ---- writing --------------------------------------------------------------------------------------------------------- */

/* The user's call with another counter and, in the vector loop, another byte. */
static const char *call_text(const struct ks_rewrite_view *v, const struct bins_plan *p, const char *own, const char *byte,
                             struct ks_err *err)
{
    struct ks_edits e;
    struct ks_str out = KS_STR_INIT;
    const char *index = byte ? byte : ks_text_of(v->facts, p->index, v->arena);
    ks_edits_init(&e);
    ks_edits_replacef(&e, p->call->children[0]->span, "&%s[%s]", own, index);
    enum ks_code code = ks_edits_apply_range(&e, v->facts->source, v->facts->source_len, p->call->span, &out, err);
    const char *text = code == KS_OK ? ks_arena_strdup(v->arena, ks_str_cstr(&out)) : NULL;
    ks_edits_release(&e);
    ks_str_release(&out);
    return text;
}

/* The type in which an index plus a whole grid's stride cannot overflow. */
static const char *index_type(const struct ks_rewrite_view *v, const struct bins_plan *p, int64_t each)
{
    int64_t lo, hi, multiple;
    const char *dim = ks_idiom_entry_name(p->launches[0], p->o.bounds[0].limit), *own = p->o.id[0]->type->spelling;
    bool fits = dim && ks_promise_dim(v->contract, dim, &lo, &hi, &multiple) && hi + hi * 16 / each + (1 << 20) < INT32_MAX;
    return fits ? ks_idiom_plain_type(p->o.id[0]->type) : p->o.id[0]->type->size_bytes == 8 ? own : "long long";
}

static void write_vector_loop(const struct ks_rewrite_view *v, const struct bins_plan *p, const char *type, const char *limit,
                              const char *call, const char *vectors, struct ks_str *out)
{
    const char *j = ks_text_fresh(v->facts, "j", v->arena);
    const char *i = p->o.id[0]->name, *data = p->bytes->buffer->name;
    const char *pack = ks_text_fresh(v->facts, "vector", v->arena), *byte = ks_text_fresh(v->facts, "elements", v->arena);
    ks_str_addf(
        out,
        "    // Sixteen bytes at a time where the buffer's alignment allows it; the loop below takes the rest.\n"
        "    %s %s = reinterpret_cast<size_t>(%s) %% 16 == 0 ? %s / 16 * 16 : 0;\n"
        "    for (%s %s = (%sblockIdx.x * blockDim.x + threadIdx.x) * 16; %s < %s; %s += %sgridDim.x * blockDim.x * 16) {\n"
        "        uint4 %s = *reinterpret_cast<const uint4 *>(%s + %s);\n"
        "        const unsigned char *%s = reinterpret_cast<const unsigned char *>(&%s);\n"
        "#pragma unroll\n"
        "        for (int %s = 0; %s < 16; %s++)\n"
        "            %s;\n"
        "    }\n",
        type, vectors, data, ks_text_primary(limit, v->arena), type, i, strcmp(type, "long long") == 0 ? "(long long)" : "", i,
        vectors, i, strcmp(type, "long long") == 0 ? "(long long)" : "", pack, data, i, byte, pack, j, j, j, call);
}

/* Fewer blocks: each thread takes `each` elements. */
static enum ks_code write_grids(const struct ks_rewrite_view *v, const struct bins_plan *p, int64_t each, struct ks_edits *edits,
                                struct ks_err *err)
{
    const struct ks_facts *f = v->facts;
    for (size_t l = 0; l < p->n_launches; l++) {
        const char *x = ks_idiom_ceildiv(ks_idiom_dim_text(f, p->launches[l], false, 0, v->arena), each, v->arena);
        if (!ks_idiom_set_dims(f, p->launches[l], false, x, ks_idiom_dim_text(f, p->launches[l], false, 1, v->arena),
                               ks_idiom_dim_text(f, p->launches[l], false, 2, v->arena), v->arena, edits))
            return ks_fail(err, KS_ERR_UNSUPPORTED, "rewrite no grid that comes out of a macro, kernel '%s'", p->o.kernel->name);
    }
    return KS_OK;
}

enum ks_code ks_tf_privatise_atomics_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                           struct ks_err *err)
{
    const struct bins_plan *p = site->data;
    const struct ks_facts *f = v->facts;
    const char *own = ks_text_fresh(f, "own", v->arena), *vectors = ks_text_fresh(f, "in_vectors", v->arena);
    const char *type = index_type(v, p, site->param[1]), *limit = ks_text_of(f, p->o.bounds[0].limit, v->arena),
               *i = p->o.id[0]->name;
    const char *bin = ks_text_fresh(f, "bin", v->arena), *copy = ks_text_fresh(f, "copy", v->arena);
    const char *total = ks_text_fresh(f, "total", v->arena);
    const char *counter = ks_idiom_plain_type(p->bins->type->element);
    bool wide = strcmp(type, "long long") == 0;
    const char *mine = site->param[0] == 1 ? ks_arena_printf(v->arena, "%s[0]", own)
                       : site->param[0] * 32 == p->threads
                           ? ks_arena_printf(v->arena, "%s[threadIdx.x / 32]", own)
                           : ks_arena_printf(v->arena, "%s[threadIdx.x / 32 %% %lld]", own, (long long)site->param[0]);
    const char *call = call_text(v, p, mine, NULL, err);
    const char *vector_call = p->bytes ? call_text(v, p, mine,
                                                   ks_arena_printf(v->arena, "%s[%s]", ks_text_fresh(f, "elements", v->arena),
                                                                   ks_text_fresh(f, "j", v->arena)),
                                                   err)
                                       : NULL;
    if (!call || (p->bytes && !vector_call))
        return err->code;
    bool value_varies = ks_idiom_depends(p->value, p->o.id[0]);
    bool vector = p->bytes && !value_varies;
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_str_addf(
        &out,
        "{\n"
        "    // The block counts in shared memory, each warp in bins of its own, and adds the result to %s once at the end.\n"
        "    __shared__ %s %s[%lld][%lld];\n"
        "    for (int %s = threadIdx.x; %s < %lld; %s += blockDim.x)\n"
        "        for (int %s = 0; %s < %lld; %s++)\n"
        "            %s[%s][%s] = 0;\n"
        "    __syncthreads();\n",
        p->bins->name, counter, own, (long long)site->param[0], (long long)p->n_bins, bin, bin, (long long)p->n_bins, bin, copy,
        copy, (long long)site->param[0], copy, own, copy, bin);
    if (vector)
        write_vector_loop(v, p, type, limit, vector_call, vectors, &out);
    ks_str_addf(&out,
                "    for (%s %s = %s%sblockIdx.x * blockDim.x + threadIdx.x; %s < %s; %s += %sgridDim.x * blockDim.x)\n"
                "        %s;\n"
                "    __syncthreads();\n"
                "    for (int %s = threadIdx.x; %s < %lld; %s += blockDim.x) {\n"
                "        %s %s = 0;\n"
                "        for (int %s = 0; %s < %lld; %s++)\n"
                "            %s += %s[%s][%s];\n"
                "        if (%s != 0)\n"
                "            atomicAdd(&%s[%s], %s);\n"
                "    }\n"
                "}",
                type, i, vector ? ks_arena_printf(v->arena, "%s + ", vectors) : "", wide ? "(long long)" : "", i, limit, i,
                wide ? "(long long)" : "", call, bin, bin, (long long)p->n_bins, bin, counter, total, copy, copy,
                (long long)site->param[0], copy, total, own, copy, bin, total, p->bins->name, bin, total);
    ks_edits_replace(edits, p->o.kernel->body->span, ks_text_layout(f, out.data, "", v->arena));
    return write_grids(v, p, site->param[1], edits, err);
}
