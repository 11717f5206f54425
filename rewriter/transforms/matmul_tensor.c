/* tensor-cores (compute): a product of half operands that multiplies in float on the ordinary pipes uses a fraction of what the
 * chip can do. The same sums run on the tensor cores (wmma, 16 x 16 x 16, half in, float out); tails are zeros in the shared
 * tiles. */
#include "rewriter/launch.h"
#include "rewriter/promise.h"
#include "rewriter/text.h"
#include "rewriter/transform.h"
#include "rewriter/transforms/matmul_match.h"

#define ROWS  128 /* of a block: 4 warps of 32 */
#define COLS  128 /* 2 warps of 64 */
#define DEPTH 32

void ks_tf_tensor_cores_enumerate(const struct ks_rewrite_view *v, struct ks_sites *out)
{
    const int sm = ks_arch_number(v->arch);
    if (sm < 70 || ks_promise_rtol(v->contract) < 5e-4)
        return;
    for (size_t i = 0; i < v->entry->n_launches; i++) {
        const struct ks_launch *l = v->entry->launches[i];
        struct ks_matmul *m = KS_ARENA_NEW(v->arena, struct ks_matmul);
        if (!ks_matmul_match(v->facts, l, m) || m->tiled)
            continue;
        bool half = m->a.element == KS_TYPE_HALF || m->b.element == KS_TYPE_HALF;
        bool fits = (m->a.element == KS_TYPE_HALF || m->a.element == KS_TYPE_FLOAT) &&
                    (m->b.element == KS_TYPE_HALF || m->b.element == KS_TYPE_FLOAT);
        if (!half || !fits)
            continue;
        struct ks_site s = {.where = ks_launch_where(v, l), .variant = "", .kernel = m->kernel, .launch = l, .data = m};
        s.predicted = ks_predict_entry(v, l, 10.0);
        s.hypothesis = ks_arena_printf(v->arena,
                                       "'%s' multiplies halves in float on the ordinary pipes; the tensor cores do the same sums "
                                       "at many times the rate, and "
                                       "tiles in shared memory feed them.",
                                       m->kernel->name);
        ks_sites_add(out, &s);
    }
}

enum ks_code ks_tf_tensor_cores_apply(const struct ks_rewrite_view *v, const struct ks_site *site, struct ks_edits *edits,
                                      struct ks_err *err)
{
    const struct ks_matmul *m = site->data;
    const struct ks_facts *f = v->facts;
    const char *z = ks_launch_grid_text(f, m->launch, 2, v->arena);
    if (!z)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "read no third grid dimension at the launch of '%s'", m->kernel->name);
    struct ks_matmul_names nm = ks_matmul_pick_names(v, m->kernel);
    const char *patch = ks_text_fresh_in(f, m->kernel->node->span, "patch", v->arena);
    const char *warp = ks_text_fresh_in(f, m->kernel->node->span, "warp", v->arena);
    KS_AUTO_STR struct ks_str s = KS_STR_INIT;
    ks_str_addf(&s,
                "{\n    // One block computes %d x %d results on the tensor cores: 8 warps with 32 x 64 each, operands in shared "
                "tiles, zeros in\n"
                "    // their tails.\n    using namespace nvcuda;\n",
                ROWS, COLS);
    ks_str_addf(&s, "    __shared__ __align__(32) half %s[%d][%d + 8];\n", nm.a_tile, ROWS, DEPTH);
    ks_str_addf(&s, "    __shared__ __align__(32) half %s[%d][%d + 8];\n", nm.b_tile, DEPTH, COLS);
    ks_str_addf(&s, "    __shared__ __align__(32) float %s[8][16][16 + 4]; // one a warp: results on their way to the threads\n",
                patch);
    ks_str_addf(&s, "    const int %s = threadIdx.x, %s = %s / 32;\n", nm.tid, warp, nm.tid);
    ks_str_addf(&s, "    const int %s = blockIdx.%c * %d, %s = blockIdx.%c * %d;\n", nm.row0, m->row_axis, ROWS, nm.col0,
                m->col_axis, COLS);
    ks_str_addf(&s, "    const int %s = %s / 2 * 32, %s = %s %% 2 * 64;\n", nm.my_row, warp, nm.my_col, warp);
    ks_matmul_uniform_decls(f, m, "    ", v->arena, &s);
    ks_str_addf(&s, "    wmma::fragment<wmma::accumulator, 16, 16, 16, float> %s[2][4];\n", nm.acc);
    ks_str_addf(&s,
                "#pragma unroll\n    for (int %s = 0; %s < 8; %s++)\n        wmma::fill_fragment(%s[%s / 4][%s %% 4], 0.0f);\n\n",
                nm.m, nm.m, nm.m, nm.acc, nm.m, nm.m);
    ks_str_addf(&s, "    for (int %s = %s; %s < %s; %s += %d) {\n", nm.k0, ks_text_of(f, m->k_first, v->arena), nm.k0,
                ks_text_of(f, m->k_bound, v->arena), nm.k0, DEPTH);
    ks_matmul_print_load(v, m, &nm, true, ROWS, DEPTH, true, &s);
    ks_matmul_print_load(v, m, &nm, false, COLS, DEPTH, true, &s);
    ks_str_addf(&s, "        __syncthreads();\n#pragma unroll\n        for (int %s = 0; %s < %d; %s += 16) {\n", nm.k, nm.k,
                DEPTH, nm.k);
    ks_str_addf(&s, "            wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> %s[2];\n", nm.a);
    ks_str_addf(&s, "            wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> %s;\n", nm.b);
    ks_str_addf(&s, "            wmma::load_matrix_sync(%s[0], &%s[%s][%s], %d + 8);\n", nm.a, nm.a_tile, nm.my_row, nm.k, DEPTH);
    ks_str_addf(&s, "            wmma::load_matrix_sync(%s[1], &%s[%s + 16][%s], %d + 8);\n", nm.a, nm.a_tile, nm.my_row, nm.k,
                DEPTH);
    ks_str_addf(&s, "#pragma unroll\n            for (int %s = 0; %s < 4; %s++) {\n", nm.n, nm.n, nm.n);
    ks_str_addf(&s, "                wmma::load_matrix_sync(%s, &%s[%s][%s + 16 * %s], %d + 8);\n", nm.b, nm.b_tile, nm.k,
                nm.my_col, nm.n, COLS);
    ks_str_addf(&s, "                wmma::mma_sync(%s[0][%s], %s[0], %s, %s[0][%s]);\n", nm.acc, nm.n, nm.a, nm.b, nm.acc, nm.n);
    ks_str_addf(&s, "                wmma::mma_sync(%s[1][%s], %s[1], %s, %s[1][%s]);\n", nm.acc, nm.n, nm.a, nm.b, nm.acc, nm.n);
    ks_str_add(&s, "            }\n        }\n        __syncthreads();\n    }\n\n");
    ks_str_addf(&s, "#pragma unroll\n    for (int %s = 0; %s < 8; %s++) {\n", nm.m, nm.m, nm.m);
    ks_str_addf(&s,
                "        wmma::store_matrix_sync(&%s[%s][0][0], %s[%s / 4][%s %% 4], 16 + 4, wmma::mem_row_major);\n        "
                "__syncwarp();\n",
                patch, warp, nm.acc, nm.m, nm.m);
    ks_str_addf(&s, "        for (int %s = %s %% 32; %s < 256; %s += 32) {\n", nm.e, nm.tid, nm.e, nm.e);
    ks_str_addf(&s, "            %s %s = %s + %s + %s / 4 * 16 + %s / 16;\n", ks_matmul_type(m->row), m->row->name, nm.row0,
                nm.my_row, nm.m, nm.e);
    ks_str_addf(&s, "            %s %s = %s + %s + %s %% 4 * 16 + %s %% 16;\n", ks_matmul_type(m->col), m->col->name, nm.col0,
                nm.my_col, nm.m, nm.e);
    ks_matmul_print_store(v, m, ks_arena_printf(v->arena, "%s[%s][%s / 16][%s %% 16]", patch, warp, nm.e, nm.e), "            ",
                          &s);
    ks_str_add(&s, "        }\n        __syncwarp();\n    }\n}");
    const char *x_bound = ks_launch_host_text(f, m->launch, m->col_bound, v->arena);
    const char *y_bound = ks_launch_host_text(f, m->launch, m->row_bound, v->arena);
    const char *grid = ks_arena_printf(v->arena, "dim3(%s, %s, %s)", ks_text_ceildiv(x_bound, COLS, v->arena),
                                       ks_text_ceildiv(y_bound, ROWS, v->arena), z);
    const char *indent = ks_text_indent(f, m->kernel->node->span.begin, v->arena);
    struct ks_relaunch r = {ks_text_layout(f, ks_str_cstr(&s), indent, v->arena), "_tensor", grid, "256", 256};
    ks_relaunch(v, m->launch, &r, edits);
    ks_text_require_include(f, "mma.h", edits);
    return KS_OK;
}
