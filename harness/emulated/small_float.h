#ifndef KS_HARNESS_EMULATED_SMALL_FLOAT_H
#define KS_HARNESS_EMULATED_SMALL_FLOAT_H

/* Floating-point formats of at most 32 bits, converted bit by bit: every rounding mode, subnormals, saturation to the largest
 * finite value.  The fast paths for f16 and bf16 are in exec_float.h. */

#include <stdbool.h>
#include <stdint.h>

struct emu_format {
    int exponent_bits, mantissa_bits, bias;
    bool has_inf; /* false: the top exponent holds numbers; e4m3 keeps only S.1111.111 for NaN */
    bool has_nan;
    uint32_t nan, largest; /* magnitude bits of the canonical NaN and of the largest finite value */
};

enum emu_format_id {
    EMU_FMT_F16,
    EMU_FMT_BF16,
    EMU_FMT_TF32,
    EMU_FMT_E4M3,
    EMU_FMT_E5M2,
    EMU_FMT_E2M1,
    EMU_FMT_E2M3,
    EMU_FMT_E3M2,
    EMU_FMT_UE8M0
};
extern const struct emu_format ks_emu_formats[];

/* rnd: EMU_RN, EMU_RZ, EMU_RM, EMU_RP, EMU_RNA.  satfinite: values past the largest, and infinities, become the largest; NaN
 * stays NaN where the format has one, else it becomes the largest. */
uint32_t ks_emu_encode(double v, enum emu_format_id id, int rnd, bool satfinite);
double ks_emu_decode(uint32_t bits, enum emu_format_id id);

#endif
