#include "harness/emulated/device.h"
#include "harness/emulated/exec_float.h"
#include "harness/emulated/tensor.h"

#include <pthread.h>

/* Elements of tensor operands as doubles, and the sums of tensor cores. */

/* ------------------------------------------------------------------------------------------------ elements */

static double byte_table[5][256]; /* e4m3, e5m2, e2m3, e3m2; e2m1 in the middle of a byte */
static double nibble_table[16];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        byte_table[0][i] = ks_emu_decode(i, EMU_FMT_E4M3);
        byte_table[1][i] = ks_emu_decode(i, EMU_FMT_E5M2);
        byte_table[2][i] = ks_emu_decode(i & 63, EMU_FMT_E2M3);
        byte_table[3][i] = ks_emu_decode(i & 63, EMU_FMT_E3M2);
        byte_table[4][i] = ks_emu_decode(i >> 2 & 15, EMU_FMT_E2M1);
        nibble_table[i & 15] = ks_emu_decode(i & 15, EMU_FMT_E2M1);
    }
}

static void by_table(uint32_t reg, const double *table, double *out)
{
    for (int j = 0; j < 4; j++)
        out[j] = table[reg >> 8 * j & 0xff];
}

void ks_emu_tensor_elements(uint32_t reg, enum ptx_type t, bool nibbles, double *out)
{
    (void)pthread_once(&once, fill_tables);
    switch ((int)t) {
    case PTX_f16:
        out[0] = emu_half_to_float((uint16_t)reg);
        out[1] = emu_half_to_float((uint16_t)(reg >> 16));
        break;
    case PTX_bf16:
        out[0] = emu_bf16_to_float((uint16_t)reg);
        out[1] = emu_bf16_to_float((uint16_t)(reg >> 16));
        break;
    case PTX_tf32: /* the low 13 bits are ignored */
        out[0] = emu_f32(reg & 0xffffe000u);
        break;
    case PTX_s32:
        out[0] = (int32_t)reg;
        break;
    case PTX_u8:
        for (int j = 0; j < 4; j++)
            out[j] = (uint8_t)(reg >> 8 * j);
        break;
    case PTX_s8:
        for (int j = 0; j < 4; j++)
            out[j] = (int8_t)(reg >> 8 * j);
        break;
    case PTX_u4:
        for (int j = 0; j < 8; j++)
            out[j] = reg >> 4 * j & 15;
        break;
    case PTX_s4:
        for (int j = 0; j < 8; j++)
            out[j] = (int32_t)(reg >> 4 * j << 28) >> 28;
        break;
    case PTX_b1:
        for (int j = 0; j < 32; j++)
            out[j] = reg >> j & 1;
        break;
    case PTX_e4m3:
        by_table(reg, byte_table[0], out);
        break;
    case PTX_e5m2:
        by_table(reg, byte_table[1], out);
        break;
    case PTX_e2m3:
        by_table(reg, byte_table[2], out);
        break;
    case PTX_e3m2:
        by_table(reg, byte_table[3], out);
        break;
    case PTX_e2m1:
        if (nibbles)
            for (int j = 0; j < 8; j++)
                out[j] = nibble_table[reg >> 4 * j & 15];
        else
            by_table(reg, byte_table[4], out);
        break;
    default:
        out[0] = emu_f32(reg);
        break;
    }
}

/* ------------------------------------------------------------------------------------------------ sums */

/* Tensor cores add `step` products and the accumulator at once: each is cut to `bits` binary places below the largest exponent
 * among them (of products the sum of their operands' exponents), the sum is exact, the result cut to f32; for f16 it is rounded
 * to nearest.  With sm_90 this is bit for bit what an H200 gives (docs/results/isa_h200.tsv); bits and step of other generations
 * are from the literature.  mma of fp8 on sm_90 is two products of f16, elements 4 i and 4 i + 1 first, added to C by an ordinary
 * addition. */
struct emu_dot ks_emu_tensor_rule(const struct ks_emu *emu, enum ptx_type a, enum ptx_type d, int k, bool sparse)
{
    struct emu_dot r = {.step = k, .kind = EMU_DOT_CUT, .half = d == PTX_f16};
    unsigned long generation = strtoul(emu->arch_name + 3, NULL, 10);
    if (a == PTX_f64) {
        r.kind = EMU_DOT_FMA;
    } else if (d == PTX_s32 || emu->config.sums == KS_EMU_SUMS_EXACT) {
        r.kind = EMU_DOT_EXACT;
    } else if (generation >= 90) {
        r.bits = 25;
        r.split = generation != 90 || (a != PTX_e4m3 && a != PTX_e5m2) ? 0 : sparse ? 4 : 2;
    } else {
        bool wide = a == PTX_tf32, narrow = a == PTX_e4m3 || a == PTX_e5m2;
        r.bits = narrow ? 13 : 24;
        r.step = narrow ? k : wide ? 4 : 8;
    }
    return r;
}

/* wgmma adds fp8 products with 13 places, unlike mma.sync, and keeps 13 places of the sum (f16 results: all of them); subnormal
 * numbers have the exponent of the least normal one: bit for bit what an H200 gives, as are f16, bf16 and tf32 by the rule above
 * (docs/results/async_h200.tsv).  tcgen05 adds all of them with 25: from the literature, not compared. */
struct emu_dot ks_emu_tensor_rule_async(const struct ks_emu *emu, enum ptx_type a, enum ptx_type b, enum ptx_type d, int k)
{
    struct emu_dot r = ks_emu_tensor_rule(emu, a, d, k, false);
    unsigned long generation = strtoul(emu->arch_name + 3, NULL, 10);
    if (r.kind == EMU_DOT_CUT && generation < 100 && (a == PTX_e4m3 || a == PTX_e5m2)) {
        r.bits = 13;
        r.places = r.half ? 0 : 13;
        r.least_a = a == PTX_e4m3 ? -6 : -14;
        r.least_b = b == PTX_e4m3 ? -6 : -14;
    }
    r.split = 0;
    return r;
}

static int exponent(double v)
{
    return (int)(emu_bits64(v) >> 52 & 0x7ff) - 1023;
}

/* Subnormal numbers of a small type: that of the least normal one.  least 0: not so. */
static int exponent_from(double v, int least)
{
    int e = exponent(v);
    return least && e < least ? least : e;
}

static double power(int e)
{
    return emu_f64((uint64_t)(e + 1023) << 52);
}

/* Toward zero, to f32. */
static double cut_to_f32(double v)
{
    double a = fabs(v);
    if (a >= 0x1p-126)
        return emu_f64(emu_bits64(v) & ~0x1fffffffull);
    return copysign(trunc(a * 0x1p149) * 0x1p-149, v);
}

/* n <= 64 products and c; all finite. */
static double cut_sum(const double *p, const int *e, int n, double c, int bits, bool half, int places)
{
    int top = c != 0 ? exponent(c) : -2000;
    for (int i = 0; i < n; i++)
        top = e[i] > top ? e[i] : top;
    if (top == -2000)
        return c;
    double up = power(bits - top < 1000 ? bits - top : 1000), sum = 0;
    for (int i = 0; i < n; i++)
        sum += trunc(p[i] * up);
    sum = (sum + trunc(c * up)) * power(top - bits > -1000 ? top - bits : -1000);
    if (places) /* of the result's fraction */
        sum = emu_f64(emu_bits64(sum) & ~((1ull << (52 - places)) - 1));
    return half ? sum : cut_to_f32(sum); /* f16 is rounded from the sum itself */
}

static double plain_sum(const double *a, const double *b, int k, double c)
{
    for (int i = 0; i < k; i++)
        c += a[i] * b[i];
    return c;
}

static double cut_dot(const struct emu_dot *r, const double *a, const double *b, int k, double c)
{
    double p[256], sum = 0, all = c - c;
    int e[256];
    for (int i = 0; i < k; i++) {
        int half = i >= k / 2, j = half ? i - k / 2 : i, run = r->split; /* elements that stay together */
        int at = run ? 2 * run * (j / run) + run * half + j % run : i;
        p[i] = a[at] * b[at];
        e[i] = p[i] != 0 ? exponent_from(a[at], r->least_a) + exponent_from(b[at], r->least_b) : -2000;
        all += p[i] - p[i];
    }
    if (all != 0) /* infinities and NaN */
        return plain_sum(a, b, k, c);
    if (r->split) {
        for (int s = 0; s < k; s += k / 2)
            sum = cut_sum(p + s, e + s, k / 2, sum, r->bits, false, 0);
        return (float)(c + sum);
    }
    for (int s = 0; s < k; s += r->step)
        c = cut_sum(p + s, e + s, r->step < k - s ? r->step : k - s, c, r->bits, r->half, r->places);
    return c;
}

double ks_emu_tensor_dot(const struct emu_dot *r, const double *a, const double *b, int k, double c)
{
    double sum = c;
    switch (r->kind) {
    case EMU_DOT_FMA:
        for (int i = 0; i < k; i++)
            sum = __builtin_fma(a[i], b[i], sum);
        return sum;
    case EMU_DOT_EXACT:
        sum = plain_sum(a, b, k, c);
        break;
    case EMU_DOT_CUT:
        sum = cut_dot(r, a, b, k, c);
        break;
    }
    return r->half ? ks_emu_decode(ks_emu_encode(sum, EMU_FMT_F16, EMU_RN, false), EMU_FMT_F16) : sum;
}
