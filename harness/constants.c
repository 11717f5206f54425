#include "harness/constants.h"

#include <capstone/capstone.h>
#include <elf.h>
#include <math.h>
#include <string.h>

/* More than any code of a size that is admitted has; beyond it constants are not gathered. */
#define MAX_VALUES (1u << 20)

static void near_add(struct ks_constants *c, int64_t v)
{
    if (c->near.n < MAX_VALUES)
        ks_vec_push(&c->near, v);
}

static void far_add(struct ks_constants *c, int64_t v)
{
    if (c->far.n < MAX_VALUES)
        ks_vec_push(&c->far, v);
}

/* A 64-bit operand: as it is, as a 32-bit one of either sign, and both halves. */
static void operand_add(struct ks_constants *c, int64_t v)
{
    near_add(c, v);
    if (v != (int32_t)v)
        near_add(c, (int32_t)v);
    if (v >> 32 != 0 && v >> 32 != -1)
        near_add(c, v >> 32);
}

/* A floating-point number: the integer below it. */
static void number_add(struct ks_constants *c, double v)
{
    if (fabs(v) >= 2 && fabs(v) < 0x1p53)
        near_add(c, (int64_t)floor(v));
}

/* ---- constant data ------------------------------------------------------------------------------------------------ */

/* Bytes of a table: every word as an integer and as a number with a fraction; halves of words besides. */
static void data_add(struct ks_constants *c, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i + 4 <= n; i += 4) {
        int32_t word;
        float single;
        memcpy(&word, p + i, sizeof word);
        memcpy(&single, p + i, sizeof single);
        if (word != 0) {
            near_add(c, word);
            number_add(c, (double)single);
        }
        if (i % 8 == 0 && i + 8 <= n) {
            double whole;
            memcpy(&whole, p + i, sizeof whole);
            if (whole != 0)
                number_add(c, whole);
        }
    }
    for (size_t i = 0; i + 2 <= n; i += 2) {
        int64_t half = p[i] | p[i + 1] << 8;
        if (half != 0)
            far_add(c, half);
    }
}

/* ---- host code ---------------------------------------------------------------------------------------------------- */

static void x86_add(struct ks_constants *c, const cs_insn *insn)
{
    const cs_x86 *x = &insn->detail->x86;
    for (uint8_t i = 0; i < x->op_count; i++) {
        if (x->operands[i].type == X86_OP_IMM)
            operand_add(c, x->operands[i].imm);
        else if (x->operands[i].type == X86_OP_MEM && x->operands[i].mem.base != X86_REG_RIP && insn->id == X86_INS_LEA)
            operand_add(c, x->operands[i].mem.disp); /* an addition */
        else if (x->operands[i].type == X86_OP_MEM && x->operands[i].mem.base != X86_REG_RIP)
            far_add(c, x->operands[i].mem.disp);
    }
}

/* `wide`: what a sequence of mov and movk has put together so far. */
static void arm_add(struct ks_constants *c, const cs_insn *insn, uint64_t *wide)
{
    const cs_arm64 *a = &insn->detail->arm64;
    for (uint8_t i = 0; i < a->op_count; i++) {
        unsigned shift = a->operands[i].shift.type == ARM64_SFT_LSL ? a->operands[i].shift.value & 63 : 0;
        if (a->operands[i].type == ARM64_OP_MEM)
            far_add(c, a->operands[i].mem.disp);
        if (a->operands[i].type == ARM64_OP_FP)
            number_add(c, a->operands[i].fp);
        if (a->operands[i].type != ARM64_OP_IMM)
            continue;
        uint64_t v = (uint64_t)a->operands[i].imm << shift;
        *wide = insn->id == ARM64_INS_MOVK ? (*wide & ~((uint64_t)0xffff << shift)) | v : v;
        operand_add(c, (int64_t)*wide);
    }
}

static void code_add(struct ks_constants *c, csh h, bool x86, const struct ks_section *s)
{
    const uint8_t *p = s->bytes;
    size_t left = s->size_bytes;
    uint64_t address = 0, wide = 0;
    cs_insn *insn = cs_malloc(h);
    while (insn && cs_disasm_iter(h, &p, &left, &address, insn)) {
        if (insn->id == 0 || cs_insn_group(h, insn, CS_GRP_JUMP) || cs_insn_group(h, insn, CS_GRP_CALL))
            continue; /* no instruction, or its operand is a place */
        if (x86)
            x86_add(c, insn);
        else
            arm_add(c, insn, &wide);
    }
    cs_free(insn, 1);
}

static void host_add(struct ks_constants *c, const struct ks_object *o)
{
    csh h;
    bool open = cs_open(o->x86 ? CS_ARCH_X86 : CS_ARCH_ARM64, o->x86 ? CS_MODE_64 : CS_MODE_LITTLE_ENDIAN, &h) == CS_ERR_OK;
    if (open) {
        cs_option(h, CS_OPT_DETAIL, CS_OPT_ON);
        cs_option(h, CS_OPT_SKIPDATA, CS_OPT_ON);
    }
    for (size_t i = 1; i < o->n_sections; i++) {
        const struct ks_section *s = &o->sections[i];
        if (!(s->flags & SHF_ALLOC) || !s->bytes)
            continue;
        if (open && (s->flags & SHF_EXECINSTR)) {
            code_add(c, h, o->x86, s);
        } else if (ks_str_starts(s->name, ".rodata") && (s->flags & SHF_STRINGS)) {
            struct ks_constants text = {{NULL, 0, 0}, {NULL, 0, 0}};
            data_add(&text, s->bytes, s->size_bytes);
            for (size_t k = 0; k < text.near.n; k++)
                far_add(c, text.near.data[k]);
            ks_constants_release(&text);
        } else if (ks_str_starts(s->name, ".rodata") || ks_str_starts(s->name, ".data.rel.ro")) {
            data_add(c, s->bytes, s->size_bytes);
        }
    }
    if (open)
        cs_close(&h);
}

/* ---- PTX ---------------------------------------------------------------------------------------------------------- */

static bool is_name(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') || ch == '_' || ch == '$' ||
           ch == '%' || ch == '.';
}

/* A number at p: its end.  *ret_v: as an integer, of a floating-point one the integer below it. */
static const char *number_read(const char *p, int64_t *ret_v)
{
    bool minus = *p == '-';
    char *end;
    p += minus;
    bool is_float = p[0] == '0' && (p[1] == 'f' || p[1] == 'F' || p[1] == 'd' || p[1] == 'D');
    if (is_float) {
        bool single = p[1] == 'f' || p[1] == 'F';
        uint64_t bits = strtoull(p + 2, &end, 16);
        uint32_t low = (uint32_t)bits;
        float f;
        double d;
        memcpy(&f, &low, sizeof f);
        memcpy(&d, &bits, sizeof d);
        d = single ? (double)f : d;
        *ret_v = fabs(d) >= 2 && fabs(d) < 0x1p53 ? (int64_t)floor(d) : 0;
    } else {
        *ret_v = (int64_t)strtoull(p, &end, 0);
    }
    *ret_v = minus ? (int64_t)(0 - (uint64_t)*ret_v) : *ret_v;
    while (is_name(*end)) /* a suffix, or what is no number of PTX */
        end++;
    return end;
}

/* The numbers of a line that is no directive; those between brackets are offsets. */
static void instruction_add(struct ks_constants *c, const char *p, const char *end)
{
    int depth = 0;
    while (p < end) {
        bool digit = *p >= '0' && *p <= '9', minus = *p == '-' && p[1] >= '0' && p[1] <= '9';
        int64_t v;
        if (digit || minus) {
            p = number_read(p, &v);
            if (depth > 0)
                far_add(c, v);
            else
                operand_add(c, v);
        } else if (is_name(*p)) {
            while (p < end && is_name(*p))
                p++;
        } else {
            depth += *p == '[' ? 1 : *p == ']' ? -1 : 0;
            p++;
        }
    }
}

/* An initialised variable: bytes are put together to words. */
static void variable_add(struct ks_constants *c, const char *line, const char *p, const char *end)
{
    KS_AUTO_STR struct ks_str bytes = KS_STR_INIT;
    const char *type = memmem(line, (size_t)(p - line), "8 ", 2);
    bool small = type && type > line && strchr("bus", type[-1]);
    while (p < end) {
        int64_t v;
        if ((*p >= '0' && *p <= '9') || (*p == '-' && p[1] >= '0' && p[1] <= '9')) {
            p = number_read(p, &v);
            if (small)
                ks_str_addn(&bytes, &(char){(char)v}, 1);
            else
                operand_add(c, v);
        } else if (is_name(*p)) {
            while (p < end && is_name(*p))
                p++;
        } else {
            p++;
        }
    }
    ks_str_addn(&bytes, "\0\0\0\0\0\0\0", 7); /* zeros at the end are not written out */
    data_add(c, (const unsigned char *)bytes.data, bytes.len);
}

void ks_constants_ptx(const char *ptx, struct ks_constants *out)
{
    for (const char *line = ptx, *end; *line; line = *end ? end + 1 : end) {
        end = line + strcspn(line, "\n");
        const char *p = line + strspn(line, " \t");
        const char *stop = memmem(p, (size_t)(end - p), "//", 2);
        stop = stop ? stop : end;
        const char *value = memchr(p, '=', (size_t)(stop - p));
        if (p < stop && *p != '.')
            instruction_add(out, p, stop);
        else if (value && (memmem(p, (size_t)(stop - p), ".global", 7) || memmem(p, (size_t)(stop - p), ".const", 6)))
            variable_add(out, p, value, stop);
    }
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t sort_single(int64_t *v, size_t n)
{
    size_t kept = 0;
    if (n > 0)
        qsort(v, n, sizeof *v, by_value);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || v[i] != v[kept - 1])
            v[kept++] = v[i];
    return kept;
}

void ks_constants_settle(struct ks_constants *c)
{
    c->near.n = sort_single(c->near.data, c->near.n);
    c->far.n = sort_single(c->far.data, c->far.n);
}

void ks_constants_read(const struct ks_object *o, struct ks_constants *ret)
{
    *ret = (struct ks_constants){{NULL, 0, 0}, {NULL, 0, 0}};
    host_add(ret, o);
    if (o->ptx.len)
        ks_constants_ptx(o->ptx.data, ret);
    ks_constants_settle(ret);
}

void ks_constants_release(struct ks_constants *c)
{
    ks_vec_release(&c->near);
    ks_vec_release(&c->far);
}

bool ks_constants_near(const struct ks_constants *c, int64_t v)
{
    return c->near.n > 0 && bsearch(&v, c->near.data, c->near.n, sizeof v, by_value) != NULL;
}
