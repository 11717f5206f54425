/* Stream capture: programs record calls into graphs and launch these again and again (PyTorch's CUDA graphs).  Where the original
 * can be recorded, with the right answer, a candidate that cannot (it calls cudaMalloc or waits for the device, say) would break
 * them.  An entry without a stream works on the default one, which nobody records. */
#include "harness/session_impl.h"

static bool takes_stream(const struct ks_session *s)
{
    for (size_t i = 0; i < s->opt.signature->n_params; i++)
        if (s->opt.signature->params[i].kind == KS_PARAM_STREAM)
            return true;
    return false;
}

/* False: `what` says why. */
static bool captures(struct ks_session *s, struct ks_arm *arm, const struct ks_case *k, int64_t timeout_ms, struct ks_str *what)
{
    struct ks_err err;
    if (ks_order_run(s, arm, k, KS_ORDER_CAPTURED, timeout_ms, what, &err) != KS_OK) {
        ks_str_add(what, err.message);
        ks_arm_stop(arm); /* its stream may still be recording */
    }
    return what->len == 0;
}

void ks_capture_baseline(struct ks_session *s)
{
    const struct ks_case *largest;
    KS_AUTO_STR struct ks_str what = KS_STR_INIT;
    if (!takes_stream(s) || ks_cases_choose(s, s->cases, s->n_cases, &largest, 1) == 0)
        return;
    ks_session_enter(s, false);
    s->base_captures = captures(s, &s->base, largest, 60000, &what);
    ks_session_leave(s);
}

bool ks_capture_check(struct ks_trial *t)
{
    const struct ks_case *largest;
    KS_AUTO_STR struct ks_str what = KS_STR_INIT, where = KS_STR_INIT;
    if (!t->s->base_captures || ks_cases_choose(t->s, t->cases, t->n_cases, &largest, 1) == 0)
        return true;
    ks_trial_enter(t, false);
    bool can = captures(t->s, &t->arm, largest, ks_trial_left_ms(t), &what);
    ks_session_leave(t->s);
    if (can)
        return true;
    ks_shape_print(t->s->c, &largest->shape, &where);
    ks_gate_fail(t, KS_GATE_INTERFACE, NULL,
                 "at %s: the call cannot be recorded into a graph (cudaStreamBeginCapture), as the original can: %s",
                 ks_str_cstr(&where), ks_str_cstr(&what));
    return false;
}
