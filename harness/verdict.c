#include "harness/session.h"

#include <string.h>

const char *ks_gate_text(enum ks_gate gate)
{
    static const char *const text[KS_N_GATES] = {
#define X(name, t) [KS_GATE_##name] = t,
#include "harness/gate.def"
#undef X
    };
    return (unsigned)gate < KS_N_GATES ? text[gate] : "none";
}

static const char *state_text(enum ks_gate_state state)
{
    switch (state) {
    case KS_GATE_NOT_RUN:
        return "not run";
    case KS_GATE_PASS:
        return "pass";
    case KS_GATE_FAIL:
        return "fail";
    case KS_GATE_SKIPPED:
        return "skipped";
    }
    return "?";
}

static const char *outcome_text(enum ks_outcome outcome)
{
    switch (outcome) {
    case KS_OUTCOME_ACCEPTED:
        return "accepted";
    case KS_OUTCOME_REJECTED:
        return "rejected";
    case KS_OUTCOME_NO_GAIN:
        return "no gain";
    }
    return "?";
}

void ks_verdict_release(struct ks_verdict *v)
{
    for (int g = 0; g < KS_N_GATES; g++) {
        free(v->gates[g].reason);
        ks_json_free(v->gates[g].details);
    }
    free(v->points);
    free(v->approval);
    ks_json_free(v->counters);
    ks_json_free(v->unchecked_points);
    ks_json_free(v->largest_compared);
    memset(v, 0, sizeof *v);
}

enum ks_gate ks_verdict_failed_gate(const struct ks_verdict *v)
{
    for (int g = 0; g < KS_N_GATES; g++)
        if (v->gates[g].state == KS_GATE_FAIL)
            return (enum ks_gate)g;
    return KS_N_GATES;
}

static struct ks_json *point_json(const struct ks_point_result *p, const struct ks_contract *c)
{
    struct ks_json *j = ks_json_object();
    KS_AUTO_STR struct ks_str shape = KS_STR_INIT;
    ks_shape_print(c, &p->shape, &shape);
    ks_json_set_str(j, "shape", ks_str_cstr(&shape));
    ks_json_set_num(j, "weight", p->weight);
    ks_json_set_num(j, "reference_ns", p->reference_ns);
    ks_json_set_num(j, "candidate_ns", p->candidate_ns);
    ks_json_set_num(j, "speedup", p->speedup);
    ks_json_set_num(j, "speedup_lo", p->speedup_lo);
    ks_json_set_num(j, "speedup_hi", p->speedup_hi);
    ks_json_set_i64(j, "n_pairs", p->n_pairs);
    if (p->warm_reference_ns > 0) {
        ks_json_set_num(j, "warm_reference_ns", p->warm_reference_ns);
        ks_json_set_num(j, "warm_candidate_ns", p->warm_candidate_ns);
    }
    if (p->roofline_ns > 0) {
        ks_json_set_num(j, "floor_ns", p->floor_ns);
        ks_json_set_num(j, "roofline_ns", p->roofline_ns);
    }
    return j;
}

/* Everything under "wall" differs from run to run; the rest is a function of unit, candidate and secret on the emulated device.
 */
struct ks_json *ks_verdict_to_json(const struct ks_verdict *v, const struct ks_contract *c)
{
    struct ks_json *j = ks_json_object(), *gates = ks_json_object(), *points = ks_json_array(), *wall = ks_json_object();
    ks_json_set_str(j, "outcome", outcome_text(v->outcome));
    for (int g = 0; g < KS_N_GATES; g++) {
        struct ks_json *gate = ks_json_object();
        ks_json_set_str(gate, "state", state_text(v->gates[g].state));
        if (v->gates[g].reason)
            ks_json_set_str(gate, "reason", v->gates[g].reason);
        if (v->gates[g].details)
            ks_json_set(gate, "details", ks_json_copy(v->gates[g].details));
        ks_json_set(gates, ks_gate_text((enum ks_gate)g), gate);
    }
    ks_json_set(j, "gates", gates);
    for (size_t i = 0; i < v->n_points; i++)
        ks_json_push(points, point_json(&v->points[i], c));
    ks_json_set(j, "points", points);
    ks_json_set_num(j, "speedup", v->speedup);
    ks_json_set_num(j, "speedup_lo", v->speedup_lo);
    ks_json_set_num(j, "speedup_hi", v->speedup_hi);
    ks_json_set_bool(j, "modelled", v->modelled);
    ks_json_set_num(j, "max_abs_err", v->max_abs_err);
    ks_json_set_num(j, "max_rel_err", v->max_rel_err);
    ks_json_set_str(j, "source_hash", v->source_hash);
    ks_json_set_str(j, "object_hash", v->object_hash);
    if (v->approval)
        ks_json_set_str(j, "needs_approval", v->approval);
    if (v->counters)
        ks_json_set(j, "counters", ks_json_copy(v->counters));
    if (v->unchecked_points)
        ks_json_set(j, "unchecked_points", ks_json_copy(v->unchecked_points));
    if (v->largest_compared)
        ks_json_set(j, "largest_compared", ks_json_copy(v->largest_compared));
    ks_json_set_num(wall, "build_ns", (double)v->build_ns);
    ks_json_set_num(wall, "wall_ns", (double)v->wall_ns);
    if (v->device_ns) {
        ks_json_set_num(wall, "device_ns", (double)v->device_ns);
        ks_json_set_num(wall, "tools_ns", (double)v->tools_ns);
    }
    struct ks_json *gate_ns = ks_json_object();
    for (int g = 0; g < KS_N_GATES; g++)
        if (v->gate_ns[g])
            ks_json_set_num(gate_ns, ks_gate_text((enum ks_gate)g), (double)v->gate_ns[g]);
    ks_json_set(wall, "gate_ns", gate_ns);
    ks_json_set(j, "wall", wall);
    return j;
}
