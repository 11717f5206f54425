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
                                   "{\"kernel\":\"attention_scores\",\"time_ns\":100},"
                                   "{\"kernel\":\"attention_softmax\",\"time_ns\":100},"
                                   "{\"kernel\":\"_Z16attention_valuesPKfPK6__halfPS1_ii\",\"time_ns\":9800}]}";
    struct unit u;
    struct ks_hypotheses h;
    derive(&u, "attention", NULL, counters, &h);
    double values = find(&h, KS_LAYER_COMPUTE, "attention_values")->score,
           scores = find(&h, KS_LAYER_COMPUTE, "attention_scores")->score;
    CHECK(values > 3.0 * scores);
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
