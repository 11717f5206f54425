#include "tests/emulated/isa.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------------------------ case files */

struct list {
    struct isa_case *data;
    size_t n, cap;
};

/* Expands the first {a,b,} of `text` and what follows it. */
static void expand(struct list *l, const char *text, const struct isa_case *like)
{
    const char *open = strchr(text, '{'), *close = open ? strchr(open, '}') : NULL;
    if (!open || !close) {
        struct isa_case c = *like;
        (void)snprintf(c.opcode, sizeof(c.opcode), "%s", text);
        l->data = l->n == l->cap ? ks_vec_grow_(l->data, &l->cap, sizeof(*l->data)) : l->data;
        l->data[l->n++] = c;
        return;
    }
    for (const char *s = open + 1; s <= close; s++) {
        char each[256];
        size_t len = strcspn(s, ",}");
        (void)snprintf(each, sizeof(each), "%.*s%.*s%s", (int)(open - text), text, (int)len, s, close + 1);
        expand(l, each, like);
        s += len;
    }
}

bool isa_cases_read(const char *text, struct isa_case **ret_cases, size_t *ret_n, int *ret_line)
{
    static const char *const verdicts[] = {"exact", "ulp", "abs", "rel", "near", "runs", "decodes", "refused"};
    struct list l = {0};
    *ret_line = 0;
    while (*text) {
        char line[256], pattern[200], verdict[16];
        size_t len = strcspn(text, "\n");
        (void)snprintf(line, sizeof(line), "%.*s", (int)len, text);
        text += len + (text[len] == '\n');
        ++*ret_line;
        if (!line[0] || line[0] == '#')
            continue;
        struct isa_case c = {.tol = 0};
        int v = 0;
        if (sscanf(line, "%199s %d %15s %lf", pattern, &c.arch, verdict, &c.tol) < 3)
            return false;
        while (v < 8 && strcmp(verdicts[v], verdict) != 0)
            v++;
        if (v == 8)
            return false;
        c.verdict = (enum isa_verdict)v;
        expand(&l, pattern, &c);
    }
    *ret_cases = l.data;
    *ret_n = l.n;
    return true;
}

/* ------------------------------------------------------------------------------------------------ inputs */

static uint64_t state;
static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state * 0x2545f4914f6cdd1du;
}

static const uint32_t f32_special[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                       0x7fffffff, 0x7fc00001, 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff,
                                       0xff7fffff, 0x3f000000, 0x3fc00000, 0x40200000, 0x34000000, 0x4b000001,
                                       0x4effffff, 0xcf000000, 0x3eaaaaab, 0x41300000};
static const uint64_t f64_special[] = {0,
                                       1ull << 63,
                                       0x3ff0000000000000,
                                       0xbff0000000000000,
                                       0x7ff0000000000000,
                                       0xfff0000000000000,
                                       0x7ff8000000000000,
                                       0x0000000000000001,
                                       0x800fffffffffffff,
                                       0x0010000000000000,
                                       0x7fefffffffffffff,
                                       0x3fe0000000000000,
                                       0x3ff8000000000000,
                                       0x4004000000000000,
                                       0x3cb0000000000000,
                                       0x4330000000000001,
                                       0x41dfffffffc00000,
                                       0xc1e0000000000000,
                                       0x3fd5555555555555,
                                       0x4070000000000000};
static const uint16_t f16_special[] = {0,      0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7fff, 0x7e01, 0x0001, 0x83ff,
                                       0x0400, 0x7bff, 0xfbff, 0x3800, 0x3e00, 0x4100, 0x1400, 0x6401, 0x3555, 0x4980};
static const uint16_t bf16_special[] = {0,      0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80, 0x7fff, 0x7fc1, 0x0001, 0x807f,
                                        0x0080, 0x7f7f, 0xff7f, 0x3f00, 0x3fc0, 0x4020, 0x3c00, 0x4301, 0x3eab, 0x4130};
static const uint64_t int_special[] = {0,
                                       1,
                                       2,
                                       3,
                                       7,
                                       0x7f,
                                       0x80,
                                       0xff,
                                       0x7fff,
                                       0x8000,
                                       0xffff,
                                       0x7fffffff,
                                       0x80000000,
                                       0xffffffff,
                                       0x7fffffffffffffff,
                                       0x8000000000000000,
                                       0xffffffffffffffff,
                                       0xaaaaaaaa55555555,
                                       0x0123456789abcdef,
                                       0xfffffffffffffffe};

#define PICK(a, i) (a)[(i) % (sizeof(a) / sizeof(*(a)))]

/* Thread t's special value of operand k: pairs of operands 0 and 1 in all combinations. */
static size_t special_index(size_t t, uint32_t k, size_t n)
{
    return k == 0 ? t % n : k == 1 ? t / n : t * 7 + t / n * 3 + k;
}

static uint32_t random_f32(size_t t)
{
    uint64_t r = next();
    if (t % 4 == 0)
        return (uint32_t)r;
    /* exponents near each other, so that sums cancel and round */
    return ((uint32_t)r & 0x807fffffu) | (120 + (uint32_t)(r >> 40) % (t % 4 == 1 ? 16 : 40)) << 23;
}

static uint64_t scalar(const struct isa_operand *op, size_t t, uint32_t k)
{
    bool special = t < 484;
    uint64_t r = next();
    switch (op->kind) {
    case ISA_F32:
        if (op->bytes == 8)
            return (uint64_t)random_f32(t) << 32 | (special ? PICK(f32_special, special_index(t, k, 22)) : random_f32(t));
        return special ? PICK(f32_special, special_index(t, k, 22)) : random_f32(t);
    case ISA_F64:
        if (special)
            return PICK(f64_special, special_index(t, k, 20));
        return t % 4 == 0 ? r : (r & 0x800fffffffffffffu) | (1000 + (next() >> 20) % 48) << 52;
    case ISA_F16:
    case ISA_BF16: {
        const uint16_t *list = op->kind == ISA_F16 ? f16_special : bf16_special;
        uint32_t lo = special ? list[special_index(t, k, 20) % 20] : (uint32_t)(r & 0xffff);
        if (!special && t % 2 && op->kind == ISA_BF16)
            lo = (lo & 0x807f) | (120 + (uint32_t)(r >> 40) % 16) << 7;
        if (op->bytes == 2)
            return lo;
        return lo | (uint32_t)(r >> 16 & 0xffff) << 16;
    }
    case ISA_INT:
        if (special)
            return PICK(int_special, special_index(t, k, 20));
        return t % 3 == 0 ? r : t % 3 == 1 ? r >> (next() % 64) : (uint64_t)(int64_t)(int8_t)r;
    case ISA_SHIFT:
        return t % 8 == 7 ? (uint32_t)r : r % (t % 2 ? 40 : 70);
    case ISA_PRED:
        return r >> 20 & 1;
    case ISA_NIBBLES:
    case ISA_BITS:
    case ISA_TENSOR:
        return r;
    case ISA_LANE:
        return r % 32;
    case ISA_METADATA: {
        static const uint8_t pairs[6] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe}, single[2] = {0x4, 0xe};
        uint32_t w = 0;
        for (int i = 0; i < 32; i += 4, r = next())
            w |= (uint32_t)(op->type[0] == 't' ? single[r >> 20 & 1] : pairs[(r >> 20) % 6]) << i;
        return w;
    }
    }
    return r;
}

/* A word of matrix elements: mostly of one magnitude, some far away, so that alignment and truncation of sums show. */
static uint32_t tensor_word(const struct isa_operand *op, size_t t)
{
    uint64_t r = next();
    bool wide = t / 32 % 2;
    if (strcmp(op->type, "f16") == 0) {
        uint32_t w = 0;
        for (int h = 0; h < 32; h += 16, r = next())
            w |= (uint32_t)((r & 0x83ff) | (wide ? 6 + (r >> 20) % 18 : 12 + (r >> 20) % 5) << 10) << h;
        return w;
    }
    if (strcmp(op->type, "bf16") == 0) {
        uint32_t w = 0;
        for (int h = 0; h < 32; h += 16, r = next())
            w |= (uint32_t)((r & 0x807f) | (wide ? 110 + (r >> 20) % 34 : 125 + (r >> 20) % 5) << 7) << h;
        return w;
    }
    if (strcmp(op->type, "f32") == 0 || strcmp(op->type, "tf32") == 0)
        return (uint32_t)((r & 0x807fffff) | (wide ? 110 + (r >> 32) % 34 : 125 + (r >> 32) % 5) << 23);
    if (strcmp(op->type, "e4m3") == 0 || strcmp(op->type, "e5m2") == 0) {
        uint32_t w = 0;
        for (int h = 0; h < 32; h += 8, r = next()) {
            uint32_t v = r & 0xff;
            v = op->type[1] == '4' ? ((v & 0x7f) == 0x7f ? v & 0xfe : v) : ((v & 0x7c) == 0x7c ? v & 0xbf : v);
            w |= v << h;
        }
        return w;
    }
    return (uint32_t)r;
}

void isa_inputs(const char *opcode, const struct isa_io *io, uint8_t *in)
{
    state = 0x9e3779b97f4a7c15u;
    for (const char *s = opcode; *s; s++)
        state = (state ^ (unsigned char)*s) * 0x100000001b3u | 1;
    memset(in, 0, (size_t)io->in_stride * ISA_THREADS);
    for (size_t t = 0; t < ISA_THREADS; t++) {
        for (uint32_t k = 0; k < io->n_in; k++) {
            const struct isa_operand *op = &io->in[k];
            uint8_t *at = in + t * io->in_stride + 16 * k;
            if (op->kind == ISA_TENSOR && strcmp(op->type, "f64") != 0) {
                for (int i = 0; i < 4; i++) {
                    uint32_t w = tensor_word(op, t);
                    memcpy(at + 4 * i, &w, 4);
                }
                continue;
            }
            for (uint32_t i = 0; i < (op->bytes == 16 ? 2 : 1); i++) {
                struct isa_operand half = *op;
                if (op->kind == ISA_TENSOR) /* f64 */
                    half = (struct isa_operand){.kind = ISA_F64, .bytes = 8};
                uint64_t v = scalar(&half, op->kind == ISA_TENSOR ? 500 + t * 4 + 1 : t, k);
                memcpy(at + 8 * i, &v, op->bytes < 8 ? op->bytes : 8);
            }
        }
    }
}

/* ------------------------------------------------------------------------------------------------ comparison */

static double value_of(const char *type, uint64_t bits)
{
    if (strcmp(type, "f64") == 0) {
        double d;
        memcpy(&d, &bits, 8);
        return d;
    }
    uint32_t w = (uint32_t)bits;
    if (strncmp(type, "bf16", 4) == 0)
        w = (w & 0xffff) << 16;
    if (strncmp(type, "f16", 3) == 0) {
        int e = w >> 10 & 31, m = w & 0x3ff;
        double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(m | 0x400, e - 25) : ldexp(m, -24);
        return w & 0x8000 ? -v : v;
    }
    float f;
    memcpy(&f, &w, 4);
    return f;
}

static double ulp_of(const char *type, double v)
{
    int digits = strcmp(type, "f64") == 0 ? 53 : strncmp(type, "bf16", 4) == 0 ? 8 : strncmp(type, "f16", 3) == 0 ? 11 : 24;
    int least = strcmp(type, "f64") == 0 ? -1022 : strncmp(type, "f16", 3) == 0 ? -14 : -126, e;
    (void)frexp(v, &e);
    return ldexp(1, (e - 1 < least ? least : e - 1) - digits + 1);
}

static double distance_one(const char *type, uint64_t a, uint64_t b, enum isa_verdict verdict)
{
    double x = value_of(type, a), y = value_of(type, b);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? 0 : INFINITY;
    if (x == y)
        return 0;
    if (isinf(x) || isinf(y))
        return INFINITY;
    double d = fabs(x - y), most = fmax(fabs(x), fabs(y));
    if (verdict == ISA_NEAR)
        return fmin(d, d / most);
    return verdict == ISA_ABS ? d : verdict == ISA_REL ? (most < 1.2e-38 ? 0 : d / most) : d / ulp_of(type, most);
}

double isa_distance(const char *opcode, const void *a, const void *b, uint32_t bytes, enum isa_verdict verdict)
{
    char type[16] = "";
    uint64_t x = 0, y = 0;
    memcpy(&x, a, bytes < 8 ? bytes : 8);
    memcpy(&y, b, bytes < 8 ? bytes : 8);
    for (const char *s = strchr(opcode, '.'); s; s = strchr(s + 1, '.')) {
        size_t len = strcspn(s + 1, ".");
        char mod[40];
        (void)snprintf(mod, sizeof(mod), "%.*s", (int)len, s + 1);
        if (isa_type_bytes(mod)) {
            (void)snprintf(type, sizeof(type), "%.15s", mod);
            break;
        }
    }
    if (strstr(type, "f16x2")) {
        double lo = distance_one(type, x & 0xffff, y & 0xffff, verdict),
               hi = distance_one(type, x >> 16 & 0xffff, y >> 16 & 0xffff, verdict);
        return lo > hi ? lo : hi;
    }
    return distance_one(type, x, y, verdict);
}
