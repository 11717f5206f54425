#include "harness/emulated/operand.h"

#include "harness/emulated/exec_float.h"
#include "harness/emulated/tensor.h"

/* Matrix products as operand.h defines them.  AVX-512 where the processor has it: a wider loop over the same operations, so the
 * bits are the same. */

#define PAIRS 4 /* vectors of 8 lanes in a register */

#if defined(__AVX2__) && defined(__FMA__)
static void fragment_avx2(float *const *d, const float *a, const float *b, uint32_t n8, uint32_t k)
{
    for (uint32_t je = 0; je < 2 * n8; je++) {
        float *d0 = d[je / 2 * 4 + (je & 1)], *d1 = d[je / 2 * 4 + 2 + (je & 1)];
        const float *bj = b + (size_t)je * k * 4;
        __m256 x[PAIRS], y[PAIRS];
        for (int v = 0; v < PAIRS; v++) {
            x[v] = _mm256_loadu_ps(d0 + 8 * v);
            y[v] = _mm256_loadu_ps(d1 + 8 * v);
        }
        for (uint32_t i = 0; i < k; i++) {
            __m256 w = _mm256_broadcast_ps((const __m128 *)(const void *)(bj + 4 * i));
            const float *a0 = a + (size_t)i * EMU_LANES, *a1 = a0 + (size_t)k * EMU_LANES;
            for (int v = 0; v < PAIRS; v++) {
                x[v] = _mm256_fmadd_ps(_mm256_loadu_ps(a0 + 8 * v), w, x[v]);
                y[v] = _mm256_fmadd_ps(_mm256_loadu_ps(a1 + 8 * v), w, y[v]);
            }
        }
        for (int v = 0; v < PAIRS; v++) {
            _mm256_storeu_ps(d0 + 8 * v, x[v]);
            _mm256_storeu_ps(d1 + 8 * v, y[v]);
        }
    }
}

__attribute__((target("avx512f"))) static void fragment_avx512(float *const *d, const float *a, const float *b, uint32_t n8,
                                                               uint32_t k)
{
    for (uint32_t j = 0; j < n8; j++) {
        float *const *dj = d + 4 * j;
        const float *b0 = b + (size_t)j * 2 * k * 4, *b1 = b0 + (size_t)k * 4;
        __m512 x[4][2];
        for (int r = 0; r < 4; r++)
            for (int v = 0; v < 2; v++)
                x[r][v] = _mm512_loadu_ps(dj[r] + 16 * v);
        for (uint32_t i = 0; i < k; i++) {
            __m512 w0 = _mm512_broadcast_f32x4(_mm_loadu_ps(b0 + 4 * i)), w1 = _mm512_broadcast_f32x4(_mm_loadu_ps(b1 + 4 * i));
            const float *a0 = a + (size_t)i * EMU_LANES, *a1 = a0 + (size_t)k * EMU_LANES;
            for (int v = 0; v < 2; v++) {
                __m512 p = _mm512_loadu_ps(a0 + 16 * v), q = _mm512_loadu_ps(a1 + 16 * v);
                x[0][v] = _mm512_fmadd_ps(p, w0, x[0][v]);
                x[1][v] = _mm512_fmadd_ps(p, w1, x[1][v]);
                x[2][v] = _mm512_fmadd_ps(q, w0, x[2][v]);
                x[3][v] = _mm512_fmadd_ps(q, w1, x[3][v]);
            }
        }
        for (int r = 0; r < 4; r++)
            for (int v = 0; v < 2; v++)
                _mm512_storeu_ps(dj[r] + 16 * v, x[r][v]);
    }
}

void ks_emu_fragment_mma(float *const *d, const float *a, const float *b, uint32_t n8, uint32_t k)
{
    if (__builtin_cpu_supports("avx512f"))
        fragment_avx512(d, a, b, n8, k);
    else
        fragment_avx2(d, a, b, n8, k);
}
#else
void ks_emu_fragment_mma(float *const *d, const float *a, const float *b, uint32_t n8, uint32_t k)
{
    for (uint32_t je = 0; je < 2 * n8; je++) {
        for (uint32_t h = 0; h < 2; h++) {
            float *x = d[je / 2 * 4 + 2 * h + (je & 1)];
            for (uint32_t i = 0; i < k; i++)
                FOR_LANES(l) x[l] = __builtin_fmaf(a[(h * k + i) * EMU_LANES + l], b[(je * k + i) * 4 + (l & 3)], x[l]);
        }
    }
}
#endif

void ks_emu_fragment_imma(int32_t *const *d, const int32_t *a, const int32_t *b, uint32_t n8, uint32_t k)
{
    for (uint32_t je = 0; je < 2 * n8; je++) {
        for (uint32_t h = 0; h < 2; h++) {
            uint32_t *x = (uint32_t *)d[je / 2 * 4 + 2 * h + (je & 1)];
            for (uint32_t i = 0; i < k; i++) {
                const uint32_t *p = (const uint32_t *)a + (size_t)(h * k + i) * EMU_LANES;
                const uint32_t *q = (const uint32_t *)b + (size_t)(je * k + i) * 4;
                FOR_LANES(l) x[l] += p[l] * q[l & 3];
            }
        }
    }
}

void ks_emu_fragment_by_rule(float *const *d, const float *a, const float *b, uint32_t n8, uint32_t k, const struct emu_dot *rule)
{
    double x[64], y[64];
    for (uint32_t reg = 0; reg < 4 * n8; reg++) {
        uint32_t h = reg >> 1 & 1, je = reg / 4 * 2 + (reg & 1);
        FOR_LANES(l)
        {
            for (uint32_t i = 0; i < k; i++) {
                x[i] = a[(h * k + i) * EMU_LANES + (uint32_t)l];
                y[i] = b[(je * k + i) * 4 + (uint32_t)(l & 3)];
            }
            d[reg][l] = (float)ks_emu_tensor_dot(rule, x, y, (int)k, d[reg][l]);
        }
    }
}

/* ------------------------------------------------------------------------------------------------ row by row */

#define ROWS 4
#define COLS 16

/* Any block of at most ROWS rows and COLS columns. */
static void rows_rest(float *d, size_t ld, const float *a, const float *b, size_t ldb, uint32_t rows, uint32_t cols, uint32_t k)
{
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t i = 0; i < k; i++)
            for (uint32_t c = 0; c < cols; c++)
                d[r * ld + c] = __builtin_fmaf(a[r * k + i], b[i * ldb + c], d[r * ld + c]);
}

#if defined(__AVX2__) && defined(__FMA__)
static void rows_whole(float *d, size_t ld, const float *a, const float *b, size_t ldb, uint32_t k)
{
    __m256 x[ROWS][2];
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < 2; v++)
            x[r][v] = _mm256_loadu_ps(d + (size_t)r * ld + 8 * v);
    for (uint32_t i = 0; i < k; i++) {
        __m256 b0 = _mm256_loadu_ps(b + i * ldb), b1 = _mm256_loadu_ps(b + i * ldb + 8);
        for (int r = 0; r < ROWS; r++) {
            __m256 p = _mm256_broadcast_ss(a + (size_t)r * k + i);
            x[r][0] = _mm256_fmadd_ps(p, b0, x[r][0]);
            x[r][1] = _mm256_fmadd_ps(p, b1, x[r][1]);
        }
    }
    for (int r = 0; r < ROWS; r++)
        for (int v = 0; v < 2; v++)
            _mm256_storeu_ps(d + (size_t)r * ld + 8 * v, x[r][v]);
}
#else
static void rows_whole(float *d, size_t ld, const float *a, const float *b, size_t ldb, uint32_t k)
{
    rows_rest(d, ld, a, b, ldb, ROWS, COLS, k);
}
#endif

void ks_emu_product_rows(float *d, size_t ld, const float *a, const float *b, size_t ldb, uint32_t m, uint32_t n, uint32_t k)
{
    for (uint32_t r = 0; r < m; r += ROWS) {
        uint32_t rows = m - r < ROWS ? m - r : ROWS;
        for (uint32_t j = 0; j < n; j += COLS) {
            uint32_t cols = n - j < COLS ? n - j : COLS;
            if (rows == ROWS && cols == COLS)
                rows_whole(d + r * ld + j, ld, a + (size_t)r * k, b + j, ldb, k);
            else
                rows_rest(d + r * ld + j, ld, a + (size_t)r * k, b + j, ldb, rows, cols, k);
        }
    }
}

void ks_emu_product_rows_int(int32_t *d, size_t ld, const int32_t *a, const int32_t *b, size_t ldb, uint32_t m, uint32_t n,
                             uint32_t k)
{
    for (uint32_t r = 0; r < m; r++) {
        uint32_t *x = (uint32_t *)d + r * ld;
        for (uint32_t i = 0; i < k; i++) {
            uint32_t v = (uint32_t)a[(size_t)r * k + i];
            const uint32_t *row = (const uint32_t *)b + i * ldb;
            for (uint32_t c = 0; c < n; c++)
                x[c] += v * row[c];
        }
    }
}

void ks_emu_rows_by_rule(float *d, size_t ld, const float *a, const float *b, size_t ldb, uint32_t m, uint32_t n, uint32_t k,
                         const struct emu_dot *rule)
{
    double x[64], y[64];
    for (uint32_t r = 0; r < m; r++) {
        for (uint32_t c = 0; c < n; c++) {
            for (uint32_t i = 0; i < k; i++) {
                x[i] = a[r * k + i];
                y[i] = b[i * ldb + c];
            }
            d[r * ld + c] = (float)ks_emu_tensor_dot(rule, x, y, (int)k, d[r * ld + c]);
        }
    }
}
