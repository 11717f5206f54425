/* fuse-attention (operator-boundary): scores, softmax and values as one kernel.  A block keeps 64 rows of queries, walks over the
 * keys 64 at a time and never writes the score matrix: row maxima and sums are kept as it goes, and what was accumulated before
 * is rescaled whenever a maximum grows.  Both products run on the tensor cores (mma.sync m16n8k16, half in, float out).
 *
 * Registers of one warp (16 rows): lane = 4 * g + t holds of an accumulator of 16 x 8 the rows g and g + 8, columns 2t and 2t +
 * 1; the probabilities of two such accumulators side by side are, packed to half, the left operand of the second product. */
#include "rewriter/launch.h"
#include "rewriter/promise.h"
#include "rewriter/text.h"
#include "rewriter/transform.h"
#include "rewriter/transforms/attention_match.h"

#include <string.h>

void ks_tf_fuse_attention_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const int sm = ks_arch_number(v->arch);
    /* mma.sync with m16n8k16 exists since sm_80; half operands round to 2^-11. */
    if (sm < 80 || ks_promise_rtol(v->contract) < 5e-4)
        return;
    for (size_t i = 0; i + 2 < v->entry->n_launches; i++) {
        struct ks_attention *a = KS_ARENA_NEW(v->arena, struct ks_attention);
        const struct ks_launch *l = v->entry->launches[i];
        if (l->conditional || !ks_attention_match(v, l, a))
            continue;
        const char *where =
            ks_arena_printf(v->arena, "%s+%s+%s", a->scores.kernel->name, a->softmax.kernel->name, a->values.kernel->name);
        for (int split = 0; split < 2; split++) {
            struct ks_site s = {.where = where, .launch = l, .data = a, .param = {split}, .retry_numerics = true};
            s.variant = split ? "P=half+half" : "P=half";
            s.predicted = split ? 7.0 : 8.0;
            s.hypothesis = ks_arena_printf(
                v->arena,
                "The score matrix '%s' makes the trip through memory %s; one kernel that keeps a tile of it in registers, "
                "with both products on the tensor cores, moves only the operands and the result.",
                a->matrix->name, "four times between three launches");
            ks_sites_add(out, &s);
        }
    }
}

/* ---- kernel text ----------------------------------------------------------------------------------------------------- */

struct gen {
    const struct ks_rewrite_view *v;
    const struct ks_attention *a;
    const char *mma;
    bool split; /* probabilities as the sum of two halves */
    struct ks_str *out;
};

/* The part of the kernel that is the same for every user.  $MMA is the helper's name; other $ lines are filled in. */
static const char head_text[] =
    "    // One block keeps 64 rows of queries and walks over the keys 64 at a time; the score matrix is never written.  A row's "
    "maximum\n"
    "    // and sum are kept as it goes, and what was summed before is rescaled whenever the maximum grows.\n"
    "    __shared__ __align__(16) half k_tile[64][HEAD + 8];\n"
    "    __shared__ __align__(16) half v_tile[HEAD][64 + 8]; // transposed\n"
    "    const int tid = threadIdx.x, warp_row = tid / 32 * 16, lane_g = tid % 32 / 4, lane_t = tid % 4;\n"
    "    const int row0 = blockIdx.x * 64;\n"
    "\n"
    "    // Queries take the way through k_tile into registers.\n";

static const char fragments_text[] = "    __syncthreads();\n"
                                     "    unsigned q_frag[HEAD / 16][4];\n"
                                     "#pragma unroll\n"
                                     "    for (int f = 0; f < HEAD / 16; f++) {\n"
                                     "        const half *from = &k_tile[warp_row + lane_g][f * 16 + 2 * lane_t];\n"
                                     "        q_frag[f][0] = *reinterpret_cast<const unsigned *>(from);\n"
                                     "        q_frag[f][1] = *reinterpret_cast<const unsigned *>(from + 8 * (HEAD + 8));\n"
                                     "        q_frag[f][2] = *reinterpret_cast<const unsigned *>(from + 8);\n"
                                     "        q_frag[f][3] = *reinterpret_cast<const unsigned *>(from + 8 * (HEAD + 8) + 8);\n"
                                     "    }\n"
                                     "\n"
                                     "    float out_acc[HEAD / 8][4] = {};\n"
                                     "    float row_max[2] = {-INFINITY, -INFINITY}, row_sum[2] = {0.0f, 0.0f};\n";

static const char product_text[] = "        __syncthreads();\n"
                                   "\n"
                                   "        float tile[8][4] = {};\n"
                                   "#pragma unroll\n"
                                   "        for (int f = 0; f < HEAD / 16; f++) {\n"
                                   "#pragma unroll\n"
                                   "            for (int n = 0; n < 8; n++) {\n"
                                   "                const half *from = &k_tile[n * 8 + lane_g][f * 16 + 2 * lane_t];\n"
                                   "                $MMA(tile[n], q_frag[f], *reinterpret_cast<const unsigned *>(from), "
                                   "*reinterpret_cast<const unsigned *>(from + 8));\n"
                                   "            }\n"
                                   "        }\n";

static const char softmax_text[] = "#pragma unroll\n"
                                   "        for (int h = 0; h < 2; h++) {\n"
                                   "            float top = row_max[h];\n"
                                   "#pragma unroll\n"
                                   "            for (int n = 0; n < 8; n++)\n"
                                   "                top = fmaxf(top, fmaxf(tile[n][2 * h], tile[n][2 * h + 1]));\n"
                                   "            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 1));\n"
                                   "            top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, 2));\n"
                                   "            const float base = top == -INFINITY ? 0.0f : top;\n"
                                   "            const float rescale = __expf(row_max[h] - base);\n"
                                   "            row_max[h] = top;\n"
                                   "            row_sum[h] *= rescale;\n"
                                   "#pragma unroll\n"
                                   "            for (int n = 0; n < HEAD / 8; n++) {\n"
                                   "                out_acc[n][2 * h] *= rescale;\n"
                                   "                out_acc[n][2 * h + 1] *= rescale;\n"
                                   "            }\n"
                                   "#pragma unroll\n"
                                   "            for (int n = 0; n < 8; n++) {\n"
                                   "                tile[n][2 * h] = __expf(tile[n][2 * h] - base);\n"
                                   "                tile[n][2 * h + 1] = __expf(tile[n][2 * h + 1] - base);\n"
                                   "            }\n"
                                   "        }\n"
                                   "\n"
                                   "#pragma unroll\n"
                                   "        for (int f = 0; f < 4; f++) {\n";

/* The sum takes the rounded probabilities, so that the weights still add up to one. */
static const char pack_text[] = "            unsigned p_frag[4];\n"
                                "#pragma unroll\n"
                                "            for (int c = 0; c < 4; c++) {\n"
                                "                const float *pair = &tile[2 * f + c / 2][c % 2 * 2];\n"
                                "                const half2 packed = __floats2half2_rn(pair[0], pair[1]);\n"
                                "                row_sum[c % 2] += __low2float(packed) + __high2float(packed);\n"
                                "                p_frag[c] = *reinterpret_cast<const unsigned *>(&packed);\n"
                                "            }\n"
                                "#pragma unroll\n"
                                "            for (int n = 0; n < HEAD / 8; n++) {\n"
                                "                const half *from = &v_tile[n * 8 + lane_g][f * 16 + 2 * lane_t];\n"
                                "                $MMA(out_acc[n], p_frag, *reinterpret_cast<const unsigned *>(from), "
                                "*reinterpret_cast<const unsigned *>(from + 8));\n"
                                "            }\n"
                                "        }\n"
                                "    }\n";

static const char pack_split_text[] =
    "            // A probability as the sum of two halves keeps 22 bits of it.\n"
    "            unsigned p_high[4], p_low[4];\n"
    "#pragma unroll\n"
    "            for (int c = 0; c < 4; c++) {\n"
    "                const float *pair = &tile[2 * f + c / 2][c % 2 * 2];\n"
    "                const half2 high = __floats2half2_rn(pair[0], pair[1]);\n"
    "                const half2 low = __floats2half2_rn(pair[0] - __low2float(high), pair[1] - __high2float(high));\n"
    "                row_sum[c % 2] += pair[0] + pair[1];\n"
    "                p_high[c] = *reinterpret_cast<const unsigned *>(&high);\n"
    "                p_low[c] = *reinterpret_cast<const unsigned *>(&low);\n"
    "            }\n"
    "#pragma unroll\n"
    "            for (int n = 0; n < HEAD / 8; n++) {\n"
    "                const half *from = &v_tile[n * 8 + lane_g][f * 16 + 2 * lane_t];\n"
    "                const unsigned b0 = *reinterpret_cast<const unsigned *>(from), b1 = *reinterpret_cast<const unsigned "
    "*>(from + 8);\n"
    "                $MMA(out_acc[n], p_high, b0, b1);\n"
    "                $MMA(out_acc[n], p_low, b0, b1);\n"
    "            }\n"
    "        }\n"
    "    }\n";

static void print_raw(const struct gen *g, const char *text)
{
    for (const char *p = text; *p;) {
        if (ks_str_starts(p, "$MMA")) {
            ks_str_add(g->out, g->mma);
            p += 4;
        } else {
            ks_str_addc(g->out, *p++);
        }
    }
}

/* 64 rows of an operand, 16 bytes a thread and step; rows past the bound are zeros. */
static void print_load(const struct gen *g, const struct ks_matmul *m, const struct ks_matmul_operand *o,
                       const struct ks_symbol *row, const char *first, const char *bound, const struct ks_symbol *column,
                       bool transposed, const char *pad)
{
    const struct ks_facts *f = g->v->facts;
    struct ks_str *out = g->out;
    const char *in = ks_arena_printf(g->v->arena, "%s        ", pad);
    ks_str_addf(out, "%sfor (int e = tid; e < 64 * HEAD / 8; e += 128) {\n", pad);
    if (transposed)
        ks_str_addf(out, "%s    const int r = e %% 64, chunk = e / 64 * 8;\n", pad);
    else
        ks_str_addf(out, "%s    const int r = e / (HEAD / 8), chunk = e %% (HEAD / 8) * 8;\n", pad);
    ks_str_addf(out, "%s    uint4 value = make_uint4(0, 0, 0, 0);\n%s    %s %s = %s + r;\n", pad, pad, ks_matmul_type(row),
                row->name, first);
    ks_str_addf(out, "%s    if (%s < %s) {\n%s%s %s = chunk;\n", pad, row->name, bound, in, ks_matmul_type(column), column->name);
    ks_matmul_decls(f, m, o->expr, true, 0, NULL, in, g->v->arena, out);
    ks_str_addf(out, "%svalue = *reinterpret_cast<const uint4 *>(&%s);\n%s    }\n", in, ks_text_of(f, o->access, g->v->arena),
                pad);
    if (transposed)
        ks_str_addf(out,
                    "%s    const half *eight = reinterpret_cast<const half *>(&value);\n#pragma unroll\n"
                    "%s    for (int c = 0; c < 8; c++)\n%s        v_tile[chunk + c][r] = eight[c];\n%s}\n",
                    pad, pad, pad, pad);
    else
        ks_str_addf(out, "%s    *reinterpret_cast<uint4 *>(&k_tile[r][chunk]) = value;\n%s}\n", pad, pad);
}

/* The user's own expression turns a sum into a score; keys past the end get no weight. */
static void print_scores(const struct gen *g, const char *keys)
{
    const struct ks_matmul *m = &g->a->scores;
    const struct ks_facts *f = g->v->facts;
    struct ks_str *out = g->out;
    const char *score = ks_text_of(f, g->a->score, g->v->arena);
    if (ks_node_bare(g->a->score)->kind == KS_NODE_CONDITIONAL)
        score = ks_arena_printf(g->v->arena, "(%s)", score);
    ks_str_add(
        out,
        "#pragma unroll\n        for (int n = 0; n < 8; n++) {\n#pragma unroll\n            for (int c = 0; c < 4; c++) {\n");
    if (ks_node_uses(g->a->score, m->row))
        ks_str_addf(out, "                %s %s = row0 + warp_row + lane_g + c / 2 * 8;\n", ks_matmul_type(m->row), m->row->name);
    ks_str_addf(out, "                %s %s = col0 + n * 8 + 2 * lane_t + c %% 2;\n", ks_matmul_type(m->col), m->col->name);
    ks_str_addf(out, "                %s %s = tile[n][c];\n", ks_matmul_type(m->acc), m->acc->name);
    ks_matmul_decls(f, m, g->a->score, true, 0, NULL, "                ", g->v->arena, out);
    ks_str_addf(out, "                tile[n][c] = %s < %s ? %s : -INFINITY;\n            }\n        }\n\n", m->col->name, keys,
                score);
}

static void print_epilogue(const struct gen *g)
{
    const struct ks_matmul *m = &g->a->values;
    const struct ks_facts *f = g->v->facts;
    struct ks_str *out = g->out;
    const char *pad = m->guarded_outside ? "                " : "            ";
    ks_str_add(out, "\n#pragma unroll\n    for (int h = 0; h < 2; h++) {\n"
                    "        row_sum[h] += __shfl_xor_sync(0xffffffffu, row_sum[h], 1);\n"
                    "        row_sum[h] += __shfl_xor_sync(0xffffffffu, row_sum[h], 2);\n    }\n");
    ks_str_add(
        out, "#pragma unroll\n    for (int n = 0; n < HEAD / 8; n++) {\n#pragma unroll\n        for (int c = 0; c < 4; c++) {\n");
    ks_str_addf(out, "            %s %s = row0 + warp_row + lane_g + c / 2 * 8;\n", ks_matmul_type(m->row), m->row->name);
    ks_str_addf(out, "            %s %s = n * 8 + 2 * lane_t + c %% 2;\n", ks_matmul_type(m->col), m->col->name);
    if (m->guarded_outside)
        ks_str_addf(out, "            if (%s < %s) {\n", m->row->name, ks_text_of(f, m->row_bound, g->v->arena));
    ks_str_addf(out, "%s%s %s = out_acc[n][c] / row_sum[c / 2];\n", pad, ks_matmul_type(m->acc), m->acc->name);
    ks_matmul_decls(f, m, NULL, true, 0, NULL, pad, g->v->arena, out);
    for (size_t i = 0; i < m->n_epilogue; i++) {
        struct ks_span span = ks_text_stmt_span(f, m->epilogue[i]);
        ks_str_addf(out, "%s%s\n", pad, ks_text_reindent(f, span, ks_text_slice(f, span, g->v->arena), pad, g->v->arena));
    }
    ks_str_add(out, m->guarded_outside ? "            }\n        }\n    }\n" : "        }\n    }\n");
}

/* ---- parameters ------------------------------------------------------------------------------------------------------ */

/* The parameters of both products but the matrix, each name once; as declarations, or as arguments of the launch. */
static void print_params(const struct gen *g, bool as_args, struct ks_str *out)
{
    const struct ks_launch *launches[2] = {g->a->scores.launch, g->a->values.launch};
    bool comma = false;
    for (size_t w = 0; w < 2; w++) {
        const struct ks_kernel *k = launches[w]->kernel;
        for (size_t i = 0; i < k->n_params; i++) {
            const struct ks_symbol *p = k->params[i];
            const struct ks_symbol *matrix = w == 0 ? g->a->scores.output : g->a->values.a.buffer;
            bool seen = p == matrix;
            for (size_t j = 0; w == 1 && j < launches[0]->kernel->n_params; j++)
                seen = seen || (launches[0]->kernel->params[j] != g->a->scores.output &&
                                ks_streq(launches[0]->kernel->params[j]->name, p->name));
            if (seen)
                continue;
            const char *type = p->type->spelling;
            ks_str_add(out, comma ? ", " : "");
            if (as_args)
                ks_str_add(out, ks_text_of(g->v->facts, launches[w]->args[i], g->v->arena));
            else
                ks_str_addf(out, "%s%s%s", type, ks_str_ends(type, "*") ? "" : " ", p->name);
            comma = true;
        }
    }
}

static void print_kernel(const struct gen *g, const char *name)
{
    const struct ks_matmul *s = &g->a->scores, *o = &g->a->values;
    const struct ks_facts *f = g->v->facts;
    struct ks_str *out = g->out;
    const char *rows = ks_text_of(f, s->row_bound, g->v->arena), *keys = ks_text_of(f, s->col_bound, g->v->arena);
    ks_str_addf(out,
                "\n// acc (16 x 8, float) += a (16 x 16, half) * b (16 x 8, half) on the tensor cores.\n"
                "static __device__ __forceinline__ void %s(float *acc, const unsigned *a, unsigned b0, unsigned b1)\n{\n"
                "    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%%0, %%1, %%2, %%3}, {%%4, %%5, %%6, "
                "%%7}, {%%8, %%9}, {%%0, %%1, %%2, "
                "%%3};\"\n"
                "                 : \"+f\"(acc[0]), \"+f\"(acc[1]), \"+f\"(acc[2]), \"+f\"(acc[3])\n"
                "                 : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), \"r\"(b0), \"r\"(b1));\n}\n",
                g->mma);
    ks_str_addf(out,
                "\n// %s for one head size: 128 threads, 64 rows a block, pointers aligned to 16 bytes.\ntemplate <int HEAD>\n",
                g->v->entry->name);
    ks_str_addf(out, "static __global__ void __launch_bounds__(128) %s(", name);
    print_params(g, false, out);
    ks_str_add(out, ")\n{\n");
    print_raw(g, head_text);
    print_load(g, s, &s->a, s->row, "row0", rows, s->loop_variable, false, "    ");
    print_raw(g, fragments_text);
    ks_str_addf(out, "    for (int col0 = 0; col0 < %s; col0 += 64) {\n        __syncthreads();\n", keys);
    print_load(g, s, &s->b, s->col, "col0", keys, s->loop_variable, false, "        ");
    print_load(g, o, &o->b, o->loop_variable, "col0", ks_text_of(f, o->k_bound, g->v->arena), o->col, true, "        ");
    print_raw(g, product_text);
    print_scores(g, keys);
    print_raw(g, softmax_text);
    print_raw(g, g->split ? pack_split_text : pack_text);
    print_epilogue(g);
    ks_str_add(out, "}\n");
}

/* ---- the entry ------------------------------------------------------------------------------------------------------- */

static const char *operand_arg(const struct gen *g, const struct ks_matmul *m, const struct ks_symbol *param)
{
    for (size_t i = 0; i < m->kernel->n_params; i++)
        if (m->kernel->params[i] == param)
            return ks_text_of(g->v->facts, m->launch->args[i], g->v->arena);
    return "0";
}

static void print_dispatch(const struct gen *g, const char *name, struct ks_span old, const char *z, struct ks_str *out)
{
    const struct ks_rewrite_view *v = g->v;
    const struct ks_matmul *s = &g->a->scores;
    const struct ks_node *stream = s->launch->node->children[3];
    const char *rows = ks_launch_host_text(v->facts, s->launch, s->row_bound, v->arena);
    const char *aligned = ks_text_fresh_in(v->facts, v->entry->node->span, "aligned", v->arena);
    const char *grid = ks_text_fresh_in(v->facts, v->entry->node->span, "grid_fused", v->arena);
    ks_str_addf(out, "const bool %s = ((size_t)%s | (size_t)%s | (size_t)%s) %% 16 == 0;\n", aligned,
                operand_arg(g, s, s->a.buffer), operand_arg(g, s, s->b.buffer),
                operand_arg(g, &g->a->values, g->a->values.b.buffer));
    ks_str_addf(out, "dim3 %s(%s, 1, %s);\n", grid, ks_text_ceildiv(rows, 64, v->arena), z);
    for (size_t i = 0; i < g->a->n_head_sizes; i++) {
        ks_str_addf(out, "%sif (%s && %s == %lld) {\n    %s<%lld><<<%s, 128, 0, %s>>>(", i ? "} else " : "", aligned,
                    g->a->head_param->name, (long long)g->a->head_sizes[i], name, (long long)g->a->head_sizes[i], grid,
                    stream ? ks_text_of(v->facts, stream, v->arena) : "0");
        print_params(g, true, out);
        ks_str_add(out, ");\n");
    }
    ks_str_addf(out, "} else {\n    %s\n}",
                ks_text_reindent(v->facts, old, ks_text_slice(v->facts, old, v->arena), "    ", v->arena));
}

/* Locals declared among the launches move into the last branch, so nothing after them may use them. */
static bool locals_end(const struct ks_attention *a)
{
    const struct ks_node *parent = a->scores.launch->node->parent;
    const uint32_t begin = a->scores.launch->node->span.begin, end = a->values.launch->node->span.end;
    for (size_t i = 0; i < parent->n_children; i++) {
        const struct ks_node *stmt = parent->children[i];
        if (!stmt || stmt->kind != KS_NODE_DECL_STMT || stmt->span.begin < begin || stmt->span.end > end)
            continue;
        for (size_t k = i + 1; k < parent->n_children; k++)
            for (size_t d = 0; d < stmt->n_children; d++)
                if (parent->children[k] && parent->children[k]->span.begin > end &&
                    ks_node_uses(parent->children[k], stmt->children[d]->symbol))
                    return false;
    }
    return true;
}

enum ks_code ks_tf_fuse_attention_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                        struct ks_err *err)
{
    const struct ks_facts *f = v->facts;
    const struct ks_attention *a = site->data;
    const struct ks_node *last = a->values.kernel->node;
    /* The kernels' text is copied into scopes with our own names, which therefore must not occur in it. */
    static const char *const ours[] = {"k_tile", "v_tile",  "tid",     "warp_row", "lane_g", "lane_t", "row0",
                                       "q_frag", "out_acc", "row_max", "row_sum",  "col0",   "tile",   "HEAD",
                                       "chunk",  "value",   "e",       "r",        "n",      "c"};
    const struct ks_node *texts[] = {a->scores.kernel->node, a->values.kernel->node};
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        for (size_t k = 0; k < 2; k++)
            if (ks_text_has_word(ks_text_of(f, texts[k], v->arena), ours[i]))
                return ks_fail(err, KS_ERR_UNSUPPORTED, "use the name '%s' besides kernel '%s'", ours[i], texts[k]->name);
    const char *z = ks_launch_grid_text(f, a->scores.launch, 2, v->arena);
    uint32_t at = ks_text_after_function(f, last);
    if (!z || !locals_end(a) || at > v->entry->node->span.begin)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "fuse the launches of entry '%s'", v->entry->name);
    KS_AUTO_STR struct ks_str kernel = KS_STR_INIT, dispatch = KS_STR_INIT;
    struct gen g = {v, a, ks_text_fresh(f, "mma_16x8x16", v->arena), site->param[0] != 0, &kernel};
    const char *name = ks_text_fresh(f, ks_arena_printf(v->arena, "%s_fused", v->entry->name), v->arena);
    print_kernel(&g, name);
    ks_edits_insert(edits, at, ks_text_layout(f, ks_str_cstr(&kernel), "", v->arena));
    struct ks_span old = {a->scores.launch->node->span.begin, ks_text_stmt_span(f, a->values.launch->node).end};
    print_dispatch(&g, name, old, z, &dispatch);
    const char *indent = ks_text_indent(f, old.begin, v->arena);
    const char *text = ks_text_layout(f, ks_str_cstr(&dispatch), indent, v->arena);
    ks_edits_replace(edits, old, text + strlen(indent));
    return KS_OK;
}
