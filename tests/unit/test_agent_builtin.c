#include "tests/unit/rewrite_case.h"

#include "rewriter/agent.h"

#include <stdlib.h>

/* A search loop in miniature: the judge decides which trials are accepted. */
struct loop {
    struct ks_agent *agent;
    struct ks_attempt attempts[32];
    size_t n;
    char *text;
    enum ks_layer question;
    bool ended;
};
/* Sets accepted, correct, failed_gate of the newest attempt. */
typedef void judge_fn(struct ks_attempt *a);

static double best_speedup = 1.0;

/* Everything is a tenth faster than what there was before. */
static void accept_all(struct ks_attempt *a)
{
    a->accepted = a->correct = true;
    a->speedup = best_speedup *= 1.1;
}

/* Correct and past the gate, but no faster than the best: the text does not become the best one. */
static void accept_without_gain(struct ks_attempt *a)
{
    a->accepted = a->correct = true;
    a->speedup = best_speedup;
}

static void loop_open(struct loop *l, const char *unit)
{
    struct ks_err err;
    char path[512];
    struct ks_str text = KS_STR_INIT;
    best_speedup = 1.0;
    *l = (struct loop){.agent = ks_agent_builtin_new(), .question = KS_N_LAYERS};
    snprintf(path, sizeof path, GOLDEN_DIR "%s.cu", unit);
    CHECK_OK(ks_file_read(path, 1u << 20, &text, &err));
    l->text = ks_str_detach(&text, NULL);
}

static void loop_step(struct loop *l, judge_fn *judge)
{
    struct ks_err err;
    struct ks_proposal p;
    const struct rewrite_case *c = l->ended ? NULL : case_of("case.cu", l->text, strlen(l->text));
    if (!c)
        return;
    struct ks_agent_view v = {.path = "case.cu",
                              .source = l->text,
                              .source_len = strlen(l->text),
                              .facts = c->view.facts,
                              .entry = c->view.entry->name,
                              .contract = c->contract,
                              .arch = "sm_90a",
                              .question_layer = l->question,
                              .attempts = l->attempts,
                              .n_attempts = l->n};
    CHECK_OK(l->agent->propose(l->agent, &v, &p, &err));
    l->ended = p.source == NULL;
    if (p.source) {
        CHECK(p.predicted_speedup > 1.0);
        CHECK(p.hypothesis && *p.hypothesis);
        for (size_t i = 0; i < l->n; i++)
            CHECK(strcmp(l->attempts[i].source, p.source) != 0);
        struct ks_attempt *a = &l->attempts[l->n++];
        *a = (struct ks_attempt){.source = ks_xstrdup(p.source),
                                 .layer = p.layer,
                                 .transform = ks_xstrdup(p.transform),
                                 .predicted = p.predicted_speedup};
        judge(a);
        if (a->accepted && judge == accept_all) {
            free(l->text);
            l->text = ks_xstrdup(p.source);
        }
    }
    ks_proposal_release(&p);
}

static void loop_close(struct loop *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free((char *)(uintptr_t)l->attempts[i].source);
        free((char *)(uintptr_t)l->attempts[i].transform);
    }
    free(l->text);
    l->agent->free(l->agent);
}

static const char *label(const struct loop *l, size_t i)
{
    return i < l->n ? l->attempts[i].transform : "";
}

TEST(accepted_edits_are_built_upon_until_nothing_is_left)
{
    struct loop l;
    loop_open(&l, "leaky_chain");
    for (int i = 0; i < 20 && !l.ended; i++)
        loop_step(&l, accept_all);
    CHECK(l.ended);
    CHECK_STR(label(&l, 0), "fuse-launches(leaky+twice)");
    CHECK_STR(label(&l, 1), "vectorise(leaky_scale_fused;LANES=8)");
    loop_close(&l);
}

TEST(the_same_views_give_the_same_proposals)
{
    struct loop a, b;
    loop_open(&a, "gated_sum");
    loop_open(&b, "gated_sum");
    for (int i = 0; i < 6; i++) {
        loop_step(&a, accept_all);
        loop_step(&b, accept_all);
    }
    CHECK_INT(a.n, b.n);
    for (size_t i = 0; i < a.n && i < b.n; i++) {
        CHECK_STR(a.attempts[i].transform, b.attempts[i].transform);
        CHECK_STR(a.attempts[i].source, b.attempts[i].source);
    }
    loop_close(&a);
    loop_close(&b);
}

TEST(a_question_moves_the_work_to_its_layer)
{
    struct loop l;
    loop_open(&l, "gated_sum");
    l.question = KS_LAYER_COMPUTE;
    loop_step(&l, accept_all);
    CHECK_STR(label(&l, 0), "fast-math(gated_sum_kernel)");
    loop_close(&l);
    loop_open(&l, "gated_sum");
    l.question = KS_LAYER_COMPILATION;
    loop_step(&l, accept_all);
    CHECK_STR(label(&l, 0), "restrict(gated_sum_kernel)");
    loop_close(&l);
}

/* A question about a layer with nothing of weight must not spoil the pattern of a large step. */
TEST(a_small_answer_does_not_come_before_a_large_step)
{
    struct loop l;
    loop_open(&l, "self_attention");
    l.question = KS_LAYER_SYNCHRONIZATION;
    loop_step(&l, accept_all);
    CHECK_STR(label(&l, 0), "fuse-attention(scores_kernel+softmax_kernel+values_kernel;P=half)");
    loop_close(&l);
}

static size_t first_trial(const struct loop *l, const char *prefix)
{
    size_t i = 0;
    while (i < l->n && !ks_str_starts(l->attempts[i].transform, prefix))
        i++;
    return i;
}

/* Nor must one whose result hides the pattern of others. */
TEST(a_form_that_others_do_not_recognise_waits_for_them)
{
    struct loop l;
    loop_open(&l, "tiled_product");
    l.question = KS_LAYER_COMPILATION;
    for (int i = 0; i < 24 && !l.ended; i++)
        loop_step(&l, accept_without_gain);
    CHECK(l.ended);
    CHECK(first_trial(&l, "tune-unroll(") < l.n);
    CHECK(first_trial(&l, "register-tile(") < first_trial(&l, "tune-unroll("));
    loop_close(&l);
    loop_open(&l, "wrapped_copy");
    l.question = KS_LAYER_PARALLEL_DECOMPOSITION;
    for (int i = 0; i < 24 && !l.ended; i++)
        loop_step(&l, accept_without_gain);
    CHECK(first_trial(&l, "coarsen-threads(") < l.n);
    CHECK(first_trial(&l, "vectorise(") < first_trial(&l, "coarsen-threads("));
    loop_close(&l);
}

static void reject_numerics(struct ks_attempt *a)
{
    a->failed_gate = "numerics";
}

static void reject_build(struct ks_attempt *a)
{
    a->failed_gate = "build";
}

static size_t count_trials(const struct loop *l, const char *prefix)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += ks_str_starts(l->attempts[i].transform, prefix);
    return n;
}

TEST(a_wrong_result_speaks_against_all_variants_and_a_failed_build_does_not)
{
    struct loop l;
    loop_open(&l, "tiled_product");
    for (int i = 0; i < 12 && !l.ended; i++)
        loop_step(&l, reject_numerics);
    CHECK_INT(count_trials(&l, "register-tile("), 1);
    loop_close(&l);
    loop_open(&l, "tiled_product");
    for (int i = 0; i < 12 && !l.ended; i++)
        loop_step(&l, reject_build);
    CHECK_INT(count_trials(&l, "register-tile("), 3);
    loop_close(&l);
}

TEST(a_small_step_without_gain_is_not_tried_again_when_the_text_changes)
{
    struct loop l;
    loop_open(&l, "gated_sum");
    l.question = KS_LAYER_COMPILATION;
    loop_step(&l, accept_without_gain);
    CHECK_STR(label(&l, 0), "restrict(gated_sum_kernel)");
    l.question = KS_N_LAYERS;
    for (int i = 0; i < 16 && !l.ended; i++)
        loop_step(&l, accept_all);
    CHECK(l.ended);
    CHECK_INT(count_trials(&l, "restrict("), 1);
    loop_close(&l);
}

TEST(a_more_precise_variant_is_tried_after_a_wrong_result)
{
    struct loop l;
    loop_open(&l, "self_attention");
    loop_step(&l, reject_numerics);
    loop_step(&l, reject_numerics);
    CHECK_STR(label(&l, 1), "fuse-attention(scores_kernel+softmax_kernel+values_kernel;P=half+half)");
    loop_step(&l, reject_numerics);
    CHECK_INT(count_trials(&l, "fuse-attention("), 2);
    loop_close(&l);
}

TEST(siblings_of_an_accepted_variant_are_tried_from_their_common_parent)
{
    struct loop l;
    loop_open(&l, "tiled_product");
    for (int i = 0; i < 3; i++)
        loop_step(&l, accept_all);
    CHECK_STR(label(&l, 0), "register-tile(product_kernel;TILE=128x128)");
    CHECK_STR(label(&l, 1), "register-tile(product_kernel;TILE=128x64)");
    CHECK_STR(label(&l, 2), "register-tile(product_kernel;TILE=64x64)");
    loop_step(&l, accept_all);
    CHECK(!ks_str_starts(label(&l, 3), "register-tile("));
    loop_close(&l);
}

TEST_MAIN
