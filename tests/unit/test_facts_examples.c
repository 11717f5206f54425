/* What the analyzer must know about the kernels under kernels/examples/. */

#include "tests/unit/test.h"
#include "tests/unit/facts_util.h"

#define CHECK_ACCESS(kernel, buffer, writes, n, expected_stride)                                                                 \
    do {                                                                                                                         \
        const struct ks_access *access_ = access_of(kernel, buffer, writes, n);                                                  \
        CHECK(access_ != NULL);                                                                                                  \
        if (access_)                                                                                                             \
            CHECK_INT(access_->stride, expected_stride);                                                                         \
    } while (0)

static void check_plain(const struct unit *u, size_t kernels, size_t launches, size_t handovers)
{
    CHECK_INT(u->code, KS_OK);
    CHECK_INT(u->diags.n, 0);
    if (!u->facts)
        return;
    CHECK_INT(u->facts->n_kernels, kernels);
    CHECK_INT(u->facts->n_entries, 1);
    CHECK_INT(u->facts->n_launches, launches);
    CHECK_INT(u->facts->n_handovers, handovers);
    for (size_t i = 0; i < u->facts->n_kernels; i++)
        CHECK(!u->facts->kernels[i].has_error && !u->facts->kernels[i].calls_unknown);
    for (size_t i = 0; i < u->facts->n_launches; i++)
        CHECK(u->facts->launches[i].kernel != NULL && u->facts->launches[i].stream != NULL);
}

TEST(attention_hands_its_scores_over_twice)
{
    struct unit u;
    unit_parse_example(&u, "attention");
    check_plain(&u, 3, 3, 2);
    const struct ks_kernel *scores = ks_facts_kernel(u.facts, "attention_scores"),
                           *softmax = ks_facts_kernel(u.facts, "attention_softmax");
    CHECK_ACCESS(scores, "k", false, 0, KS_STRIDE_SYMBOLIC);
    CHECK_ACCESS(scores, "q", false, 0, KS_STRIDE_UNIFORM);
    CHECK_ACCESS(scores, "scores", true, 0, KS_STRIDE_UNIT);
    CHECK(access_of(scores, "q", false, 0)->block_reuse && access_of(scores, "k", false, 0)->block_reuse);
    CHECK_STR(poly_text(&loop_of(scores, "d", 0)->bound_poly), "D");
    CHECK_INT(softmax->n_loops, 5);
    CHECK_INT(softmax->n_barriers, 5);
    CHECK_INT(softmax->n_shared, 1);
    CHECK_INT(loop_of(softmax, "half_size", 0)->shrink, 2);
    CHECK(!softmax->early_return && scores->early_return);
    for (size_t i = 0; i < 2; i++) {
        CHECK_STR(u.facts->handovers[i].buffer->name, "scores");
        CHECK(!u.facts->handovers[i].elementwise && !u.facts->handovers[i].only_consumer);
        CHECK_INT(u.facts->handovers[i].last_reader, i);
    }
    CHECK_STR(poly_text(&u.facts->launches[0].grid_dims[2]), "B * H");
    unit_release(&u);
}

TEST(the_elementwise_chain_is_elementwise)
{
    struct unit u;
    unit_parse_example(&u, "elementwise");
    check_plain(&u, 3, 3, 2);
    CHECK(u.facts->handovers[0].elementwise && u.facts->handovers[1].elementwise);
    const struct ks_access *bias = access_of(ks_facts_kernel(u.facts, "add_bias"), "bias", false, 0);
    CHECK_INT(bias->stride, KS_STRIDE_IRREGULAR);
    CHECK_INT(bias->wrapped_stride, KS_STRIDE_UNIT);
    CHECK(access_of(ks_facts_kernel(u.facts, "gelu"), "x", false, 0)->base_aligned16);
    CHECK_STR(poly_text(&u.facts->launches[1].arg_polys[2]), "cols * rows");
    unit_release(&u);
}

TEST(histogram_updates_bins_by_data)
{
    struct unit u;
    unit_parse_example(&u, "histogram");
    check_plain(&u, 1, 1, 0);
    const struct ks_access *bins = access_of(&u.facts->kernels[0], "bins", true, 0);
    CHECK(bins->is_atomic && bins->stride == KS_STRIDE_IRREGULAR);
    CHECK_ACCESS(&u.facts->kernels[0], "data", false, 0, KS_STRIDE_UNIT);
    CHECK_INT(access_of(&u.facts->kernels[0], "data", false, 0)->element->size_bytes, 1);
    unit_release(&u);
}

TEST(layernorm_passes_over_each_row_three_times)
{
    struct unit u;
    unit_parse_example(&u, "layernorm");
    check_plain(&u, 1, 1, 0);
    const struct ks_kernel *k = &u.facts->kernels[0];
    for (size_t i = 0; i < 3; i++) {
        CHECK_ACCESS(k, "x", false, i, KS_STRIDE_UNIT);
        CHECK_STR(poly_text(&access_of(k, "x", false, i)->index), "blockIdx.x * cols + c");
        CHECK(access_of(k, "x", false, i)->loop == loop_of(k, "c", i));
    }
    CHECK_INT(loop_of(k, "s", 0)->trip_count, 8);
    CHECK_STR(poly_text(&loop_of(k, "c", 0)->step_poly), "256");
    CHECK(!loop_of(k, "c", 0)->lane_uniform && loop_of(k, "s", 1)->has_barrier);
    CHECK_INT(k->n_barriers, 5);
    unit_release(&u);
}

TEST(matmul_stages_both_operands)
{
    struct unit u;
    unit_parse_example(&u, "matmul");
    check_plain(&u, 1, 1, 0);
    const struct ks_kernel *k = &u.facts->kernels[0];
    CHECK_INT(k->n_shared, 2);
    CHECK_INT(k->shared[1].size_bytes, 1024);
    CHECK_ACCESS(k, "a", false, 0, KS_STRIDE_UNIT);
    CHECK_ACCESS(k, "b", false, 0, KS_STRIDE_UNIT);
    CHECK_ACCESS(k, "a_tile", false, 0, KS_STRIDE_UNIFORM);
    CHECK_ACCESS(k, "b_tile", false, 0, KS_STRIDE_UNIT);
    const struct ks_loop *inner = loop_of(k, "k", 0), *outer = loop_of(k, "k0", 0);
    CHECK_INT(inner->trip_count, 16);
    CHECK(inner->outer == outer && inner->depth == 1 && outer->has_inner && outer->has_barrier && !inner->has_barrier);
    unit_release(&u);
}

TEST(particles_are_an_array_of_structures)
{
    struct unit u;
    unit_parse_example(&u, "particles");
    check_plain(&u, 1, 1, 0);
    const struct ks_kernel *k = &u.facts->kernels[0];
    const struct ks_access *vx = access_of(k, "p", true, 0);
    CHECK_STR(vx->member, "vx");
    CHECK_INT(vx->member_off_byte, 12);
    CHECK_INT(vx->element->size_bytes, 32);
    CHECK_ACCESS(k, "force", false, 2, KS_STRIDE_CONSTANT);
    CHECK_INT(access_of(k, "force", false, 2)->lane_stride_elem, 3);
    unit_release(&u);
}

TEST(reduction_hands_partial_sums_to_one_block)
{
    struct unit u;
    unit_parse_example(&u, "reduction");
    check_plain(&u, 2, 2, 1);
    CHECK_STR(u.facts->handovers[0].buffer->name, "partial");
    CHECK(!u.facts->handovers[0].elementwise && u.facts->handovers[0].last_reader);
    CHECK_STR(poly_text(&u.facts->launches[1].grid_dims[0]), "1");
    CHECK_STR(poly_text(&access_of(ks_facts_kernel(u.facts, "reduce_blocks"), "x", false, 0)->index),
              "threadIdx.x + 256 * blockIdx.x");
    CHECK_INT(loop_of(ks_facts_kernel(u.facts, "reduce_partials"), "s", 0)->trip_count, 8);
    unit_release(&u);
}

TEST(softmax_walks_a_row_per_thread)
{
    struct unit u;
    unit_parse_example(&u, "softmax");
    check_plain(&u, 1, 1, 0);
    const struct ks_kernel *k = &u.facts->kernels[0];
    for (size_t i = 0; i < 3; i++)
        CHECK_ACCESS(k, "x", false, i, KS_STRIDE_SYMBOLIC);
    CHECK_ACCESS(k, "y", true, 1, KS_STRIDE_SYMBOLIC);
    CHECK(loop_of(k, "c", 1)->lane_uniform);
    CHECK_STR(poly_text(&loop_of(k, "c", 0)->first_poly), "1");
    unit_release(&u);
}

TEST(stencil_reads_overlap_and_its_pointers_swap)
{
    struct unit u;
    unit_parse_example(&u, "stencil");
    check_plain(&u, 1, 1, 0);
    const struct ks_kernel *k = &u.facts->kernels[0];
    for (size_t i = 0; i < 5; i++)
        CHECK(access_of(k, "in", false, i)->overlaps_neighbour);
    const struct ks_launch *l = &u.facts->launches[0];
    CHECK(l->in_loop);
    CHECK(l->arg_buffers[0] == NULL && l->arg_buffers[1] == NULL);
    unit_release(&u);
}

TEST(transpose_writes_columns)
{
    struct unit u;
    unit_parse_example(&u, "transpose");
    check_plain(&u, 1, 1, 0);
    CHECK_ACCESS(&u.facts->kernels[0], "in", false, 0, KS_STRIDE_UNIT);
    CHECK_ACCESS(&u.facts->kernels[0], "out", true, 0, KS_STRIDE_SYMBOLIC);
    unit_release(&u);
}

TEST_MAIN
