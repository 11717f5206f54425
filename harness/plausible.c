/* What no card can do: the least time that a call's bytes and operations take, and what follows from a time that is too good. */
#include "harness/session_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MARGIN         0.95 /* clocks above the nominal ones, events that are a little short */
#define APPROVAL_RATIO 10.0 /* a gain beyond this is looked at by a person before it is emitted */

/* Peaks of the card: bytes and operations per nanosecond; 0: not known.  l2_bytes: writes of one call may stay there. */
struct peak {
    double bytes, ops, l2_bytes;
};

/* Dense f16 operations per clock and SM (harness/emulated/arch.def), times 4 for the narrowest types that any of these cards has.
 */
static double ops_per_clock(int cc)
{
    static const struct {
        int cc;
        double flops;
    } cards[] = {
#define A(name, board, suffixes, cc, sms, ghz, threads, blocks, warps, regs, shared_sm, shared_block, reserved, gib, gbs, l2,    \
          l2_clk, fp32, fp64, fp16, integer, special, tensor, ...)                                                               \
    {cc, tensor},
#include "harness/emulated/arch.def"
#undef A
    };
    double best = 0;
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++)
        best = cards[i].cc <= cc && cards[i].flops > best ? cards[i].flops : best;
    return best * 4;
}

static struct peak peak_of(const struct ks_session *s)
{
    const struct ks_json *d = s->device;
    const char *arch = ks_json_get_str(d, "arch", "");
    int cc = 0;
    struct peak p = {0};
    if (!ks_streq(ks_json_get_str(d, "kind", ""), "cuda") || sscanf(arch, "sm_%d", &cc) != 1)
        return p;
    /* two transfers a clock */
    p.bytes = ks_json_get_num(d, "max_memory_clock_khz", 0) * 2e3 * ks_json_get_num(d, "memory_bus_bits", 0) / 8 / 1e9;
    p.ops = ks_json_get_num(d, "max_clock_khz", 0) * 1e3 * ks_json_get_num(d, "sms", 0) * ops_per_clock(cc) / 1e9;
    p.l2_bytes = ks_json_get_num(d, "l2_bytes", 0);
    return p;
}

/* Evaluates an optional expression; NULL or an error: 0. */
static double work(const struct ks_session *s, const struct ks_expr *e, const struct ks_shape *shape)
{
    double v = 0;
    struct ks_err ignored;
    return e && ks_expr_eval(e, s->c, shape, &v, &ignored) == KS_OK && v > 0 ? v : 0;
}

void ks_least_bytes(const struct ks_contract *c, const struct ks_shape *shape, double *ret_in, double *ret_out)
{
    struct ks_err ignored;
    *ret_in = *ret_out = 0;
    for (size_t i = 0; i < c->n_buffers; i++) {
        const struct ks_buffer *b = &c->buffers[i];
        int64_t n = 0;
        if (ks_contract_elems(c, b, shape, &n, &ignored) != KS_OK)
            continue;
        size_t row, used;
        ks_contract_row(c, b, shape, &row, &used);
        double bytes = (double)n * (double)used / (double)row * (double)ks_dtype_size(b->dtype);
        *ret_in += ks_buffer_is_input(b) ? bytes : 0;
        *ret_out += ks_buffer_is_output(b) ? bytes : 0;
    }
}

static double floor_ns(const struct ks_session *s, const struct peak *p, const struct ks_shape *shape, bool with_inputs)
{
    double in = 0, out = 0, ns = 0;
    struct ks_shape whole = *shape;
    struct ks_err ignored;
    if (ks_contract_complete(s->c, &whole, &ignored) != KS_OK)
        return 0;
    ks_least_bytes(s->c, &whole, &in, &out);
    /* every byte of an output is written; of those, L2 may still hold its size when the call ends */
    double moved = fmax(fmax(out - p->l2_bytes, 0) + (with_inputs ? in : 0), work(s, s->c->work_bytes, &whole) - p->l2_bytes);
    if (p->bytes > 0)
        ns = moved / p->bytes;
    if (p->ops > 0)
        ns = fmax(ns, work(s, s->c->work_ops, &whole) / p->ops);
    return ns * MARGIN;
}

bool ks_plausible_point(struct ks_trial *t, size_t point, struct ks_json *details)
{
    struct ks_session *s = t->s;
    struct ks_point_result *r = &t->v->points[point];
    struct peak p = peak_of(s);
    r->floor_ns = floor_ns(s, &p, &s->c->times[point].shape, false);
    r->roofline_ns = floor_ns(s, &p, &s->c->times[point].shape, true);
    if (!(r->candidate_ns < r->floor_ns))
        return true;
    KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
    ks_shape_print(s->c, &r->shape, &shape);
    ks_gate_fail(
        t, KS_GATE_TIME, details,
        "impossible at timing point %s: %.2f us, where the contract's bytes and operations take this card %.2f us at least",
        ks_str_cstr(&shape), r->candidate_ns / 1e3, r->floor_ns / 1e3);
    return false;
}

void ks_plausible_approval(const struct ks_contract *c, struct ks_verdict *v)
{
    KS_AUTO_STR struct ks_str why = KS_STR_INIT;
    for (size_t i = 0; i < v->n_points && why.len == 0; i++) {
        const struct ks_point_result *r = &v->points[i];
        KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
        ks_shape_print(c, &r->shape, &shape);
        if (r->speedup > APPROVAL_RATIO)
            ks_str_addf(&why, "a gain of %.1fx at %s is more than %.0fx", r->speedup, ks_str_cstr(&shape), APPROVAL_RATIO);
        else if (r->candidate_ns < r->roofline_ns)
            ks_str_addf(&why, "%.2f us at %s is less than reading its inputs once takes (%.2f us)", r->candidate_ns / 1e3,
                        ks_str_cstr(&shape), r->roofline_ns / 1e3);
    }
    if (why.len == 0)
        return;
    free(v->approval);
    v->approval = ks_str_detach(&why, NULL);
}
