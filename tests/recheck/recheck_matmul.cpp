#include "recheck.h"

extern "C" cudaError_t matmul(const float *a, const float *b, float *c, int M, int N, int K, cudaStream_t stream);

static void check(int M, int N, int K, uint64_t seed)
{
    RC_SHAPE("M=%d N=%d K=%d seed %llu", M, N, K, (unsigned long long)seed);
    struct rc_rng r = {seed};
    size_t na = (size_t)M * K, nb = (size_t)K * N, nc = (size_t)M * N;
    float *a = rc_floats(na), *b = rc_floats(nb);
    for (size_t i = 0; i < na; i++)
        a[i] = (float)rc_uniform(&r, -1, 1);
    for (size_t i = 0; i < nb; i++)
        b[i] = (float)rc_uniform(&r, -1, 1);
    struct rc_buf da = rc_buf_new("a", na * 4, a), db = rc_buf_new("b", nb * 4, b), dc = rc_buf_new("c", nc * 4, NULL);
    RC_CUDA(matmul((const float *)da.p, (const float *)db.p, (float *)dc.p, M, N, K, NULL));
    RC_CUDA(cudaDeviceSynchronize());
    float *c = (float *)rc_buf_read(&dc);
    rc_all_finite("c", c, nc);
    size_t most = (size_t)(1e8 / K) + 2;
    for (size_t k = 0; k < rc_sample_count(nc, most); k++) {
        size_t e = rc_sample(&r, nc, most, k), row = e / N, col = e % N;
        double sum = 0, size = 0; /* error of a float sum grows with the sizes added, not with the result */
        for (int i = 0; i < K; i++) {
            double product = (double)a[row * K + i] * b[(size_t)i * N + col];
            sum += product;
            size += fabs(product);
        }
        rc_compare("c", e, c[e], sum, 1e-4, 2e-5 * size + 1e-6);
    }
    rc_buf_free(&da);
    rc_buf_free(&db);
    rc_buf_free(&dc);
    free(a);
    free(b);
    free(c);
}

int main(int argc, char **argv)
{
    rc_begin("matmul", argc, argv);
    static const int small[][3] = {{1, 1, 1}, {16, 16, 16}, {17, 15, 33}, {3, 50, 7}, {64, 48, 40}, {31, 65, 100}};
    static const int large[][3] = {{2048, 2048, 2048}, {4096, 1024, 1024}, {1023, 517, 1999}, {1, 4096, 4096}, {4096, 1, 100}, {127, 129, 3}, {8192, 64, 31}};
    for (size_t i = 0; i < (rc_large ? sizeof large : sizeof small) / sizeof small[0]; i++) {
        const int *s = rc_large ? large[i] : small[i];
        check(s[0], s[1], s[2], 100 + i);
        check(s[0], s[1], s[2], 200 + i);
    }
    return rc_end();
}
