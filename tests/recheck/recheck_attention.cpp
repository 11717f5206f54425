#include "recheck.h"

extern "C" void attention_forward(const void *q, const void *k, const void *v, void *o, float *scores, int B, int H, int S, int D,
                                  float scale, cudaStream_t stream); /* half pointers: C linkage carries no types */

static uint16_t *halves(struct rc_rng *r, size_t n, double spread)
{
    uint16_t *v = (uint16_t *)malloc(n * sizeof *v);
    if (!v)
        exit(2);
    for (size_t i = 0; i < n; i++)
        v[i] = rc_to_half(spread * rc_normal(r));
    return v;
}

/* The values of v, decoded once: each is read many times. */
static double *decoded(const uint16_t *v, size_t n)
{
    double *x = (double *)malloc(n * sizeof *x);
    if (!x)
        exit(2);
    for (size_t i = 0; i < n; i++)
        x[i] = rc_from_half(v[i]);
    return x;
}

/* Row i of one head, in double. */
static void reference_row(const double *q, const double *k, const double *v, int S, int D, int i, double scale, double *score,
                          double *o)
{
    double largest = -INFINITY, total = 0;
    for (int j = 0; j < S; j++) {
        double dot = 0;
        for (int d = 0; d < D; d++)
            dot += q[(size_t)i * D + d] * k[(size_t)j * D + d];
        score[j] = dot * scale;
        largest = fmax(largest, score[j]);
    }
    memset(o, 0, (size_t)D * sizeof *o);
    for (int j = 0; j < S; j++) {
        double w = exp(score[j] - largest);
        total += w;
        for (int d = 0; d < D; d++)
            o[d] += w * v[(size_t)j * D + d];
    }
    for (int d = 0; d < D; d++)
        o[d] /= total;
}

static void check(int B, int H, int S, int D, double spread, uint64_t seed)
{
    RC_SHAPE("B=%d H=%d S=%d D=%d seed %llu", B, H, S, D, (unsigned long long)seed);
    struct rc_rng r = {seed};
    size_t n = (size_t)B * H * S * D;
    uint16_t *q = halves(&r, n, spread), *k = halves(&r, n, spread), *v = halves(&r, n, spread);
    struct rc_buf dq = rc_buf_new("q", n * 2, q), dk = rc_buf_new("k", n * 2, k), dv = rc_buf_new("v", n * 2, v),
                  dout = rc_buf_new("o", n * 2, NULL), ds = rc_buf_new("scores", (size_t)B * H * S * S * 4, NULL);
    float scale = (float)(1.0 / sqrt((double)D));
    attention_forward(dq.p, dk.p, dv.p, dout.p, (float *)ds.p, B, H, S, D, scale, NULL);
    RC_CUDA(cudaGetLastError());
    RC_CUDA(cudaDeviceSynchronize());
    uint16_t *o = (uint16_t *)rc_buf_read(&dout);
    double *xq = decoded(q, n), *xk = decoded(k, n), *xv = decoded(v, n);
    double *score = (double *)malloc((size_t)S * sizeof *score), *want = (double *)malloc((size_t)D * sizeof *want);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(rc_from_half(o[i]))) {
            rc_fail("o", "an element is not finite");
            break;
        }
    size_t rows = (size_t)B * H * S, most = (size_t)(1e8 / ((double)S * D)) + 2;
    for (size_t c = 0; c < rc_sample_count(rows, most); c++) {
        size_t row = rc_sample(&r, rows, most, c), head = row / S * S * D;
        reference_row(xq + head, xk + head, xv + head, S, D, (int)(row % S), scale, score, want);
        for (int d = 0; d < D; d++)
            rc_compare("o", row * D + d, rc_from_half(o[row * D + d]), want[d], 4e-3, 3e-3);
    }
    rc_buf_free(&dq);
    rc_buf_free(&dk);
    rc_buf_free(&dv);
    rc_buf_free(&dout);
    rc_buf_free(&ds);
    free(q);
    free(k);
    free(v);
    free(xq);
    free(xk);
    free(xv);
    free(o);
    free(score);
    free(want);
}

int main(int argc, char **argv)
{
    rc_begin("attention", argc, argv);
    static const int small[][4] = {{1, 1, 1, 64}, {1, 2, 17, 64}, {2, 1, 33, 128}, {1, 1, 70, 64}, {3, 2, 5, 128}};
    static const int large[][4] = {{4, 16, 1024, 64}, {1, 16, 2048, 128}, {2, 3, 1023, 64}, {1, 5, 777, 128},
                                   {8, 32, 130, 64},  {1, 2, 4096, 64},   {1, 1, 1, 128}};
    for (size_t i = 0; i < (rc_large ? sizeof large : sizeof small) / sizeof small[0]; i++) {
        const int *s = rc_large ? large[i] : small[i];
        check(s[0], s[1], s[2], s[3], 1.0, 100 + i);
        check(s[0], s[1], s[2], s[3], i % 2 ? 3.0 : 0.1, 200 + i); /* peaked rows, flat rows */
    }
    return rc_end();
}
