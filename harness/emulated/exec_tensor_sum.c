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

struct emu_dot ks_emu_tensor_rule(const struct ks_emu *emu, enum ptx_type a, enum ptx_type d, int k)
{
    struct emu_dot r = {.step = k, .kind = EMU_DOT_EXACT, .half = d == PTX_f16};
    (void)emu;
    if (a == PTX_f64)
        r.kind = EMU_DOT_FMA;
    return r;
}

double ks_emu_tensor_dot(const struct emu_dot *r, const double *a, const double *b, int k, double c)
{
    double sum = c;
    if (r->kind == EMU_DOT_FMA) {
        for (int i = 0; i < k; i++)
            sum = __builtin_fma(a[i], b[i], sum);
        return sum;
    }
    for (int i = 0; i < k; i++)
        sum += a[i] * b[i];
    return r->half ? emu_half_to_float(emu_float_to_half((float)sum)) : sum;
}
