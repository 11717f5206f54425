#include "recheck.h"

void layernorm_forward(const float *x, const float *gamma, const float *beta, float *y, int rows, int cols, float eps, cudaStream_t stream);

static void check(int rows, int cols, double mean, double spread, uint64_t seed)
{
    RC_SHAPE("rows=%d cols=%d mean %g seed %llu", rows, cols, mean, (unsigned long long)seed);
    struct rc_rng r = {seed};
    size_t n = (size_t)rows * cols;
    float *x = rc_floats(n), *gamma = rc_floats(cols), *beta = rc_floats(cols), eps = 1e-5f;
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(mean + spread * rc_normal(&r));
    for (int c = 0; c < cols; c++) {
        gamma[c] = (float)rc_uniform(&r, -2, 2);
        beta[c] = (float)rc_uniform(&r, -1, 1);
    }
    struct rc_buf dx = rc_buf_new("x", n * 4, x), dg = rc_buf_new("gamma", (size_t)cols * 4, gamma), db = rc_buf_new("beta", (size_t)cols * 4, beta),
                  dy = rc_buf_new("y", n * 4, NULL);
    layernorm_forward((const float *)dx.p, (const float *)dg.p, (const float *)db.p, (float *)dy.p, rows, cols, eps, NULL);
    RC_CUDA(cudaGetLastError());
    RC_CUDA(cudaDeviceSynchronize());
    float *y = (float *)rc_buf_read(&dy);
    rc_all_finite("y", y, n);
    size_t most = (size_t)(3e7 / cols) + 2;
    for (size_t k = 0; k < rc_sample_count(rows, most); k++) {
        size_t row = rc_sample(&r, rows, most, k);
        const float *v = x + row * cols;
        double sum = 0, sq = 0;
        for (int c = 0; c < cols; c++)
            sum += v[c];
        double m = sum / cols;
        for (int c = 0; c < cols; c++)
            sq += (v[c] - m) * (v[c] - m);
        double inv = 1.0 / sqrt(sq / cols + eps);
        for (int c = 0; c < cols; c++)
            rc_compare("y", row * cols + c, y[row * cols + c], (v[c] - m) * inv * gamma[c] + beta[c], 1e-3, 1e-3);
    }
    rc_buf_free(&dx);
    rc_buf_free(&dg);
    rc_buf_free(&db);
    rc_buf_free(&dy);
    free(x);
    free(gamma);
    free(beta);
    free(y);
}

int main(int argc, char **argv)
{
    rc_begin("layernorm", argc, argv);
    static const int small[][2] = {{1, 1}, {3, 7}, {2, 255}, {4, 256}, {3, 257}, {5, 1000}, {2, 1027}};
    static const int large[][2] = {{32768, 1024}, {8192, 4096}, {1, 8192}, {4097, 1023}, {10007, 513}, {65536, 33}, {100, 8191}, {7, 1}};
    for (size_t i = 0; i < (rc_large ? sizeof large : sizeof small) / sizeof small[0]; i++) {
        const int *s = rc_large ? large[i] : small[i];
        check(s[0], s[1], 0, 1, 100 + i);
        check(s[0], s[1], 5, 0.5, 200 + i);
    }
    return rc_end();
}
