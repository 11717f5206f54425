#include "tests/unit/test.h"

#include "analyzer/hypothesis.h"
#include "tests/unit/facts_util.h"

static const struct ks_hypothesis *find(const struct ks_hypotheses *h, enum ks_layer layer, const char *kernel)
{
    for (size_t i = 0; i < h->n; i++) {
        if (h->data[i].layer == layer && strcmp(h->data[i].kernel, kernel) == 0)
            return &h->data[i];
    }
    return NULL;
}

/* -1: no such evidence. */
static double value_of(const struct ks_hypothesis *h, const char *key)
{
    for (size_t i = 0; h && i < h->n_evidence; i++) {
        if (strcmp(h->evidence[i].key, key) == 0)
            return h->evidence[i].value;
    }
    return -1.0;
}

static void derive(struct unit *u, const char *example, const char *ptxas, const char *counters, struct ks_hypotheses *ret)
{
    struct ks_err err;
    struct ks_ptxas_info *infos = NULL;
    size_t n = 0;
    KS_AUTO_JSON struct ks_json *json = NULL;
    unit_parse_example(u, example);
    CHECK_INT(u->code, KS_OK);
    if (ptxas)
        ks_ptxas_parse(ptxas, strlen(ptxas), &u->arena, &infos, &n);
    if (counters)
        CHECK_OK(ks_json_parse(counters, strlen(counters), "counters", &json, &err));
    ks_hypotheses_derive(u->facts, infos, n, json, &u->arena, ret);
    for (size_t i = 0; i < ret->n; i++) {
        CHECK(ret->data[i].score > 0.0 && ret->data[i].score <= 1.0);
        CHECK(ret->data[i].line > 0 && ret->data[i].col > 0 && ret->data[i].len > 0);
        CHECK(i == 0 || ret->data[i - 1].score >= ret->data[i].score);
    }
}

static enum ks_layer top_layer(const char *example, const char **ret_kernel)
{
    static struct unit u;
    struct ks_hypotheses h;
    derive(&u, example, NULL, NULL, &h);
    enum ks_layer top = h.n ? h.data[0].layer : KS_N_LAYERS;
    static char kernel[64];
    snprintf(kernel, sizeof kernel, "%s", h.n ? h.data[0].kernel : "");
    *ret_kernel = kernel;
    unit_release(&u);
    return top;
}

TEST(the_first_remark_names_what_holds_each_example_back)
{
    static const struct {
        const char *example, *kernel;
        enum ks_layer layer;
    } expected[] = {
        {"elementwise", "bias_gelu_residual", KS_LAYER_OPERATOR_BOUNDARY},
        {"histogram", "histogram_kernel", KS_LAYER_SYNCHRONIZATION},
        {"layernorm", "layernorm_kernel", KS_LAYER_SYNCHRONIZATION},
        {"matmul", "matmul_kernel", KS_LAYER_COMPUTE},
        {"particles", "particles_kernel", KS_LAYER_MEMORY_ACCESS},
        {"softmax", "softmax_kernel", KS_LAYER_MEMORY_ACCESS},
        {"stencil", "heat_step", KS_LAYER_DATA_MOVEMENT},
        {"transpose", "transpose_kernel", KS_LAYER_MEMORY_ACCESS},
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const char *kernel;
        enum ks_layer layer = top_layer(expected[i].example, &kernel);
        CHECK_STR(ks_layer_text(layer), ks_layer_text(expected[i].layer));
        CHECK_STR(kernel, expected[i].kernel);
    }
}

TEST(attention_shows_four_layers_at_once)
{
    struct unit u;
    struct ks_hypotheses h;
    derive(&u, "attention", NULL, NULL, &h);
    CHECK_NEAR(value_of(find(&h, KS_LAYER_OPERATOR_BOUNDARY, "attention_forward"), "handovers"), 2, 0);
    CHECK_NEAR(value_of(find(&h, KS_LAYER_DATA_MOVEMENT, "attention_scores"), "block_reuse_reads"), 2, 0);
    CHECK_NEAR(value_of(find(&h, KS_LAYER_MEMORY_ACCESS, "attention_scores"), "lane_stride_symbolic"), 1, 0);
    CHECK_NEAR(value_of(find(&h, KS_LAYER_COMPUTE, "attention_values"), "half_inputs"), 1, 0);
    CHECK_NEAR(value_of(find(&h, KS_LAYER_SYNCHRONIZATION, "attention_softmax"), "tree_reductions"), 2, 0);
    CHECK_NEAR(value_of(find(&h, KS_LAYER_DATA_MOVEMENT, "attention_softmax"), "global_passes"), 3, 0);
    unit_release(&u);
}

TEST(remarks_read_like_a_compilers)
{
    struct unit u;
    struct ks_hypotheses h;
    derive(&u, "transpose", NULL, NULL, &h);
    ks_hypotheses_to_diags(&h, u.facts, &u.diags);
    CHECK(u.diags.n > 0);
    KS_AUTO_STR struct ks_str out = KS_STR_INIT;
    ks_diag_render(&u.diags.data[0], u.facts->source, u.facts->source_len, false, &out);
    CHECK_CONTAINS(
        ks_str_cstr(&out),
        "transpose.cu:15:9: remark: transpose_kernel: neighbouring lanes write 'out' rows elements apart [kscc-memory-access]\n"
        "            out[col * rows + row] = in[row * cols + col];\n"
        "            ^~~~~~~~~~~~~~~~~~~~~\n");
    KS_AUTO_JSON struct ks_json *json = ks_hypotheses_to_json(&h, u.facts);
    const struct ks_json *first = ks_json_at(json, 0);
    CHECK_STR(ks_json_get_str(first, "layer", ""), "memory-access");
    CHECK_STR(ks_json_get_str(ks_json_at(ks_json_get(first, "evidence"), 0), "key", ""), "strided_accesses");
    CHECK_INT(ks_json_get_i64(first, "line", 0), 15);
    unit_release(&u);
}

TEST(spills_and_registers_come_from_ptxas)
{
    struct unit u;
    struct ks_hypotheses h;
    derive(&u, "matmul",
           "ptxas info    : Compiling entry function '_Z13matmul_kernelPKfS0_Pfiii' for 'sm_90a'\n"
           "    64 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads\n"
           "ptxas info    : Used 255 registers\n",
           NULL, &h);
    const struct ks_hypothesis *c = find(&h, KS_LAYER_COMPILATION, "matmul_kernel");
    CHECK_NEAR(value_of(c, "spill_bytes"), 24, 0);
    CHECK_NEAR(value_of(c, "registers"), 255, 0);
    CHECK_NEAR(value_of(c, "register_limited_occupancy"), 8.0 / 64.0, 1e-9);
    CHECK(c == &h.data[0]);
    CHECK_CONTAINS(c->text, "24 bytes of registers are spilled");
    unit_release(&u);
}

TEST(counters_shift_the_weight_to_the_kernel_that_takes_the_time)
{
    static const char counters[] = "{\"kernels\":["
                                   "{\"name\":\"attention_scores\",\"modelled_ns\":100},"
                                   "{\"name\":\"attention_softmax\",\"modelled_ns\":100},"
                                   "{\"name\":\"_Z16attention_valuesPKfPK6__halfPS1_ii\",\"modelled_ns\":9800}]}";
    struct unit u;
    struct ks_hypotheses h;
    derive(&u, "attention", NULL, counters, &h);
    double values = find(&h, KS_LAYER_COMPUTE, "attention_values")->score,
           scores = find(&h, KS_LAYER_COMPUTE, "attention_scores")->score;
    CHECK(values > 3.0 * scores);
    unit_release(&u);
}

static const char softmax_profile[] =
    "{\"device\":{\"arch\":\"sm_90a\"},\"kernels\":[{\"name\":\"_Z14softmax_kernelPKfPfii\","
    "\"launches\":1,\"blocks\":512,\"threads_per_block\":128,"
    "\"warp_insts\":1000000,\"thread_insts\":32000000,\"global_load_requests\":6000,\"global_"
    "load_sectors\":192000,\"global_load_bytes_requested\":768000,"
    "\"global_store_requests\":4000,\"global_store_sectors\":128000,\"global_store_bytes_"
    "requested\":512000,\"l1_miss_sectors\":300000,\"l2_unique_bytes\":400000,\"l2_unique_read_bytes\":200000,"
    "\"shared_load_requests\":0,\"shared_store_requests\":0,\"shared_conflicts\":0,"
    "\"barriers\":0,\"global_atomic_requests\":0,\"flops_fp32\":30000,"
    "\"flops_fp16\":0,\"flops_fp64\":0,\"flops_tensor\":0,\"inst_by_class\":{\"special\":50000}"
    ",\"occupancy\":{\"warps_per_sm\":16},\"modelled_ns\":100000,"
    "\"modelled\":{\"bound\":\"l2\",\"waves\":0.5,\"launch_ns\":2000,\"terms\":{\"issue_ns\":"
    "10000,\"l2_ns\":98000,\"lsu_ns\":40000,\"dram_ns\":30000,\"latency_ns\":20000}}}]}";

TEST(counters_become_evidence_and_bound_the_gain)
{
    struct unit u;
    struct ks_hypotheses h;
    derive(&u, "softmax", NULL, softmax_profile, &h);
    const struct ks_hypothesis *access = find(&h, KS_LAYER_MEMORY_ACCESS, "softmax_kernel");
    CHECK_NEAR(value_of(access, "sectors_per_request"), 32, 0);
    CHECK_NEAR(value_of(access, "sector_efficiency"), 0.125, 1e-12);
    CHECK_NEAR(value_of(access, "bound_ratio"), 0.92, 0.02); /* L2's own time over the joined one */
    CHECK(access->share > 0.5 && access->share < 0.8);       /* what is left is DRAM and the latency */
    CHECK_NEAR(access->gain_bound, 1.0 / (1.0 - access->share), 0.01);
    CHECK_NEAR(value_of(access, "share_if_free"), access->share, 1e-12);
    const struct ks_hypothesis *movement = find(&h, KS_LAYER_DATA_MOVEMENT, "softmax_kernel");
    CHECK_NEAR(value_of(movement, "read_amplification"), 3.84, 1e-12);
    CHECK_NEAR(value_of(movement, "l2_bytes_ratio"), 24, 1e-12);
    const struct ks_hypothesis *parallel = find(&h, KS_LAYER_PARALLEL_DECOMPOSITION, "softmax_kernel");
    CHECK_NEAR(value_of(parallel, "occupancy"), 0.25, 1e-12);
    CHECK_NEAR(value_of(parallel, "waves"), 0.5, 1e-12);
    CHECK_NEAR(value_of(parallel, "lane_efficiency"), 1, 1e-12);
    const struct ks_hypothesis *compute = find(&h, KS_LAYER_COMPUTE, "softmax_kernel");
    CHECK_NEAR(value_of(compute, "special_inst_ratio"), 0.05, 1e-12);
    CHECK(compute->share < 0.05 && compute->score < 0.1); /* the evidence is kept, the remark is not made */
    CHECK_STR(ks_layer_text(h.data[0].layer), "memory-access");
    unit_release(&u);
}

TEST(a_profile_of_other_kernels_changes_nothing)
{
    struct unit u, v;
    struct ks_hypotheses without, with;
    derive(&u, "transpose", NULL, NULL, &without);
    derive(&v, "transpose", NULL, softmax_profile, &with);
    CHECK_INT(with.n, without.n);
    for (size_t i = 0; i < with.n && i < without.n; i++)
        CHECK_NEAR(with.data[i].score, without.data[i].score, 0);
    unit_release(&u);
    unit_release(&v);
}

TEST(every_key_is_documented)
{
    static const char *const examples[] = {"attention", "elementwise", "histogram", "matmul",
                                           "particles", "reduction",   "softmax",   "stencil"};
    KS_AUTO_STR struct ks_str doc = KS_STR_INIT;
    struct ks_err err;
    CHECK_OK(ks_file_read(KSCC_SOURCE_DIR "/docs/EVIDENCE.md", KS_MAX_SOURCE_BYTES, &doc, &err));
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        struct unit u;
        struct ks_hypotheses h;
        derive(&u, examples[i], NULL, softmax_profile, &h);
        for (size_t k = 0; k < h.n; k++) {
            for (size_t e = 0; e < h.data[k].n_evidence; e++) {
                char row[80];
                snprintf(row, sizeof row, "\n| `%s` |", h.data[k].evidence[e].key);
                CHECK_CONTAINS(ks_str_cstr(&doc), row);
            }
        }
        unit_release(&u);
    }
}

static void derive_text(struct unit *u, const char *text, const char *profile, struct ks_hypotheses *ret)
{
    struct ks_err err;
    KS_AUTO_JSON struct ks_json *json = NULL;
    unit_parse(u, text);
    CHECK_INT(u->code, KS_OK);
    if (profile)
        CHECK_OK(ks_json_parse(profile, strlen(profile), "profile", &json, &err));
    ks_hypotheses_derive(u->facts, NULL, 0, json, &u->arena, ret);
}

/* Four turns of a host loop: the kernel's modelled time is DRAM traffic, all of it what one turn leaves to the next. */
static const char turns_profile[] =
    "{\"kernels\": [{\"name\": \"_Z4stepPKfPfi\", \"launches\": 4, \"modelled_ns\": 400000, \"global_load_bytes_requested\": 4e8,"
    " \"global_store_bytes_requested\": 4e8, \"modelled\": {\"launch_ns\": 1000, \"terms\": {\"dram_ns\": 99000}}}]}";

static double handed_over(const char *entry_text)
{
    struct unit u;
    struct ks_hypotheses h;
    KS_AUTO_STR struct ks_str text = KS_STR_INIT;
    ks_str_addf(&text,
                "__global__ void step(const float *a, float *b, int n)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                "    if (i < n)\n        b[i] = a[i] * 0.5f;\n}\n%s",
                entry_text);
    derive_text(&u, ks_str_cstr(&text), turns_profile, &h);
    double share = value_of(find(&h, KS_LAYER_OPERATOR_BOUNDARY, "run"), "handover_bytes_ratio");
    unit_release(&u);
    return share;
}

TEST(what_a_turn_of_a_host_loop_leaves_to_the_next_is_handed_over)
{
    /* swapped pointers, the same place in every turn, and parts of a buffer that have nothing to do with each other */
    CHECK_NEAR(handed_over(
                   "void run(float *x, float *y, int n)\n{\n    float *from = x, *to = y;\n    for (int s = 0; s < 4; s++) {\n"
                   "        step<<<n / 256, 256>>>(from, to, n);\n        from = to;\n        to = to == x ? y : x;\n    }\n}\n"),
               0.75, 1e-9);
    CHECK_NEAR(
        handed_over(
            "void run(float *x, int n)\n{\n    for (int s = 0; s < 4; s++)\n        step<<<n / 256, 256>>>(x, x, n);\n}\n"),
        0.75, 1e-9);
    CHECK_NEAR(handed_over("void run(float *x, float *y, int n)\n{\n    for (int s = 0; s < 4; s++)\n"
                           "        step<<<n / 256, 256>>>(x + s * n, y + s * n, n);\n}\n"),
               -1, 1e-9);
}

TEST(a_loop_that_touches_no_memory_is_seen_in_functions_too)
{
    struct unit u;
    struct ks_hypotheses h;
    derive_text(&u,
                "__host__ __device__ inline int ones(unsigned v)\n{\n    int n = 0;\n    for (int b = 0; b < 32; b++)\n"
                "        n += (v >> b) & 1;\n    return n;\n}\n"
                "__global__ void count(const unsigned *a, int *d)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                "    d[i] = ones(a[i]);\n}\n",
                NULL, &h);
    CHECK_NEAR(value_of(find(&h, KS_LAYER_COMPUTE, "count"), "register_loops"), 1, 0);
    unit_release(&u);
}

TEST(the_ptx_says_what_the_compiler_made_of_the_text)
{
    static const char text[] = "__global__ void pairs(const float *x, float *y) {\n"
                               "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
                               "    y[i] = x[2 * i] + x[2 * i + 1];\n"
                               "}\n"
                               "void call(const float *x, float *y, int n) { pairs<<<n / 128, 128>>>(x, y); }\n";
    struct unit u;
    struct ks_hypotheses h;
    derive_text(&u, text,
                "{\"kernels\": [{\"name\": \"_Z5pairsPKfPf\", \"ptx\": {\"loads\": 2, \"vector_loads\": 0, \"local_bytes\": 64, "
                "\"local_accesses\": 3, \"tensor\": 0, \"fp64\": 5, \"calls\": 1, \"max_threads\": 1024}}]}",
                &h);
    const struct ks_hypothesis *built = find(&h, KS_LAYER_COMPILATION, "pairs"), *compute = find(&h, KS_LAYER_COMPUTE, "pairs");
    CHECK_NEAR(value_of(built, "vector_loads_missing"), 2, 0);
    CHECK_NEAR(value_of(built, "ptx_local_bytes"), 64, 0);
    CHECK_NEAR(value_of(built, "ptx_calls"), 1, 0);
    CHECK_NEAR(value_of(built, "launch_bounds_wide"), 8, 0);
    CHECK_NEAR(value_of(compute, "ptx_double_insts"), 5, 0);
    unit_release(&u);
    derive_text(
        &u, text,
        "{\"kernels\": [{\"name\": \"_Z5pairsPKfPf\", \"ptx\": {\"loads\": 1, \"vector_loads\": 1, \"local_accesses\": 0, "
        "\"tensor\": 0, \"fp64\": 0, \"calls\": 0, \"max_threads\": 128}}]}",
        &h);
    built = find(&h, KS_LAYER_COMPILATION, "pairs");
    CHECK(built != NULL);
    CHECK_NEAR(value_of(built, "vector_loads_missing"), -1, 0);
    CHECK_NEAR(value_of(built, "ptx_calls"), -1, 0);
    CHECK_NEAR(value_of(built, "launch_bounds_wide"), -1, 0);
    unit_release(&u);
}

TEST(lanes_sent_apart_by_data_and_recursion_are_seen)
{
    static const char text[] =
        "__device__ float horner(const float *c, float x, int n) { return n ? c[0] + x * horner(c + 1, x, n - 1) : 0.0f; }\n"
        "__global__ void series(const float *c, float *y, int n) { y[threadIdx.x] = horner(c, y[threadIdx.x], n); }\n"
        "__global__ void kinds(const int *kind, float *y, int n) {\n"
        "    float v = y[threadIdx.x];\n"
        "    int k = kind[threadIdx.x];\n"
        "    if (k == 0) for (int i = 0; i < 9; i++) v = v * v + 1.0f;\n"
        "    else for (int i = 0; i < 9; i++) v = v * 0.5f - 1.0f;\n"
        "    if (n == 0) for (int i = 0; i < 9; i++) v += 1.0f;\n" /* the same for all */
        "    else for (int i = 0; i < 9; i++) v -= 1.0f;\n"
        "    if (kind[threadIdx.x + 32] == 0) v = 1.0f; else v += 2.0f;\n" /* no work */
        "    y[threadIdx.x] = v;\n"
        "}\n";
    struct unit u;
    struct ks_hypotheses h;
    derive_text(&u, text, NULL, &h);
    CHECK_NEAR(value_of(find(&h, KS_LAYER_COMPILATION, "series"), "recursive_calls"), 1, 0);
    CHECK_NEAR(value_of(find(&h, KS_LAYER_COMPILATION, "kinds"), "recursive_calls"), -1, 0);
    CHECK_NEAR(value_of(find(&h, KS_LAYER_PARALLEL_DECOMPOSITION, "kinds"), "divergent_work"), 1, 0);
    unit_release(&u);
}

TEST(the_same_input_gives_the_same_list)
{
    KS_AUTO_STR struct ks_str first = KS_STR_INIT, second = KS_STR_INIT;
    for (int i = 0; i < 2; i++) {
        struct unit u;
        struct ks_hypotheses h;
        derive(&u, "attention", NULL, NULL, &h);
        KS_AUTO_JSON struct ks_json *json = ks_hypotheses_to_json(&h, u.facts);
        ks_json_print(json, i ? &second : &first);
        unit_release(&u);
    }
    CHECK_STR(ks_str_cstr(&first), ks_str_cstr(&second));
}

TEST_MAIN
