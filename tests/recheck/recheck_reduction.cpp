#include "recheck.h"

void reduce_sum(const float *x, float *partial, float *total, int n, cudaStream_t stream);

static void check(int n, double lo, double hi, uint64_t seed)
{
    RC_SHAPE("n=%d in %g..%g seed %llu", n, lo, hi, (unsigned long long)seed);
    struct rc_rng r = {seed};
    float *x = rc_floats(n);
    double sum = 0, size = 0;
    for (int i = 0; i < n; i++) {
        x[i] = (float)rc_uniform(&r, lo, hi);
        sum += x[i];
        size += fabs(x[i]);
    }
    struct rc_buf dx = rc_buf_new("x", (size_t)n * 4, x), dp = rc_buf_new("partial", ((size_t)n + 255) / 256 * 4, NULL), dt = rc_buf_new("total", 4, NULL);
    reduce_sum((const float *)dx.p, (float *)dp.p, (float *)dt.p, n, NULL);
    RC_CUDA(cudaGetLastError());
    RC_CUDA(cudaDeviceSynchronize());
    float *total = (float *)rc_buf_read(&dt);
    /* At the small sizes one lost element shows, at every size a lost block. */
    rc_compare("total", 0, total[0], sum, 3e-6, 2e-6 * size / (1 + sqrt((double)n) / 64) + 1e-6);
    rc_buf_free(&dx);
    rc_buf_free(&dp);
    rc_buf_free(&dt);
    free(x);
    free(total);
}

int main(int argc, char **argv)
{
    rc_begin("reduction", argc, argv);
    static const int small[] = {1, 2, 31, 32, 33, 255, 256, 257, 1000, 4096, 65537};
    static const int large[] = {67108864, 134217728, 67108863, 99999989, 1000003, 513, 268435456};
    for (size_t i = 0; i < (rc_large ? sizeof large : sizeof small) / sizeof small[0]; i++) {
        int n = rc_large ? large[i] : small[i];
        check(n, -1, 1, 100 + i);
        check(n, 0, 1, 200 + i);
    }
    return rc_end();
}
