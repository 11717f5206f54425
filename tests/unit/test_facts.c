#include "tests/unit/test.h"
#include "tests/unit/facts_util.h"

static const char kernels[] =
    "#include <cuda_fp16.h>\n"
    "#define TILE 16\n"
    "#define AT(r, c) ((r) * n + (c))\n"
    "struct point { float x, y, z, w; };\n"
    "__constant__ float table[64];\n"
    "__device__ float shared_sum(float v, float *buf) { buf[threadIdx.x] = v; __syncthreads(); return buf[0]; }\n"
    "__global__ void forms(const half *q, half *o, const point *p, float *acc, int n) {\n"
    "    __shared__ float s[TILE][TILE + 1];\n"
    "    extern __shared__ float dyn[];\n"
    "    int row = blockIdx.y * blockDim.y + threadIdx.y;\n"
    "    const half *q_row = q + (size_t)row * n;\n"
    "    if (row >= n) return;\n"
    "    float sum = 0.0f;\n"
    "    for (int j = 0; j < n; j += 2)\n"
    "        sum += __half2float(q_row[j + threadIdx.x]) * p[j].y * table[j];\n"
    "    o[AT(row, threadIdx.x)] = __float2half(sum);\n"
    "    s[threadIdx.y][threadIdx.x] = sum;\n"
    "    *(dyn + threadIdx.x * 4) = p->z;\n"
    "    half h = q[0] * q[1] + o[2];\n"
    "    atomicAdd(&acc[row & 7], sum + __half2float(h) + __ldg(&acc[threadIdx.x]));\n"
    "    const float4 v = reinterpret_cast<const float4 *>(acc)[threadIdx.x];\n"
    "    acc[threadIdx.x + 4 * (int)v.x] = shared_sum(v.y, dyn);\n"
    "}\n"
    "__global__ void loops(float *a, int n) {\n"
    "    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) a[i] *= 2.0;\n"
    "    for (int s = 64; s > 0; s >>= 1) { a[s] = 1; __syncthreads(); }\n"
    "    for (int k = 3; k <= 12; k += 3) a[0] += a[k];\n"
    "    int w = 10; while (w != 0) { a[w] = 0; --w; }\n"
    "    for (;;) { if (a[0] > 0) break; }\n"
    "    for (int r = 0; r < n && a[r] > 0; ++r) a[r] = expf(a[r]) / 3.0f;\n"
    "    if (threadIdx.x < 5) __syncwarp();\n"
    "}\n"
    "template <int D> __global__ void __launch_bounds__(128) flat(const float *in, float *out, int cols, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    int r = i / cols, c = i % cols;\n"
    "    if (i < n) out[r * cols + c] = in[c] * D;\n"
    "}\n"
    "extern \"C\" void entry(const half *q, half *o, const point *p, float *acc, int n, cudaStream_t st) {\n"
    "    dim3 grid(1, (n + 15) / 16), block(TILE, TILE);\n"
    "    float *tmp;\n"
    "    cudaMalloc(&tmp, n * sizeof(float));\n"
    "    forms<<<grid, block, n * 4, st>>>(q, o, p, tmp, n);\n"
    "    if (n > 3)\n"
    "        loops<<<n, block.x * 2>>>(tmp + 4, n);\n"
    "    for (int i = 0; i < 4; i++) flat<64><<<dim3(n, 2), 256>>>(tmp, acc, 8, n);\n"
    "    cudaFree(tmp);\n"
    "}\n";

static struct unit u;

TEST(a_unit_with_every_form_parses_without_complaint)
{
    unit_parse(&u, kernels);
    CHECK_INT(u.code, KS_OK);
    CHECK_INT(u.diags.n, 0);
    if (!u.facts)
        return;
    CHECK_INT(u.facts->n_kernels, 3);
    CHECK_INT(u.facts->n_entries, 1);
    CHECK_INT(u.facts->n_launches, 3);
    CHECK_STR(ks_facts_kernel(u.facts, "forms")->mangled, "_Z5formsPK6__halfPS_PK5pointPfi");
    CHECK_STR(ks_facts_entry(u.facts, "entry", NULL)->mangled, "entry");
}

TEST(accesses_know_buffer_index_and_stride)
{
    const struct ks_kernel *k = ks_facts_kernel(u.facts, "forms");
    const struct ks_access *a = access_of(k, "q", false, 0);
    CHECK_STR(poly_text(&a->index), "blockIdx.y * blockDim.y * n + threadIdx.y * n + threadIdx.x + j");
    CHECK_INT(a->stride, KS_STRIDE_UNIT);
    CHECK_STR(a->loop->variable->name, "j");
    CHECK_INT(a->element->kind, KS_TYPE_HALF);
    a = access_of(k, "p", false, 0);
    CHECK_STR(a->member, "y");
    CHECK_INT(a->member_off_byte, 4);
    CHECK_STR(poly_text(&a->index), "j");
    CHECK_INT(a->stride, KS_STRIDE_UNIFORM);
    CHECK(a->block_reuse);
    a = access_of(k, "p", false, 1);
    CHECK_STR(a->member, "z");
    CHECK_INT(access_of(k, "table", false, 0)->space, KS_SPACE_CONSTANT);
    a = access_of(k, "s", true, 0);
    CHECK_INT(a->space, KS_SPACE_SHARED);
    CHECK_STR(poly_text(&a->index), "threadIdx.x + 17 * threadIdx.y");
    a = access_of(k, "dyn", true, 0);
    CHECK_INT(a->stride, KS_STRIDE_CONSTANT);
    CHECK_INT(a->lane_stride_elem, 4);
}

TEST(macros_mark_their_nodes_and_keep_the_indices_right)
{
    const struct ks_kernel *k = ks_facts_kernel(u.facts, "forms");
    const struct ks_access *a = access_of(k, "o", true, 0);
    CHECK_STR(poly_text(&a->index), "blockIdx.y * blockDim.y * n + threadIdx.y * n + threadIdx.x");
    CHECK(!a->node->in_macro);
    CHECK(a->node->children[1]->in_macro);
    CHECK_STR(node_text(&u, a->node), "o[AT(row, threadIdx.x)]");
    CHECK_STR(node_text(&u, k->shared[0].decl), "__shared__ float s[TILE][TILE + 1]");
    CHECK(!k->shared[0].decl->in_macro);
}

TEST(shared_arrays_atomics_casts_and_helpers_are_seen)
{
    const struct ks_kernel *k = ks_facts_kernel(u.facts, "forms");
    CHECK_INT(k->n_shared, 2);
    CHECK_INT(k->shared[0].n_dims, 2);
    CHECK_INT(k->shared[0].dims[1], 17);
    CHECK_INT(k->shared[0].size_bytes, 16 * 17 * 4);
    CHECK_INT(k->shared[1].size_bytes, -1);
    CHECK(k->uses_atomics && k->early_return && !k->uses_shuffle && !k->calls_unknown && !k->has_launch_bounds);
    const struct ks_access *a = access_of(k, "acc", true, 0);
    CHECK(a->is_atomic && a->is_read);
    CHECK_INT(a->stride, KS_STRIDE_UNIFORM); /* row is the same along threadIdx.x */
    a = access_of(k, "acc", false, 1);
    CHECK_STR(node_text(&u, a->node), "__ldg(&acc[threadIdx.x])");
    a = access_of(k, "acc", false, 2);
    CHECK_INT(a->element->size_bytes, 16);
    CHECK_INT(a->stride, KS_STRIDE_UNIT);
    a = access_of(k, "acc", true, 1);
    CHECK_INT(a->stride, KS_STRIDE_IRREGULAR);
    a = access_of(k, "dyn", true, 1); /* inside shared_sum() */
    CHECK(a && a->call);
    CHECK_STR(poly_text(&a->index), "threadIdx.x");
    CHECK_INT(k->n_barriers, 1);
    CHECK(k->barriers[0].call != NULL && !k->barriers[0].is_warp);
    CHECK_INT(k->n_flops_half, 2);
}

TEST(loops_know_their_bounds_and_trips)
{
    const struct ks_kernel *k = ks_facts_kernel(u.facts, "loops");
    CHECK_INT(k->n_loops, 6);
    const struct ks_loop *l = loop_of(k, "i", 0);
    CHECK_INT(l->trip_count, -1);
    CHECK(!l->lane_uniform);
    CHECK_STR(poly_text(&l->step_poly), "blockDim.x * gridDim.x");
    CHECK_INT(access_of(k, "a", true, 0)->stride, KS_STRIDE_UNIT);
    l = loop_of(k, "s", 0);
    CHECK_INT(l->trip_count, 7);
    CHECK(l->has_barrier && l->lane_uniform);
    CHECK_INT(loop_of(k, "k", 0)->trip_count, 4);
    CHECK_INT(loop_of(k, "w", 0)->trip_count, 10);
    CHECK_INT(loop_of(k, "r", 0)->trip_count, -1);
    CHECK(k->loops[4].variable == NULL);
    CHECK_INT(k->n_flops_double, 1);
    CHECK_INT(k->n_special, 2);
    CHECK_INT(k->n_barriers, 2);
    CHECK(k->barriers[1].is_warp && k->barriers[1].divergent && !k->barriers[0].divergent);
}

TEST(a_flat_index_split_and_joined_again_is_contiguous)
{
    const struct ks_kernel *k = ks_facts_kernel(u.facts, "flat");
    CHECK(k->is_template && k->has_launch_bounds);
    const struct ks_access *a = access_of(k, "out", true, 0);
    CHECK_STR(poly_text(&a->index), "blockIdx.x * blockDim.x + threadIdx.x");
    CHECK_INT(a->stride, KS_STRIDE_UNIT);
    a = access_of(k, "in", false, 0);
    CHECK_INT(a->stride, KS_STRIDE_IRREGULAR);
    CHECK_INT(a->wrapped_stride, KS_STRIDE_UNIT);
}

TEST(launches_know_their_configuration_and_buffers)
{
    const struct ks_entry *e = ks_facts_entry(u.facts, "entry", NULL);
    const struct ks_launch *l = e->launches[0];
    CHECK_STR(l->kernel->name, "forms");
    CHECK_STR(poly_text(&l->block_dims[0]), "16");
    CHECK_STR(poly_text(&l->block_dims[2]), "1");
    CHECK_STR(poly_text(&l->grid_dims[1]), "((n + 15) / 16)");
    CHECK_STR(node_text(&u, l->grid), "grid(1, (n + 15) / 16)");
    CHECK_STR(node_text(&u, l->stream), "st");
    CHECK_STR(node_text(&u, l->stmt), "forms<<<grid, block, n * 4, st>>>(q, o, p, tmp, n);");
    CHECK_STR(l->arg_buffers[0]->name, "q");
    CHECK_STR(l->arg_buffers[3]->name, "tmp");
    CHECK(l->arg_buffers[4] == NULL);
    l = e->launches[1];
    CHECK(l->conditional && !l->in_loop);
    CHECK_STR(poly_text(&l->block_dims[0]), "32");
    CHECK_STR(poly_text(&l->arg_polys[0]), "16");
    CHECK(l->shared_bytes == NULL && l->stream == NULL);
    CHECK_INT(l->kernel->block_dim[0], 32);
    CHECK_INT(l->kernel->block_dim[1], 1);
    l = e->launches[2];
    CHECK(l->in_loop && !l->conditional);
    CHECK_STR(poly_text(&l->grid_dims[0]), "n");
    CHECK_STR(poly_text(&l->grid_dims[1]), "2");
    CHECK_STR(poly_text(&l->arg_polys[2]), "8");
}

TEST(handovers_name_producer_consumer_and_buffer)
{
    CHECK_INT(u.facts->n_handovers, 2);
    const struct ks_handover *h = &u.facts->handovers[0];
    CHECK_STR(h->producer->kernel->name, "forms");
    CHECK_STR(h->consumer->kernel->name, "loops");
    CHECK_STR(h->buffer->name, "tmp");
    CHECK(!h->elementwise && !h->only_consumer && !h->last_reader);
    CHECK(u.facts->handovers[1].only_consumer);
    unit_release(&u);
}

TEST(a_loop_behind_a_guard_is_uniform_among_those_that_run_it)
{
    unit_parse(&u, "__global__ void k(const float *x, float *y, int rows, int cols) {\n"
                   "  int row = blockIdx.x * blockDim.x + threadIdx.x;\n"
                   "  if (row < rows) {\n"
                   "    float s = 0; int seen = 0;\n"
                   "    for (int c = 0; c < cols; c++) { s += x[(size_t)row * cols + c]; if (threadIdx.x > 3) seen++; }\n"
                   "    for (int c = 0; c < seen; c++) s += x[c];\n"
                   "    y[row] = s;\n"
                   "  }\n"
                   "}\n");
    CHECK_INT(u.code, KS_OK);
    const struct ks_kernel *k = &u.facts->kernels[0];
    CHECK(loop_of(k, "c", 0)->lane_uniform);
    CHECK(!loop_of(k, "c", 1)->lane_uniform);
    CHECK_INT(access_of(k, "x", false, 0)->stride, KS_STRIDE_SYMBOLIC);
    unit_release(&u);
}

TEST(straight_line_changes_of_variables_are_followed)
{
    unit_parse(&u, "__device__ float4 load4(const float *p) { return *reinterpret_cast<const float4 *>(p); }\n"
                   "__global__ void k(const float *x, float *y, int n, int flag) {\n"
                   "  x += blockIdx.x * n;\n"
                   "  int i = threadIdx.x;\n"
                   "  y[i] = 0;\n"
                   "  i += 4;\n"
                   "  i = i + n;\n"
                   "  y[i] = x[i];\n"
                   "  const float *p = x;\n"
                   "  p = p + 2;\n"
                   "  ++p;\n"
                   "  y[1] = p[i];\n"
                   "  if (flag) i = 7;\n"
                   "  y[i] = 1;\n"
                   "  for (int j = 0; j < n; j++) { p += 3; y[2] = p[j]; int m = j; m *= 2; y[m] = 3; }\n"
                   "  x += threadIdx.x * 4;\n"
                   "  float4 v = load4(x + n);\n"
                   "  y[3] = v.x;\n"
                   "}\n"
                   "template <class T> __global__ void t(T *x) { x[threadIdx.x] = 0; }\n"
                   "template <class T> void run(T *x, int n) { t<<<n, 32>>>(x); t<T><<<n, 32>>>(x); }\n");
    CHECK_INT(u.code, KS_OK);
    const struct ks_kernel *k = &u.facts->kernels[0];
    CHECK_STR(poly_text(&access_of(k, "y", true, 0)->index), "threadIdx.x");
    CHECK_STR(poly_text(&access_of(k, "y", true, 1)->index), "threadIdx.x + n + 4");
    CHECK_STR(poly_text(&access_of(k, "x", false, 0)->index), "blockIdx.x * n + threadIdx.x + n + 4");
    CHECK_STR(poly_text(&access_of(k, "x", false, 1)->index), "blockIdx.x * n + threadIdx.x + n + 7");
    CHECK_STR(poly_text(&access_of(k, "y", true, 3)->index), "(i)");
    CHECK(!access_of(k, "x", false, 2)->index.known); /* p moves in the loop */
    CHECK_STR(poly_text(&access_of(k, "y", true, 5)->index), "2 * j");
    const struct ks_access *v = access_of(k, "x", false, 3);
    CHECK(v && v->call && !v->index.known);
    CHECK_STR(v ? poly_text(&v->bytes) : "", "4 * blockIdx.x * n + 16 * threadIdx.x + 4 * n");
    CHECK_INT(v ? v->stride : KS_STRIDE_IRREGULAR, KS_STRIDE_UNIT);
    CHECK_INT(u.facts->n_launches, 2);
    for (size_t i = 0; i < u.facts->n_launches; i++)
        CHECK(u.facts->launches[i].kernel == ks_facts_kernel(u.facts, "t"));
    unit_release(&u);
}

TEST(lanes_of_a_warp_are_told_from_its_number)
{
    unit_parse(&u, "#include <cooperative_groups.h>\n"
                   "#include <cooperative_groups/reduce.h>\n"
                   "namespace cg = cooperative_groups;\n"
                   "__global__ void k(const float *x, float *y, int n) {\n"
                   "  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;\n"
                   "  int row = blockIdx.x * 8 + warp;\n"
                   "  y[row * n + lane] = 1;\n"
                   "  y[row * n + (threadIdx.x & 31)] = x[threadIdx.x >> 5];\n"
                   "  y[threadIdx.x % 48] = x[threadIdx.x % 8];\n"
                   "  cg::thread_block block = cg::this_thread_block();\n"
                   "  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);\n"
                   "  float v = cg::reduce(tile, x[tile.meta_group_rank() * n + tile.thread_rank()], cg::plus<float>{});\n"
                   "  v += tile.shfl_down(v, 1);\n"
                   "  tile.sync(); block.sync();\n"
                   "  y[0] = v;\n"
                   "}\n");
    CHECK_INT(u.code, KS_OK);
    CHECK_INT(u.diags.n, 0);
    const struct ks_kernel *k = &u.facts->kernels[0];
    CHECK_INT(access_of(k, "y", true, 0)->stride, KS_STRIDE_UNIT);
    CHECK_INT(access_of(k, "y", true, 1)->stride, KS_STRIDE_UNIT);
    CHECK_INT(access_of(k, "x", false, 0)->stride, KS_STRIDE_UNIFORM);
    CHECK_INT(access_of(k, "y", true, 2)->stride, KS_STRIDE_IRREGULAR);
    CHECK_INT(access_of(k, "y", true, 2)->wrapped_stride, KS_STRIDE_UNIT);
    CHECK_INT(access_of(k, "x", false, 1)->wrapped_stride, KS_STRIDE_IRREGULAR);
    CHECK_INT(access_of(k, "x", false, 2)->stride, KS_STRIDE_UNIT);
    CHECK_INT(k->n_barriers, 2);
    CHECK(k->barriers[0].is_warp && !k->barriers[1].is_warp);
    CHECK(k->uses_shuffle);
    unit_release(&u);
}

/* Templates are known by the instance that is launched, member functions and pointers in objects are followed, and who calls a
 * function that launches is an entry. */
static const char generic[] =
    "#include <cooperative_groups.h>\n"
    "namespace cg = cooperative_groups;\n"
    "#define ROLLED _Pragma(\"unroll 1\")\n"
    "template <class T, int N> struct part { const T *data; T kept[N];\n"
    "    __device__ T get(int t, int k) const { return data[t * N + k]; }\n"
    "    __device__ void keep(int k, T v) { kept[k & (N - 1)] = v; } };\n"
    "template <class T, int N> __global__ void walk(part<T, N> p, T *out) {\n"
    "    part<T, N> own = p;\n"
    "    int t = cg::this_grid().thread_rank();\n"
    "    for (int k = 0; k < N; ++k) { own.keep(k, p.get(t, k)); }\n"
    "    ROLLED\n"
    "    for (int k = 0; k < 4; ++k) out[t] += T(k);\n"
    "}\n"
    "template <class T> static void launch(const T *in, T *out, int n) { part<T, 8> p = {in}; walk<T, 8><<<n, 128>>>(p, out); }\n"
    "static void both(const float *in, float *mid, float *out, int n) { launch(in, mid, n); launch(in, mid, n); }\n"
    "void entry(const float *in, float *mid, float *out, int n) { for (int i = 0; i < 3; i++) both(in, mid, out, n); }\n";

TEST(templates_members_and_called_host_functions_are_followed)
{
    struct unit g;
    unit_parse(&g, generic);
    CHECK_INT(g.code, KS_OK);
    CHECK_INT(g.diags.n, 0);
    const struct ks_kernel *k = g.facts ? ks_facts_kernel(g.facts, "walk") : NULL;
    if (!k)
        return;
    const struct ks_access *read = NULL, *kept = NULL, *out = NULL;
    for (size_t i = 0; i < k->n_accesses; i++) {
        const char *name = k->accesses[i].buffer ? k->accesses[i].buffer->name : "";
        read = ks_streq(name, "data") ? &k->accesses[i] : read;
        kept = ks_streq(name, "kept") ? &k->accesses[i] : kept;
        out = ks_streq(name, "out") ? &k->accesses[i] : out;
    }
    CHECK(k->is_template && read && kept && out);
    if (!read || !kept || !out)
        return;
    CHECK_INT(read->space, KS_SPACE_GLOBAL);
    CHECK_INT(read->stride, KS_STRIDE_CONSTANT);
    CHECK_INT(read->lane_stride_elem, 8);
    CHECK_INT(kept->space, KS_SPACE_LOCAL);
    CHECK_INT(out->stride, KS_STRIDE_UNIT);
    CHECK_INT(k->n_loops, 2);
    CHECK_INT(k->loops[0].trip_count, 8);
    CHECK(!k->loops[0].kept_rolled && k->loops[1].kept_rolled);
    const struct ks_entry *e = ks_facts_entry(g.facts, "entry", NULL);
    CHECK(e && e->n_launches == 0 && e->n_done == 2);
    if (!e || e->n_done != 2)
        return;
    CHECK(e->done[0]->kernel == k && e->done[0]->in_loop && e->done[0]->call);
    CHECK_STR(e->done[1]->arg_buffers[1] ? e->done[1]->arg_buffers[1]->name : "", "mid");
    CHECK_STR(poly_text(&e->done[1]->grid_dims[0]), "n");
    unit_release(&g);
}

TEST(elementwise_needs_equal_indices_and_guards)
{
    unit_parse(&u, "__global__ void w(float *a, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) a[i] = i; }\n"
                   "__global__ void same(const float *a, float *o, int m) { int j = threadIdx.x + blockDim.x * blockIdx.x; if (j "
                   ">= m) return; o[j] = a[j]; }\n"
                   "__global__ void shifted(const float *a, float *o, int m) { int j = threadIdx.x + blockDim.x * blockIdx.x; if "
                   "(j < m) o[j] = a[j + 1]; }\n"
                   "__global__ void unguarded(const float *a, float *o, int m) { int j = threadIdx.x + blockDim.x * blockIdx.x; "
                   "o[j] = a[j]; }\n"
                   "__global__ void w2(float *a, int n) { a[blockIdx.x * n + threadIdx.x] = 0; }\n"
                   "__global__ void r2(const float *a, float *o, int n) { o[0] = a[blockIdx.x * n + threadIdx.x]; }\n"
                   "void e(float *o, int n) { float *a; cudaMalloc(&a, n * 4);\n"
                   " w<<<n / 256, 256>>>(a, n); same<<<n / 128, 128>>>(a, o, n);\n"
                   " w<<<n / 256, 256>>>(a, n); shifted<<<n / 256, 256>>>(a, o, n);\n"
                   " w<<<n / 256, 256>>>(a, n); unguarded<<<n / 256, 256>>>(a, o, n);\n"
                   " w<<<n / 256, 256>>>(a, n); same<<<n / 256, 256>>>(a, o, n - 1);\n"
                   " w2<<<n, 64>>>(a, n); r2<<<n, 64>>>(a, o, n);\n"
                   " w2<<<n, 64>>>(a, n); r2<<<n, 32>>>(a, o, n); }\n");
    CHECK_INT(u.code, KS_OK);
    static const bool expected[] = {true, false, false, false, true, false};
    CHECK_INT(u.facts->n_handovers, 6);
    for (size_t i = 0; i < 6 && i < u.facts->n_handovers; i++)
        CHECK_INT(u.facts->handovers[i].elementwise, expected[i]);
    unit_release(&u);
}

TEST_MAIN
