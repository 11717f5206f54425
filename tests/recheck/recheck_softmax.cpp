#include "recheck.h"

extern "C" cudaError_t softmax_forward(const float *x, float *y, int rows, int cols, cudaStream_t stream);

static void check(int rows, int cols, double spread, uint64_t seed)
{
    RC_SHAPE("rows=%d cols=%d spread %g seed %llu", rows, cols, spread, (unsigned long long)seed);
    struct rc_rng r = {seed};
    size_t n = (size_t)rows * cols;
    float *x = rc_floats(n);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(spread * rc_normal(&r));
    struct rc_buf dx = rc_buf_new("x", n * 4, x), dy = rc_buf_new("y", n * 4, NULL);
    RC_CUDA(softmax_forward((const float *)dx.p, (float *)dy.p, rows, cols, NULL));
    RC_CUDA(cudaDeviceSynchronize());
    float *y = (float *)rc_buf_read(&dy);
    rc_all_finite("y", y, n);
    size_t most = (size_t)(2e7 / cols) + 2;
    for (size_t k = 0; k < rc_sample_count(rows, most); k++) {
        size_t row = rc_sample(&r, rows, most, k);
        const float *v = x + row * cols;
        double largest = -INFINITY, sum = 0;
        for (int c = 0; c < cols; c++)
            largest = fmax(largest, v[c]);
        for (int c = 0; c < cols; c++)
            sum += exp(v[c] - largest);
        for (int c = 0; c < cols; c++)
            rc_compare("y", row * cols + c, y[row * cols + c], exp(v[c] - largest) / sum, 2e-4, 1e-6);
    }
    rc_buf_free(&dx);
    rc_buf_free(&dy);
    free(x);
    free(y);
}

int main(int argc, char **argv)
{
    rc_begin("softmax", argc, argv);
    static const int small[][2] = {{1, 1}, {3, 5}, {129, 17}, {200, 33}, {31, 127}, {257, 64}};
    static const int large[][2] = {{65536, 1024}, {262144, 256}, {4099, 1021}, {1, 4096}, {127, 4095}, {262144, 1}, {100003, 31}};
    for (size_t i = 0; i < (rc_large ? sizeof large : sizeof small) / sizeof small[0]; i++) {
        const int *s = rc_large ? large[i] : small[i];
        check(s[0], s[1], 1, 100 + i);
        check(s[0], s[1], 20, 200 + i);
    }
    return rc_end();
}
