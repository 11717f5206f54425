/* mbarrier on a GPU and on the emulated device, the same PTX: barriers OUT.  Random scripts of operations, legal by a model of the
 * barrier in plain C (PTX ISA, "mbarrier": phase, pending and expected arrivals, tx-count), which also says what they answer: both
 * devices are compared with the model here and with each other by compare.py. */
#include "kernels/ptx/mbarrier.cuh"
#include "tests/gpu/async/record.cuh"

#define SCRIPTS 64
#define LENGTH  96
#define TOKENS  4

enum what { INIT, ARRIVE, ARRIVE_N, NO_COMPLETE, DROP, DROP_N, DROP_NO_COMPLETE, ARRIVE_EXPECT, DROP_EXPECT, EXPECT, COMPLETE, TEST, TEST_PARITY, TRY, TRY_PARITY, KINDS };

struct step {
    int what, number, token;
};

#define STATE(text) asm volatile(text : "=l"(token[s.token]) : "r"(b), "r"(s.number) : "memory")
#define VOID(text)  asm volatile(text ::"r"(b), "r"(s.number) : "memory")
#define ASK(text, operand)                                                                                                       \
    asm volatile("{\n.reg .pred p;\n" text "\nselp.u32 %0, 1, 0, p;\n}" : "=r"(answer) : "r"(b), operand : "memory")

/* A block, which is a thread, a script. */
extern "C" __global__ void play(const step *steps, uint32_t *answers)
{
    __shared__ uint64_t bar, token[TOKENS];
    uint32_t b = ks_shared_address(&bar);
    for (int i = 0; i < LENGTH; i++) {
        step s = steps[blockIdx.x * LENGTH + i];
        uint32_t answer = 0;
        switch (s.what) {
        case INIT: VOID("mbarrier.init.shared::cta.b64 [%0], %1;"); break;
        case ARRIVE: STATE("mbarrier.arrive.shared::cta.b64 %0, [%1];"); break;
        case ARRIVE_N: STATE("mbarrier.arrive.release.cta.shared::cta.b64 %0, [%1], %2;"); break;
        case DROP: STATE("mbarrier.arrive_drop.shared::cta.b64 %0, [%1];"); break;
        case DROP_N: STATE("mbarrier.arrive_drop.shared::cta.b64 %0, [%1], %2;"); break;
        case ARRIVE_EXPECT: STATE("mbarrier.arrive.expect_tx.shared::cta.b64 %0, [%1], %2;"); break;
        case DROP_EXPECT: STATE("mbarrier.arrive_drop.expect_tx.shared::cta.b64 %0, [%1], %2;"); break;
        case EXPECT: VOID("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;"); break;
        case COMPLETE: VOID("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], %1;"); break;
        case TEST: ASK("mbarrier.test_wait.shared::cta.b64 p, [%1], %2;", "l"(token[s.token])); break;
        case TEST_PARITY: ASK("mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;", "r"(s.number)); break;
        case TRY: ASK("mbarrier.try_wait.shared::cta.b64 p, [%1], %2;", "l"(token[s.token])); break;
        case TRY_PARITY: ASK("mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;", "r"(s.number)); break;
        default: /* the two without completion, and how many arrivals were pending */
            if (s.what == NO_COMPLETE)
                STATE("mbarrier.arrive.noComplete.shared::cta.b64 %0, [%1], %2;");
            else
                STATE("mbarrier.arrive_drop.noComplete.shared::cta.b64 %0, [%1], %2;");
            asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(answer) : "l"(token[s.token]));
        }
        answers[blockIdx.x * LENGTH + i] = answer;
    }
}

/* The model. */
struct barrier {
    int phase, pending, expected, tx;
    int token[TOKENS]; /* phases, -1: none */
};
static void settle(barrier *m)
{
    if (m->pending == 0 && m->tx == 0) {
        m->phase++;
        m->pending = m->expected;
    }
}
/* Does it; false: the step is not legal now. */
static bool apply(barrier *m, step s, uint32_t *answer)
{
    int n = s.what == ARRIVE || s.what == DROP || s.what == ARRIVE_EXPECT || s.what == DROP_EXPECT ? 1 : s.number, seen = m->token[s.token];
    bool drops = s.what == DROP || s.what == DROP_N || s.what == DROP_NO_COMPLETE || s.what == DROP_EXPECT;
    *answer = 0;
    switch ((what)s.what) {
    case ARRIVE:
    case ARRIVE_N:
    case NO_COMPLETE:
    case DROP:
    case DROP_N:
    case DROP_NO_COMPLETE:
    case ARRIVE_EXPECT:
    case DROP_EXPECT:
        if (n > m->pending || (drops && n >= m->expected))
            return false;
        if (s.what == NO_COMPLETE || s.what == DROP_NO_COMPLETE) {
            if (n == m->pending)
                return false;
            *answer = (uint32_t)m->pending;
        }
        m->token[s.token] = m->phase;
        m->expected -= drops ? n : 0;
        m->tx += s.what == ARRIVE_EXPECT || s.what == DROP_EXPECT ? s.number : 0;
        m->pending -= n;
        settle(m);
        return true;
    case EXPECT:
        m->tx += s.number;
        settle(m); /* of bytes that were completed before they were announced */
        return true;
    case COMPLETE:
        m->tx -= s.number;
        settle(m);
        return true;
    case TEST:
    case TRY: /* of the running phase or the one before; a try of the running one waits */
        *answer = m->phase != seen;
        return seen >= 0 && m->phase - seen <= 1 && (s.what == TEST || *answer);
    case TEST_PARITY:
    case TRY_PARITY:
        *answer = (m->phase & 1) != s.number;
        return s.what == TEST_PARITY || *answer;
    case INIT:
    case KINDS:
        return false;
    }
    return false;
}

/* Large counts in some scripts; bytes that are announced are completed more often than not, so that phases end. */
static step propose(const barrier *m, int script)
{
    step s = {1 + (int)(noise() % (KINDS - 1)), 0, (int)(noise() % TOKENS)};
    int all = m->pending > 0 ? m->pending : 1;
    s.number = noise() % 3 == 0 ? all : 1 + (int)(noise() % (uint32_t)all);
    if (s.what == ARRIVE_EXPECT || s.what == DROP_EXPECT || s.what == EXPECT)
        s.number = noise() % 4 == 0 && m->tx < 0 ? -m->tx : (int)(noise() % (script % 8 == 7 ? 100000 : 512));
    if (s.what == COMPLETE)
        s.number = noise() % 4 && m->tx > 0 ? m->tx : 1 + (int)(noise() % 64);
    if (s.what == TEST_PARITY || s.what == TRY_PARITY)
        s.number = noise() & 1;
    return s;
}

int main(int argc, char **argv)
{
    static step steps[SCRIPTS * LENGTH];
    static uint32_t want[SCRIPTS * LENGTH], got[SCRIPTS * LENGTH];
    int wrong = 0, phases = 0;
    if (!open_results(argc, argv))
        return 2;
    for (int i = 0; i < SCRIPTS; i++) {
        int n = i % 8 == 6 ? 1048575 : 1 + (int)(noise() % 9);
        barrier m = {0, n, n, 0, {-1, -1, -1, -1}};
        steps[i * LENGTH] = {INIT, n, 0};
        for (int k = 1; k < LENGTH; k++) {
            barrier before;
            do {
                before = m;
                steps[i * LENGTH + k] = propose(&m, i);
                if (apply(&m, steps[i * LENGTH + k], &want[i * LENGTH + k]) && m.tx <= 1000000 && m.tx >= -1000000)
                    break;
                m = before;
            } while (true);
        }
        phases += m.phase;
    }
    void *d_steps = device_bytes(steps, sizeof steps), *answers = device_bytes(nullptr, sizeof got);
    void *args[] = {&d_steps, &answers};
    launch((const void *)play, SCRIPTS, 1, 0, 1, args);
    cudaError_t e = cudaMemcpy(got, answers, sizeof got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < SCRIPTS * LENGTH; i++) {
        if (got[i] == want[i])
            continue;
        if (wrong++ < 10)
            printf("script %d, step %d (operation %d, %d): answer %u, the model says %u\n", i / LENGTH, i % LENGTH, steps[i].what,
                   steps[i].number, got[i], want[i]);
    }
    for (int i = 0; i < SCRIPTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "mbarrier_script_%d", i);
        record(name, "exact", (uint32_t *)answers + i * LENGTH, LENGTH * 4);
    }
    printf("%d steps, %d phases, %d answers unlike the model's, %s\n", SCRIPTS * LENGTH, phases, wrong, cudaGetErrorString(e));
    return close_results() || wrong;
}
