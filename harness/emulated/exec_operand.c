#include "harness/emulated/operand.h"

#include "harness/emulated/exec_float.h"
#include "harness/emulated/small_float.h"

#include <pthread.h>

/* Operands in shared memory, turned into floats (or 32-bit integers). */

static uint32_t span_of(enum ks_emu_map_swizzle s)
{
    return s == KS_EMU_SWIZZLE_NONE ? 16 : s == KS_EMU_SWIZZLE_32B ? 32 : s == KS_EMU_SWIZZLE_64B ? 64 : 128;
}

uint32_t ks_emu_operand_address(const struct emu_operand *o, uint32_t line, uint32_t piece)
{
    uint32_t a = o->start, w = span_of(o->swizzle), group = o->swizzle == KS_EMU_SWIZZLE_128B_ATOM_32B ? 4 : 8;
    if (o->swizzle == KS_EMU_SWIZZLE_NONE) {
        a += line % 8 * 16 + (o->mn_major ? piece * o->sbo + line / 8 * o->lbo : piece * o->lbo + line / 8 * o->sbo);
        return a & 0x3ffffu;
    }
    if (o->mn_major)
        a += piece * 16 % w + piece * 16 / w * o->lbo + line % group * w + line / group * o->sbo;
    else
        a += line / 8 * o->sbo + line % 8 * w + piece * 16;
    uint32_t shift = o->base_offset << 7;
    return ks_emu_swizzle(o->swizzle, (a & 0x3ffffu) - shift) + shift;
}

void ks_emu_operand_piece(struct emu_operand *o, uint32_t line, uint32_t piece, void *to16)
{
    uint32_t a = ks_emu_operand_address(o, line, piece);
    if (a + 16 > o->shared_bytes) {
        o->outside = true;
        memset(to16, 0, 16);
        return;
    }
    o->lo = a < o->lo ? a : o->lo;
    o->hi = a + 16 > o->hi ? a + 16 : o->hi;
    memcpy(to16, o->shared + a, 16);
}

bool ks_emu_is_int(enum ptx_type type)
{
    return type == PTX_s8 || type == PTX_u8;
}

uint32_t ks_emu_element_bits(enum ptx_type type)
{
    switch ((int)type) {
    case PTX_f16:
    case PTX_bf16:
        return 16;
    case PTX_tf32:
        return 32;
    default:
        return 8; /* fp6 and fp4 too: they take a byte each, in shared memory with the padding */
    }
}

/* Values of all bytes of the small formats. */
static float tables[5][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static void fill_tables(void)
{
    static const enum emu_format_id formats[5] = {EMU_FMT_E4M3, EMU_FMT_E5M2, EMU_FMT_E2M3, EMU_FMT_E3M2, EMU_FMT_E2M1};
    static const uint8_t masks[5] = {0xff, 0xff, 0x3f, 0x3f, 0x0f};
    for (int f = 0; f < 5; f++)
        for (uint32_t i = 0; i < 256; i++)
            tables[f][i] = (float)ks_emu_decode(i & masks[f], formats[f]);
}

static const float *table_of(enum ptx_type type)
{
    (void)pthread_once(&once, fill_tables);
    return tables[type == PTX_e4m3 ? 0 : type == PTX_e5m2 ? 1 : type == PTX_e2m3 ? 2 : type == PTX_e3m2 ? 3 : 4];
}

void ks_emu_elements(const void *from, uint32_t n, enum ptx_type type, void *to)
{
    float *f = to;
    int32_t *i32 = to;
    switch ((int)type) {
    case PTX_f16:
        for (uint32_t i = 0; i < n; i++)
            f[i] = emu_half_to_float(((const uint16_t *)from)[i]);
        return;
    case PTX_bf16:
        for (uint32_t i = 0; i < n; i++)
            f[i] = emu_bf16_to_float(((const uint16_t *)from)[i]);
        return;
    case PTX_tf32:
        for (uint32_t i = 0; i < n; i++)
            f[i] = emu_f32(((const uint32_t *)from)[i] & 0xffffe000u);
        return;
    case PTX_s8:
        for (uint32_t i = 0; i < n; i++)
            i32[i] = ((const int8_t *)from)[i];
        return;
    case PTX_u8:
        for (uint32_t i = 0; i < n; i++)
            i32[i] = ((const uint8_t *)from)[i];
        return;
    default: {
        const float *t = table_of(type);
        for (uint32_t i = 0; i < n; i++)
            f[i] = t[((const uint8_t *)from)[i]];
    }
    }
}

/* The formats of 6 and 4 bits lie 16 to a piece of 16 bytes, packed, with padding behind; one byte each comes out. */
static void unpack(uint8_t *piece, uint32_t bits)
{
    uint8_t out[16];
    for (uint32_t i = 0; i < 16; i++) {
        uint32_t at = i * bits, two = piece[at / 8] | (uint32_t)(at / 8 < 15 ? piece[at / 8 + 1] : 0) << 8;
        out[i] = (uint8_t)(two >> at % 8 & ((1u << bits) - 1));
    }
    memcpy(piece, out, 16);
}

void ks_emu_operand_line(struct emu_operand *o, uint32_t line, uint32_t first, uint32_t n, enum ptx_type type, void *to)
{
    uint32_t each = 128 / ks_emu_element_bits(type);
    for (uint32_t i = 0; i < n; i += each) {
        _Alignas(16) uint8_t piece[16];
        ks_emu_operand_piece(o, line, (first + i) / each, piece);
        if (type == PTX_e2m1 || type == PTX_e2m3 || type == PTX_e3m2)
            unpack(piece, type == PTX_e2m1 ? 4 : 6);
        ks_emu_elements(piece, each, type, (uint32_t *)to + i);
    }
}

/* ------------------------------------------------------------------------------------------------ B of a fragment product */

#if defined(__AVX2__) && defined(__F16C__)
/* Eight elements of four columns to b[k][0..3]: a transposition. */
static void four_columns(struct emu_operand *o, uint32_t n, uint32_t piece, bool bf16, float *to)
{
    __m256 r[4];
    for (uint32_t t = 0; t < 4; t++) {
        _Alignas(16) uint8_t raw[16];
        ks_emu_operand_piece(o, n + 2 * t, piece, raw);
        __m128i v = _mm_load_si128((const __m128i *)raw);
        r[t] = bf16 ? _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16)) : _mm256_cvtph_ps(v);
    }
    __m256 p = _mm256_unpacklo_ps(r[0], r[1]), q = _mm256_unpackhi_ps(r[0], r[1]), u = _mm256_unpacklo_ps(r[2], r[3]),
           v = _mm256_unpackhi_ps(r[2], r[3]);
    __m256 k[4] = {_mm256_shuffle_ps(p, u, 0x44), _mm256_shuffle_ps(p, u, 0xee), _mm256_shuffle_ps(q, v, 0x44),
                   _mm256_shuffle_ps(q, v, 0xee)};
    for (int i = 0; i < 4; i++) {
        _mm_storeu_ps(to + 4 * i, _mm256_castps256_ps128(k[i]));
        _mm_storeu_ps(to + 4 * (i + 4), _mm256_extractf128_ps(k[i], 1));
    }
}
#endif

void ks_emu_fragment_b(struct emu_operand *o, uint32_t n, uint32_t k, enum ptx_type type, float *b)
{
    float line[256];
    if (o->mn_major) {
        for (uint32_t i = 0; i < k; i++) {
            ks_emu_operand_line(o, i, 0, n, type, line);
            for (uint32_t j = 0; j < n; j += 8)
                for (uint32_t c = 0; c < 8; c++)
                    b[((j / 4 + (c & 1)) * k + i) * 4 + c / 2] = line[j + c];
        }
        return;
    }
    for (uint32_t j = 0; j < n; j += 8) {
        for (uint32_t e = 0; e < 2; e++) {
            float *to = b + (j / 4 + e) * k * 4;
#if defined(__AVX2__) && defined(__F16C__)
            if (type == PTX_f16 || type == PTX_bf16) {
                four_columns(o, j + e, 0, type == PTX_bf16, to);
                four_columns(o, j + e, 1, type == PTX_bf16, to + 32);
                continue;
            }
#endif
            for (uint32_t t = 0; t < 4; t++) {
                ks_emu_operand_line(o, j + e + 2 * t, 0, k, type, line);
                for (uint32_t i = 0; i < k; i++)
                    to[i * 4 + t] = line[i];
            }
        }
    }
}
