#include "harness/emulated/async.h"
#include "harness/emulated/warpgroup.h"

/* One warp.  Its lanes are grouped into fragments, lanes that stand at the same pc; the fragment with the lowest pc runs, up to
 * the next fragment's pc, where the two merge.  That reconverges structured control flow as hardware does and still lets every
 * lane make progress: a fragment that spins uses up its quantum and is passed over. */

#define FRAG_QUANTUM 4096
#define SPIN_QUANTUM 256 /* where lanes may wait for each other */

static void drop_frag(struct emu_warp *w, uint32_t k)
{
    w->frag[k] = w->frag[--w->n_frags];
}

static struct emu_frag *new_frag(struct emu_warp *w, uint32_t pc, uint32_t mask)
{
    struct emu_frag *f = &w->frag[w->n_frags++];
    *f = (struct emu_frag){.pc = pc, .mask = mask, .state = EMU_RUN};
    return f;
}

/* Joins fragments at the same pc that run or wait for lanes; the joined one runs (and tries its warp operation again). */
static void merge(struct emu_warp *w)
{
    for (uint32_t i = 0; i < w->n_frags; i++) {
        if (w->frag[i].state == EMU_WAIT_BAR)
            continue;
        for (uint32_t j = i + 1; j < w->n_frags;) {
            if (w->frag[j].state == EMU_WAIT_BAR || w->frag[j].pc != w->frag[i].pc) {
                j++;
                continue;
            }
            w->frag[i].mask |= w->frag[j].mask;
            w->frag[i].state = EMU_RUN;
            w->frag[i].passed &= w->frag[j].passed;
            drop_frag(w, j);
        }
    }
}

static struct emu_frag *lowest(struct emu_warp *w)
{
    struct emu_frag *best = NULL;
    bool passed = false;
    for (uint32_t i = 0; i < w->n_frags; i++) {
        struct emu_frag *f = &w->frag[i];
        if (f->state != EMU_RUN)
            continue;
        passed |= f->passed;
        if (!f->passed && (!best || f->pc < best->pc))
            best = f;
    }
    if (best || !passed)
        return best;
    for (uint32_t i = 0; i < w->n_frags; i++)
        w->frag[i].passed = false;
    return lowest(w);
}

/* Lanes exited or barriers moved: whoever waits for lanes looks again. */
static void wake_lanes(struct emu_warp *w)
{
    for (uint32_t i = 0; i < w->n_frags; i++)
        if (w->frag[i].state == EMU_WAIT_LANES)
            w->frag[i].state = EMU_RUN;
}

/* Lanes of the other fragments whose next instruction ends their thread. */
static uint32_t returning_lanes(const struct emu_warp *w)
{
    const struct emu_program *p = w->worker->launch->program;
    uint32_t mask = 0;
    for (uint32_t i = 0; i < w->n_frags; i++) {
        enum emu_flow flow = (enum emu_flow)p->code[w->frag[i].pc].flow;
        if (flow == EMU_FLOW_EXIT || flow == EMU_FLOW_RET || flow == EMU_FLOW_END)
            mask |= w->frag[i].mask;
    }
    return mask;
}

/* An aligned barrier in conditional code: the lanes in `mask` branched around it, went on and end now, while others of their warp
 * wait there. Threads that return early are another matter: a barrier counts threads that have not exited. */
static void check_skipped_barrier(struct emu_warp *w, uint32_t mask)
{
    const struct emu_program *p = w->worker->launch->program;
    for (uint32_t i = 0; i < w->n_frags; i++) {
        const struct emu_frag *f = &w->frag[i];
        uint32_t skip = mask & ~f->mask & ~f->returning;
        if (!f->waited || !skip || p->code[f->pc].flow != EMU_FLOW_BAR)
            continue;
        struct emu_party other = ks_emu_party(w, __builtin_ctz(skip), w->pc, "exit");
        ks_emu_report(w, "divergent-barrier", __builtin_ctz(f->mask), f->pc, "", 0, "", &other,
                      "lanes 0x%08x of a warp reach this barrier, lanes 0x%08x branch around it", f->mask, skip);
    }
}

static void exit_lanes(struct emu_warp *w, uint32_t mask)
{
    if (w->worker->launch->checks & KS_EMU_CHECK_SYNC)
        check_skipped_barrier(w, mask);
    if (w->worker->launch->program->async)
        ks_emu_async_exit(w, mask);
    if (w->block->async.n)
        ks_emu_check_async_leak(w, mask);
    w->worker->progress++;
    w->live &= ~mask;
    w->block->live_threads -= (uint32_t)__builtin_popcount(mask);
    wake_lanes(w);
    ks_emu_bar_check(w->block);
    ks_emu_cluster_check(w->block->cluster);
}

static uint32_t guard(const struct emu_warp *w, const struct emu_insn *in, uint32_t mask)
{
    if (!(in->flags & EMU_PRED))
        return mask;
    uint32_t p = RP(in->pred);
    return mask & ((in->flags & EMU_PRED_NOT) ? ~p : p);
}

static inline void count_run(struct emu_worker *wk, uint32_t from, uint32_t to, uint32_t mask)
{
    uint64_t lanes = (uint64_t)__builtin_popcount(mask);
    wk->warp_diff[from]++;
    wk->warp_diff[to]--;
    wk->lane_diff[from] += lanes;
    wk->lane_diff[to] -= lanes;
}

/* The same while registers hold values that nobody wrote, or wgmma operations may be in flight whose registers are out of bounds.
 */
static bool run_checked(struct emu_warp *w, uint32_t pc, uint32_t end, uint32_t mask)
{
    const struct emu_insn *code = w->worker->launch->program->code;
    for (; pc < end; pc++) {
        uint32_t em = guard(w, &code[pc], mask);
        w->worker->pred_off[pc] += (uint64_t)__builtin_popcount(mask & ~em);
        if (w->n_undef)
            ks_emu_undef_step(w, &code[pc], em, mask);
        if (!em)
            continue;
        if (w->wgmma && (w->worker->launch->checks & KS_EMU_CHECK_SYNC))
            ks_emu_wgmma_check_registers(w, &code[pc], em);
        code[pc].fn(w, &code[pc], em);
        if (w->event != EMU_EVENT_NONE)
            return false;
    }
    return true;
}

/* Straight-line code [pc, end) for `mask`.  False: a handler faulted. */
static bool run_straight(struct emu_warp *w, uint32_t pc, uint32_t end, uint32_t mask)
{
    const struct emu_insn *in = w->worker->launch->program->code + pc, *last = w->worker->launch->program->code + end;
    if (__builtin_expect(w->n_undef != 0, 0))
        return run_checked(w, pc, end, mask);
    for (; in < last; in++) {
        if (in->flags & EMU_PRED) {
            uint32_t em = guard(w, in, mask);
            if (em != mask)
                w->worker->pred_off[in - w->worker->launch->program->code] += (uint64_t)__builtin_popcount(mask & ~em);
            if (em)
                in->fn(w, in, em);
        } else {
            in->fn(w, in, mask);
        }
        if (__builtin_expect(w->event | w->n_undef, 0))
            return w->event == EMU_EVENT_NONE && run_checked(w, (uint32_t)(in + 1 - w->worker->launch->program->code), end, mask);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------------ control flow */

enum step { STEP_ON, STEP_SWITCH, STEP_STOP, STEP_YIELD };

static enum step do_branch(struct emu_warp *w, struct emu_frag *f, const struct emu_insn *in)
{
    uint32_t taken = guard(w, in, f->mask), not_taken = f->mask & ~taken, pc = f->pc;
    if (!taken) {
        f->pc = pc + 1;
        return STEP_ON;
    }
    f->pc = in->target;
    if (!not_taken)
        return STEP_ON;
    w->worker->mem[pc].diverged++;
    f->mask = taken;
    (void)new_frag(w, pc + 1, not_taken);
    return STEP_SWITCH;
}

/* Sends the lanes of `mask` (part of f) to the pc each has in `to`. */
static void scatter(struct emu_warp *w, struct emu_frag *f, uint32_t mask, const uint32_t *to)
{
    uint32_t rest = f->mask & ~mask, pc = f->pc;
    bool first = true;
    while (mask) {
        uint32_t target = to[__builtin_ctz(mask)], group = 0;
        FOR_LANES(i) group |= (uint32_t)(to[i] == target) << i;
        group &= mask;
        mask &= ~group;
        if (first) {
            f->pc = target;
            f->mask = group;
            first = false;
        } else {
            (void)new_frag(w, target, group);
        }
    }
    if (rest)
        (void)new_frag(w, pc + 1, rest);
}

static enum step do_table(struct emu_warp *w, struct emu_frag *f, const struct emu_insn *in)
{
    const struct emu_jump_table *t = &w->worker->launch->program->tables[in->target];
    uint32_t mask = guard(w, in, f->mask), to[EMU_LANES] = {0};
    const uint32_t *index = R32(in->a);
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(mask, i))
            continue;
        if (index[i] >= t->n) {
            ks_emu_fault(w, KS_ERR_DEVICE, "bad-branch", i, "", index[i], "", "branch table index %u of %u", index[i], t->n);
            return STEP_STOP;
        }
        to[i] = t->pc[index[i]];
    }
    if (!mask) {
        f->pc++;
        return STEP_ON;
    }
    scatter(w, f, mask, to);
    return STEP_SWITCH;
}

static enum step do_call(struct emu_warp *w, struct emu_frag *f, const struct emu_insn *in)
{
    const struct emu_program *p = w->worker->launch->program;
    uint32_t mask = guard(w, in, f->mask), to[EMU_LANES] = {0};
    uint32_t frame = p->funcs[p->info[f->pc].func].frame_bytes;
    const uint64_t *address = in->flow == EMU_FLOW_CALL_REG ? R64(in->a) : NULL;
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(mask, i))
            continue;
        uint32_t func = in->target;
        if (address) { /* values of function pointers: index in the module + 1, mapped by the program */
            for (func = 0; func < p->n_funcs && p->funcs[func].module_index + 1 != address[i]; func++)
                ;
        }
        if (func >= p->n_funcs || w->depth[i] >= EMU_MAX_DEPTH ||
            w->frame[i] + frame + p->funcs[func].frame_bytes > w->local_bytes) {
            ks_emu_fault(w, KS_ERR_DEVICE, func >= p->n_funcs ? "bad-call" : "stack-overflow", i, "", address ? address[i] : 0,
                         "", func >= p->n_funcs ? "call of an address that is no function" : "calls nested too deeply");
            return STEP_STOP;
        }
        w->ret_pc[w->depth[i]][i] = f->pc + 1;
        w->ret_frame[w->depth[i]][i] = w->frame[i];
        w->depth[i]++;
        w->frame[i] += frame;
        if (p->funcs[func].recursive)
            ks_emu_saved_push(w, func, i);
        to[i] = p->funcs[func].first_pc;
    }
    if (!mask) {
        f->pc++;
        return STEP_ON;
    }
    scatter(w, f, mask, to);
    return STEP_SWITCH;
}

static enum step do_exit(struct emu_warp *w, struct emu_frag *f, uint32_t mask)
{
    uint32_t rest = f->mask & ~mask;
    f->pc++;
    f->mask = rest;
    if (!rest)
        drop_frag(w, (uint32_t)(f - w->frag));
    exit_lanes(w, mask);
    return STEP_SWITCH;
}

static enum step do_return(struct emu_warp *w, struct emu_frag *f, const struct emu_insn *in)
{
    uint32_t mask = in->flow == EMU_FLOW_END ? f->mask : guard(w, in, f->mask), leave = 0, to[EMU_LANES] = {0};
    if (!mask) {
        f->pc++;
        return STEP_ON;
    }
    FOR_LANES(i) leave |= (uint32_t)(w->depth[i] == 0) << i;
    leave &= mask;
    if (leave)
        return do_exit(w, f, leave); /* all of them: a function never mixes with its kernel */
    const struct emu_program *p = w->worker->launch->program;
    uint32_t func = p->info[f->pc].func;
    for (int i = 0; i < EMU_LANES; i++) {
        if (!emu_lane(mask, i))
            continue;
        if (p->funcs[func].recursive)
            ks_emu_saved_pop(w, func, i);
        w->depth[i]--;
        to[i] = w->ret_pc[w->depth[i]][i];
        w->frame[i] = w->ret_frame[w->depth[i]][i];
    }
    scatter(w, f, mask, to);
    return STEP_SWITCH;
}

/* The lane of the warp that its fragment shows elsewhere, for the second party of a finding. */
struct emu_party ks_emu_lane_party(const struct emu_warp *w, int lane)
{
    for (uint32_t i = 0; i < w->n_frags; i++)
        if (emu_lane(w->frag[i].mask, lane))
            return ks_emu_party(w, lane, w->frag[i].pc, w->frag[i].pc == w->pc ? "" : "elsewhere");
    return (struct emu_party){0};
}

static void report_mask(struct emu_warp *w, uint32_t pc, uint32_t outside, uint32_t members)
{
    struct emu_party other = {0};
    if (members & w->live)
        other = ks_emu_lane_party(w, __builtin_ctz(members & w->live));
    ks_emu_report(w, "sync-mask", __builtin_ctz(outside), pc, "", members, "", &other,
                  "lane is not in its own member mask 0x%08x", members);
}

/* The lanes of a warp operation's member masks (operand c) that are complete run now; the others wait for the missing lanes. */
static enum step do_warp_op(struct emu_warp *w, struct emu_frag *f, const struct emu_insn *in)
{
    uint32_t todo = guard(w, in, f->mask), pc = f->pc, waiting = 0, held = 0, done = f->mask & ~todo;
    const uint32_t *members = in->c == EMU_NONE ? NULL : R32(in->c);
    while (todo) {
        int lead = __builtin_ctz(todo);
        uint32_t m = members ? members[lead] : w->live, group = 0;
        if (members)
            FOR_LANES(i) group |= (uint32_t)(members[i] == m) << i;
        else
            group = EMU_FULL;
        group &= todo;
        todo &= ~group;
        if ((group & ~m) != 0) {
            w->pc = pc;
            if (w->worker->launch->checks & KS_EMU_CHECK_SYNC)
                report_mask(w, pc, group & ~m, m);
            m |= group;
        }
        uint32_t need = m & w->live;
        if ((f->mask & need) != need) {
            waiting |= group;
            continue;
        }
        w->pc = pc;
        if (w->worker->launch->checks & KS_EMU_CHECK_RACE)
            ks_emu_race_warp_sync(w);
        w->wait_mask = 0;
        if (w->wgmma && !(in->flags & EMU_OWN) && (w->worker->launch->checks & KS_EMU_CHECK_SYNC))
            ks_emu_wgmma_check_registers(w, in, group);
        if (w->n_undef)
            ks_emu_undef_step(w, in, group, group);
        in->fn(w, in, group);
        if (w->event != EMU_EVENT_NONE)
            return STEP_STOP;
        if (w->wait_mask)
            held |= group;
        else
            done |= group;
    }
    if (held) { /* together, but not ready */
        uint32_t rest = f->mask & ~held;
        f->mask = held;
        f->state = EMU_WAIT_EVENT;
        f->wait = w->wait;
        f->soft = false;
        if (waiting)
            new_frag(w, pc, waiting)->state = EMU_WAIT_LANES;
        if (rest & ~waiting)
            (void)new_frag(w, pc + 1, rest & ~waiting);
        return STEP_SWITCH;
    }
    if (!waiting) {
        f->pc = pc + 1;
        return STEP_ON;
    }
    f->mask = waiting;
    f->state = EMU_WAIT_LANES;
    if (done)
        (void)new_frag(w, pc + 1, done);
    return STEP_SWITCH;
}

/* Lanes that have to wait for something beside the threads stay, or, when their poll has failed, go on after the others. */
static enum step do_wait(struct emu_warp *w, struct emu_frag *f, const struct emu_insn *in)
{
    uint32_t mask = guard(w, in, f->mask), pc = f->pc;
    bool soft = in->flags & EMU_SOFT;
    w->pc = pc;
    w->wait_mask = 0;
    if (mask)
        in->fn(w, in, mask);
    if (w->event != EMU_EVENT_NONE)
        return STEP_STOP;
    uint32_t held = w->wait_mask, rest = f->mask & ~held;
    if (!held) {
        f->pc = pc + 1;
        return STEP_ON;
    }
    f->pc = soft ? pc + 1 : pc;
    f->mask = held;
    f->state = EMU_WAIT_EVENT;
    f->wait = w->wait;
    f->soft = soft;
    if (rest)
        (void)new_frag(w, pc + 1, rest);
    return STEP_SWITCH;
}

static enum step do_barrier(struct emu_warp *w, struct emu_frag *f, const struct emu_insn *in)
{
    uint32_t mask = guard(w, in, f->mask), pc = f->pc;
    if (!mask) {
        f->pc++;
        return STEP_ON;
    }
    if (mask != f->mask) {
        (void)new_frag(w, pc + 1, f->mask & ~mask);
        f->mask = mask;
    }
    if ((in->flags & EMU_ALIGNED) && f->mask != w->live) {
        if (!f->waited)
            f->returning = returning_lanes(w);
        f->waited = true;
        f->state = EMU_WAIT_LANES;
        return STEP_SWITCH;
    }
    f->waited = false;
    w->pc = pc;
    return ks_emu_bar_arrive(w, in, f) ? STEP_ON : w->event != EMU_EVENT_NONE ? STEP_STOP : STEP_SWITCH;
}

static enum step control(struct emu_warp *w, struct emu_frag *f, const struct emu_insn *in)
{
    if (__builtin_expect(w->n_undef != 0, 0) && in->flow != EMU_FLOW_WARPSYNC)
        ks_emu_undef_step(w, in, guard(w, in, f->mask), f->mask);
    switch ((enum emu_flow)in->flow) {
    case EMU_FLOW_BRA:
        return do_branch(w, f, in);
    case EMU_FLOW_BRX:
        return do_table(w, f, in);
    case EMU_FLOW_CALL:
    case EMU_FLOW_CALL_REG:
        return do_call(w, f, in);
    case EMU_FLOW_RET:
    case EMU_FLOW_END:
        return do_return(w, f, in);
    case EMU_FLOW_EXIT: {
        uint32_t mask = guard(w, in, f->mask);
        if (mask)
            return do_exit(w, f, mask);
        f->pc++;
        return STEP_ON;
    }
    case EMU_FLOW_TRAP: {
        uint32_t mask = guard(w, in, f->mask);
        if (mask) {
            w->pc = f->pc;
            if (in->fn)
                in->fn(w, in, mask);
            if (w->event == EMU_EVENT_NONE)
                ks_emu_fault(w, KS_ERR_DEVICE, "trap", __builtin_ctz(mask), "", 0, "", "trap instruction");
            return STEP_STOP;
        }
        f->pc++;
        return STEP_ON;
    }
    case EMU_FLOW_BAR:
        return do_barrier(w, f, in);
    case EMU_FLOW_WARPSYNC:
        return do_warp_op(w, f, in);
    case EMU_FLOW_WAIT:
        return do_wait(w, f, in);
    case EMU_FLOW_YIELD: {
        uint32_t mask = guard(w, in, f->mask);
        if (mask)
            in->fn(w, in, mask);
        f->pc++;
        f->passed = w->n_frags > 1;
        return STEP_YIELD;
    }
    case EMU_FLOW_NONE:
        break;
    }
    f->pc++;
    return STEP_ON;
}

/* Nothing in the warp can run.  A part of the lanes at an aligned barrier while the others wait elsewhere is a divergent barrier:
 * it is reported and, as the hardware does since Volta, each part arrives on its own. */
static bool settle(struct emu_warp *w)
{
    const struct emu_program *p = w->worker->launch->program;
    for (uint32_t i = 0; i < w->n_frags; i++)
        if (w->frag[i].state == EMU_WAIT_EVENT) /* they will come */
            return false;
    for (uint32_t i = 0; i < w->n_frags; i++) {
        struct emu_frag *f = &w->frag[i];
        const struct emu_insn *in = &p->code[f->pc];
        if (f->state != EMU_WAIT_LANES || in->flow != EMU_FLOW_BAR)
            continue;
        struct emu_party other = {0};
        for (uint32_t j = 0; j < w->n_frags && !other.valid; j++) {
            if (j == i)
                continue;
            other = ks_emu_party(w, __builtin_ctz(w->frag[j].mask), w->frag[j].pc, "elsewhere");
        }
        w->pc = f->pc;
        w->insts++;
        if (w->worker->launch->checks & KS_EMU_CHECK_SYNC)
            ks_emu_report(w, "divergent-barrier", __builtin_ctz(f->mask), f->pc, "", 0, "", &other,
                          "lanes 0x%08x of a warp reach this barrier, lanes 0x%08x do not", f->mask, w->live & ~f->mask);
        f->waited = false;
        if (ks_emu_bar_arrive(w, in, f))
            f->state = EMU_RUN;
        return true;
    }
    return false;
}

enum emu_warp_result ks_emu_warp_run(struct emu_warp *w, uint64_t quantum)
{
    struct emu_worker *wk = w->worker;
    const struct emu_program *p = wk->launch->program;
    uint64_t used = 0, patience = p->may_spin ? SPIN_QUANTUM : FRAG_QUANTUM;
    for (;;) {
        if (w->n_frags > 1)
            merge(w);
        struct emu_frag *f = lowest(w);
        if (!f) {
            if (!w->live)
                return EMU_WARP_DONE;
            if (settle(w))
                continue;
            return w->event != EMU_EVENT_NONE ? EMU_WARP_FAILED : EMU_WARP_BLOCKED;
        }
        uint32_t stop = UINT32_MAX;
        for (uint32_t i = 0; i < w->n_frags; i++)
            if (w->frag[i].state != EMU_WAIT_BAR && w->frag[i].pc > f->pc && w->frag[i].pc < stop)
                stop = w->frag[i].pc;
        uint64_t began = used;
        enum step s = STEP_ON;
        do {
            uint32_t pc = f->pc, next = p->next_stop[pc], end = next < stop && pc < stop ? next : pc < stop ? stop : next;
            bool merged = stop < next && pc < stop;
            if (end > pc) {
                count_run(wk, pc, end, f->mask);
                used += end - pc;
                w->insts += end - pc;
                bool checked = w->wgmma && (wk->launch->checks & KS_EMU_CHECK_SYNC);
                if (!(checked ? run_checked : run_straight)(w, pc, end, f->mask))
                    return EMU_WARP_FAILED;
                f->pc = end;
            }
            if (merged || f->pc == stop)
                break;
            used++;
            w->insts++;
            const struct emu_insn *in = &p->code[end];
            uint32_t mask = f->mask;
            bool parked = in->flow == EMU_FLOW_WARPSYNC || in->flow == EMU_FLOW_BAR || in->flow == EMU_FLOW_WAIT;
            s = control(w, f, in);
            bool waits = f->state == EMU_WAIT_LANES || (f->state == EMU_WAIT_EVENT && !f->soft);
            if (!(parked && s == STEP_SWITCH && w->n_frags > 0 && waits) && in->flow != EMU_FLOW_END)
                count_run(wk, end, end + 1, mask);
            if (s == STEP_STOP)
                return EMU_WARP_FAILED;
            if (parked && s == STEP_SWITCH && (waits || f->state == EMU_WAIT_BAR))
                wk->mem[end].waits++;
            if (s == STEP_YIELD || used >= quantum)
                return EMU_WARP_QUANTUM;
            if (w->n_frags > 1 && used - began >= patience && s == STEP_ON) {
                f->passed = true;
                break;
            }
        } while (s == STEP_ON && (w->n_frags == 1 || f->pc < stop));
    }
}
