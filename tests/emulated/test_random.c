/* Random valid programs: whatever schedule and number of host threads, the results are the same, and no check accuses them.
 * Arithmetic, divergent branches and loops, exchanges over barriers and by shuffles, reductions that commute.  A program is a
 * function of its number, so a failure can be repeated: test_random [first [count [print]]]. */

#include "tests/emulated/emu_test.h"

#define N_REGS    8
#define BLOCK     96 /* three warps */
#define GRID      100
#define N_THREADS (BLOCK * GRID)
#define N_SUMS    192

static uint64_t rng;
static unsigned n_labels;
static struct ks_str text;

static unsigned below(unsigned n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (unsigned)(rng >> 20) % n;
}

static void arithmetic(void)
{
    static const char *const two[] = {"add.s32", "sub.s32", "mul.lo.s32", "mul.hi.u32", "xor.b32", "and.b32", "or.b32",
                                      "min.s32", "max.u32", "shl.b32",    "shr.u32",    "shr.s32", "sub.u32"};
    unsigned d = below(N_REGS), a = below(N_REGS), b = below(N_REGS), c = below(N_REGS);
    switch (below(8)) {
    case 0:
        ks_str_addf(&text, "mad.lo.s32 %%r%u, %%r%u, %%r%u, %%r%u;\n", d, a, b, c);
        break;
    case 1:
        ks_str_addf(&text, "setp.lt.u32 %%p1, %%r%u, %%r%u;\nselp.b32 %%r%u, %%r%u, %%r%u, %%p1;\n", a, b, d, c, a);
        break;
    case 2:
        ks_str_addf(&text, "cvt.rn.f32.s32 %%f1, %%r%u;\ncvt.rn.f32.u32 %%f2, %%r%u;\nfma.rn.f32 %%f1, %%f1, 0f3FA00000, %%f2;\n",
                    a, b);
        ks_str_addf(&text, "cvt.rzi.s32.f32 %%r%u, %%f1;\n", d);
        break;
    case 3:
        ks_str_addf(&text, "prmt.b32 %%r%u, %%r%u, %%r%u, 0x%04x;\n", d, a, b, below(65536) & 0x7777);
        break;
    case 4:
        ks_str_addf(&text, "bfe.u32 %%r%u, %%r%u, %u, %u;\n", d, a, below(24), 1 + below(8));
        break;
    case 5:
        ks_str_addf(&text, "popc.b32 %%r%u, %%r%u;\nadd.u32 %%r%u, %%r%u, %u;\n", d, a, d, d, below(1000));
        break;
    default:
        ks_str_addf(&text, "%s %%r%u, %%r%u, %%r%u;\n", two[below(sizeof(two) / sizeof(*two))], d, a, b);
        break;
    }
}

/* Each operation has a third of the sums, so that all orders give one result. */
static void reduction(void)
{
    static const char *const op[] = {"add.u32", "xor.b32", "max.u32"};
    unsigned which = below(3);
    ks_str_addf(&text, "and.b32 %%a1, %%r%u, 63;\nmul.wide.u32 %%rd4, %%a1, 4;\nadd.u64 %%rd4, %%rd3, %%rd4;\n", below(N_REGS));
    ks_str_addf(&text, "red.global.%s [%%rd4+%u], %%r%u;\n", op[which], which * 256, below(N_REGS));
}

/* Where all threads of the block are. */
static void exchange(void)
{
    static const char *const shuffle[] = {"idx", "bfly", "down", "up"};
    unsigned d = below(N_REGS), a = below(N_REGS), how = below(4);
    switch (below(4)) {
    case 0:
        ks_str_addf(&text, "shfl.sync.%s.b32 %%r%u, %%r%u, %u, %u, -1;\n", shuffle[how], d, a, below(32), how == 3 ? 0 : 31);
        break;
    case 1:
        ks_str_addf(&text, "setp.gt.s32 %%p1, %%r%u, %%r%u;\nvote.sync.ballot.b32 %%r%u, %%p1, -1;\n", a, below(N_REGS), d);
        break;
    case 2: /* sums of the block in shared memory */
        ks_str_addf(&text, "mov.u32 %%a2, %u;\nst.shared.u32 [%%a3], %%a2;\nbar.sync 0;\n", below(1000));
        ks_str_addf(&text, "and.b32 %%a1, %%r%u, 31;\nshl.b32 %%a1, %%a1, 2;\nadd.u32 %%a1, %%a1, %%a4;\n", a);
        ks_str_addf(&text, "red.shared.add.u32 [%%a1], %%r%u;\nbar.sync 0;\nld.shared.u32 %%r%u, [%%a3];\nbar.sync 0;\n",
                    below(N_REGS), d);
        break;
    default: /* another thread's value */
        ks_str_addf(&text, "st.shared.u32 [%%a3], %%r%u;\nbar.sync 0;\nadd.u32 %%a1, %%a0, %u;\nrem.u32 %%a1, %%a1, %d;\n", a,
                    below(BLOCK), BLOCK);
        ks_str_addf(&text, "shl.b32 %%a1, %%a1, 2;\nadd.u32 %%a1, %%a1, %%a4;\nld.shared.u32 %%r%u, [%%a1];\nbar.sync 0;\n", d);
        break;
    }
}

static void statements(int depth, bool uniform);

static void branch(int depth)
{
    unsigned l = n_labels;
    n_labels += 2;
    ks_str_addf(&text, "setp.lt.u32 %%p1, %%r%u, %%r%u;\n@%%p1 bra L%u;\n", below(N_REGS), below(N_REGS), l);
    statements(depth - 1, false);
    ks_str_addf(&text, "bra L%u;\nL%u:\n", l + 1, l);
    statements(depth - 1, false);
    ks_str_addf(&text, "L%u:\n", l + 1);
}

/* Lanes go round 1 to 8 times each; a counter for each depth. */
static void loop(int depth)
{
    unsigned l = n_labels++;
    ks_str_addf(&text, "and.b32 %%c%d, %%r%u, 7;\nL%u:\n", depth, below(N_REGS), l);
    statements(depth - 1, false);
    ks_str_addf(&text, "setp.ne.u32 %%p2, %%c%d, 0;\nsub.u32 %%c%d, %%c%d, 1;\n@%%p2 bra L%u;\n", depth, depth, depth, l);
}

static void statements(int depth, bool uniform)
{
    for (unsigned n = 3 + below(5); n > 0; n--) {
        unsigned what = below(12);
        if (what < 2 && depth > 0)
            branch(depth);
        else if (what == 2 && depth > 0)
            loop(depth);
        else if (what == 3)
            reduction();
        else if (what < 7 && uniform)
            exchange();
        else
            arithmetic();
    }
}

static void program(uint64_t number)
{
    rng = (number + 1) * 0x9e3779b97f4a7c15u | 1;
    n_labels = 0;
    ks_str_clear(&text);
    ks_str_add(&text, ".version 8.0\n.target sm_90\n.address_size 64\n"
                      ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 sums)\n{\n"
                      ".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b32 %a<8>;\n.reg .b32 %c<4>;\n.reg .f32 %f<4>;\n"
                      ".reg .b64 %rd<8>;\n.shared .align 4 .b8 room[384];\n"
                      "ld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\nld.param.u64 %rd3, [sums];\n"
                      "mov.u32 %a0, %tid.x;\nmov.u32 %a1, %ctaid.x;\nmov.u32 %a2, %ntid.x;\nmad.lo.s32 %a5, %a1, %a2, %a0;\n"
                      "mov.u32 %a4, room;\nshl.b32 %a3, %a0, 2;\nadd.u32 %a3, %a3, %a4;\n"
                      "mul.wide.u32 %rd4, %a5, 16;\nadd.u64 %rd1, %rd1, %rd4;\nadd.u64 %rd2, %rd2, %rd4;\n"
                      "ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%rd1];\n"
                      "mov.u32 %r4, %a0;\nmov.u32 %r5, %a5;\nmov.u32 %r6, 77;\nnot.b32 %r7, %r0;\n");
    statements(3, true);
    statements(2, true);
    ks_str_add(&text, "st.global.v4.u32 [%rd2], {%r0, %r1, %r2, %r3};\nret;\n}\n");
}

struct outcome {
    uint32_t out[N_THREADS * 4], sums[N_SUMS];
};

static bool run(const struct ks_emu_config *c, struct outcome *ret)
{
    static uint32_t input[N_THREADS * 4], zeros[N_SUMS];
    for (uint32_t i = 0; i < N_THREADS * 4; i++)
        input[i] = i * 2654435761u ^ i >> 3;
    if (ks_emu_new(c, &dev, &err) != KS_OK || ks_emu_module_load(dev, ks_str_cstr(&text), text.len, &mod, &err) != KS_OK)
        return false;
    void *in = upload(input, sizeof(input), "in"), *out = upload(NULL, sizeof(ret->out), "out"),
         *sums = upload(zeros, sizeof(zeros), "sums");
    bool ok = launch("k", GRID, BLOCK, 0, &in, &out, &sums) == KS_OK;
    if (ok) {
        download(ret->out, out, sizeof(ret->out));
        download(ret->sums, sums, sizeof(ret->sums));
        struct ks_json *found = ks_emu_findings(dev);
        if (ks_json_len(found)) {
            KS_AUTO_STR struct ks_str s = KS_STR_INIT;
            ks_json_print(found, &s);
            printf("accused: %.600s\n", ks_str_cstr(&s));
            ok = false;
        }
        ks_json_free(found);
    }
    ks_emu_free(dev);
    return ok;
}

int main(int argc, char **argv)
{
    static struct outcome first, other;
    static const struct {
        unsigned checks;
        uint64_t seed;
        int threads;
    } ways[] = {{0, 0, 1}, {0, 0, 3}, {0, 12345, 2}, {KS_EMU_CHECK_INIT | KS_EMU_CHECK_SYNC, 7, 4}, {KS_EMU_CHECK_ALL, 99, 3}};
    unsigned long from = argc > 1 ? strtoul(argv[1], NULL, 10) : 0, count = argc > 2 ? strtoul(argv[2], NULL, 10) : 40;
    for (unsigned long n = from; n < from + count; n++) {
        program(n);
        if (argc > 3)
            fputs(ks_str_cstr(&text), stdout);
        for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
            struct ks_emu_config c = {.arch = "sm_90a",
                                      .checks = ways[i].checks,
                                      .seed = ways[i].seed,
                                      .n_threads = ways[i].threads,
                                      .counters = i == 1};
            struct outcome *to = i ? &other : &first;
            char name[64];
            (void)snprintf(name, sizeof(name), "program %lu, way %zu", n, i);
            if (!run(&c, to))
                verdict(false, name, "%s", err.message);
            else
                verdict(!i || memcmp(&first, &other, sizeof(first)) == 0, name, "other results than one thread in plain order");
        }
    }
    ks_str_release(&text);
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed > 99 ? 99 : n_failed;
}
