#include "recheck.h"

extern "C" cudaError_t histogram256(const unsigned char *data, unsigned int *bins, int n, cudaStream_t stream);

/* mask: bits of the bytes that vary; 0 makes all of them fall into one bin. */
static void check(int n, int mask, uint64_t seed)
{
    RC_SHAPE("n=%d mask %#x seed %llu", n, mask, (unsigned long long)seed);
    struct rc_rng r = {seed};
    unsigned char *data = (unsigned char *)malloc(n);
    uint64_t want[256] = {0};
    if (!data)
        exit(2);
    for (int i = 0; i < n; i++)
        want[data[i] = (unsigned char)(rc_next(&r) >> 40 & mask)]++;
    struct rc_buf dd = rc_buf_new("data", n, data), db = rc_buf_new("bins", 256 * 4, NULL);
    for (int call = 0; call < 2; call++) { /* a second call must not add to the first */
        RC_CUDA(histogram256((const unsigned char *)dd.p, (unsigned int *)db.p, n, NULL));
        RC_CUDA(cudaDeviceSynchronize());
        unsigned int *bins = (unsigned int *)rc_buf_read(&db);
        for (int i = 0; i < 256; i++)
            rc_compare("bins", i, bins[i], (double)want[i], 0, 0);
        free(bins);
    }
    rc_buf_free(&dd);
    rc_buf_free(&db);
    free(data);
}

int main(int argc, char **argv)
{
    rc_begin("histogram", argc, argv);
    static const int small[] = {1, 3, 31, 255, 256, 257, 1000, 4099, 20000};
    static const int large[] = {67108864, 67108861, 1000003, 134217727, 15};
    for (size_t i = 0; i < (rc_large ? sizeof large : sizeof small) / sizeof small[0]; i++) {
        int n = rc_large ? large[i] : small[i];
        check(n, 0xff, 100 + i);
        check(n, 0x0f, 200 + i);
        check(n, 0x00, 300 + i);
    }
    return rc_end();
}
