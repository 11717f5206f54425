/* kernels/flash_attention/ on the emulated device: small calls of several instances against double precision on the host; LSE within
 * 1e-4, relative above 1, and -inf with O = 0 where a row sees no key.
 * With -DFLASH_BLACKWELL the kernel for sm_100a.
 * Usage: flash_check [all]   (without: what fits a test) */
#include "tests/emulated/flash_emulated.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static int n_passed, n_failed;
static uint32_t seed = 12345;
static float uniform()
{
    seed = seed * 1664525u + 1013904223u;
    return (float)(int32_t)seed / 2147483648.0f;
}
static float to_float(uint16_t h, bool bf16)
{
    if (bf16) {
        uint32_t b = (uint32_t)h << 16;
        float f;
        memcpy(&f, &b, 4);
        return f;
    }
    return __half2float(*(__half *)&h);
}
static uint16_t from_float(float f, bool bf16)
{
    uint16_t r;
    if (bf16) {
        __nv_bfloat16 b = __float2bfloat16(f);
        memcpy(&r, &b, 2);
    } else {
        __half h = __float2half(f);
        memcpy(&r, &h, 2);
    }
    return r;
}

static std::vector<double> to_doubles(const std::vector<uint16_t> &h, bool bf16)
{
    std::vector<double> r(h.size());
    for (size_t i = 0; i < h.size(); i++)
        r[i] = to_float(h[i], bf16);
    return r;
}

struct shape {
    int batch, seqlen_q, seqlen_k, heads_q, heads_kv, head_dim;
    bool bf16, causal, spiky;
};

static void check(const shape &c)
{
    size_t nq = (size_t)c.batch * c.seqlen_q * c.heads_q * c.head_dim,
           nk = (size_t)c.batch * c.seqlen_k * c.heads_kv * c.head_dim;
    std::vector<uint16_t> q(nq), k(nk), v(nk), o(nq, 0xffff);
    std::vector<float> lse((size_t)c.batch * c.heads_q * c.seqlen_q, NAN);
    for (auto &x : q)
        x = from_float(uniform() * 2, c.bf16);
    for (size_t i = 0; i < nk; i++) /* later keys far above earlier ones: the careful path */
        k[i] = from_float(
            uniform() * (c.spiky && (int)(i / ((size_t)c.heads_kv * c.head_dim)) % c.seqlen_k < c.seqlen_k / 2 ? 20 : 2), c.bf16);
    for (auto &x : v)
        x = from_float(uniform() * 2, c.bf16);
    void *dq, *dk, *dv, *dout;
    float *dl;
    cudaMalloc(&dq, nq * 2);
    cudaMalloc(&dk, nk * 2);
    cudaMalloc(&dv, nk * 2);
    cudaMalloc(&dout, nq * 2);
    cudaMalloc(&dl, lse.size() * 4);
    cudaMemcpy(dout, o.data(), nq * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(dl, lse.data(), lse.size() * 4, cudaMemcpyHostToDevice);
    cudaMemcpy(dq, q.data(), nq * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(dk, k.data(), nk * 2, cudaMemcpyHostToDevice);
    cudaMemcpy(dv, v.data(), nk * 2, cudaMemcpyHostToDevice);
    flash_attention_args a = {};
    a.q = dq, a.k = dk, a.v = dv, a.o = dout, a.lse = dl;
    a.q_stride = a.o_stride = {(int64_t)c.seqlen_q * c.heads_q * c.head_dim, (int64_t)c.heads_q * c.head_dim, c.head_dim};
    a.k_stride = a.v_stride = {(int64_t)c.seqlen_k * c.heads_kv * c.head_dim, (int64_t)c.heads_kv * c.head_dim, c.head_dim};
    a.batch = c.batch, a.seqlen_q = c.seqlen_q, a.seqlen_k = c.seqlen_k, a.heads_q = c.heads_q, a.heads_kv = c.heads_kv;
    a.head_dim = c.head_dim, a.dtype = c.bf16 ? FLASH_ATTENTION_BF16 : FLASH_ATTENTION_FP16, a.causal = c.causal;
    a.scale = 1 / sqrtf((float)c.head_dim);
    cudaError_t e = flash_attention_forward(&a, 0);
    if (e == cudaSuccess)
        e = cudaDeviceSynchronize();
    cudaMemcpy(o.data(), dout, nq * 2, cudaMemcpyDeviceToHost);
    cudaMemcpy(lse.data(), dl, lse.size() * 4, cudaMemcpyDeviceToHost);
    double worst = 0, worst_lse = 0;
    const std::vector<double> q64 = to_doubles(q, c.bf16), k64 = to_doubles(k, c.bf16), v64 = to_doubles(v, c.bf16);
    std::vector<double> p(c.seqlen_k), acc(c.head_dim);
    for (int b = 0; b < c.batch; b++)
        for (int h = 0; h < c.heads_q; h++)
            for (int i = 0; i < c.seqlen_q; i++) {
                int hk = h / (c.heads_q / c.heads_kv), see = c.causal ? i + 1 + c.seqlen_k - c.seqlen_q : c.seqlen_k;
                double m = -INFINITY, l = 0;
                const double *qr = &q64[(((size_t)b * c.seqlen_q + i) * c.heads_q + h) * c.head_dim];
                for (int j = 0; j < see; j++) {
                    const double *kr = &k64[(((size_t)b * c.seqlen_k + j) * c.heads_kv + hk) * c.head_dim];
                    double s[4] = {0}; /* a head is a multiple of eight */
                    for (int d = 0; d < c.head_dim; d += 4)
                        for (int u = 0; u < 4; u++)
                            s[u] += qr[d + u] * kr[d + u];
                    p[j] = (s[0] + s[1] + s[2] + s[3]) * a.scale;
                    m = std::fmax(m, p[j]);
                }
                std::fill(acc.begin(), acc.end(), 0.0);
                for (int j = 0; j < see; j++) {
                    double w = std::exp(p[j] - m);
                    l += w;
                    const double *vr = &v64[(((size_t)b * c.seqlen_k + j) * c.heads_kv + hk) * c.head_dim];
                    for (int d = 0; d < c.head_dim; d++)
                        acc[d] += w * vr[d];
                }
                const uint16_t *out = &o[(((size_t)b * c.seqlen_q + i) * c.heads_q + h) * c.head_dim];
                for (int d = 0; d < c.head_dim; d++) {
                    double err = std::fabs(to_float(out[d], c.bf16) - (l > 0 ? acc[d] / l : 0));
                    worst = err <= worst ? worst : err; /* NaN stays */
                }
                double got = lse[((size_t)b * c.heads_q + h) * c.seqlen_q + i], want = see > 0 ? m + std::log(l) : -INFINITY;
                double err = got == want ? 0 : std::fabs(got - want) / std::fmax(1, std::fabs(want));
                worst_lse = err <= worst_lse ? worst_lse : err;
            }
    bool ok = e == cudaSuccess && worst <= (c.bf16 ? 0.03 : 0.005) && worst_lse <= 1e-4;
    (ok ? n_passed : n_failed)++;
    printf("%s D=%d %s%s B=%d Sq=%d Sk=%d Hq=%d Hk=%d%s: error %.4g, of LSE %.4g, %s\n", ok ? "right" : "WRONG", c.head_dim,
           c.bf16 ? "bf16" : "fp16", c.causal ? " causal" : "", c.batch, c.seqlen_q, c.seqlen_k, c.heads_q, c.heads_kv,
           c.spiky ? " spiky" : "", worst, worst_lse, cudaGetErrorString(e));
    cudaFree(dq), cudaFree(dk), cudaFree(dv), cudaFree(dout), cudaFree(dl);
}

int main(int argc, char **argv)
{
    const shape shapes[] = {
        {1, 64, 64, 1, 1, 64, true, false, false},
        {1, 100, 130, 2, 1, 64, false, false, false},
        {1, 192, 200, 2, 2, 128, true, true, false},
        {2, 70, 150, 1, 1, 128, false, false, true},
        {1, 128, 160, 1, 1, 256, true, false, false},
        {1, 130, 130, 1, 1, 64, true, true, false},
        {1, 65, 100, 1, 1, 256, false, true, false},
        {2, 300, 330, 2, 1, 256, true, true, true},
        {2, 300, 330, 2, 1, 256, true, false, true},
        {1, 700, 330, 2, 2, 128, true, true, true},
        {2, 700, 330, 2, 1, 128, true, false, false},
        {2, 400, 330, 2, 1, 64, true, false, false},
        {1, 500, 500, 2, 2, 64, true, true, true},
        {1, 130, 12300, 4, 1, 64, true, false, true},
        {1, 70, 12350, 4, 4, 64, false, true, false},
        /* a CTA's second tile goes to the warpgroups the other way round */
        {1, 600, 600, 3, 3, 64, false, true, true},
        {1, 400, 450, 3, 3, 128, false, true, true},
        /* one block of keys a tile: a warpgroup is a tile ahead of the other while that waits for its Q */
        {1, 400, 64, 2, 1, 256, true, false, false},
        {1, 400, 100, 2, 1, 256, false, true, false},
    };
    const shape more[] = {{1, 64, 1600, 1, 1, 64, true, false, false}, {2, 300, 513, 4, 2, 128, true, true, true}};
    for (const shape &s : shapes)
        check(s);
    if (argc > 1 && !strcmp(argv[1], "all"))
        for (const shape &s : more)
            check(s);
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed ? 1 : 0;
}
