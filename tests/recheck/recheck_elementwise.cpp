#include "recheck.h"

extern "C" void bias_gelu_residual(const float *x, const float *bias, const float *residual, float *biased, float *activated, float *out, int rows,
                                   int cols, float scale, cudaStream_t stream);

static void check(int rows, int cols, double spread, float scale, uint64_t seed)
{
    RC_SHAPE("rows=%d cols=%d spread %g seed %llu", rows, cols, spread, (unsigned long long)seed);
    struct rc_rng r = {seed};
    size_t n = (size_t)rows * cols;
    float *x = rc_floats(n), *residual = rc_floats(n), *bias = rc_floats(cols);
    for (size_t i = 0; i < n; i++) {
        x[i] = (float)(spread * rc_normal(&r));
        residual[i] = (float)rc_normal(&r);
    }
    for (int c = 0; c < cols; c++)
        bias[c] = (float)rc_normal(&r);
    struct rc_buf dx = rc_buf_new("x", n * 4, x), db = rc_buf_new("bias", (size_t)cols * 4, bias), dr = rc_buf_new("residual", n * 4, residual),
                  d1 = rc_buf_new("biased", n * 4, NULL), d2 = rc_buf_new("activated", n * 4, NULL), dout = rc_buf_new("out", n * 4, NULL);
    bias_gelu_residual((const float *)dx.p, (const float *)db.p, (const float *)dr.p, (float *)d1.p, (float *)d2.p, (float *)dout.p, rows, cols,
                       scale, NULL);
    RC_CUDA(cudaGetLastError());
    RC_CUDA(cudaDeviceSynchronize());
    float *out = (float *)rc_buf_read(&dout);
    rc_all_finite("out", out, n);
    for (size_t k = 0; k < rc_sample_count(n, 4000000); k++) {
        size_t i = rc_sample(&r, n, 4000000, k);
        double v = (double)x[i] + bias[i % cols];
        double gelu = 0.5 * v * (1.0 + tanh(0.79788456080286536 * (v + 0.044715 * v * v * v)));
        rc_compare("out", i, out[i], residual[i] + scale * gelu, 1e-4, 2e-5);
    }
    rc_buf_free(&dx);
    rc_buf_free(&db);
    rc_buf_free(&dr);
    rc_buf_free(&d1);
    rc_buf_free(&d2);
    rc_buf_free(&dout);
    free(x);
    free(residual);
    free(bias);
    free(out);
}

int main(int argc, char **argv)
{
    rc_begin("elementwise", argc, argv);
    static const int small[][2] = {{1, 1}, {3, 5}, {1, 257}, {40, 100}, {255, 3}, {17, 255}};
    static const int large[][2] = {{8192, 4096}, {16384, 1024}, {1001, 4097}, {16384, 1}, {1, 16384}, {333, 77}};
    for (size_t i = 0; i < (rc_large ? sizeof large : sizeof small) / sizeof small[0]; i++) {
        const int *s = rc_large ? large[i] : small[i];
        check(s[0], s[1], 1, 0.5f, 100 + i);
        check(s[0], s[1], 5, -1.25f, 200 + i); /* the entry takes any scale */
    }
    return rc_end();
}
