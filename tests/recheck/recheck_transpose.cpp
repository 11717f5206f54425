#include "recheck.h"

void transpose(const float *in, float *out, int rows, int cols, cudaStream_t stream);

static void check(int rows, int cols, uint64_t seed)
{
    RC_SHAPE("rows=%d cols=%d seed %llu", rows, cols, (unsigned long long)seed);
    struct rc_rng r = {seed};
    size_t n = (size_t)rows * cols;
    float *in = rc_floats(n);
    for (size_t i = 0; i < n; i++)
        in[i] = (float)rc_uniform(&r, -1, 1);
    struct rc_buf din = rc_buf_new("in", n * 4, in), dout = rc_buf_new("out", n * 4, NULL);
    transpose((const float *)din.p, (float *)dout.p, rows, cols, NULL);
    RC_CUDA(cudaGetLastError());
    RC_CUDA(cudaDeviceSynchronize());
    float *out = (float *)rc_buf_read(&dout);
    for (size_t row = 0; row < (size_t)rows; row++)
        for (size_t col = 0; col < (size_t)cols; col++)
            rc_compare("out", col * rows + row, out[col * rows + row], in[row * cols + col], 0, 0);
    rc_buf_free(&din);
    rc_buf_free(&dout);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    rc_begin("transpose", argc, argv);
    static const int small[][2] = {{1, 1}, {1, 40}, {40, 1}, {16, 16}, {17, 31}, {33, 64}, {100, 37}, {65, 129}};
    static const int large[][2] = {{8192, 8192}, {4096, 12288}, {8191, 4097}, {16384, 3}, {3, 16384}, {1000, 1001}};
    for (size_t i = 0; i < (rc_large ? sizeof large : sizeof small) / sizeof small[0]; i++) {
        const int *s = rc_large ? large[i] : small[i];
        check(s[0], s[1], 100 + i);
    }
    return rc_end();
}
