#include "tests/emulated/isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Instruction tests of warp operations, control flow, barriers, and matrix products. */

static bool emit_shuffle(struct isa_emitter *e)
{
    const char *b = e->mod[0];
    if (strcmp(b, "shfl") == 0) {
        const char *d = isa_reg(e, 4), *p = isa_reg(e, 1), *a = isa_in(e, ISA_INT, 4), *lane = isa_in(e, ISA_LANE, 4);
        ks_str_addf(e->o, "\t%s %s|%s, %s, %s, %s, -1;\n", e->opcode, d, p, a, lane, isa_has(e, "up") ? "0" : "0x081f");
        isa_out(e, d, 4);
        isa_out(e, p, 1);
        return true;
    }
    if (strcmp(b, "vote") == 0) {
        bool ballot = isa_has(e, "ballot");
        const char *d = isa_reg(e, ballot ? 4 : 1), *p = isa_in(e, ISA_PRED, 1);
        ks_str_addf(e->o, "\t%s %s, %s, -1;\n", e->opcode, d, p);
        isa_out(e, d, ballot ? 4 : 1);
        return true;
    }
    if (strcmp(b, "match") == 0) {
        uint32_t bytes = isa_type_bytes(e->type[0]);
        bool all = isa_has(e, "all");
        const char *d = isa_reg(e, 4), *p = isa_reg(e, 1), *a = isa_in(e, ISA_LANE, 4), *wide = isa_reg(e, 8);
        ks_str_addf(e->o, "\tand.b32 %s, %s, 3;\n\tcvt.u64.u32 %s, %s;\n", a, a, wide, a);
        ks_str_addf(e->o, "\t%s %s%s%s, %s, -1;\n", e->opcode, d, all ? "|" : "", all ? p : "", bytes == 8 ? wide : a);
        isa_out(e, d, 4);
        if (all)
            isa_out(e, p, 1);
        return true;
    }
    if (strcmp(b, "redux") == 0) {
        const char *d = isa_reg(e, 4), *a = isa_in_type(e, e->type[0]);
        ks_str_addf(e->o, "\t%s %s, %s, -1;\n", e->opcode, d, a);
        isa_out(e, d, 4);
        return true;
    }
    if (strcmp(b, "activemask") == 0) {
        const char *d = isa_reg(e, 4);
        ks_str_addf(e->o, "\t%s %s;\n", e->opcode, d);
        isa_out(e, d, 4);
        return true;
    }
    if (strcmp(b, "elect") == 0) {
        const char *d = isa_reg(e, 4), *p = isa_reg(e, 1);
        ks_str_addf(e->o, "\t%s %s|%s, -1;\n", e->opcode, d, p);
        isa_out(e, p, 1);
        return true;
    }
    return false;
}

static bool emit_barrier(struct isa_emitter *e)
{
    const char *b = e->mod[0];
    if (strcmp(b, "bar") != 0 && strcmp(b, "barrier") != 0)
        return false;
    if (isa_has(e, "cluster"))
        return false;
    if (isa_has(e, "warp")) {
        ks_str_addf(e->o, "\t%s -1;\n", e->opcode);
    } else if (isa_has(e, "red")) {
        bool popc = isa_has(e, "popc");
        const char *d = isa_reg(e, popc ? 4 : 1), *p = isa_in(e, ISA_PRED, 1);
        ks_str_addf(e->o, "\t%s %s, 1, %d, %s;\n", e->opcode, d, ISA_BLOCK, p);
        isa_out(e, d, popc ? 4 : 1);
        return true;
    } else if (isa_has(e, "arrive")) {
        ks_str_addf(e->o,
                    "\t.reg .pred odd;\n\tand.b32 r100, t1, 32;\n\tsetp.ne.b32 odd, r100, 0;\n\t@odd %s 2, %d;\n\t@!odd bar.sync "
                    "2, %d;\n",
                    e->opcode, ISA_BLOCK, ISA_BLOCK);
    } else {
        ks_str_addf(e->o, "\t%s %s;\n", e->opcode, isa_has(e, "cta") ? "3" : "0");
    }
    isa_out(e, "t1", 4);
    return true;
}

/* Instructions without a result, and control flow. */
static bool emit_fixed(struct isa_emitter *e)
{
    static const struct {
        const char *opcode, *text;
    } fixed[] = {
        {"bra", "\t.reg .pred c;\n\tsetp.lt.u32 c, t1, 40;\n\t@c bra L1;\n\tadd.s32 t1, t1, 1000;\nL1:\n"},
        {"bra.uni", "\tbra.uni L1;\n\tadd.s32 t1, t1, 1000;\nL1:\n"},
        {"brx.idx", "\tand.b32 t2, t1, 1;\nTB: .branchtargets L0, L1;\n\tbrx.idx t2, TB;\nL0:\n\tadd.s32 t1, t1, 100;\nL1:\n"},
        {"brx.idx.uni",
         "\tmov.u32 t2, 1;\nTB: .branchtargets L0, L1;\n\tbrx.idx.uni t2, TB;\nL0:\n\tadd.s32 t1, t1, 100;\nL1:\n"},
        {"call", "\t{\n\t.param .b32 a;\n\t.param .b32 b;\n\tst.param.b32 [a], t1;\n\tcall (b), isa_twice, (a);\n\tld.param.b32 "
                 "t1, [b];\n\t}\n"},
        {"call.uni", "\t{\n\t.param .b32 a;\n\t.param .b32 b;\n\tst.param.b32 [a], t1;\n\tcall.uni (b), isa_twice, "
                     "(a);\n\tld.param.b32 t1, [b];\n\t}\n"},
        {"call(indirect)",
         "\t.reg .pred c;\n\t.reg .b64 f;\n\tmov.u64 f, isa_twice;\n\tmov.u64 d50, isa_thrice;\n\tsetp.lt.u32 c, t1, 40;\n"
         "\tselp.b64 f, f, d50, c;\n\t{\n\t.param .b32 a;\n\t.param .b32 b;\n\tst.param.b32 [a], t1;\n"
         "P0: .callprototype (.param .b32 _) _ (.param .b32 _);\n\tcall (b), f, (a), P0;\n\tld.param.b32 t1, [b];\n\t}\n"},
        {"ret", "\t.reg .pred c;\n\tst.global.b32 [out_at], t1;\n\tsetp.lt.u32 c, t1, 40;\n\t@c ret;\n\tadd.s32 t1, t1, 1000;\n"},
        {"ret.uni", "\tst.global.b32 [out_at], t1;\n\tret.uni;\n"},
        {"exit",
         "\t.reg .pred c;\n\tst.global.b32 [out_at], t1;\n\tsetp.lt.u32 c, t1, 40;\n\t@c exit;\n\tadd.s32 t1, t1, 1000;\n"},
        {"trap", "\t.reg .pred c;\n\tsetp.gt.u32 c, t1, 5000;\n\t@c trap;\n"},
        {"brkpt", "\t.reg .pred c;\n\tsetp.gt.u32 c, t1, 5000;\n\t@c brkpt;\n"},
        {"nanosleep.u32", "\tnanosleep.u32 20;\n"},
        {"griddepcontrol.wait", "\tgriddepcontrol.wait;\n"},
        {"griddepcontrol.launch_dependents", "\tgriddepcontrol.launch_dependents;\n"},
        {"discard.global.L2", "\tdiscard.global.L2 [mem_at], 128;\n"},
        {"applypriority.global.L2::evict_normal", "\tapplypriority.global.L2::evict_normal [mem_at], 128;\n"},
        {"extern:vprintf",
         "\t.reg .pred c;\n\tsetp.gt.u32 c, t1, 5000;\n\t@!c bra L1;\n\t{\n\t.param .b64 a;\n\t.param .b64 v;\n\t.param .b32 b;\n"
         "\tst.param.b64 [a], mem_at;\n\tst.param.b64 [v], mem_at;\n\tcall.uni (b), vprintf, (a, v);\n\t}\nL1:\n"},
        {"extern:malloc", "\t.reg .pred c;\n\tsetp.gt.u32 c, t1, 5000;\n\t@!c bra L1;\n\t{\n\t.param .b64 a;\n\t.param .b64 "
                          "b;\n\tst.param.b64 [a], 16;\n"
                          "\tcall.uni (b), malloc, (a);\n\tld.param.b64 d50, [b];\n\t.param .b64 f;\n\tst.param.b64 [f], "
                          "d50;\n\tcall.uni free, (f);\n\t}\nL1:\n"},
        {"extern:cudaGraphSetConditional",
         "\t{\n\t.param .b64 a;\n\t.param .b32 b;\n\tst.param.b64 [a], mem_at;\n\tst.param.b32 [b], 1;\n"
         "\tcall.uni cudaGraphSetConditional, (a, b);\n\t}\n"},
        {"extern:__assertfail", "\t.reg .pred c;\n\tsetp.gt.u32 c, t1, 5000;\n\t@!c bra L1;\n\t{\n\t.param .b64 a;\n\t.param "
                                ".b64 b;\n\t.param .b32 l;\n\t.param .b64 f;\n"
                                "\t.param .b64 s;\n\tst.param.b64 [a], mem_at;\n\tst.param.b64 [b], mem_at;\n\tst.param.b32 [l], "
                                "1;\n\tst.param.b64 [f], mem_at;\n"
                                "\tst.param.b64 [s], 1;\n\tcall.uni __assertfail, (a, b, l, f, s);\n\t}\nL1:\n"},
    };
    for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++) {
        if (strcmp(fixed[i].opcode, e->opcode) != 0)
            continue;
        ks_str_add(e->o, fixed[i].text);
        isa_out(e, "t1", 4);
        return true;
    }
    const char *b = e->mod[0];
    if ((strcmp(b, "fence") == 0 && !isa_has(e, "proxy")) || strcmp(b, "membar") == 0) {
        ks_str_addf(e->o, "\t%s;\n", e->opcode);
        isa_out(e, "t1", 4);
        return true;
    }
    if ((strcmp(b, "prefetch") == 0 || strcmp(b, "prefetchu") == 0) && !isa_has(e, "tensormap")) {
        ks_str_addf(e->o, "\t%s [mem_at];\n", e->opcode);
        isa_out(e, "t1", 4);
        return true;
    }
    if (strcmp(b, "createpolicy") == 0 && isa_has(e, "fractional")) {
        ks_str_addf(e->o, "\t%s d50, 1.0;\n", e->opcode);
        isa_out(e, "t1", 4);
        return true;
    }
    return false;
}

static bool emit_address(struct isa_emitter *e)
{
    if (strcmp(e->mod[0], "cvta") == 0) {
        bool to = isa_has(e, "to"), shared = isa_has(e, "shared"), local = isa_has(e, "local"), param = isa_has(e, "param");
        if (shared)
            ks_str_add(e->o, "\t.shared .align 8 .b8 sh[64];\n\tmov.u64 d50, sh;\n");
        else if (local)
            ks_str_add(e->o, "\t.local .align 8 .b8 lc[64];\n\tmov.u64 d50, lc;\n");
        else if (param)
            ks_str_add(e->o, "\tmov.b64 d50, in;\n");
        else
            ks_str_addf(e->o, "\tmov.u64 d50, %s;\n", isa_has(e, "const") ? "isa_const" : "mem_at");
        if (to) { /* there and back */
            char from[64];
            (void)snprintf(from, sizeof(from), "cvta.%s.u64",
                           shared                ? "shared"
                           : local               ? "local"
                           : param               ? "param"
                           : isa_has(e, "const") ? "const"
                                                 : "global");
            ks_str_addf(e->o, "\t%s d51, d50;\n\t%s d51, d51;\n\tsub.s64 d50, d51, d50;\n", from, e->opcode);
        } else {
            ks_str_addf(e->o, "\t%s d51, d50;\n\tcvta.to.%s.u64 d51, d51;\n\tsub.s64 d50, d51, d50;\n", e->opcode, e->mod[1]);
        }
        isa_out(e, "d50", 8);
        return true;
    }
    if (strcmp(e->mod[0], "isspacep") == 0) {
        ks_str_add(e->o, "\t.shared .align 8 .b8 sh[64];\n\t.local .align 8 .b8 lc[64];\n\t.reg .pred c;\n");
        static const char *const from[] = {
            "mov.u64 d50, sh;\n\tcvta.shared.u64 d50, d50", "mov.u64 d50, lc;\n\tcvta.local.u64 d50, d50", "mov.u64 d50, mem_at",
            "mov.u64 d50, isa_const;\n\tcvta.const.u64 d50, d50", "mov.b64 d50, in;\n\tcvta.param.u64 d50, d50"};
        for (int i = 0; i < 5; i++) {
            const char *r = isa_reg(e, 4);
            ks_str_addf(e->o, "\t%s;\n\t%s c, d50;\n\tselp.b32 %s, 1, 0, c;\n", from[i], e->opcode, r);
            isa_out(e, r, 4);
        }
        return true;
    }
    return false;
}

bool isa_emit_warp(struct isa_emitter *e)
{
    return emit_shuffle(e) || emit_barrier(e) || emit_fixed(e) || emit_address(e);
}

/* ------------------------------------------------------------------------------------------------ matrix products */

static uint32_t element_bits(const char *t)
{
    static const struct {
        const char *type;
        uint32_t bits;
    } b[] = {{"f16", 16}, {"bf16", 16}, {"tf32", 32}, {"f32", 32}, {"f64", 64}, {"s32", 32}, {"s8", 8},   {"u8", 8},
             {"s4", 4},   {"u4", 4},    {"b1", 1},    {"e4m3", 8}, {"e5m2", 8}, {"e2m1", 4}, {"e2m3", 8}, {"e3m2", 8}};
    for (size_t i = 0; i < sizeof(b) / sizeof(*b); i++)
        if (strcmp(b[i].type, t) == 0)
            return b[i].bits;
    return 0;
}

/* Registers of `bits` in all of matrix elements, as operands of four words; *ret_n of them. */
static void registers(struct isa_emitter *e, const char *type, uint32_t bits, const char **r, uint32_t *ret_n)
{
    uint32_t each = strcmp(type, "f64") == 0 ? 64 : 32, n = bits / 32 / each;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t per = each == 64 ? 2 : 4;
        if (i % per == 0) {
            struct isa_operand *op = &e->io->in[e->io->n_in++];
            *op = (struct isa_operand){.kind = ISA_TENSOR, .bytes = 16};
            (void)snprintf(op->type, sizeof(op->type), "%s", type);
        }
        r[i] = isa_reg(e, each / 8);
        ks_str_addf(e->o, "\tld.global.b%u %s, [in_at + %u];\n", each, r[i], 16 * (e->io->n_in - 1) + each / 8 * (i % per));
    }
    *ret_n = n;
}

static void list(struct ks_str *o, const char *const *r, uint32_t n)
{
    ks_str_add(o, "{");
    for (uint32_t i = 0; i < n; i++)
        ks_str_addf(o, "%s%s", i ? ", " : "", r[i]);
    ks_str_add(o, "}");
}

static bool emit_mma(struct isa_emitter *e)
{
    uint32_t m = 0, n = 0, k = 0;
    bool sparse = isa_has(e, "sp") || isa_has(e, "sp::ordered_metadata"), scaled = isa_has(e, "block_scale");
    if (strcmp(e->mod[0], "mma") != 0)
        return false;
    for (int i = 1; i < e->n_mod; i++)
        if (sscanf(e->mod[i], "m%un%uk%u", &m, &n, &k) == 3)
            break;
    const char *ts[4] = {0};
    int nt = 0;
    for (int i = 1; i < e->n_mod && nt < 4; i++)
        if (element_bits(e->mod[i]))
            ts[nt++] = e->mod[i];
    if (nt < 4 || !m)
        return false;
    /* a 4- or 6-bit float takes a byte except in the kinds of two to a byte */
    bool nibbles = isa_has(e, "kind::mxf4") || isa_has(e, "kind::mxf4nvf4");
    uint32_t ea = element_bits(ts[1]), eb = element_bits(ts[2]);
    if (ts[1][0] == 'e' && !nibbles)
        ea = eb = 8;
    const char *d[8], *a[8], *b[8], *c[8], *extra = NULL;
    uint32_t na, nb, nc, nd = m * n * element_bits(ts[0]) / 32 / (strcmp(ts[0], "f64") == 0 ? 64 : 32);
    registers(e, ts[1], m * k * ea / (sparse ? 2 : 1), a, &na);
    registers(e, ts[2], n * k * eb, b, &nb);
    registers(e, ts[3], m * n * element_bits(ts[3]), c, &nc);
    if (sparse) {
        extra = isa_in(e, ISA_METADATA, 4);
        (void)snprintf(e->io->in[e->io->n_in - 1].type, sizeof(e->io->in[0].type), "%s", ts[1]);
    }
    uint32_t lanes = k * (ts[1][0] == 't' ? 2 : ea == 4 ? 1 : 2) / 32; /* of each four that hold the metadata of their rows */
    for (uint32_t pick = 0; pick < (!sparse || lanes >= 4 ? 1 : 2); pick++) {
        for (uint32_t i = 0; i < nd; i++)
            d[i] = isa_reg(e, element_bits(ts[0]) == 64 ? 8 : 4);
        ks_str_addf(e->o, "\t%s ", e->opcode);
        list(e->o, d, nd);
        ks_str_add(e->o, ", ");
        list(e->o, a, na);
        ks_str_add(e->o, ", ");
        list(e->o, b, nb);
        ks_str_add(e->o, ", ");
        list(e->o, c, nc);
        if (sparse)
            ks_str_addf(e->o, ", %s, %u", extra, pick);
        if (scaled)
            ks_str_add(e->o, ", {t0}, {0, 0}, {t1}, {0, 0}");
        ks_str_add(e->o, ";\n");
        for (uint32_t i = 0; i < nd; i++)
            isa_out(e, d[i], element_bits(ts[0]) == 64 ? 8 : 4);
    }
    return true;
}

/* wmma is decoded here piece by piece; whole products run in tests/emulated/test_tensor.c. */
static bool emit_wmma(struct isa_emitter *e)
{
    uint32_t m = 0, n = 0, k = 0;
    if (strcmp(e->mod[0], "wmma") != 0)
        return false;
    for (int i = 1; i < e->n_mod; i++)
        if (sscanf(e->mod[i], "m%un%uk%u", &m, &n, &k) == 3)
            break;
    const char *ts[4] = {0}, *r[4][16];
    int nt = 0;
    for (int i = 1; i < e->n_mod && nt < 4; i++)
        if (element_bits(e->mod[i]))
            ts[nt++] = e->mod[i];
    if (!m || !nt)
        return false;
    bool product = isa_has(e, "mma");
    uint32_t cnt[4];
    for (int i = 0; i < (product ? 4 : 1); i++) { /* d, a, b, c */
        const char *t = !product ? ts[0] : nt == 4 ? ts[i] : i == 0 ? ts[0] : i == 3 ? ts[1] : "f16";
        char which = !product ? e->mod[2][0] : "dabc"[i];
        uint32_t bits = element_bits(t), rows = which == 'b' ? n : m, cols = which == 'a' || which == 'b' ? k : n;
        bool acc = which == 'c' || which == 'd';
        cnt[i] = strcmp(t, "f16") == 0 && !acc ? 8 : strcmp(t, "f64") == 0 ? rows * cols / 32 : rows * cols * bits / 1024;
        for (uint32_t j = 0; j < cnt[i]; j++)
            r[i][j] = isa_reg(e, bits == 64 ? 8 : 4);
    }
    ks_str_addf(e->o, "\t%s ", e->opcode);
    if (isa_has(e, "store"))
        ks_str_add(e->o, "[mem_at], ");
    for (int i = 0; i < (product ? 4 : 1); i++) {
        ks_str_add(e->o, i ? ", " : "");
        list(e->o, r[i], cnt[i]);
    }
    ks_str_add(e->o, isa_has(e, "load") ? ", [mem_at], t1;\n" : isa_has(e, "store") ? ", t1;\n" : ";\n");
    isa_out(e, "t1", 4);
    return true;
}

bool isa_emit_tensor(struct isa_emitter *e)
{
    return emit_mma(e) || emit_wmma(e);
}
