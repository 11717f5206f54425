#ifndef RECHECK_H
#define RECHECK_H

/* What the re-check programs share.  They link one object file as a user would and know nothing of kscc: own inputs, own references in
 * double, own tolerances, the plain CUDA runtime.  Each program is one example:
 *
 *   recheck_NAME small|large     small: sizes an emulated device can do; large: timing points and ragged sizes beside them
 *
 * Outputs start as NaN, every buffer has guard bytes on both sides, inputs must be unchanged afterwards, and a comparison passes only when
 * it is true, so NaN fails.  Prints "ok NAME" or "WRONG NAME" after the first differences; exit status 0 or 1. */

#include <cuda_runtime.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RC_GUARD_BYTES 4096
#define RC_GUARD 0xa5
#define RC_POISON 0xff /* NaN in every float format, a large number in integers */

static const char *rc_name;
static int rc_large;
static long rc_wrong, rc_compared;
static char rc_shape[160];

static inline void rc_begin(const char *name, int argc, char **argv)
{
    rc_name = name;
    if (argc != 2 || (strcmp(argv[1], "small") != 0 && strcmp(argv[1], "large") != 0)) {
        fprintf(stderr, "usage: recheck_%s small|large\n", name);
        exit(2);
    }
    rc_large = strcmp(argv[1], "large") == 0;
}

static inline void rc_fail(const char *what, const char *why)
{
    if (rc_wrong++ < 5)
        printf("  %s: %s: %s: %s\n", rc_name, rc_shape, what, why);
}

static inline int rc_end(void)
{
    if (rc_compared == 0)
        rc_fail("program", "compared nothing");
    printf("%s %s (%s, %ld values compared", rc_wrong ? "WRONG" : "ok", rc_name, rc_large ? "large" : "small", rc_compared);
    if (rc_wrong)
        printf(", %ld faults", rc_wrong);
    printf(")\n");
    return rc_wrong ? 1 : 0;
}

#define RC_CUDA(call)                                                                              \
    do {                                                                                           \
        cudaError_t rc_status_ = (call);                                                           \
        if (rc_status_ != cudaSuccess) {                                                           \
            printf("  %s: %s: %s: %s\n", rc_name, rc_shape, #call, cudaGetErrorString(rc_status_)); \
            printf("WRONG %s (a CUDA call failed)\n", rc_name);                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* ---- numbers -------------------------------------------------------------------------------------------------------------- */

struct rc_rng {
    uint64_t state;
};

/* A linear congruential generator (Knuth's MMIX constants); the upper bits are mixed down. */
static inline uint64_t rc_next(struct rc_rng *r)
{
    r->state = r->state * 6364136223846793005ull + 1442695040888963407ull;
    return r->state ^ r->state >> 29;
}

static inline double rc_uniform(struct rc_rng *r, double lo, double hi)
{
    return lo + (hi - lo) * (double)(rc_next(r) >> 11) * 0x1p-53;
}

/* Four sixteen-bit uniforms added up: close to normal(0,1), never beyond 3.5. */
static inline double rc_normal(struct rc_rng *r)
{
    uint64_t v = rc_next(r);
    double sum = (double)(v & 0xffff) + (double)(v >> 16 & 0xffff) + (double)(v >> 32 & 0xffff) + (double)(v >> 48);
    return (sum / 65536.0 - 2.0) * 1.7320508;
}

/* IEEE binary16, rounded to nearest even. */
static inline uint16_t rc_to_half(double x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0;
    x = fabs(x);
    if (isnan(x))
        return 0x7fff;
    if (x >= 65520.0)
        return sign | 0x7c00;
    int e;
    frexp(x, &e); /* x = m * 2^e, m in [0.5, 1) */
    if (e < -13)
        e = -13; /* subnormal: step 2^-24 */
    double steps = nearbyint(ldexp(x, 11 - e)); /* in units of the last place */
    uint32_t bits = (uint32_t)(e + 13) << 10;   /* exponent field of the binade below */
    return sign | (uint16_t)(bits + (uint32_t)steps);
}

static inline double rc_from_half(uint16_t h)
{
    int e = h >> 10 & 31, m = h & 1023;
    double x = e == 0 ? ldexp(m, -24) : e == 31 ? (m ? NAN : INFINITY) : ldexp(1024 + m, e - 25);
    return h & 0x8000 ? -x : x;
}

/* ---- device memory -------------------------------------------------------------------------------------------------------- */

struct rc_buf {
    unsigned char *base;
    void *p; /* what the entry gets */
    size_t bytes;
    const void *input; /* host copy that must be unchanged afterwards, NULL: not an input */
    const char *what;
};

/* input NULL: poisoned. */
static inline struct rc_buf rc_buf_new(const char *what, size_t bytes, const void *input)
{
    struct rc_buf b = {NULL, NULL, bytes, input, what};
    RC_CUDA(cudaMalloc((void **)&b.base, bytes + 2 * RC_GUARD_BYTES));
    RC_CUDA(cudaMemset(b.base, RC_GUARD, bytes + 2 * RC_GUARD_BYTES));
    b.p = b.base + RC_GUARD_BYTES;
    if (input)
        RC_CUDA(cudaMemcpy(b.p, input, bytes, cudaMemcpyHostToDevice));
    else
        RC_CUDA(cudaMemset(b.p, RC_POISON, bytes));
    return b;
}

/* Copies the contents to a new host array. */
static inline void *rc_buf_read(const struct rc_buf *b)
{
    void *host = malloc(b->bytes ? b->bytes : 1);
    if (!host)
        exit(2);
    RC_CUDA(cudaMemcpy(host, b->p, b->bytes, cudaMemcpyDeviceToHost));
    return host;
}

/* Checks the guards and, for inputs, the contents; frees the buffer. */
static inline void rc_buf_free(struct rc_buf *b)
{
    static unsigned char guard[2][RC_GUARD_BYTES];
    RC_CUDA(cudaMemcpy(guard[0], b->base, RC_GUARD_BYTES, cudaMemcpyDeviceToHost));
    RC_CUDA(cudaMemcpy(guard[1], (unsigned char *)b->p + b->bytes, RC_GUARD_BYTES, cudaMemcpyDeviceToHost));
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < RC_GUARD_BYTES; i++)
            if (guard[side][i] != RC_GUARD) {
                rc_fail(b->what, side ? "bytes after its end were written" : "bytes before its start were written");
                break;
            }
    if (b->input) {
        void *now = rc_buf_read(b);
        if (memcmp(now, b->input, b->bytes) != 0)
            rc_fail(b->what, "the input was changed");
        free(now);
    }
    RC_CUDA(cudaFree(b->base));
}

/* ---- comparison ----------------------------------------------------------------------------------------------------------- */

static inline void rc_compare(const char *what, size_t index, double got, double want, double rtol, double atol)
{
    rc_compared++;
    if (!(fabs(got - want) <= atol + rtol * fabs(want))) {
        char text[128];
        snprintf(text, sizeof text, "element %zu is %.9g, expected %.9g", index, got, want);
        rc_fail(what, text);
    }
}

static inline void rc_all_finite(const char *what, const float *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i])) {
            char text[64];
            snprintf(text, sizeof text, "element %zu is not finite", i);
            rc_fail(what, text);
            return;
        }
}

/* Calls visit for all of 0..n-1, or for at most `most` of them, the first and last included. */
static inline size_t rc_sample(struct rc_rng *r, size_t n, size_t most, size_t k)
{
    if (n <= most)
        return k;
    return k == 0 ? 0 : k == 1 ? n - 1 : (size_t)(rc_next(r) % n);
}

static inline size_t rc_sample_count(size_t n, size_t most)
{
    return n < most ? n : most;
}

static inline float *rc_floats(size_t n)
{
    float *v = (float *)malloc(n ? n * sizeof *v : 1);
    if (!v)
        exit(2);
    return v;
}

#define RC_SHAPE(...) snprintf(rc_shape, sizeof rc_shape, __VA_ARGS__)

#endif
