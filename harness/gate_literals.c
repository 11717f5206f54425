/* The part of the numerics gate that is about sizes a candidate's own code names (literals.h): both arms are run at them, and
 * compared.  In a trial few, in the confirmation many, each within a budget of work that chance does not change. */
#include "harness/session_impl.h"

#include "harness/literals.h"
#include "base/hash.h"

#include <string.h>

/* Numbers of calls, not used otherwise. */
#define LITERAL_ROUND (1u << 21)

/* What may be spent: calls of each arm, bytes of buffers and, emulated, warp instructions of the original, of all calls and of
 * one. */
struct allowance {
    size_t calls, bytes, call_bytes;
    int64_t warp_insts, call_warp_insts;
};
static const struct allowance trial_emulated = {8, 8u << 20, 2u << 20, 4ll << 20, 1ll << 20};
static const struct allowance confirm_emulated = {256, 128u << 20, KS_LARGE_SHAPE_BYTES, 64ll << 20, 8ll << 20};
static const struct allowance trial_cuda = {8, 64u << 20, 16u << 20, 0, 0};
static const struct allowance confirm_cuda = {256, 1u << 30, 16u << 20, 0, 0};
/* The other dims are lowered to this. */
#define OTHERS_BYTES ((size_t)128 << 10)
/* Of more named sizes than this each is tried with one choice of the other dims. */
#define MANY_NAMED 64

static struct allowance allowance(const struct ks_trial *t)
{
    bool cuda = t->s->opt.device == KS_DEVICE_CUDA;
    struct allowance a = cuda ? (t->confirm ? confirm_cuda : trial_cuda) : t->confirm ? confirm_emulated : trial_emulated;
    size_t most = t->s->opt.memory_limit_bytes / 8;
    a.call_bytes = !cuda && most < a.call_bytes ? most : a.call_bytes;
    return a;
}

/* Of the session's secret and the candidate's own code: who writes the code cannot know what it will be tried at. */
static void literal_key(const struct ks_trial *t, uint8_t ret[32])
{
    struct ks_hash h;
    char hex[65];
    uint64_t n = t->s->opt.device == KS_DEVICE_CUDA ? t->s->n_trials : 0;
    ks_hash_init(&h);
    ks_hash_update(&h, t->s->secret, sizeof t->s->secret);
    ks_hash_update_field(&h, t->confirm ? "confirm" : "trial", t->confirm ? 7 : 5);
    ks_hash_update_field(&h, t->arm.built->code_hash, strlen(t->arm.built->code_hash));
    ks_hash_update(&h, &n, sizeof n);
    ks_hash_final_hex(&h, hex);
    memcpy(ret, hex, 32);
}

/* How it went with one kind of sizes. */
struct literal_count {
    size_t tried, left_out; /* left out: too large or too slow for the device */
};

struct literal_run {
    struct ks_trial *t;
    struct allowance left;
    uint64_t call;
    struct literal_count of[KS_N_LITERAL_KINDS];
    size_t original_fails;
};

/* One shape on both arms; false: the gate has failed. */
static bool shape_try(struct literal_run *r, const struct ks_literal *l, const struct ks_shape *shape)
{
    struct ks_trial *t = r->t;
    struct ks_session *s = t->s;
    struct ks_case k = {.shape = *shape, .set = KS_SET_DECLARED, .call = r->call++, .arms = s->c->oracle != NULL};
    struct ks_err ignored;
    bool emulated = s->opt.device == KS_DEVICE_EMULATED, skip = false;
    size_t bytes = ks_shape_bytes(s, shape);
    double insts = emulated ? ks_insts_expected(s, t->cases, t->n_cases, bytes) : 0;
    if (bytes > r->left.bytes || (emulated && insts > (double)r->left.call_warp_insts)) {
        r->of[l->kind].left_out++;
        return true;
    }
    int64_t most = r->left.call_warp_insts * 2;
    if (ks_case_answer(s, &k, most, &skip, &ignored) != KS_OK || skip) {
        *(skip ? &r->of[l->kind].left_out : &r->original_fails) += 1;
        r->left.warp_insts -= skip ? most : 0;
        ks_cases_release(&k, 1);
        return true;
    }
    r->left.bytes -= bytes;
    r->left.warp_insts -= k.warp_insts;
    r->left.calls--;
    r->of[l->kind].tried++;
    ks_vec_push(&t->sized, ((struct ks_sized_call){*shape, k.call}));
    bool right =
        ks_numerics_case(t, &k, (size_t)r->call, l->kind == KS_LITERAL_ANY ? "" : " (a size of its code or of the domain)");
    ks_cases_release(&k, 1);
    return right;
}

/* The other dims are drawn; in a confirmation smallest besides, where that says more than another size would, and in a trial by
 * turns. */
static bool literal_try(struct literal_run *r, const struct ks_literals *all, size_t index, const uint8_t key[32])
{
    const struct ks_contract *c = r->t->s->c;
    const struct ks_literal *l = &all->items.data[index];
    struct ks_shape drawn, small;
    if (!ks_literal_shape(c, l, key, index, true, OTHERS_BYTES, r->left.call_bytes, &small)) {
        r->of[l->kind].left_out++;
        return true;
    }
    bool has_drawn = ks_literal_shape(c, l, key, index, false, OTHERS_BYTES, r->left.call_bytes, &drawn) &&
                     memcmp(&drawn, &small, sizeof small) != 0;
    bool both = r->t->confirm && l->kind <= KS_LITERAL_EDGE && all->n_of[KS_LITERAL_NAMED] <= MANY_NAMED;
    bool first = has_drawn && (r->t->confirm || index % 2 == 0);
    if (!shape_try(r, l, first ? &drawn : &small))
        return false;
    return !both || !first || r->left.calls == 0 || shape_try(r, l, &small);
}

static struct ks_json *literal_details(const struct literal_run *r, const struct ks_literals *l)
{
    struct ks_json *j = ks_json_object();
    for (int kind = 0; kind < KS_N_LITERAL_KINDS; kind++) {
        if (l->n_of[kind] == 0)
            continue;
        struct ks_json *one = ks_json_object();
        ks_json_set_i64(one, "found", (int64_t)l->n_of[kind]);
        ks_json_set_i64(one, "tried", (int64_t)r->of[kind].tried);
        ks_json_set_i64(one, "too_large", (int64_t)r->of[kind].left_out);
        ks_json_set(j, ks_literal_kind_text((enum ks_literal_kind)kind), one);
    }
    if (r->original_fails)
        ks_json_set_i64(j, "original_fails", (int64_t)r->original_fails);
    return j;
}

/* Code that names more sizes than can be tried is not emitted unseen: one of them may be what the others hide. */
static void approval_ask(struct ks_trial *t, const struct ks_literals *l)
{
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    if (l->n_named_left == 0 || t->v->approval)
        return;
    ks_str_addf(&why, "its code names %zu size%s of the domain that the original's does not, of which %zu had no trial",
                l->n_of[KS_LITERAL_NAMED], ks_plural_s((int64_t)l->n_of[KS_LITERAL_NAMED]), l->n_named_left);
    t->v->approval = ks_str_detach(&why, NULL);
}

bool ks_literals_check(struct ks_trial *t, struct ks_json **ret_details)
{
    struct ks_session *s = t->s;
    struct ks_constants candidate;
    struct ks_literals l;
    uint8_t key[32];
    uint64_t round = LITERAL_ROUND + (t->confirm ? KS_ROUND_CONFIRM : 0) + (s->opt.device == KS_DEVICE_CUDA ? s->n_trials : 0);
    struct literal_run r = {.t = t, .left = allowance(t), .call = round << 32};
    literal_key(t, key);
    ks_constants_read(&t->arm.built->object, &candidate);
    ks_literals_make(s->c, &candidate, &s->base_constants, key, r.left.calls, &l);
    bool right = true;
    size_t n = 0;
    for (; n < l.items.n && right && r.left.calls > 0 && r.left.warp_insts >= 0; n++)
        right = literal_try(&r, &l, n, key);
    for (size_t i = n; i < l.items.n; i++)
        l.n_named_left += l.items.data[i].kind == KS_LITERAL_NAMED;
    if (right && t->confirm)
        approval_ask(t, &l);
    *ret_details = right ? literal_details(&r, &l) : NULL;
    ks_literals_release(&l);
    ks_constants_release(&candidate);
    if (s->opt.device == KS_DEVICE_EMULATED && t->confirm)
        ks_arm_stop(&s->base); /* in trials it waits for the next one */
    return right;
}
