/* Which calls the numerics gate makes, and what the baseline answers to them. */
#include "harness/session_impl.h"

#include "harness/emulated/emu.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define N_SHAPES_EMULATED    10
#define N_SHAPES_CUDA        14
#define SHAPE_BYTES_EMULATED ((size_t)256 << 10)
#define SHAPE_BYTES_CUDA     ((size_t)16 << 20)
#define POINT_BYTES_CUDA     ((size_t)64 << 20) /* larger timing points are checked where they are timed */
/* A call whose baseline needs more than this is too slow to emulate for every candidate; its shape is left out. */
#define CASE_WARP_INSTS (6ll << 20)
/* A contract with recorded contents has one shape, the program's own: more may be spent on it. */
#define RECORDED_WARP_INSTS (24ll << 20)
#define RECORDED_BYTES      ((size_t)64 << 20)
/* The final confirmation checks those timing points in full whose modelled run says that they need at most this. */
#define POINT_WARP_INSTS (96ll << 20)
#define POINT_BYTES      ((size_t)256 << 20)
/* It also draws shapes between the small ones and what the device can run in a few seconds, log-spaced by the size of their data:
 * a candidate that leaves out what is large is met there. */
#define N_LARGE          4
#define LARGE_WARP_INSTS (32ll << 20)
#define LARGE_BYTES      KS_LARGE_SHAPE_BYTES
#define LARGE_DRAWS      12 /* shapes drawn for one size, of which one is taken */
#define LARGE_TRIES      6

static int64_t case_warp_insts(const struct ks_session *s)
{
    return s->recorded ? RECORDED_WARP_INSTS : CASE_WARP_INSTS;
}

int64_t ks_counter_sum(const struct ks_json *counters, const char *name)
{
    int64_t sum = 0;
    for (size_t i = 0; i < ks_json_len(counters); i++)
        sum += ks_json_get_i64(ks_json_at(counters, i), name, 0);
    return sum;
}

static void shape_text(const struct ks_session *s, const struct ks_case *k, struct ks_str *out)
{
    ks_shape_print(s->c, &k->shape, out);
    if (k->set != KS_SET_DECLARED)
        ks_str_addf(out, " (inputs: %s)", ks_input_set_text(k->set));
}

/* First element that holds the one poison in one run and the other in the other; n_elem: none. */
static size_t first_unwritten(const unsigned char *a, uint32_t poison_a, const unsigned char *b, uint32_t poison_b,
                              size_t elem_bytes, size_t n_elem)
{
    unsigned char pattern_a[8], pattern_b[8];
    for (size_t i = 0; i < n_elem; i++) {
        for (size_t k = 0; k < elem_bytes; k++) {
            pattern_a[k] = ((const unsigned char *)&poison_a)[(i * elem_bytes + k) % 4];
            pattern_b[k] = ((const unsigned char *)&poison_b)[(i * elem_bytes + k) % 4];
        }
        if (memcmp(pattern_a, pattern_b, elem_bytes) != 0 && memcmp(a + i * elem_bytes, pattern_a, elem_bytes) == 0 &&
            memcmp(b + i * elem_bytes, pattern_b, elem_bytes) == 0)
            return i;
    }
    return n_elem;
}

/* Compares the outputs in the arm's shared memory with the kept ones. */
static enum ks_code repeat_check(struct ks_session *s, const struct ks_layout *l, const struct ks_case *k,
                                 const uint32_t poison[2], struct ks_err *err)
{
    for (size_t i = 0; i < l->n; i++) {
        struct ks_compare cmp;
        const struct ks_buffer *b = &s->c->buffers[i];
        if (!ks_buffer_is_output(b))
            continue;
        size_t hole = b->direction == KS_DIR_OUT ? first_unwritten(k->want[i], poison[0], ks_run_output(&s->base, l, i),
                                                                   poison[1], ks_dtype_size(b->dtype), l->buf[i].n_elem)
                                                 : l->buf[i].n_elem;
        if (hole < l->buf[i].n_elem) {
            KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
            shape_text(s, k, &shape);
            return ks_fail(err, KS_ERR_MISMATCH,
                           "the original does not write all of its output at %s: '%s'[%zu] stays as it was (if that is meant, it "
                           "is 'inout')",
                           ks_str_cstr(&shape), b->name, hole);
        }
        ks_compare(&s->c->buffers[i], ks_run_output(&s->base, l, i), k->want[i], l->buf[i].n_elem, ks_set_judges_kinds(k->set),
                   &cmp);
        if (cmp.match)
            continue;
        KS_AUTO_STR struct ks_str where = KS_STR_INIT, what = KS_STR_INIT;
        shape_text(s, k, &where);
        ks_compare_describe(&cmp, &s->c->buffers[i], l->buf[i].n_elem, &what);
        return ks_fail(err, KS_ERR_MISMATCH,
                       "the original does not agree with itself at %s: %s (does it leave part of its output unwritten?)",
                       ks_str_cstr(&where), ks_str_cstr(&what));
    }
    return KS_OK;
}

/* One run of the baseline among others' checks. */
static void base_run(struct ks_session *s, const struct ks_layout *l, const struct ks_run_options *o, struct ks_run *ret)
{
    ks_session_enter(s, false);
    ks_run_once(s, &s->base, l, o, ret);
    ks_session_leave(s);
}

/* Runs the baseline once or twice.  ret_skip: too slow for this device. */
static enum ks_code case_run(struct ks_session *s, struct ks_case *k, bool repeat, int64_t max_warp_insts, bool *ret_skip,
                             struct ks_err *err)
{
    struct ks_layout l;
    struct ks_run run;
    bool emulated = s->opt.device == KS_DEVICE_EMULATED;
    struct ks_wire_config config = {.checks = KS_EMU_CHECK_BOUNDS, .counters = 1, .max_warp_insts = max_warp_insts};
    KS_TRY(ks_layout_make(s, &k->shape, k->set, k->call, &l, err));
    KS_TRY(ks_arm_configure(s, &s->base, &config, err));
    /* The two poisons differ in every 16-bit half, and both are NaN. */
    uint32_t first = ks_inputs_poison(s->secret, k->call * 2), poison[2] = {first, first ^ 0x00050005u};
    for (int pass = 0; pass < (repeat ? 2 : 1); pass++) {
        /* In the session's first round the device's contents are held against the host's, later they are taken from it. */
        struct ks_run_options o = {.poison = poison[pass], .timeout_ms = 120000, .trust = !emulated && k->call >> 32 > 1};
        base_run(s, &l, &o, &run);
        KS_AUTO_STR struct ks_str where = KS_STR_INIT, problem = KS_STR_INIT;
        shape_text(s, k, &where);
        ks_str_add(&problem, ks_str_cstr(&run.problem));
        bool bad = run.touched || run.returned_error;
        k->left_bytes = run.left_bytes > k->left_bytes ? run.left_bytes : k->left_bytes;
        k->last_error = run.last_error ? run.last_error : k->last_error;
        k->left_state |= run.left_state;
        ks_run_release(&run);
        if (emulated && run.code == KS_ERR_TIMEOUT) {
            ks_arm_stop(&s->base);
            *ret_skip = true;
            return KS_OK;
        }
        if (run.code != KS_OK) {
            ks_arm_stop(&s->base);
            return ks_fail(err, run.code == KS_ERR_UNSUPPORTED ? run.code : KS_ERR_DEVICE, "the original fails at %s: %s",
                           ks_str_cstr(&where), run.err.message);
        }
        if (bad)
            return ks_fail(err, KS_ERR_MISMATCH, "the original breaks its contract at %s: %s", ks_str_cstr(&where), problem.data);
        if (pass == 1) {
            KS_TRY(repeat_check(s, &l, k, poison, err));
            continue;
        }
        for (size_t i = 0; i < l.n; i++)
            if (ks_buffer_is_output(&s->c->buffers[i])) {
                k->want[i] = ks_xmalloc(l.buf[i].bytes + 1);
                memcpy(k->want[i], ks_run_output(&s->base, &l, i), l.buf[i].bytes);
            } else if (!emulated && s->c->buffers[i].direction == KS_DIR_IN) {
                k->inputs[i] = ks_xmalloc(l.buf[i].bytes + 1);
                memcpy(k->inputs[i], ks_run_output(&s->base, &l, i), l.buf[i].bytes);
            }
    }
    if (emulated) {
        struct ks_json *counters = NULL;
        KS_TRY(ks_arm_report(s, &s->base, KS_REPORT_COUNTERS, &counters, NULL, err));
        k->thread_insts = ks_counter_sum(counters, "thread_insts") / (repeat ? 2 : 1);
        k->warp_insts = ks_counter_sum(counters, "warp_insts") / (repeat ? 2 : 1);
        ks_json_free(counters);
    }
    int threads = ks_worker_threads(s->base.worker);
    s->base_threads = threads > s->base_threads ? threads : s->base_threads;
    return KS_OK;
}

enum ks_code ks_case_answer(struct ks_session *s, struct ks_case *k, int64_t max_warp_insts, bool *ret_skip, struct ks_err *err)
{
    return case_run(s, k, false, max_warp_insts, ret_skip, err);
}

static void case_release(struct ks_case *k)
{
    for (size_t i = 0; i < KS_MAX_PARAMS; i++) {
        free(k->want[i]);
        free(k->inputs[i]);
        free(k->exact[i]);
    }
    memset(k->want, 0, sizeof k->want);
    memset(k->inputs, 0, sizeof k->inputs);
    memset(k->exact, 0, sizeof k->exact);
}

void ks_cases_release(struct ks_case *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        case_release(&cases[i]);
}

struct case_list {
    struct ks_case *cases;
    size_t n;
    uint64_t next_call;
};

static enum ks_code case_add(struct ks_session *s, struct case_list *list, const struct ks_shape *shape, enum ks_input_set set,
                             bool repeat, int64_t max_warp_insts, struct ks_err *err)
{
    if (list->n == KS_MAX_CASES)
        return KS_OK;
    struct ks_case *k = &list->cases[list->n];
    *k = (struct ks_case){.shape = *shape, .set = set, .call = list->next_call++};
    bool skip = false;
    enum ks_code code = case_run(s, k, repeat, max_warp_insts, &skip, err);
    if (code != KS_OK || skip)
        case_release(k);
    else
        list->n++;
    return code;
}

size_t ks_shape_bytes(const struct ks_session *s, const struct ks_shape *shape)
{
    struct ks_layout l;
    struct ks_err ignored;
    return ks_layout_make(s, shape, KS_SET_DECLARED, 0, &l, &ignored) == KS_OK ? l.data_bytes : SIZE_MAX;
}

/* The case in the middle by size of its data: large enough to mean something, small enough to be repeated with bent contents. */
static size_t middle_case(const struct ks_session *s, const struct case_list *list)
{
    size_t best = 0, best_bytes = 0;
    for (size_t i = 0; i < list->n; i++) {
        size_t bytes = ks_shape_bytes(s, &list->cases[i].shape);
        bool small =
            s->opt.device == KS_DEVICE_CUDA ? bytes <= SHAPE_BYTES_CUDA : list->cases[i].warp_insts < CASE_WARP_INSTS / 16;
        if (small && bytes > best_bytes) {
            best = i;
            best_bytes = bytes;
        }
    }
    return best;
}

/* Warp instructions of the original's sampled run at a timing point; 0: not known. */
static int64_t point_warp_insts(const struct ks_session *s, size_t point)
{
    return ks_counter_sum(ks_json_get(ks_json_at(s->base_counters, point), "kernels"), "warp_insts");
}

/* May timing point `point` be one of the round's cases?  Of those that are large only the smallest are: *budget is what is left.
 */
static bool point_wanted(const struct ks_session *s, size_t point, uint64_t round, int64_t *budget)
{
    if (s->opt.device == KS_DEVICE_CUDA)
        return ks_shape_bytes(s, &s->c->times[point].shape) <= POINT_BYTES_CUDA;
    int64_t insts = point_warp_insts(s, point);
    if (round < KS_ROUND_CONFIRM || insts == 0 || insts > *budget || ks_shape_bytes(s, &s->c->times[point].shape) > POINT_BYTES)
        return false;
    *budget -= insts;
    return true;
}

/* Like the shape whose data is nearest in size, grown in proportion. */
double ks_insts_expected(const struct ks_session *s, const struct ks_case *cases, size_t n, size_t bytes)
{
    double best = 0, distance = INFINITY;
    for (size_t i = 0; i < n + s->c->n_times; i++) {
        bool point = i >= n;
        const struct ks_shape *shape = point ? &s->c->times[i - n].shape : &cases[i].shape;
        double insts = (double)(point ? point_warp_insts(s, i - n) : cases[i].warp_insts);
        double other = (double)ks_shape_bytes(s, shape), d = fabs(log(((double)bytes + 1) / (other + 1)));
        if (insts > 0 && d < distance) {
            distance = d;
            best = insts * ((double)bytes + 1) / (other + 1);
        }
    }
    return best;
}

/* One of the shapes with more than a quarter of `max_bytes` (else the largest), drawn from the secret; false: there is none above
 * `min_bytes`. */
static bool large_draw(const struct ks_session *s, uint64_t round, uint32_t salt, size_t min_bytes, size_t max_bytes,
                       struct ks_shape *ret)
{
    struct ks_shape shapes[LARGE_DRAWS];
    uint8_t key[32];
    size_t most = min_bytes, n_good = 0;
    for (size_t i = 0; i < sizeof key; i += 8) {
        uint64_t part = ks_inputs_choice(s->secret, round, 5000 + salt * 32 + (uint32_t)i, 0);
        memcpy(key + i, &part, 8);
    }
    size_t n = ks_contract_fuzz_shapes(s->c, key, max_bytes, shapes, LARGE_DRAWS);
    for (size_t i = 0; i < n; i++) {
        size_t bytes = ks_shape_bytes(s, &shapes[i]);
        if (bytes > most && n_good == 0) {
            most = bytes;
            *ret = shapes[i];
        }
        if (bytes > min_bytes && bytes > max_bytes / 4)
            shapes[n_good++] = shapes[i];
    }
    if (n_good > 0)
        *ret = shapes[ks_inputs_choice(s->secret, round, 5000 + salt * 32 + 26, n_good)];
    return n_good > 0 || most > min_bytes;
}

/* Adds the large shapes of a confirmation. */
static enum ks_code large_cases(struct ks_session *s, uint64_t round, struct case_list *list, struct ks_err *err)
{
    size_t ceiling = s->opt.memory_limit_bytes / 8 < LARGE_BYTES ? s->opt.memory_limit_bytes / 8 : LARGE_BYTES;
    for (uint32_t i = 0; i < N_LARGE; i++) {
        for (uint32_t attempt = 0; attempt < LARGE_TRIES; attempt++) {
            struct ks_shape shape;
            if (ceiling <= SHAPE_BYTES_EMULATED)
                return KS_OK;
            /* From the top down: what is too slow lowers the ceiling for all that follow. */
            double share = (double)(N_LARGE - i) / N_LARGE;
            double max_bytes = SHAPE_BYTES_EMULATED * pow((double)ceiling / SHAPE_BYTES_EMULATED, share);
            uint32_t salt = i * LARGE_TRIES + attempt;
            double drawn = max_bytes * (0.6 + 0.4e-3 * (double)ks_inputs_choice(s->secret, round, 5000 + salt * 32 + 27, 1000));
            if (!large_draw(s, round, salt, SHAPE_BYTES_EMULATED, (size_t)drawn, &shape))
                break;
            double limit = (double)(LARGE_WARP_INSTS >> i),
                   insts = ks_insts_expected(s, list->cases, list->n, ks_shape_bytes(s, &shape));
            size_t before = list->n;
            if (insts <= limit)
                KS_TRY(case_add(s, list, &shape, KS_SET_DECLARED, false, (int64_t)(limit * 2), err));
            if (list->n > before)
                break;
            ceiling = (size_t)(SHAPE_BYTES_EMULATED * pow(max_bytes / 3 / SHAPE_BYTES_EMULATED, 1 / share));
        }
    }
    return KS_OK;
}

const struct ks_case *ks_cases_largest(const struct ks_case *cases, size_t n)
{
    const struct ks_case *best = NULL;
    for (size_t i = 0; i < n; i++)
        if (cases[i].set == KS_SET_DECLARED && (!best || cases[i].warp_insts > best->warp_insts))
            best = &cases[i];
    return best;
}

bool ks_set_judges_kinds(enum ks_input_set set)
{
    return set == KS_SET_DECLARED || set == KS_SET_NONFINITE || set == KS_SET_RECORDED;
}

static bool has_nonfinite(const struct ks_session *s)
{
    for (size_t i = 0; i < s->c->n_buffers; i++)
        if (s->c->buffers[i].nonfinite)
            return true;
    return false;
}

/* Some input can hold zeros of both signs and subnormals. */
static bool has_minute(const struct ks_session *s)
{
    for (size_t i = 0; i < s->c->n_buffers; i++) {
        const struct ks_buffer *b = &s->c->buffers[i];
        if (ks_buffer_is_input(b) && ks_dtype_is_float(b->dtype) &&
            (b->dist == KS_DIST_NORMAL || (b->dist == KS_DIST_UNIFORM && b->dist_a <= 0 && b->dist_b >= 0)))
            return true;
    }
    return false;
}

static bool set_wanted(const struct ks_session *s, enum ks_input_set set)
{
    return set == KS_SET_NONFINITE  ? has_nonfinite(s)
           : set == KS_SET_MINUTE   ? has_minute(s)
           : set == KS_SET_RECORDED ? s->recorded != NULL
                                    : true;
}

enum ks_code ks_cases_make(struct ks_session *s, uint64_t round, struct ks_case *cases, size_t *ret_n, struct ks_err *err)
{
    bool cuda = s->opt.device == KS_DEVICE_CUDA;
    struct ks_shape shapes[N_SHAPES_CUDA];
    uint8_t key[32];
    struct case_list list = {.cases = cases, .next_call = (round + 1) << 32};
    for (size_t i = 0; i < sizeof key; i += 8) {
        uint64_t part = ks_inputs_choice(s->secret, round, (uint32_t)(2000 + i), 0);
        memcpy(key + i, &part, 8);
    }
    size_t most = s->recorded ? RECORDED_BYTES : cuda ? SHAPE_BYTES_CUDA : SHAPE_BYTES_EMULATED;
    size_t n = ks_contract_fuzz_shapes(s->c, key, most, shapes, cuda ? N_SHAPES_CUDA : N_SHAPES_EMULATED);
    if (n == 0)
        return ks_fail(err, KS_ERR_RANGE, "find a shape of the contract's domain that fits %zu bytes", most);
    enum ks_code code = KS_OK;
    for (size_t i = 0; i < n && code == KS_OK; i++)
        code = case_add(s, &list, &shapes[i], KS_SET_DECLARED, round == 0, case_warp_insts(s), err);
    if (code == KS_OK && !cuda && round >= KS_ROUND_CONFIRM)
        code = large_cases(s, round, &list, err);
    int64_t budget = POINT_WARP_INSTS;
    for (size_t i = 0; i < s->c->n_times && code == KS_OK; i++)
        if (point_wanted(s, i, round, &budget)) {
            size_t before = list.n;
            code = case_add(s, &list, &s->c->times[i].shape, KS_SET_DECLARED, round == 0, POINT_WARP_INSTS * 2, err);
            if (list.n > before)
                cases[before].point = (int)i + 1;
        }
    if (code == KS_OK && list.n == 0)
        code =
            ks_fail(err, KS_ERR_LIMIT, "run any shape of the contract's domain in %lld warp instructions on the emulated device",
                    (long long)case_warp_insts(s));
    if (code == KS_OK) {
        struct ks_shape shape = cases[middle_case(s, &list)].shape;
        for (int set = KS_SET_DECLARED + 1; set < KS_N_SETS && code == KS_OK; set++)
            if (set_wanted(s, (enum ks_input_set)set))
                code = case_add(s, &list, &shape, (enum ks_input_set)set, false, case_warp_insts(s), err);
    }
    if (code == KS_OK && s->c->oracle)
        code = ks_oracle_cases(s, cases, list.n, err);
    if (code != KS_OK) {
        ks_cases_release(cases, list.n);
        return code;
    }
    *ret_n = list.n;
    return KS_OK;
}

/* An answer that nobody computed. */
enum fake { FAKE_ZEROS, FAKE_COPY, FAKE_CONSTANT, FAKE_NOOP, FAKE_STALE, N_FAKES };
static const char *const fake_text[N_FAKES] = {"all zeros", "a copy of an input", "a constant", "untouched buffers",
                                               "the answer to other inputs"};

static void repeat_bytes(unsigned char *out, size_t n, const unsigned char *pattern, size_t len)
{
    for (size_t i = 0; i < n; i++)
        out[i] = len ? pattern[i % len] : 0;
}

/* The baseline's most common case of "one number": its first element everywhere. */
static void fake_fill(struct ks_session *s, const struct ks_layout *l, const struct ks_case *k, const struct ks_case *other,
                      enum fake fake, size_t i, unsigned char *out)
{
    const struct ks_buffer *b = &s->c->buffers[i];
    size_t bytes = l->buf[i].bytes;
    uint32_t poison = ks_inputs_poison(s->secret, k->call * 2 + 7);
    switch (fake) {
    case FAKE_ZEROS:
        memset(out, 0, bytes);
        return;
    case FAKE_CONSTANT:
        repeat_bytes(out, bytes, k->want[i], ks_dtype_size(b->dtype));
        return;
    case FAKE_STALE:
        memcpy(out, other->want[i], bytes);
        return;
    case FAKE_NOOP:
        if (b->direction == KS_DIR_INOUT) {
            ks_layout_contents(s, l, i, out);
        } else {
            repeat_bytes(out, bytes, (const unsigned char *)&poison, sizeof poison);
        }
        return;
    case FAKE_COPY:
        break;
    case N_FAKES:
        break;
    }
    for (size_t j = 0; j < l->n; j++) /* the first input of the same type, else the first */
        if (ks_buffer_is_input(&s->c->buffers[j]) && s->c->buffers[j].dtype == b->dtype && l->buf[j].bytes > 0) {
            unsigned char *in = ks_xmalloc(l->buf[j].bytes);
            ks_layout_contents(s, l, j, in);
            repeat_bytes(out, bytes, in, l->buf[j].bytes);
            free(in);
            return;
        }
    repeat_bytes(out, bytes, (const unsigned char *)&poison, sizeof poison);
}

static bool fake_accepted(struct ks_session *s, const struct ks_layout *l, const struct ks_case *k, const struct ks_case *other,
                          enum fake fake)
{
    bool all = true;
    for (size_t i = 0; i < l->n && all; i++) {
        struct ks_compare cmp;
        if (!ks_buffer_is_output(&s->c->buffers[i]) || l->buf[i].bytes == 0)
            continue;
        if (fake == FAKE_CONSTANT && l->buf[i].n_elem == 1) /* one number is the answer itself */
            return false;
        unsigned char *out = ks_xmalloc(l->buf[i].bytes);
        fake_fill(s, l, k, other, fake, i, out);
        ks_gaps_clear(s, l, i, out); /* only answers are compared */
        ks_case_compare(s, k, i, out, l->buf[i].n_elem, NULL, &cmp);
        all = cmp.match;
        free(out);
    }
    return all;
}

/* Some shapes are degenerate (one column, one row): a fake that is right at one of them must be wrong at another. */
static bool fake_accepted_everywhere(struct ks_session *s, enum fake fake)
{
    for (size_t i = 0; i < s->n_cases; i++) {
        struct ks_layout l;
        struct ks_err ignored;
        const struct ks_case *k = &s->cases[i];
        bool counts = k->set == KS_SET_DECLARED || k->set == KS_SET_RECORDED; /* drawn contents may make an answer plain */
        if (counts && ks_layout_make(s, &k->shape, k->set, k->call, &l, &ignored) == KS_OK && l.data_bytes > 0 &&
            !fake_accepted(s, &l, k, NULL, fake))
            return false;
    }
    return true;
}

/* For the certificate: what the comparison does not take for the answer. */
static void note_rejected(struct ks_session *s, const struct ks_layout *l)
{
    struct ks_json *list = ks_json_array();
    bool numbers = false; /* an output of one number: a constant was not tried */
    for (size_t i = 0; i < l->n; i++)
        numbers |= ks_buffer_is_output(&s->c->buffers[i]) && l->buf[i].n_elem == 1;
    for (int fake = 0; fake < N_FAKES; fake++)
        if (fake != FAKE_CONSTANT || !numbers)
            ks_json_push(list, ks_json_string(fake_text[fake]));
    ks_json_set(s->device, "self_test_rejects", list);
}

enum ks_code ks_selftest(struct ks_session *s, struct ks_err *err)
{
    size_t best = 0, best_bytes = 0;
    struct ks_layout l;
    for (size_t i = 0; i < s->n_cases; i++) {
        if (s->cases[i].set != KS_SET_DECLARED)
            continue;
        KS_TRY(ks_layout_make(s, &s->cases[i].shape, KS_SET_DECLARED, s->cases[i].call, &l, err));
        if (l.data_bytes > best_bytes) {
            best = i;
            best_bytes = l.data_bytes;
        }
    }
    const struct ks_case *k = &s->cases[best];
    struct ks_case other = {.shape = k->shape, .call = k->call + (1u << 20)};
    bool skip = false;
    KS_TRY(ks_layout_make(s, &k->shape, KS_SET_DECLARED, k->call, &l, err));
    enum ks_code code = case_run(s, &other, false, case_warp_insts(s), &skip, err);
    for (int fake = 0; fake < N_FAKES && code == KS_OK && !skip; fake++)
        if (fake_accepted(s, &l, k, &other, (enum fake)fake) &&
            (fake == FAKE_STALE || fake_accepted_everywhere(s, (enum fake)fake))) {
            KS_AUTO_STR struct ks_str where = KS_STR_INIT;
            shape_text(s, k, &where);
            code =
                s->recorded
                    ? ks_fail(
                          err, KS_ERR_UNSUPPORTED,
                          "its trials would prove nothing: %s as recorded or drawn, the comparison takes %s for what it computes",
                          fake == FAKE_STALE ? "whatever its inputs hold" : "with inputs", fake_text[fake])
                    : ks_fail(err, KS_ERR_MISMATCH,
                              "the contract proves nothing: at %s its comparison accepts %s in place of the answer (tighten rtol "
                              "and atol, or vary the inputs)",
                              ks_str_cstr(&where), fake_text[fake]);
        }
    if (code == KS_OK && !skip)
        note_rejected(s, &l);
    case_release(&other);
    return code;
}
