#ifndef KS_TESTS_EMULATED_MATRIX_H
#define KS_TESTS_EMULATED_MATRIX_H

/* Matrices for the tensor tests: random contents of a type, as bytes and as values; and what was found. */

#include "harness/emulated/ptx_ast.h"
#include "harness/emulated/small_float.h"
#include "tests/emulated/emu_test.h"

static inline double value(uint32_t bits, enum ptx_type t)
{
    float f;
    switch ((int)t) {
    case PTX_f16:
        return ks_emu_decode(bits & 0xffff, EMU_FMT_F16);
    case PTX_bf16:
        return ks_emu_decode(bits & 0xffff, EMU_FMT_BF16);
    case PTX_tf32:
        bits &= 0xffffe000u;
        memcpy(&f, &bits, 4);
        return f;
    case PTX_e4m3:
        return ks_emu_decode(bits & 0xff, EMU_FMT_E4M3);
    case PTX_e5m2:
        return ks_emu_decode(bits & 0xff, EMU_FMT_E5M2);
    case PTX_e2m1:
        return ks_emu_decode(bits & 0xf, EMU_FMT_E2M1);
    case PTX_e3m2:
        return ks_emu_decode(bits & 0x3f, EMU_FMT_E3M2);
    case PTX_s8:
        return (int8_t)bits;
    default:
        return (uint8_t)bits;
    }
}

static inline uint32_t noise(uint32_t *s)
{
    *s = *s * 1664525u + 1013904223u;
    return *s >> 8;
}

static inline uint32_t random_bits(enum ptx_type t, uint32_t *s)
{
    float f;
    uint32_t u;
    switch ((int)t) {
    case PTX_f16:
        return ks_emu_encode((noise(s) % 401 - 200.0) / 64, EMU_FMT_F16, 0, false);
    case PTX_bf16:
        return ks_emu_encode((noise(s) % 401 - 200.0) / 64, EMU_FMT_BF16, 0, false);
    case PTX_tf32:
        f = ((float)(noise(s) % 40001) - 20000.0f) / 4096;
        memcpy(&u, &f, 4);
        return u;
    case PTX_e4m3:
        return ks_emu_encode((noise(s) % 65 - 32.0) / 8, EMU_FMT_E4M3, 0, true);
    case PTX_e5m2:
        return ks_emu_encode((noise(s) % 65 - 32.0) / 8, EMU_FMT_E5M2, 0, true);
    default:
        return noise(s) & 0xff;
    }
}

static inline uint32_t size_of(enum ptx_type t)
{
    return t == PTX_f16 || t == PTX_bf16 ? 2 : t == PTX_tf32 ? 4 : 1;
}

/* Matrices of `rows` by k elements: line by line, or transposed. */
static inline void make(uint8_t *m, double (*v)[128], uint32_t rows, uint32_t k, enum ptx_type t, bool trans, uint32_t seed)
{
    uint32_t each = size_of(t);
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < k; i++) {
            uint32_t bits = random_bits(t, &seed), at = trans ? i * rows + r : r * k + i;
            memcpy(m + at * each, &bits, each);
            v[r][i] = value(bits, t);
        }
}

static inline bool found(const char *kind)
{
    struct ks_json *all = ks_emu_findings(dev);
    bool any = false;
    for (size_t i = 0; i < ks_json_len(all); i++)
        any |= !kind || ks_streq(ks_json_get_str(ks_json_at(all, i), "kind", ""), kind);
    ks_json_free(all);
    return any;
}

static inline void show(void)
{
    struct ks_json *all = ks_emu_findings(dev);
    for (size_t i = 0; i < ks_json_len(all); i++)
        printf("    %s line %.0f: %s\n", ks_json_get_str(ks_json_at(all, i), "kind", ""),
               ks_json_get_num(ks_json_at(all, i), "line", 0), ks_json_get_str(ks_json_at(all, i), "text", ""));
    ks_json_free(all);
}

#endif
