/* cp, shift and mma of tcgen05 against answers worked out here: the second half of test_tcgen_paths.c's table.  Small whole
 * numbers; all 128 lanes of the columns in use are compared, bit by bit. */

#include "tests/emulated/tcgen_paths.h"

#include <math.h>

/* ------------------------------------------------------------------------------------------------ shared memory by descriptor
 *
 * Canonical layouts of 9.7.16.3.3 in bytes, W being the span: where byte x along the leading dimension of line l lies.
 *   K-major   no swizzle  ((8,m),(16,k)):((16,SBO),(1,LBO))            swizzled  ((8,m),W):((W,SBO),1)
 *   MN-major  no swizzle  (16,m),(8,k)):((1,SBO),(16,LBO))             swizzled  ((W,m),(8,k)):((1,LBO),(W,SBO)), 4 for 8 with
 * 32-byte atoms then Swizzle<b,4,3>: bits 4.. change by bits 7..; Swizzle<2,5,2>: bits 5 and 6 by bits 7 and 8. */

struct layout {
    unsigned code; /* of the descriptor: 0 none, 1 128 bytes in atoms of 32, 2 128, 4 64, 6 32 */
    bool mn;
    uint32_t start, lbo, sbo; /* bytes */
};
static unsigned span(unsigned code)
{
    return code == 0 ? 16 : code <= 2 ? 128 : code == 4 ? 64 : 32;
}
static uint32_t place(const struct layout *y, uint32_t line, uint32_t x)
{
    uint32_t w = span(y->code), group = y->code == 1 ? 4 : 8, a, bits;
    if (y->code == 0)
        a = line % 8 * 16 + x % 16 + (y->mn ? x / 16 * y->sbo + line / 8 * y->lbo : x / 16 * y->lbo + line / 8 * y->sbo);
    else if (y->mn)
        a = x % w + x / w * y->lbo + line % group * w + line / group * y->sbo;
    else
        a = line % 8 * w + line / 8 * y->sbo + x;
    a += y->start;
    bits = y->code == 1   ? (a >> 7 & 3) << 5
           : y->code == 2 ? (a >> 7 & 7) << 4
           : y->code == 4 ? (a >> 7 & 3) << 4
           : y->code == 6 ? (a >> 7 & 1) << 4
                          : 0;
    return a ^ bits;
}
static uint64_t describe(const struct layout *y)
{
    return (uint64_t)(y->start >> 4) | (uint64_t)(y->lbo >> 4) << 16 | (uint64_t)(y->sbo >> 4) << 32 | 1ull << 46 |
           (uint64_t)y->code << 61;
}
/* Strides without gaps for `lines` lines, or with some. */
static struct layout lay(unsigned code, bool mn, uint32_t start, uint32_t lines, bool spread)
{
    uint32_t w = span(code), group = code == 1 ? 4 : 8;
    struct layout y = {code, mn, start, 16, group * w};
    if (code == 0 && mn)
        y.lbo = 128, y.sbo = (lines + 7) / 8 * 128 + (spread ? 128 : 0);
    else if (code == 0)
        y.sbo = 128, y.lbo = (lines + 7) / 8 * 128 + (spread ? 256 : 0);
    else if (mn)
        y.lbo = (lines + group - 1) / group * group * w + (spread ? 1024 : 0);
    else
        y.sbo += spread ? 1024 : 0;
    return y;
}
static void put(unsigned block, uint32_t at, uint32_t bytes, uint32_t value)
{
    memcpy((uint8_t *)image[block] + at, &value, bytes);
}

/* ------------------------------------------------------------------------------------------------ cp and shift */

static const struct {
    const char *shape, *name;
    uint32_t lines, words;
} copies[] = {{"128x256b", "cp_128x256b", 128, 8},
              {"128x128b", "cp_128x128b", 128, 4},
              {"4x256b", "cp_4x256b", 4, 8},
              {"64x128b.warpx2::02_13", "cp_64x128b_02_13", 64, 4},
              {"64x128b.warpx2::01_23", "cp_64x128b_01_23", 64, 4},
              {"32x128b.warpx4", "cp_32x128b", 32, 4}};
#define N_COPIES (sizeof(copies) / sizeof(*copies))

/* Does line r of a copy go to this lane?  `first`: the lane of its address. */
static bool goes_to(size_t c, uint32_t r, uint32_t lane, uint32_t first)
{
    switch (c) {
    case 0:
    case 1:
        return lane == r;
    case 2: /* one lane of every warp's */
        return lane == first + 32 * r;
    case 3: /* warps 0 and 2 get the first half, 1 and 3 the second */
        return lane % 64 == r;
    case 4: /* warps 0 and 1, 2 and 3 */
        return lane % 32 == r % 32 && lane / 64 == r / 32;
    default: /* all four */
        return lane % 32 == r;
    }
}
static void number_cells(unsigned cols)
{
    for (unsigned i = 0; i < 2 * LANES * 512; i++)
        (&init[0][0][0])[i] = i % 512 < cols ? 0x80000000u + i : 0;
    memcpy(want, init, sizeof(want));
}
static void check_copy(size_t c, unsigned group, unsigned code, bool spread)
{
    char name[64];
    uint32_t column = 20, first = c == 2 ? 31 : 0;
    struct layout y = lay(code, false, 1024, copies[c].lines, spread);
    number_cells(64);
    (void)snprintf(name, sizeof(name), "%s_%u", copies[c].name, group);
    for (unsigned b = 0; b < group; b++)
        for (uint32_t r = 0; r < copies[c].lines; r++)
            for (uint32_t x = 0; x < copies[c].words; x++) {
                uint32_t value = b << 28 | r << 8 | x;
                put(b, place(&y, r, 4 * x), 4, value);
                for (uint32_t lane = 0; lane < LANES; lane++)
                    if (goes_to(c, r, lane, first))
                        want[b][lane][column + x] = value;
            }
    enum ks_code code_ = run(name, group, 64, describe(&y), 0, 0, 0, first << 16 | column, 0);
    compare(name, code_, group, 64);
}
static void check_shift(unsigned group)
{
    const char *name = group == 2 ? "shift_2" : "shift_1";
    uint32_t column = 40, first = 64;
    number_cells(64);
    for (unsigned b = 0; b < group; b++)
        for (uint32_t r = 0; r < 31; r++)
            memcpy(&want[b][first + r][column], &init[b][first + r + 1][column], 32);
    enum ks_code code = run(name, group, 64, 0, 0, 0, 0, first << 16 | column, 0);
    compare(name, code, group, 64);
}

/* ------------------------------------------------------------------------------------------------ numbers */

struct type {
    const char *name;
    uint32_t kind, code, bits; /* kind: 0 f16, 1 tf32, 2 f8f6f4, 3 i8 */
    int most;                  /* contents: whole numbers up to that; no sign when negative */
};
static const struct type types[] = {{"f16", 0, 0, 16, 7},  {"bf16", 0, 1, 16, 7}, {"tf32", 1, 2, 32, 7}, {"e4m3", 2, 0, 8, 7},
                                    {"e5m2", 2, 1, 8, 4},  {"e2m3", 2, 3, 6, 7},  {"e3m2", 2, 4, 6, 7},  {"e2m1", 2, 5, 4, 4},
                                    {"u8", 3, 0, 8, -200}, {"s8", 3, 1, 8, 100}};
enum { F16, BF16, TF32, E4M3, E5M2, E2M3, E3M2, E2M1, U8, S8 };

/* The bits of a whole number: sign, exponent and fraction by the format's widths. */
static uint32_t encode(int v, int t)
{
    static const struct {
        int exponent, fraction, bias;
    } f[] = {{5, 10, 15}, {8, 7, 127}, {8, 23, 127}, {4, 3, 7}, {5, 2, 15}, {2, 3, 1}, {3, 2, 3}, {2, 1, 1}};
    uint32_t sign = v < 0, m = (uint32_t)(v < 0 ? -v : v), e = 0;
    if (t >= U8)
        return (uint32_t)v & 0xff;
    while (m >> (e + 1))
        e++;
    uint32_t body =
        m == 0 ? 0 : (e + (uint32_t)f[t].bias) << f[t].fraction | (m << f[t].fraction >> e & ((1u << f[t].fraction) - 1));
    return sign << (f[t].exponent + f[t].fraction) | body;
}

static uint32_t noise_state;
static int whole(int most)
{
    noise_state = noise_state * 1664525u + 1013904223u;
    uint32_t r = noise_state >> 9;
    return most < 0 ? (int)(r % (uint32_t)-most) : (int)(r % (uint32_t)(2 * most + 1)) - most;
}
/* Six and four bits have no room for every whole number. */
static int value_of(const struct type *t)
{
    static const int e2m1[] = {0, 1, 2, 3, 4, 6, -1, -3}, e3m2[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, -5, -7};
    int v = whole(t->most);
    return t->bits == 4 ? e2m1[(unsigned)(v + 8) % 8] : t->code == 4 && t->kind == 2 ? e3m2[(unsigned)(v + 12) % 12] : v;
}
static uint32_t f32_bits(int v)
{
    float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, 4);
    return u;
}

/* ------------------------------------------------------------------------------------------------ products */

enum where { SHARED, TENSOR };
struct product {
    const char *kernel;
    int a, b;             /* of types[] */
    uint32_t d;           /* 0 f16, 1 f32, 2 s32 */
    uint32_t m, n, flags; /* flags: of the instruction descriptor, bits 3 and 13 to 16 */
    unsigned code_a, code_b;
    bool spread, keep;
    enum where where;
    uint32_t lane, scale, mask, inside; /* lane of D; inside: bytes that K starts into a span */
};

static int av[256][32], bv[256][32];

/* One line by K-major or one by MN-major of an element: 4 and 6 bits lie at the front of 16 bytes that hold 16. */
static void put_element(unsigned block, const struct layout *y, const struct type *t, uint32_t mn, uint32_t k, int v)
{
    uint32_t line = y->mn ? k : mn, i = y->mn ? mn : k, bits = encode(v, (int)(t - types));
    if (t->bits >= 8) {
        put(block, place(y, line, i * t->bits / 8), t->bits / 8, bits);
        return;
    }
    for (uint32_t bit = 0; bit < t->bits; bit++) {
        uint32_t x = i / 16 * 128 + i % 16 * t->bits + bit, at = place(y, line, x / 8);
        uint8_t *byte = (uint8_t *)image[block] + at;
        *byte = (uint8_t)((*byte & ~(1u << x % 8)) | (bits >> bit & 1) << x % 8);
    }
}
/* Where element (row, column) of D is: 9.7.16.10.5. */
static void d_cell(const struct product *p, unsigned group, uint32_t row, uint32_t column, unsigned *block, uint32_t *lane,
                   uint32_t *at)
{
    *block = 0;
    *at = column;
    if (group == 1 && p->m == 128) { /* layout D */
        *lane = row;
    } else if (group == 1) { /* layout F: half of each warp's lanes */
        *lane = row / 16 * 32 + row % 16 + p->lane;
    } else if (p->m == 256) { /* layout A: 128 rows a block */
        *block = row / 128;
        *lane = row % 128;
    } else { /* layout B: 64 rows a block, the right half of the columns below */
        *block = row / 64;
        *lane = row % 64 + (column >= p->n / 2 ? 64 : 0);
        *at = column % (p->n / 2);
    }
}
static uint32_t d_bits(int64_t v, uint32_t d)
{
    if (d == 2)
        return (uint32_t)(v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v);
    return d == 1 ? f32_bits((int)v) : encode((int)v, F16);
}

#define D_COLUMN 8u
#define A_COLUMN 300u
static void fill_operands(const struct product *p, unsigned group, uint32_t k, const struct layout *ya, const struct layout *yb)
{
    const struct type *ta = &types[p->a], *tb = &types[p->b];
    memset(image, 0x3c, sizeof(image));
    for (uint32_t r = 0; r < p->m; r++)
        for (uint32_t i = 0; i < k; i++) {
            uint32_t each = p->m / group, row = r % each, lane = each == 64 ? row / 16 * 32 + row % 16 + p->lane : row;
            av[r][i] = value_of(ta);
            if (p->where == SHARED) {
                put_element(r / each, ya, ta, row, i, av[r][i]);
                continue;
            }
            uint32_t *cells = init[r / each][lane] + A_COLUMN, bit = i * ta->bits;
            cells[bit / 32] = (cells[bit / 32] & ~(uint32_t)(((1ull << ta->bits) - 1) << bit % 32)) | encode(av[r][i], p->a)
                                                                                                          << bit % 32;
        }
    for (uint32_t c = 0; c < p->n; c++)
        for (uint32_t i = 0; i < k; i++) {
            uint32_t each = p->n / group;
            bv[c][i] = value_of(tb);
            put_element(c / each, yb, tb, c % each, i, bv[c][i]);
        }
}
static void check_product(const struct product *p)
{
    char name[160];
    unsigned group = strstr(p->kernel, "_2") ? 2 : 1;
    const struct type *ta = &types[p->a], *tb = &types[p->b];
    uint32_t k = 256 / (ta->bits < 8 || tb->bits < 8 ? 8 : ta->bits), sign = (p->flags >> 13 & 1) ^ (p->flags >> 14 & 1);
    bool mn_a = p->flags >> 15 & 1, mn_b = p->flags >> 16 & 1;
    struct layout ya = lay(p->code_a, mn_a, 0, mn_a ? k : p->m / group, p->spread), yb;
    yb = lay(p->code_b, mn_b, p->where == TENSOR ? 0 : 33792, mn_b ? k : p->n / group, p->spread);
    number_cells(0);
    noise_state = (uint32_t)(p->m * 31 + p->n * 7 + p->a * 3 + p->b) + p->flags;
    for (uint32_t i = 0; i < 2 * LANES; i++)
        for (uint32_t c = 0; c < 512; c++)
            init[i / LANES][i % LANES][c] = c < 264 ? d_bits(whole(64) * 16, p->d) | (p->d == 0 ? 0xabcd0000u : 0) : 0x5a5a5a5au;
    ya.start += p->inside;
    yb.start += p->inside;
    fill_operands(p, group, k, &ya, &yb);
    memcpy(want, init, sizeof(want));
    for (uint32_t r = 0; r < p->m; r++)
        for (uint32_t c = 0; c < p->n; c++) {
            unsigned block;
            uint32_t lane, at;
            int64_t sum = 0;
            d_cell(p, group, r, c, &block, &lane, &at);
            for (uint32_t i = 0; i < k; i++)
                sum += av[r][i] * bv[c][i];
            sum = sign ? -sum : sum;
            if (p->mask >> lane % 32 & 1)
                continue;
            uint32_t old = init[block][lane][D_COLUMN + at];
            float f;
            memcpy(&f, &old, 4);
            if (p->keep && p->d == 2)
                sum += (int32_t)old;
            uint32_t *to = &want[block][lane][D_COLUMN + at];
            if (p->d == 1) { /* scales divide by powers of two: exact in double precision, and in single for these */
                float x = (float)((double)sum + (p->keep ? ldexp((double)f, -(int)p->scale) : 0));
                memcpy(to, &x, 4);
            } else if (p->d ==
                       0) { /* |numbers| to 2048: whole in sixteen bits; the upper half of the cell is not the product's */
                uint32_t e = old >> 10 & 31, whole16 = e ? (1024 + (old & 1023)) >> (25 - e) : 0;
                int before = e ? (old >> 15 & 1 ? -(int)whole16 : (int)whole16) : 0;
                *to = d_bits(sum + (p->keep ? before : 0), 0);
            } else {
                *to = p->flags & 8 ? d_bits(sum, 2) : (uint32_t)sum;
            }
        }
    uint32_t idesc = p->d << 4 | ta->code << 7 | tb->code << 10 | p->n / 8 << 17 | p->m / 16 << 24 | p->flags;
    uint64_t a = p->where == TENSOR ? (p->lane << 16 | A_COLUMN) : describe(&ya);
    enum ks_code code = run(p->kernel, group, 330, a, describe(&yb), idesc, p->keep, p->lane << 16 | D_COLUMN, p->mask);
    (void)snprintf(name, sizeof(name), "%s %s x %s -> %u, %ux%u, swizzle %u %u, flags 0x%x, keep %d, scale %u, lane %u%s",
                   p->kernel, ta->name, tb->name, p->d, p->m, p->n, p->code_a, p->code_b, p->flags, p->keep, p->scale, p->lane,
                   p->spread ? ", spread" : "");
    compare(name, code, group, 330);
}

/* ------------------------------------------------------------------------------------------------ the list */

static const char *const kinds[] = {"f16", "tf32", "f8f6f4", "i8"};
static void emit_product(struct ks_str *t, const char *name, unsigned group, const char *kind, bool tensor, const char *more,
                         const char *masks, const char *scale)
{
    char what[256];
    (void)snprintf(what, sizeof(what), "tcgen05.mma.cta_group::%u.kind::%s%s [%%r6], %s, %%rd8, %%r4%s, %%p1%s;", group, kind,
                   more, tensor ? "[%r21]" : "%rd7", masks, scale);
    emit_pipe(t, name, group, what);
}
static void emit_all(struct ks_str *t)
{
    char name[64], what[128];
    for (unsigned group = 1; group <= 2; group++) {
        const char *masks = group == 1 ? ", {%r7, %r7, %r7, %r7}" : ", {%r7, %r7, %r7, %r7, %r7, %r7, %r7, %r7}";
        for (size_t c = 0; c < N_COPIES; c++) {
            (void)snprintf(name, sizeof(name), "%s_%u", copies[c].name, group);
            (void)snprintf(what, sizeof(what), "tcgen05.cp.cta_group::%u.%s [%%r6], %%rd7;", group, copies[c].shape);
            emit_pipe(t, name, group, what);
        }
        (void)snprintf(name, sizeof(name), "shift_%u", group);
        (void)snprintf(what, sizeof(what), "tcgen05.shift.cta_group::%u.down [%%r6];", group);
        emit_pipe(t, name, group, what);
        for (int k = 0; k < 4; k++)
            for (int tensor = 0; tensor < 2; tensor++) {
                (void)snprintf(name, sizeof(name), "%s_%s_%u", kinds[k], tensor ? "t" : "s", group);
                emit_product(t, name, group, kinds[k], tensor, "", "", "");
            }
        (void)snprintf(name, sizeof(name), "masked_%u", group);
        emit_product(t, name, group, "f16", false, "", masks, "");
    }
    emit_product(t, "scale_1_1", 1, "f16", false, "", "", ", 1");
    emit_product(t, "scale_15_1", 1, "tf32", false, "", "", ", 15");
    emit_product(t, "scale_0_1", 1, "f16", false, "", "", ", 0");
    emit_product(t, "fill_1", 1, "f16", false, ".collector::a::fill", "", "");
    emit_product(t, "use_1", 1, "f16", false, ".collector::a::use", "", "");
    emit_product(t, "lastuse_1", 1, "f16", false, ".collector::a::lastuse", "", "");
    emit_product(t, "discard_1", 1, "f16", false, ".collector::a::discard", "", "");
}

static struct product plain(const char *kernel, int a, int b, uint32_t d, uint32_t m, uint32_t n)
{
    return (struct product){.kernel = kernel, .a = a, .b = b, .d = d, .m = m, .n = n};
}
static void check_shapes(void)
{
    static const uint32_t ns[] = {8, 16, 24, 40, 64, 128, 136, 256};
    for (int where = 0; where < 2; where++)
        for (size_t i = 0; i < sizeof(ns) / sizeof(*ns); i++)
            for (int how = 0; how < 6; how++) {
                bool pair = how >= 4;
                if ((pair && ns[i] % 16) || (how == 4 && where == TENSOR))
                    continue;
                struct product p = plain(where  ? pair ? "f16_t_2" : "f16_t_1"
                                         : pair ? "f16_s_2"
                                                : "f16_s_1",
                                         F16, F16, 1,
                                         how < 2   ? 64
                                         : how < 5 ? 128
                                                   : 256,
                                         ns[i]);
                p.lane = how == 1 ? 16 : 0;
                p.keep = how != 2;
                p.where = (enum where)where;
                check_product(&p);
            }
}
static void check_layouts(void)
{
    static const unsigned codes[] = {0, 2, 4, 6};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < 4; j++)
            for (uint32_t trans = 0; trans < 4; trans++) {
                struct product p = plain("f16_s_1", F16, F16, 1, 128, 64);
                p.code_a = codes[i], p.code_b = codes[j], p.flags = trans << 15;
                p.keep = i & 1, p.spread = j & 1;
                check_product(&p);
                p.kernel = "f16_s_2", p.m = 256, p.n = 128, p.spread = !p.spread;
                if (trans == 1 || trans == 2)
                    check_product(&p);
            }
    for (int t = E4M3; t <= S8; t++) /* bytes by both majors */
        for (unsigned i = 0; i < 4 && types[t].bits == 8; i++) {
            struct product p = plain(t >= U8 ? "i8_s_1" : "f8f6f4_s_1", t, t, t >= U8 ? 2 : 1, 128, 32);
            p.code_a = p.code_b = codes[i], p.flags = 3u << 15;
            check_product(&p);
        }
    for (uint32_t trans = 0; trans < 4; trans++) {
        struct product p = plain("tf32_s_1", TF32, TF32, 1, 128, 64);
        p.code_a = trans & 1 ? 1 : 2, p.code_b = trans & 2 ? 1 : 4, p.flags = trans << 15, p.spread = trans & 1;
        check_product(&p);
    }
    for (unsigned i = 1; i < 4; i++) /* the second 32 bytes of a span, as a loop over K goes on */
        for (uint32_t inside = 32; inside < span(codes[i]); inside += 32) {
            struct product p = plain("f16_s_1", F16, BF16, 1, 64, 24);
            p.a = p.b = BF16, p.code_a = p.code_b = codes[i], p.inside = inside;
            check_product(&p);
        }
}
static void check_types(void)
{
    for (int a = F16; a <= S8; a++)
        for (int b = F16; b <= S8; b++)
            for (uint32_t d = 0; d < 3; d++)
                for (uint32_t keep = 0; keep < 2; keep++) {
                    const struct type *ta = &types[a], *tb = &types[b];
                    bool exact16 = a == F16 || (ta->kind == 2 && keep);
                    if (ta->kind != tb->kind || (ta->kind < 2 && a != b) || (d == 2) != (ta->kind == 3) || (d == 0 && !exact16))
                        continue;
                    char kernel[16];
                    (void)snprintf(kernel, sizeof(kernel), "%s_s_1", kinds[ta->kind]);
                    struct product p = plain(kernel, a, b, d, 128, 32);
                    p.keep = keep;
                    check_product(&p);
                }
    static const struct {
        const char *kernel;
        int type;
    } tensors[] = {{"tf32_t_1", TF32}, {"f8f6f4_t_1", E4M3}, {"i8_t_1", S8}, {"f16_t_1", BF16}};
    for (size_t i = 0; i < 4; i++) {
        struct product p = plain(tensors[i].kernel, tensors[i].type, tensors[i].type, tensors[i].type == S8 ? 2 : 1, 128, 48);
        p.where = TENSOR;
        check_product(&p);
    }
}
static void check_flags(void)
{
    static const struct {
        const char *kernel;
        uint32_t scale;
        int type;
    } scales[] = {{"scale_0_1", 0, F16}, {"scale_1_1", 1, F16}, {"scale_15_1", 15, TF32}};
    static const char *const collectors[] = {"fill_1", "use_1", "lastuse_1", "discard_1"};
    for (uint32_t negate = 0; negate < 4; negate++)
        for (int t = F16; t <= E5M2; t++) {
            char kernel[16];
            (void)snprintf(kernel, sizeof(kernel), "%s_s_1", kinds[types[t].kind]);
            struct product p = plain(kernel, t, t, 1, 64, 16);
            p.flags = negate << 13, p.keep = negate & 1;
            check_product(&p);
        }
    for (uint32_t saturate = 0; saturate < 2; saturate++) {
        struct product p = plain("i8_s_1", U8, S8, 2, 128, 16);
        p.flags = saturate << 3, p.keep = true;
        check_product(&p);
    }
    for (size_t i = 0; i < 3; i++) {
        struct product p = plain(scales[i].kernel, scales[i].type, scales[i].type, 1, 128, 16);
        p.scale = scales[i].scale, p.keep = true;
        check_product(&p);
    }
    for (size_t i = 0; i < 4; i++) {
        struct product p = plain(collectors[i], F16, F16, 1, 128, 24);
        check_product(&p);
    }
    for (unsigned group = 1; group <= 2; group++) {
        struct product p = plain(group == 2 ? "masked_2" : "masked_1", F16, F16, 1, group * 128, 32);
        p.mask = 0x80010246u, p.keep = group == 1;
        check_product(&p);
    }
}

int main(int argc, char **argv)
{
    static const unsigned codes[] = {0, 2, 4, 6};
    struct ks_str ptx = KS_STR_INIT;
    ks_str_add(&ptx, HEAD);
    emit_all(&ptx);
    if (argc == 2) { /* the text, for ptxas */
        FILE *f = fopen(argv[1], "w");
        return !f || fputs(ks_str_cstr(&ptx), f) < 0 || fclose(f) != 0;
    }
    start_with(&ptx);
    for (unsigned group = 1; group <= 2; group++) {
        for (size_t c = 0; c < N_COPIES; c++)
            for (unsigned i = 0; i < 8; i++)
                check_copy(c, group, codes[i % 4], i >= 4);
        check_shift(group);
    }
    check_shapes();
    check_layouts();
    check_types();
    check_flags();
    return finish();
}
