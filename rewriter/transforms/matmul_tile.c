/* register-tile (parallel-decomposition): a kernel with one inner product a thread reads two operands for every multiplication.
 * With a block's operands in shared memory and several rows and columns a thread, each value read feeds as many multiplications.
 */
#include "rewriter/launch.h"
#include "rewriter/text.h"
#include "rewriter/transform.h"
#include "rewriter/transforms/matmul_match.h"

/* Rows and columns a thread; 16 threads along the columns, 16 along the rows. */
static const struct {
    int rows, cols;
} shapes[] = {{8, 8}, {8, 4}, {4, 4}};

void ks_tf_register_tile_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i];
        struct ks_matmul *m = KS_ARENA_NEW(v->arena, struct ks_matmul);
        if (!ks_matmul_match(v->facts, l, m))
            continue;
        for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
            struct ks_site site = {.where = ks_launch_where(v, l), .kernel = m->kernel, .launch = l, .data = m};
            site.param[0] = shapes[s].rows;
            site.param[1] = shapes[s].cols;
            site.variant = ks_arena_printf(v->arena, "TILE=%dx%d", 16 * shapes[s].rows, 16 * shapes[s].cols);
            site.predicted = ks_predict_entry(v, l, (m->tiled ? 4.0 : 5.0) - 0.5 * (double)s);
            site.hypothesis = ks_arena_printf(v->arena,
                                              "Each thread of '%s' computes one element and reads two operands for every "
                                              "multiply-add, so loads bound it, not arithmetic; "
                                              "%d x %d elements a thread use each value loaded %d times or more.",
                                              m->kernel->name, shapes[s].rows, shapes[s].cols, shapes[s].cols);
            ks_sites_add(out, &site);
        }
    }
}

static void print_product(const struct ks_matmul_names *nm, int tm, int tn, int depth, struct ks_str *out)
{
    ks_str_addf(out, "        __syncthreads();\n#pragma unroll\n        for (int %s = 0; %s < %d; %s++) {\n", nm->k, nm->k, depth,
                nm->k);
    ks_str_addf(out, "            float %s[%d], %s[%d];\n", nm->a, tm, nm->b, tn);
    ks_str_addf(out, "#pragma unroll\n            for (int %s = 0; %s < %d; %s++)\n                %s[%s] = %s[%s][%s + %s];\n",
                nm->m, nm->m, tm, nm->m, nm->a, nm->m, nm->a_tile, nm->k, nm->my_row, nm->m);
    ks_str_addf(out,
                "#pragma unroll\n            for (int %s = 0; %s < %d; %s++)\n                %s[%s] = %s[%s][%s + 16 * %s];\n",
                nm->n, nm->n, tn, nm->n, nm->b, nm->n, nm->b_tile, nm->k, nm->my_col, nm->n);
    ks_str_addf(out, "#pragma unroll\n            for (int %s = 0; %s < %d; %s++)\n", nm->m, nm->m, tm, nm->m);
    ks_str_addf(out, "#pragma unroll\n                for (int %s = 0; %s < %d; %s++)\n", nm->n, nm->n, tn, nm->n);
    ks_str_addf(out, "                    %s[%s][%s] += %s[%s] * %s[%s];\n        }\n        __syncthreads();\n", nm->acc, nm->m,
                nm->n, nm->a, nm->m, nm->b, nm->n);
}

static void print_epilogue(const struct ks_rewrite_view *v, const struct ks_matmul *m, const struct ks_matmul_names *nm, int tm,
                           int tn, struct ks_str *out)
{
    ks_str_addf(out, "#pragma unroll\n    for (int %s = 0; %s < %d; %s++) {\n", nm->m, nm->m, tm, nm->m);
    ks_str_addf(out, "#pragma unroll\n        for (int %s = 0; %s < %d; %s++) {\n", nm->n, nm->n, tn, nm->n);
    ks_str_addf(out, "            %s %s = %s + %s + %s;\n", ks_matmul_type(m->row), m->row->name, nm->row0, nm->my_row, nm->m);
    ks_str_addf(out, "            %s %s = %s + %s + 16 * %s;\n", ks_matmul_type(m->col), m->col->name, nm->col0, nm->my_col,
                nm->n);
    ks_matmul_print_store(v, m, ks_arena_printf(v->arena, "%s[%s][%s]", nm->acc, nm->m, nm->n), "            ", out);
    ks_str_add(out, "        }\n    }\n");
}

enum ks_code ks_tf_register_tile_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                       struct ks_err *err)
{
    const struct ks_matmul *m = site->data;
    const struct ks_facts *f = v->facts;
    const int tm = (int)site->param[0], tn = (int)site->param[1], rows = 16 * tm, cols = 16 * tn;
    const int depth = m->tiled ? (int)m->k_tile : 16;
    if ((rows + cols + 8) * depth * 4 > 48 * 1024)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "exceed static shared memory with tiles of depth %d", depth);
    const char *z = ks_launch_grid_text(f, m->launch, 2, v->arena);
    if (!z)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "read no third grid dimension at the launch of '%s'", m->kernel->name);
    struct ks_matmul_names nm = ks_matmul_pick_names(v, m->kernel);
    KS_AUTO_STR struct ks_str s = KS_STR_INIT;
    ks_str_addf(&s,
                "{\n    // One block computes %d x %d results, each thread %d x %d of them: a value staged in shared memory is "
                "read into a\n"
                "    // register once and used %d or %d times.\n",
                rows, cols, tm, tn, tm, tn);
    ks_str_addf(&s, "    __shared__ __align__(16) float %s[%d][%d + 4];\n", nm.a_tile, depth, rows);
    ks_str_addf(&s, "    __shared__ __align__(16) float %s[%d][%d + 4];\n", nm.b_tile, depth, cols);
    ks_str_addf(&s, "    const int %s = threadIdx.x;\n", nm.tid);
    ks_str_addf(&s, "    const int %s = blockIdx.%c * %d, %s = blockIdx.%c * %d;\n", nm.row0, m->row_axis, rows, nm.col0,
                m->col_axis, cols);
    ks_str_addf(&s, "    const int %s = %s / 16 * %d, %s = %s %% 16;\n", nm.my_row, nm.tid, tm, nm.my_col, nm.tid);
    ks_matmul_uniform_decls(f, m, "    ", v->arena, &s);
    ks_str_addf(&s, "    float %s[%d][%d] = {};\n\n", nm.acc, tm, tn);
    if (m->tiled)
        ks_str_addf(&s, "    %s",
                    ks_text_slice(f, (struct ks_span){m->loop->span.begin, m->loop->children[3]->span.begin}, v->arena));
    else
        ks_str_addf(&s, "    for (int %s = %s; %s < %s; %s += %d) ", nm.k0, ks_text_of(f, m->k_first, v->arena), nm.k0,
                    ks_text_of(f, m->k_bound, v->arena), nm.k0, depth);
    ks_str_add(&s, "{\n");
    ks_matmul_print_load(v, m, &nm, true, rows, depth, false, &s);
    ks_matmul_print_load(v, m, &nm, false, cols, depth, false, &s);
    print_product(&nm, tm, tn, depth, &s);
    ks_str_add(&s, "    }\n\n");
    print_epilogue(v, m, &nm, tm, tn, &s);
    ks_str_add(&s, "}");
    const char *x_bound = ks_launch_host_text(f, m->launch, m->col_bound, v->arena);
    const char *y_bound = ks_launch_host_text(f, m->launch, m->row_bound, v->arena);
    const char *grid = ks_arena_printf(v->arena, "dim3(%s, %s, %s)", ks_text_ceildiv(x_bound, cols, v->arena),
                                       ks_text_ceildiv(y_bound, rows, v->arena), z);
    const char *indent = ks_text_indent(f, m->kernel->node->span.begin, v->arena);
    struct ks_relaunch r = {ks_text_layout(f, ks_str_cstr(&s), indent, v->arena), "_tiled", grid, "256", 256};
    ks_relaunch(v, m->launch, &r, edits);
    return KS_OK;
}
