#include "tests/emulated/isa.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t isa_type_bytes(const char *type)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } t[] = {{"u8", 1},     {"s8", 1},     {"b8", 1},     {"u16", 2},     {"s16", 2},    {"b16", 2},    {"u32", 4},
             {"s32", 4},    {"b32", 4},    {"u64", 8},    {"s64", 8},     {"b64", 8},    {"b128", 16},  {"f16", 2},
             {"bf16", 2},   {"f16x2", 4},  {"bf16x2", 4}, {"f32", 4},     {"f64", 8},    {"f32x2", 8},  {"tf32", 4},
             {"pred", 1},   {"u16x2", 4},  {"s16x2", 4},  {"e4m3x2", 2},  {"e5m2x2", 2}, {"e4m3", 1},   {"e5m2", 1},
             {"e2m1x2", 1}, {"e2m3x2", 2}, {"e3m2x2", 2}, {"ue8m0x2", 2}, {"e4m3x4", 4}, {"e5m2x4", 4}, {"e2m3x4", 4},
             {"e3m2x4", 4}, {"e2m1x4", 2}, {"e2m1", 1},   {"e2m3", 1},    {"e3m2", 1},   {"s4", 1},     {"u4", 1},
             {"u2", 1},     {"s2", 1},     {"b1", 1},     {"ue8m0", 1},   {"ue4m3", 1}};
    for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
        if (strcmp(t[i].name, type) == 0)
            return t[i].bytes;
    return 0;
}

bool isa_has(const struct isa_emitter *e, const char *mod)
{
    for (int i = 1; i < e->n_mod; i++)
        if (strcmp(e->mod[i], mod) == 0)
            return true;
    return false;
}

const char *isa_reg(struct isa_emitter *e, uint32_t bytes)
{
    static char ring[64][12];
    static unsigned at;
    int cls = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : bytes == 8 ? 3 : 4;
    char *s = ring[at++ & 63];
    (void)snprintf(s, 12, "%c%d", "phrdq"[cls], e -> next[cls]++);
    return s;
}

static enum isa_kind kind_of(const char *type)
{
    if (strncmp(type, "f32", 3) == 0 || strcmp(type, "tf32") == 0)
        return ISA_F32;
    if (strcmp(type, "f64") == 0)
        return ISA_F64;
    if (strncmp(type, "f16", 3) == 0)
        return ISA_F16;
    if (strncmp(type, "bf16", 4) == 0)
        return ISA_BF16;
    return type[0] == 'e' || strncmp(type, "ue", 2) == 0 ? ISA_BITS : strcmp(type, "pred") == 0 ? ISA_PRED : ISA_INT;
}

static const char *load(struct isa_emitter *e, enum isa_kind kind, uint32_t bytes, const char *type)
{
    uint32_t lane = kind == ISA_PRED ? 4 : bytes < 2 ? 2 : bytes, k = e->io->n_in++;
    struct isa_operand *op = &e->io->in[k];
    *op = (struct isa_operand){.kind = kind, .bytes = lane};
    (void)snprintf(op->type, sizeof(op->type), "%s", type);
    const char *r = isa_reg(e, lane);
    if (lane == 16) {
        const char *lo = isa_reg(e, 8), *hi = isa_reg(e, 8);
        ks_str_addf(e->o, "\tld.global.v2.b64 {%s, %s}, [in_at + %u];\n\tmov.b128 %s, {%s, %s};\n", lo, hi, 16 * k, r, lo, hi);
    } else {
        ks_str_addf(e->o, "\tld.global.b%u %s, [in_at + %u];\n", lane * 8, r, 16 * k);
    }
    if (kind != ISA_PRED)
        return r;
    const char *p = isa_reg(e, 1);
    ks_str_addf(e->o, "\tsetp.ne.b32 %s, %s, 0;\n", p, r);
    return p;
}

const char *isa_in(struct isa_emitter *e, enum isa_kind kind, uint32_t bytes)
{
    return load(e, kind, bytes, "");
}

const char *isa_in_type(struct isa_emitter *e, const char *type)
{
    return load(e, kind_of(type), isa_type_bytes(type), type);
}

void isa_out(struct isa_emitter *e, const char *reg, uint32_t bytes)
{
    struct isa_io *io = e->io;
    uint32_t lane = bytes == 1 ? 4 : bytes, at = (io->out_stride + lane - 1) / lane * lane;
    if (bytes == 1) {
        const char *r = isa_reg(e, 4);
        ks_str_addf(&e->tail, "\tselp.b32 %s, 1, 0, %s;\n\tst.global.b32 [out_at + %u], %s;\n", r, reg, at, r);
    } else if (bytes == 16) {
        const char *lo = isa_reg(e, 8), *hi = isa_reg(e, 8);
        ks_str_addf(&e->tail, "\tmov.b128 {%s, %s}, %s;\n\tst.global.v2.b64 [out_at + %u], {%s, %s};\n", lo, hi, reg, at, lo, hi);
    } else {
        ks_str_addf(&e->tail, "\tst.global.b%u [out_at + %u], %s;\n", lane * 8, at, reg);
    }
    io->out_bytes[io->n_out++] = lane;
    io->out_stride = at + lane;
}

/* ------------------------------------------------------------------------------------------------ arithmetic */

/* Operands by base: first the destination.  T type, W the wider one where .wide stands, U u32, S second type, P predicate, s a
 * shift or position, n a prmt selector, p predicate destination. */
static const struct {
    const char *base, *operands;
} alu[] = {
    {"add", "TTT"},        {"sub", "TTT"},        {"mul", "WTT"},      {"mad", "WTTW"},   {"fma", "TTTT"},   {"div", "TTT"},
    {"rem", "TTT"},        {"min", "TTT"},        {"max", "TTT"},      {"and", "TTT"},    {"or", "TTT"},     {"xor", "TTT"},
    {"abs", "TT"},         {"neg", "TT"},         {"not", "TT"},       {"cnot", "TT"},    {"popc", "UT"},    {"clz", "UT"},
    {"brev", "TT"},        {"bfind", "UT"},       {"bfe", "TTss"},     {"bfi", "TTTss"},  {"shl", "TTs"},    {"shr", "TTs"},
    {"shf", "TTTs"},       {"prmt", "TTTn"},      {"sad", "TTTT"},     {"slct", "TTTS"},  {"selp", "TTTP"},  {"setp", "pTT"},
    {"set", "TSS"},        {"testp", "pT"},       {"copysign", "TTT"}, {"sqrt", "TT"},    {"rsqrt", "TT"},   {"rcp", "TT"},
    {"sin", "TT"},         {"cos", "TT"},         {"ex2", "TT"},       {"lg2", "TT"},     {"tanh", "TT"},    {"dp4a", "UUUU"},
    {"dp2a", "UUUU"},      {"fns", "UUss"},       {"bmsk", "Tss"},     {"szext", "TTs"},  {"mul24", "TTT"},  {"mad24", "TTTT"},
    {"vadd", "UUU"},       {"vsub", "UUU"},       {"vabsdiff", "UUU"}, {"vmin", "UUU"},   {"vmax", "UUU"},   {"vshl", "UUs"},
    {"vshr", "UUs"},       {"vmad", "UUUU"},      {"vset", "UUU"},     {"vadd2", "UUUU"}, {"vsub2", "UUUU"}, {"vavrg2", "UUUU"},
    {"vabsdiff2", "UUUU"}, {"vmin2", "UUUU"},     {"vmax2", "UUUU"},   {"vset2", "UUUU"}, {"vadd4", "UUUU"}, {"vsub4", "UUUU"},
    {"vavrg4", "UUUU"},    {"vabsdiff4", "UUUU"}, {"vmin4", "UUUU"},   {"vmax4", "UUUU"}, {"vset4", "UUUU"}};

static const char *wider(const char *t)
{
    static const char *const pairs[][2] = {{"u16", "u32"}, {"s16", "s32"}, {"u32", "u64"}, {"s32", "s64"}};
    for (size_t i = 0; i < 4; i++)
        if (strcmp(pairs[i][0], t) == 0)
            return pairs[i][1];
    return t;
}

static bool emit_alu(struct isa_emitter *e)
{
    const char *spec = NULL, *t = e->n_type ? e->type[0] : "", *ops[8] = {0};
    char want[12] = "";
    for (size_t i = 0; i < sizeof(alu) / sizeof(*alu); i++)
        if (strcmp(alu[i].base, e->mod[0]) == 0)
            spec = alu[i].operands;
    if (!spec || !e->n_type)
        return false;
    (void)snprintf(want, sizeof(want), "%s", spec);
    bool boolean = (strncmp(e->mod[0], "set", 3) == 0) && (isa_has(e, "and") || isa_has(e, "or") || isa_has(e, "xor"));
    if (boolean)
        (void)strcat(want, "P");
    bool op2 = e->mod[0][0] == 'v' && strlen(want) == 3 && strcmp(e->mod[0], "vset") != 0 &&
               (isa_has(e, "add") || isa_has(e, "min") || isa_has(e, "max"));
    if (op2)
        (void)strcat(want, "U");
    if (isa_has(e, "3in")) /* our own spelling: min and max of three */
        (void)strcat(want, "T");
    bool mixed = e->n_type == 2 && strcmp(t, "f32") == 0 &&
                 (strcmp(e->mod[0], "add") == 0 || strcmp(e->mod[0], "sub") == 0 || strcmp(e->mod[0], "fma") == 0);
    uint32_t out = 0;
    for (int k = 0; want[k]; k++) {
        char c = want[k];
        const char *type = c == 'U' ? "u32" : c == 'S' ? e->type[1] : c == 'W' && isa_has(e, "wide") ? wider(t) : t;
        if (mixed && (k == 1 || (k == 2 && e->mod[0][0] == 'f')))
            type = e->type[1];
        if (k == 0) {
            out = c == 'p' ? 1 : isa_type_bytes(type);
            ops[0] = isa_reg(e, out);
        } else {
            ops[k] = c == 's'   ? isa_in(e, ISA_SHIFT, 4)
                     : c == 'n' ? isa_in(e, ISA_NIBBLES, 4)
                     : c == 'P' ? isa_in(e, ISA_PRED, 1)
                                : isa_in_type(e, type);
        }
    }
    bool both = isa_has(e, "both"); /* our own spelling: setp with two destinations */
    ks_str_add(e->o, "\t");
    for (int i = 0; i < e->n_mod; i++)
        if (strcmp(e->mod[i], "3in") != 0 && strcmp(e->mod[i], "both") != 0)
            ks_str_addf(e->o, "%s%s", i ? "." : "", e->mod[i]);
    ks_str_addf(e->o, " %s", ops[0]);
    const char *second = NULL;
    if (both) {
        second = isa_reg(e, 1);
        ks_str_addf(e->o, "|%s", second);
    }
    for (int k = 1; want[k]; k++)
        ks_str_addf(e->o, ", %s", ops[k]);
    ks_str_add(e->o, ";\n");
    isa_out(e, ops[0], out);
    if (both)
        isa_out(e, second, 1);
    return true;
}

static bool emit_cvt(struct isa_emitter *e)
{
    const char *to = e->n_type > 0 ? e->type[0] : "", *from = e->n_type > 1 ? e->type[1] : "";
    bool pack = isa_has(e, "pack"), rs = isa_has(e, "rs");
    uint32_t to_bytes = isa_type_bytes(to), reg = to_bytes < 2 ? 2 : to_bytes;
    if (e->n_type < 2 || strcmp(e->mod[0], "cvt") != 0)
        return false;
    if (pack) {
        const char *d = isa_reg(e, 4), *a = isa_in_type(e, "s32"), *b = isa_in_type(e, "s32");
        bool three = e->n_type == 3;
        ks_str_addf(e->o, "\t%s %s, %s, %s%s%s;\n", e->opcode, d, a, b, three ? ", " : "", three ? isa_in_type(e, "b32") : "");
        isa_out(e, d, 4);
        return true;
    }
    bool x4 = strstr(to, "x4") != NULL, two = (strstr(to, "x2") || x4) && strcmp(from, "f32") == 0,
         byte = strcmp(to, "e2m1x2") == 0, from_byte = strcmp(from, "e2m1x2") == 0;
    const char *a[4] = {0}, *d = isa_reg(e, byte ? 2 : reg);
    int n = x4 ? 4 : two ? 2 : 1;
    if (from_byte) { /* four bits a value: an 8-bit register exists only inside a block */
        const char *h = isa_in(e, ISA_BITS, 2);
        ks_str_addf(e->o, "\t{\n\t.reg .b8 lo, hi;\n\tmov.b16 {lo, hi}, %s;\n\t%s %s, lo;\n\t}\n", h, e->opcode, d);
        isa_out(e, d, reg);
        return true;
    }
    for (int i = 0; i < n; i++)
        a[i] = isa_in_type(e, from);
    const char *random = rs ? isa_in_type(e, "b32") : NULL;
    if (byte)
        ks_str_addf(e->o, "\t{\n\t.reg .b8 lo;\n\t%s lo, %s%s%s;\n\tcvt.u16.u8 %s, lo;\n\t}\n", e->opcode, a[0],
                    n > 1 ? ", " : "", n > 1 ? a[1] : "", d);
    else {
        ks_str_addf(e->o, "\t%s %s, %s", e->opcode, d, x4 ? "{" : "");
        for (int i = 0; i < n; i++)
            ks_str_addf(e->o, "%s%s", i ? ", " : "", a[i]);
        ks_str_addf(e->o, "%s%s%s;\n", x4 ? "}" : "", random ? ", " : "", random ? random : "");
    }
    isa_out(e, d, reg);
    return true;
}

static bool emit_carry(struct isa_emitter *e)
{
    const char *b = e->mod[0], *t = e->n_type ? e->type[0] : "";
    bool cc = isa_has(e, "cc"), takes = strcmp(b, "addc") == 0 || strcmp(b, "subc") == 0 || strcmp(b, "madc") == 0;
    uint32_t bytes = isa_type_bytes(t);
    if (!takes && !cc)
        return false;
    const char *d = isa_reg(e, bytes), *x = isa_in_type(e, t), *y = isa_in_type(e, t),
               *z = b[0] == 'm' ? isa_in_type(e, t) : NULL;
    if (takes) { /* a carry, or none, by an addition that makes it */
        const char *r = isa_in_type(e, "u32"), *s = isa_reg(e, 4);
        ks_str_addf(e->o, "\t%s.cc.u32 %s, %s, %s;\n", b[0] == 's' ? "sub" : "add", s, b[0] == 's' ? x[0] == 'r' ? x : r : r, r);
    }
    ks_str_addf(e->o, "\t%s %s, %s, %s%s%s;\n", e->opcode, d, x, y, z ? ", " : "", z ? z : "");
    isa_out(e, d, bytes);
    if (cc) {
        const char *flag = isa_reg(e, 4);
        ks_str_addf(e->o, "\t%s.u32 %s, 0, 0;\n", b[0] == 's' ? "subc" : "addc", flag);
        isa_out(e, flag, 4);
    }
    return true;
}

static bool emit_lop3(struct isa_emitter *e)
{
    if (strcmp(e->mod[0], "lop3") != 0)
        return false;
    bool boolean = isa_has(e, "or") || isa_has(e, "and");
    const char *d = isa_reg(e, 4), *a = isa_in_type(e, "b32"), *b = isa_in_type(e, "b32"), *c = isa_in_type(e, "b32");
    if (boolean) {
        const char *q = isa_in(e, ISA_PRED, 1), *p = isa_reg(e, 1);
        ks_str_addf(e->o, "\t%s %s|%s, %s, %s, %s, 0xb4, %s;\n", e->opcode, d, p, a, b, c, q);
        isa_out(e, p, 1);
    } else {
        ks_str_addf(e->o, "\t%s %s, %s, %s, %s, 0xb4;\n", e->opcode, d, a, b, c);
    }
    isa_out(e, d, 4);
    return true;
}

static bool emit_mov(struct isa_emitter *e)
{
    const char *t = e->n_type ? e->type[0] : "";
    if (strcmp(e->mod[0], "mov") != 0 || !e->n_type)
        return false;
    uint32_t bytes = isa_type_bytes(t);
    const char *d = isa_reg(e, bytes), *a = isa_in_type(e, t);
    ks_str_addf(e->o, "\t%s %s, %s;\n", e->opcode, d, a);
    isa_out(e, d, bytes);
    return true;
}

/* ------------------------------------------------------------------------------------------------ kernels */

static void split(struct isa_emitter *e)
{
    (void)snprintf(e->text, sizeof(e->text), "%s", e->opcode);
    for (char *s = e->text; s && e->n_mod < 32;) {
        char *dot = strchr(s, '.');
        if (dot)
            *dot = 0;
        e->mod[e->n_mod++] = s;
        if (e->n_mod > 1 && isa_type_bytes(s) && e->n_type < 4)
            (void)snprintf(e->type[e->n_type++], sizeof(e->type[0]), "%.11s", s);
        s = dot ? dot + 1 : NULL;
    }
}

const char *isa_header(int arch)
{
#define DECLARATIONS                                                                                                             \
    ".address_size 64\n"                                                                                                         \
    ".const .align 16 .b32 isa_const[16] = {1, 2, 3, 0xdeadbeef, 0x80000000, 0xffffffff, 7, 8, 9, 10, 11, 12, 13, 14, 15, "      \
    "16};\n"                                                                                                                     \
    ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"                                                     \
    ".extern .func (.param .b64 r) malloc(.param .b64 a);\n.extern .func free(.param .b64 a);\n"                                 \
    ".extern .func cudaGraphSetConditional(.param .b64 a, .param .b32 b);\n"                                                     \
    ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);\n"                   \
    ".func (.param .b32 r) isa_twice(.param .b32 a)\n{\n\t.reg .b32 x;\n\tld.param.b32 x, [a];\n\tadd.s32 x, x, x;\n"            \
    "\tst.param.b32 [r], x;\n\tret;\n}\n"                                                                                        \
    ".func (.param .b32 r) isa_thrice(.param .b32 a)\n{\n\t.reg .b32 x;\n\tld.param.b32 x, [a];\n\tmul.lo.s32 x, x, 3;\n"        \
    "\tst.param.b32 [r], x;\n\tret;\n}\n"                                                                                        \
    ".func (.param .align 16 .b8 r[32]) isa_echo(.param .align 16 .b8 a[32])\n{\n\t.reg .b64 x<4>;\n"                            \
    "\tld.param.v2.b64 {x0, x1}, [a];\n\tld.param.v2.b64 {x2, x3}, [a + 16];\n\tst.param.v2.b64 [r], {x0, x1};\n"                \
    "\tst.param.v2.b64 [r + 16], {x2, x3};\n\tret;\n}\n"
    return arch >= 120   ? ".version 9.0\n.target sm_120a\n" DECLARATIONS
           : arch >= 100 ? ".version 9.0\n.target sm_100a\n" DECLARATIONS
                         : ".version 9.0\n.target sm_90a\n" DECLARATIONS;
#undef DECLARATIONS
}

bool isa_emit(struct ks_str *out, const char *opcode, const char *name, struct isa_io *ret_io)
{
    KS_AUTO_STR struct ks_str body = KS_STR_INIT;
    struct isa_io io = {0};
    struct isa_emitter e = {.o = &body, .io = &io, .opcode = opcode};
    split(&e);
    static bool (*const family[])(struct isa_emitter *) = {emit_carry, emit_cvt,        emit_lop3,     emit_mov,
                                                           emit_alu,   isa_emit_memory, isa_emit_warp, isa_emit_tensor};
    bool known = false;
    for (size_t i = 0; !known && i < sizeof(family) / sizeof(*family); i++)
        known = family[i](&e);
    if (known) {
        io.in_stride = io.n_in ? 16 * io.n_in : 16;
        io.out_stride = (io.out_stride + 7) / 8 * 8;
        if (!io.out_stride)
            io.out_stride = 8;
        ks_str_addf(out, ".visible .entry %s(.param .u64 in, .param .u64 out, .param .u64 mem)\n{\n", name);
        ks_str_add(out, "\t.reg .pred p<16>;\n\t.reg .b16 h<40>;\n\t.reg .b32 r<120>;\n\t.reg .b64 d<60>;\n");
        if (e.next[4])
            ks_str_add(out, "\t.reg .b128 q<8>;\n");
        ks_str_add(out, "\t.reg .b32 t0, t1, t2;\n\t.reg .b64 in_at, out_at, mem_at, step;\n"
                        "\tmov.u32 t0, %tid.x;\n\tmov.u32 t1, %ctaid.x;\n\tmov.u32 t2, %ntid.x;\n\tmad.lo.s32 t0, t1, t2, t0;\n"
                        "\tld.param.u64 in_at, [in];\n\tld.param.u64 out_at, [out];\n\tld.param.u64 mem_at, [mem];\n");
        ks_str_addf(out, "\tmul.wide.u32 step, t0, %u;\n\tadd.s64 in_at, in_at, step;\n", io.in_stride);
        ks_str_addf(out, "\tmul.wide.u32 step, t0, %u;\n\tadd.s64 out_at, out_at, step;\n", io.out_stride);
        ks_str_add(out, "\tmul.wide.u32 step, t0, 64;\n\tadd.s64 mem_at, mem_at, step;\n\tmov.u32 t1, %tid.x;\n");
        ks_str_addn(out, ks_str_cstr(&body), body.len);
        ks_str_addn(out, ks_str_cstr(&e.tail), e.tail.len);
        ks_str_add(out, "\tret;\n}\n");
        *ret_io = io;
    }
    ks_str_release(&e.tail);
    return known;
}
