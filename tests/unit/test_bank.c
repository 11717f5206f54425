/* Decision points, the picker, its conditions and its memory. */

#include "base/file.h"
#include "questions/bank.h"
#include "questions/condition.h"
#include "test.h"

#include <unistd.h>

static struct ks_arena arena;
static struct ks_bank bank;

static void load(void)
{
    struct ks_err err = {0};
    ks_arena_init(&arena);
    CHECK_OK(ks_bank_load(KSCC_SOURCE_DIR "/questions/bank", &arena, &bank, &err));
}

static struct ks_json *json(const char *text)
{
    struct ks_err err = {0};
    struct ks_json *j = NULL;
    CHECK_OK(ks_json_parse(text, strlen(text), "test", &j, &err));
    return j;
}

/* What the analyzer says about the attention example, abridged. */
static const char attention[] =
    "[{\"layer\":\"operator-boundary\",\"score\":0.9,\"evidence\":[{\"key\":\"launches\",\"value\":3},{\"key\":\"handovers\","
    "\"value\":2}]},"
    " {\"layer\":\"data-movement\",\"score\":0.6,\"evidence\":[{\"key\":\"block_reuse_reads\",\"value\":2},{\"key\":\"global_"
    "passes\",\"value\":3}]},"
    " {\"layer\":\"memory-access\",\"score\":0.5,\"evidence\":[{\"key\":\"strided_accesses\",\"value\":1}]},"
    " {\"layer\":\"memory-access\",\"score\":0.2,\"evidence\":[{\"key\":\"narrow_accesses\",\"value\":4},{\"key\":\"strided_"
    "accesses\",\"value\":0}]},"
    " {\"layer\":\"synchronization\",\"score\":0.3,\"evidence\":[{\"key\":\"barriers\",\"value\":6},{\"key\":\"tree_reductions\","
    "\"value\":2}]},"
    " {\"layer\":\"compilation\",\"score\":0.1,\"evidence\":[{\"key\":\"missing_launch_bounds\",\"value\":1}]}]";

static const struct ks_trial_record failed_numerics = {
    .layer = KS_LAYER_OPERATOR_BOUNDARY, .failed_gate = "numerics", .predicted = 2};
static const struct ks_trial_record failed_safety = {.layer = KS_LAYER_DATA_MOVEMENT, .failed_gate = "safety", .predicted = 2};
static const struct ks_trial_record gained = {
    .layer = KS_LAYER_OPERATOR_BOUNDARY, .accepted = true, .improved = true, .predicted = 2, .measured = 1.8};
static const struct ks_trial_record no_gain = {.layer = KS_LAYER_DATA_MOVEMENT, .predicted = 1.1, .measured = 1.0};
static const struct ks_trial_record far_off = {
    .layer = KS_LAYER_DATA_MOVEMENT, .accepted = true, .improved = true, .predicted = 3, .measured = 1.2};

TEST(each_decision_point_is_recognised)
{
    struct ks_trial_record t[8];
    struct ks_asked_record asked[8] = {{"x", 0}};
    struct ks_picker_view v = {.trials = t, .asked = asked};
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_START);
    v.n_asked = 1;
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_NONE); /* asked, no trial since */
    v.agent_claims_limit = true;
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_CLAIMED_LIMIT);
    asked[1] = asked[2] = asked[0];
    v.n_asked = 3;
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_NONE); /* it keeps claiming: let it end */
    v.agent_claims_limit = false;
    v.n_asked = 1;

    v.n_trials = 1;
    t[0] = gained;
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_NONE);
    t[0] = far_off;
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_PREDICTION_OFF);
    t[0] = failed_numerics;
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_NONE); /* once is no pattern */
    v.n_trials = 2;
    t[1] = failed_safety;
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_NONE);
    t[1] = failed_numerics;
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_REPEATED_FAIL);

    t[0].failed_gate = t[1].failed_gate = "time"; /* right, but not faster */
    t[0].measured = t[1].measured = 1.9;
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_NONE);

    t[0] = gained;
    t[1] = t[2] = t[3] = t[4] = t[5] = t[6] = no_gain;
    const enum ks_decision_point expected[] = {KS_POINT_NONE, KS_POINT_NONE, KS_POINT_NONE,   KS_POINT_NO_GAIN,
                                               KS_POINT_NONE, KS_POINT_NONE, KS_POINT_NO_GAIN};
    for (size_t n = 1; n <= 7; n++) {
        v.n_trials = n;
        CHECK_INT(ks_decision_point_now(&v), expected[n - 1]);
    }

    v.n_trials = 2;
    v.budget_used = 0.52;
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_BUDGET);
    v.budget_used = 0.45;
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_NONE);
    v.n_trials = 6;
    v.budget_used = 0.7;
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_NONE); /* crossed one half earlier */
    v.budget_used = 0.92;
    CHECK_INT(ks_decision_point_now(&v), KS_POINT_BUDGET);
}

/* Reads a condition and says whether it holds. */
static bool holds(const char *text, enum ks_decision_point point, const struct ks_picker_view *v)
{
    KS_AUTO_JSON struct ks_json *j = json(text);
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    const struct ks_condition *c = NULL;
    CHECK(ks_condition_read(j, &arena, &c, &why));
    CHECK_STR(ks_str_cstr(&why), "");
    return c && ks_condition_holds(c, point, v);
}

TEST(conditions_look_at_evidence_scores_and_history)
{
    ks_arena_init(&arena);
    KS_AUTO_JSON struct ks_json *h = json(attention);
    const struct ks_trial_record t[] = {gained, failed_safety, failed_numerics, failed_numerics, no_gain};
    struct ks_picker_view v = {.hypotheses = h, .trials = t, .n_trials = 5};
    const enum ks_decision_point P = KS_POINT_NO_GAIN;
    CHECK(holds("{\"evidence\":\"launches\",\"min\":3}", P, &v));
    CHECK(!holds("{\"evidence\":\"launches\",\"min\":4}", P, &v));
    CHECK(holds("{\"evidence\":\"launches\",\"min\":1,\"max\":3}", P, &v));
    CHECK(!holds("{\"evidence\":\"launches\",\"max\":2}", P, &v));
    CHECK(!holds("{\"evidence\":\"spill_bytes\",\"max\":100}", P, &v));   /* absent is not zero */
    CHECK(holds("{\"evidence\":\"strided_accesses\",\"min\":1}", P, &v)); /* the largest of all hypotheses */
    CHECK(holds("{\"layer_score\":{\"layer\":\"memory-access\",\"min\":0.5}}", P, &v));
    CHECK(!holds("{\"layer_score\":{\"layer\":\"memory-access\",\"min\":0.51}}", P, &v));
    CHECK(holds("{\"layer_score\":{\"layer\":\"compute\",\"max\":0}}", P, &v));
    CHECK(holds("{\"failed_gate\":\"numerics\"}", P, &v));
    CHECK(holds("{\"failed_gate\":\"numerics\",\"min\":2}", P, &v));
    CHECK(!holds("{\"failed_gate\":\"numerics\",\"min\":3}", P, &v));
    CHECK(!holds("{\"failed_gate\":\"safety\"}", P, &v)); /* not the last failure */
    CHECK(holds("{\"trials_without_gain\":4}", P, &v));
    CHECK(!holds("{\"trials_without_gain\":5}", P, &v));
    CHECK(holds("{\"last_layer\":\"data-movement\"}", P, &v));
    CHECK(!holds("{\"last_layer\":\"compute\"}", P, &v));
    CHECK(holds("{\"point\":\"no-gain\"}", P, &v));
    CHECK(!holds("{\"point\":\"start\"}", P, &v));
    CHECK(holds("{\"all\":[{\"point\":\"no-gain\"},{\"not\":{\"point\":\"start\"}}]}", P, &v));
    CHECK(!holds("{\"all\":[{\"point\":\"no-gain\"},{\"point\":\"start\"}]}", P, &v));
    CHECK(holds("{\"any\":[{\"point\":\"start\"},{\"point\":\"no-gain\"}]}", P, &v));
    CHECK(!holds("{\"any\":[{\"point\":\"start\"},{\"point\":\"budget\"}]}", P, &v));
    struct ks_picker_view nothing = {0};
    CHECK(!holds("{\"last_layer\":\"compute\"}", P, &nothing));
    CHECK(!holds("{\"failed_gate\":\"numerics\"}", P, &nothing));
    CHECK(ks_condition_holds(NULL, P, &nothing));
    ks_arena_release(&arena);
}

TEST(the_first_question_goes_to_the_layer_with_the_highest_score)
{
    load();
    KS_AUTO_JSON struct ks_json *h = json(attention);
    struct ks_picker_view v = {.hypotheses = h};
    const struct ks_question *q = ks_bank_pick(&bank, NULL, KS_POINT_START, &v);
    CHECK(q && q->layer == KS_LAYER_OPERATOR_BOUNDARY && q->kind == KS_QUESTION_REDIRECT);
    CHECK(ks_bank_pick(&bank, NULL, KS_POINT_START, &v) == q); /* deterministic */
    CHECK(ks_bank_pick(&bank, NULL, KS_POINT_NONE, &v) == NULL);
    ks_arena_release(&arena);
}

TEST(without_gain_the_work_is_redirected_to_another_layer)
{
    load();
    KS_AUTO_JSON struct ks_json *h = json(attention);
    struct ks_trial_record t[3] = {no_gain, no_gain, no_gain};
    for (int i = 0; i < 3; i++)
        t[i].layer = KS_LAYER_OPERATOR_BOUNDARY;
    struct ks_picker_view v = {.hypotheses = h, .trials = t, .n_trials = 3};
    const struct ks_question *q = ks_bank_pick(&bank, NULL, KS_POINT_NO_GAIN, &v);
    CHECK(q && q->layer == KS_LAYER_DATA_MOVEMENT && q->kind == KS_QUESTION_REDIRECT);
    ks_arena_release(&arena);
}

TEST(after_failures_and_claimed_limits_a_doubt_is_raised)
{
    load();
    KS_AUTO_JSON struct ks_json *h = json(attention);
    const struct ks_trial_record t[] = {failed_numerics, failed_numerics};
    struct ks_picker_view v = {.hypotheses = h, .trials = t, .n_trials = 2};
    const struct ks_question *q = ks_bank_pick(&bank, NULL, KS_POINT_REPEATED_FAIL, &v);
    CHECK(q && q->kind == KS_QUESTION_CHALLENGE);
    v.agent_claims_limit = true;
    v.n_trials = 0;
    q = ks_bank_pick(&bank, NULL, KS_POINT_CLAIMED_LIMIT, &v);
    CHECK(q && q->kind == KS_QUESTION_CHALLENGE);
    ks_arena_release(&arena);
}

TEST(a_question_cools_down_and_comes_back)
{
    load();
    KS_AUTO_JSON struct ks_json *h = json(attention);
    struct ks_trial_record t[100];
    for (size_t i = 0; i < 100; i++)
        t[i] = gained;
    struct ks_picker_view v = {.hypotheses = h, .trials = t, .n_trials = 10};
    const struct ks_question *first = ks_bank_pick(&bank, NULL, KS_POINT_NO_GAIN, &v);
    struct ks_asked_record asked[] = {{first->id, 10}};
    v.asked = asked;
    v.n_asked = 1;
    v.n_trials = 10 + (size_t)first->cooldown - 1;
    CHECK(ks_bank_pick(&bank, NULL, KS_POINT_NO_GAIN, &v) != first);
    /* Everything else asked just now: only the first one is left. */
    struct ks_asked_record *all = KS_ARENA_ARRAY(&arena, struct ks_asked_record, bank.n);
    size_t n = 0;
    v.n_trials = 10 + (size_t)first->cooldown;
    for (size_t i = 0; i < bank.n; i++)
        all[n++] = (struct ks_asked_record){bank.data[i].id, &bank.data[i] == first ? 10 : v.n_trials};
    v.asked = all;
    v.n_asked = n;
    CHECK(ks_bank_pick(&bank, NULL, KS_POINT_NO_GAIN, &v) == first);
    all[0].at_trial = v.n_trials;
    for (size_t i = 0; i < n; i++)
        all[i].at_trial = v.n_trials;
    CHECK(ks_bank_pick(&bank, NULL, KS_POINT_NO_GAIN, &v) == NULL);
    ks_arena_release(&arena);
}

/* A search that asks at every decision point hears many questions about many layers. */
TEST(a_long_fruitless_search_is_led_through_the_layers)
{
    load();
    KS_AUTO_JSON struct ks_json *h = json(attention);
    struct ks_trial_record t[24];
    struct ks_asked_record asked[24];
    bool layers[KS_N_LAYERS] = {false};
    struct ks_picker_view v = {.hypotheses = h, .trials = t, .asked = asked};
    for (size_t i = 0; i < 24; i++) {
        enum ks_decision_point p = ks_decision_point_now(&v);
        const struct ks_question *q = ks_bank_pick(&bank, NULL, p, &v);
        if (q) {
            for (size_t k = 0; k < v.n_asked; k++)
                CHECK(strcmp(asked[k].question_id, q->id) != 0 || v.n_trials - asked[k].at_trial >= (size_t)q->cooldown);
            asked[v.n_asked++] = (struct ks_asked_record){q->id, v.n_trials};
            layers[q->layer] = true;
        }
        t[v.n_trials] = no_gain;
        t[v.n_trials++].layer = q ? q->layer : KS_LAYER_COMPUTE;
    }
    size_t n = 0;
    for (int l = 0; l < KS_N_LAYERS; l++)
        n += layers[l];
    CHECK(v.n_asked >= 7);
    CHECK(n >= 4);
    ks_arena_release(&arena);
}

/* Every question of the bank can come up: under some evidence, history and point its condition holds. */
TEST(no_question_is_unreachable)
{
    load();
    static const double values[] = {0, 0.1, 0.5, 1, 3, 1000};
    for (size_t i = 0; i < bank.n; i++) {
        bool reachable = false;
        for (int p = KS_POINT_START; p <= KS_POINT_BUDGET && !reachable; p++)
            for (size_t k = 0; k < 6 && !reachable; k++)
                for (int l = 0; l < KS_N_LAYERS && !reachable; l++)
                    for (int g = 0; g < 5 && !reachable; g++) {
                        static const char *const gates[] = {NULL, "numerics", "safety", "resources", "build"};
                        /* All keys of the bank's own conditions at one value, except that tensor cores are not used. */
                        KS_AUTO_STR struct ks_str text = KS_STR_INIT;
                        ks_str_addf(&text, "[{\"layer\":\"%s\",\"score\":1,\"evidence\":[", ks_layer_text(bank.data[i].layer));
                        const char *sep = "";
                        const struct ks_condition *stack[64] = {bank.data[i].when};
                        for (size_t n = bank.data[i].when ? 1 : 0; n > 0;) {
                            const struct ks_condition *c = stack[--n];
                            if (c->kind == KS_COND_EVIDENCE) {
                                ks_str_addf(&text, "%s{\"key\":\"%s\",\"value\":%g}", sep, c->name, values[k]);
                                sep = ",";
                            }
                            for (size_t m = 0; c->kind != KS_COND_NOT && m < c->n_children && n < 64; m++)
                                stack[n++] = c->children[m];
                        }
                        ks_str_add(&text, "]}]");
                        KS_AUTO_JSON struct ks_json *h = json(text.data);
                        const struct ks_trial_record t = {.layer = (enum ks_layer)l, .failed_gate = gates[g]};
                        struct ks_picker_view v = {.hypotheses = h, .trials = &t, .n_trials = 1};
                        reachable = ks_condition_holds(bank.data[i].when, (enum ks_decision_point)p, &v);
                    }
        if (!reachable)
            printf("question '%s' can never be asked\n", bank.data[i].id);
        CHECK(reachable);
    }
    ks_arena_release(&arena);
}

TEST(memory_shifts_later_picks)
{
    load();
    struct ks_err err = {0};
    KS_AUTO_JSON struct ks_json *h = json(attention);
    struct ks_picker_view v = {.hypotheses = h, .family = "attention-like"};
    struct ks_memory *m = NULL;
    CHECK_OK(ks_memory_load(NULL, &m, &err));
    const struct ks_question *before = ks_bank_pick(&bank, m, KS_POINT_START, &v);
    CHECK(before == ks_bank_pick(&bank, NULL, KS_POINT_START, &v)); /* an empty memory says nothing */
    for (int i = 0; i < 12; i++)
        ks_memory_record(m, before->id, before->layer, "attention-like", 0.0);
    const struct ks_question *after = ks_bank_pick(&bank, m, KS_POINT_START, &v);
    CHECK(after && after != before);
    /* What works in this family is asked first again. */
    for (int i = 0; i < 12; i++)
        ks_memory_record(m, before->id, before->layer, "attention-like", 1.0);
    CHECK(ks_bank_pick(&bank, m, KS_POINT_START, &v) == before);
    ks_memory_free(m);
    ks_arena_release(&arena);
}

TEST(a_ranking_says_why_and_never_repeats_the_last_question)
{
    load();
    KS_AUTO_JSON struct ks_json *h = json(attention);
    struct ks_picker_view v = {.hypotheses = h, .family = "attention-like"};
    struct ks_choice *choices, *later;
    size_t n = ks_bank_rank(&bank, NULL, KS_POINT_START, &v, &arena, &choices);
    CHECK(n > 3);
    CHECK(choices[0].question == ks_bank_pick(&bank, NULL, KS_POINT_START, &v));
    for (size_t i = 0; i < n; i++) {
        const struct ks_choice *c = &choices[i];
        CHECK_NEAR(c->score, c->need * c->fit * c->freshness * c->promise, 1e-12);
        CHECK(i == 0 || c->score <= choices[i - 1].score);
        CHECK(c->question->when == NULL || c->because[0]);
    }
    struct ks_asked_record asked = {choices[0].question->id, 0};
    struct ks_trial_record trials[8] = {{0}}; /* its cooldown is long over */
    v.asked = &asked;
    v.n_asked = 1;
    v.trials = trials;
    v.n_trials = 8;
    n = ks_bank_rank(&bank, NULL, KS_POINT_NO_GAIN, &v, &arena, &later);
    for (size_t i = 0; i < n; i++)
        CHECK(later[i].question != choices[0].question);
    ks_arena_release(&arena);
}

TEST(memories_of_several_people_add_up)
{
    struct ks_memory *a = NULL, *b = NULL, *sum = NULL;
    struct ks_err err = {0};
    CHECK_OK(ks_memory_load(NULL, &a, &err));
    CHECK_OK(ks_memory_load(NULL, &b, &err));
    CHECK_OK(ks_memory_load(NULL, &sum, &err));
    ks_memory_record(a, "compute/modulus-known", KS_LAYER_COMPUTE, "elementwise", 0.5);
    ks_memory_record(b, "compute/modulus-known", KS_LAYER_COMPUTE, "elementwise", 1.0);
    ks_memory_record(b, "compute/modulus-known", KS_LAYER_COMPUTE, "stencil", 0.0);
    ks_memory_merge(sum, a);
    ks_memory_merge(sum, b);
    CHECK_INT(ks_memory_answers(sum), 2);
    const char *path = "test_bank_merge.json";
    CHECK_OK(ks_memory_save(sum, path, &err));
    KS_AUTO_JSON struct ks_json *j = NULL;
    CHECK_OK(ks_json_read_file(path, &j, &err));
    const struct ks_json *first = ks_json_at(ks_json_get(j, "answers"), 0);
    CHECK_STR(ks_json_get_str(first, "family", ""), "elementwise");
    CHECK_NEAR(ks_json_get_num(first, "weight", 0), 2, 1e-12);
    CHECK_NEAR(ks_json_get_num(first, "log_gain_sum", 0), 1.5, 1e-12);
    CHECK_INT(ks_json_get_i64(first, "asked", 0), 2);
    remove(path);
    ks_memory_free(a);
    ks_memory_free(b);
    ks_memory_free(sum);
}

TEST(memory_survives_in_a_file_people_can_read)
{
    struct ks_err err = {0};
    char *dir = NULL;
    CHECK_OK(ks_dir_make_temp("kscc-test", &dir, &err));
    KS_AUTO_STR struct ks_str path = KS_STR_INIT, text = KS_STR_INIT, again = KS_STR_INIT;
    ks_path_join(&path, dir, "memory.json");
    struct ks_memory *m = NULL;
    CHECK_OK(ks_memory_load(path.data, &m, &err)); /* not there yet */
    ks_memory_record(m, "compute/visible-digits", KS_LAYER_COMPUTE, "matmul-like", 0.5);
    ks_memory_record(m, "compilation/machine-code", KS_LAYER_COMPILATION, NULL, NAN);
    ks_memory_record(m, "compute/visible-digits", KS_LAYER_COMPUTE, "matmul-like", INFINITY);
    ks_memory_record(m, "compute/same-divisor", KS_LAYER_COMPUTE, "elementwise", -0.1);
    CHECK_OK(ks_memory_save(m, path.data, &err));
    ks_memory_free(m);
    CHECK_OK(ks_file_read(path.data, 1 << 20, &text, &err));
    CHECK_CONTAINS(text.data, "\"matmul-like\"");
    CHECK_OK(ks_memory_load(path.data, &m, &err));
    CHECK_OK(ks_memory_save(m, path.data, &err));
    ks_memory_free(m);
    CHECK_OK(ks_file_read(path.data, 1 << 20, &again, &err));
    CHECK_STR(again.data, text.data);

    static const char *const broken[] = {
        "{}",
        "[",
        "{\"answers\":[{}]}",
        "{\"answers\":[{\"question\":\"q\",\"family\":\"\",\"layer\":\"compute\",\"weight\":-1,\"log_gain_sum\":0}]}",
        "{\"answers\":[{\"question\":\"q\",\"family\":\"\",\"layer\":\"compute\",\"weight\":1,\"log_gain_sum\":99}]}",
        "{\"answers\":[{\"question\":\"q\",\"family\":\"\",\"layer\":\"x\",\"weight\":1,\"log_gain_sum\":0}]}"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        CHECK_OK(ks_file_write_atomic(path.data, broken[i], strlen(broken[i]), 0644, &err));
        CHECK_INT(ks_memory_load(path.data, &m, &err), KS_ERR_SYNTAX);
    }
    CHECK_OK(ks_dir_remove(dir, &err));
    free(dir);
}

TEST_MAIN
