#include "recheck.h"

cudaError_t heat_diffuse(const float *in, float *out, float *tmp, int height, int width, int steps, float kappa, cudaStream_t stream);

static void check(int height, int width, int steps, float kappa, uint64_t seed)
{
    RC_SHAPE("height=%d width=%d steps=%d seed %llu", height, width, steps, (unsigned long long)seed);
    struct rc_rng r = {seed};
    size_t n = (size_t)height * width, w = width;
    float *in = rc_floats(n);
    double *a = (double *)malloc(n * sizeof *a), *b = (double *)malloc(n * sizeof *b);
    if (!a || !b)
        exit(2);
    for (size_t i = 0; i < n; i++)
        a[i] = in[i] = (float)rc_normal(&r);
    struct rc_buf din = rc_buf_new("in", n * 4, in), dout = rc_buf_new("out", n * 4, NULL), dtmp = rc_buf_new("tmp", n * 4, NULL);
    RC_CUDA(heat_diffuse((const float *)din.p, (float *)dout.p, (float *)dtmp.p, height, width, steps, kappa, NULL));
    RC_CUDA(cudaDeviceSynchronize());
    float *out = (float *)rc_buf_read(&dout);
    for (int s = 0; s < steps; s++) {
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                size_t i = (size_t)y * w + x;
                int border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
                b[i] = border ? a[i] : a[i] + kappa * (a[i - 1] + a[i + 1] + a[i - w] + a[i + w] - 4.0 * a[i]);
            }
        double *t = a;
        a = b;
        b = t;
    }
    for (size_t i = 0; i < n; i++)
        rc_compare("out", i, out[i], a[i], 1e-4, 2e-5);
    rc_buf_free(&din);
    rc_buf_free(&dout);
    rc_buf_free(&dtmp);
    free(in);
    free(out);
    free(a);
    free(b);
}

int main(int argc, char **argv)
{
    rc_begin("stencil", argc, argv);
    static const int small[][3] = {{1, 1, 1}, {1, 20, 2}, {2, 2, 3}, {3, 3, 8}, {17, 33, 4}, {40, 31, 5}, {64, 64, 1}};
    static const int large[][3] = {{8192, 8192, 2}, {4096, 4096, 5}, {1023, 2049, 8}, {3001, 777, 3}, {1, 8192, 4}, {8192, 1, 7}, {100, 5003, 1}};
    for (size_t i = 0; i < (rc_large ? sizeof large : sizeof small) / sizeof small[0]; i++) {
        const int *s = rc_large ? large[i] : small[i];
        check(s[0], s[1], s[2], 0.2f, 100 + i);
        if (i > 1)
            check(s[0], s[1], s[2], 0.125f, 200 + i); /* the entry takes any kappa */
    }
    return rc_end();
}
