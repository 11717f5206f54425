/* What flash_attention.h promises beside the answer, on the emulated device: what is refused, that no launch draws tiles from the counter
 * of one that may run beside it, and the range of scores and values.  With -DFLASH_BLACKWELL the kernel for sm_100a. */
#include "tests/emulated/flash_emulated.h"
#include "tests/gpu/flash_refusals.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <thread>
#include <vector>

static int n_passed, n_failed;
static void expect(bool ok, const char *what)
{
    (ok ? n_passed : n_failed)++;
    if (!ok)
        printf("WRONG %s\n", what);
}
#define CUDA(call)                                                                                                                  \
    do {                                                                                                                            \
        if ((call) != cudaSuccess)                                                                                                  \
            expect(false, #call);                                                                                                   \
    } while (0)

static float to_float(uint16_t h, bool bf16)
{
    uint32_t b = (uint32_t)h << 16;
    float f;
    memcpy(&f, &b, 4);
    return bf16 ? f : __half2float(*(__half *)&h);
}
static uint16_t from_float(float f, bool bf16)
{
    __nv_bfloat16 b = __float2bfloat16(f);
    __half h = __float2half(f);
    uint16_t r;
    memcpy(&r, bf16 ? (void *)&b : (void *)&h, 2);
    return r;
}

/* A call with dense tensors on the device; elements by functions of (row, column). */
struct call {
    struct flash_attention_args a = {};
    std::vector<uint16_t> q, k, v, o;
    std::vector<float> lse;
    template <class Q, class K, class V>
    call(bool bf16, int dim, bool causal, int batch, int seqlen_q, int seqlen_k, int heads_q, int heads_kv, Q fq, K fk, V fv)
    {
        a.batch = batch, a.seqlen_q = seqlen_q, a.seqlen_k = seqlen_k, a.heads_q = heads_q, a.heads_kv = heads_kv;
        a.head_dim = dim, a.dtype = bf16 ? FLASH_ATTENTION_BF16 : FLASH_ATTENTION_FP16, a.causal = causal, a.scale = 1 / sqrtf(dim);
        a.q_stride = a.o_stride = {(int64_t)seqlen_q * heads_q * dim, (int64_t)heads_q * dim, dim};
        a.k_stride = a.v_stride = {(int64_t)seqlen_k * heads_kv * dim, (int64_t)heads_kv * dim, dim};
        a.q = fill(q, seqlen_q, heads_q, fq);
        a.k = fill(k, seqlen_k, heads_kv, fk);
        a.v = fill(v, seqlen_k, heads_kv, fv);
        o.resize(q.size());
        lse.resize((size_t)batch * heads_q * seqlen_q);
        cudaMalloc(&a.o, o.size() * 2);
        cudaMalloc((void **)&a.lse, lse.size() * 4);
        poison();
    }
    call(const call &) = delete;
    ~call()
    {
        cudaFree((void *)a.q), cudaFree((void *)a.k), cudaFree((void *)a.v), cudaFree(a.o), cudaFree(a.lse);
    }
    template <class F> void *fill(std::vector<uint16_t> &x, int rows, int heads, F f)
    {
        void *to;
        for (int b = 0; b < a.batch; b++)
            for (int r = 0; r < rows; r++)
                for (int c = 0; c < heads * a.head_dim; c++)
                    x.push_back(from_float(f(r, c % a.head_dim), a.dtype == FLASH_ATTENTION_BF16));
        cudaMalloc(&to, x.size() * 2);
        cudaMemcpy(to, x.data(), x.size() * 2, cudaMemcpyHostToDevice);
        return to;
    }
    void poison()
    {
        cudaMemset(a.o, 0xff, o.size() * 2);
        cudaMemset(a.lse, 0xff, lse.size() * 4);
    }
    void fetch()
    {
        cudaMemcpy(o.data(), a.o, o.size() * 2, cudaMemcpyDeviceToHost);
        cudaMemcpy(lse.data(), a.lse, lse.size() * 4, cudaMemcpyDeviceToHost);
    }
    void run()
    {
        poison();
        CUDA(flash_attention_forward(&a, 0));
        CUDA(cudaDeviceSynchronize());
        fetch();
    }
    bool unwritten()
    {
        fetch();
        for (uint16_t x : o)
            if (x != 0xffff)
                return false;
        for (float x : lse)
            if (!std::isnan(x))
                return false;
        return true;
    }
    bool same_as(const call &c) const
    {
        return o == c.o && memcmp(lse.data(), c.lse.data(), lse.size() * 4) == 0;
    }
};

static float noise(int r, int c)
{
    uint32_t x = (r * 7919u + c + 1) * 2654435761u;
    x = (x ^ x >> 15) * 2246822519u;
    return (int)(x >> 8) / 8388608.0f - 1;
}

static void refuses(void)
{
    call c(true, 64, false, 2, 100, 100, 4, 2, noise, noise, noise);
    long long before = emulated_launch.n;
    expect(flash_attention_forward(NULL, 0) == cudaErrorInvalidValue, "args = NULL is refused");
    for (int i = 0; i < n_refusals; i++) {
        struct flash_attention_args a = c.a;
        refusals[i].spoil(&a);
        cudaError_t e = flash_attention_forward(&a, 0);
        expect(e == cudaErrorInvalidValue, refusals[i].what);
    }
    CUDA(cudaDeviceSynchronize());
    expect(emulated_launch.n == before && c.unwritten(), "what is refused launches nothing");
    c.run();
    expect(emulated_launch.n == before + 1 && !c.unwritten(), "what all of them spoiled is taken");
}

/* ---- counters of tiles -------------------------------------------------------------------------------------------------- */

static int counter_of(const struct flash_attention_args &a, cudaStream_t stream)
{
    CUDA(flash_attention_forward(&a, stream));
    return emulated_launch.counter;
}

/* A launch has a counter that only its stream or only this captured call has, or else a CTA for every tile and a counter of launches with as
 * many CTAs.  Uses up the counters. */
static void counters_are_apart(void)
{
    call c(true, 64, false, 1, 1100, 64, 1, 1, noise, noise, noise);
    const struct flash_attention_args &a = c.a;
    std::map<int, int> owner; /* counter, number of its stream or captured call */
    std::vector<cudaStream_t> streams(64);
    cudaStream_t capturing;
    cudaGraph_t graph;
    bool apart = true, persistent = true, once = true, enough = true, fresh = true, classes = true;
    int without = 0, captured = 0;
    emulated_launch.skip = true;
    CUDA(cudaStreamCreateWithFlags(&capturing, cudaStreamNonBlocking)); /* others go on beside it */
    CUDA(cudaStreamBeginCapture(capturing, cudaStreamCaptureModeRelaxed));
    for (auto &s : streams)
        CUDA(cudaStreamCreate(&s));
    for (int i = 0; i < 20000; i++) {
        int s = i * 37 % 65, counter = counter_of(a, s == 64 ? NULL : streams[s]);
        apart &= owner.emplace(counter, s).first->second == s;
        persistent &= emulated_launch.grid == emulated_multiprocessors && counter < emulated_stream_counters;
        if (i % 100 == 0) {
            counter = counter_of(a, capturing);
            once &= owner.emplace(counter, 1000000 + captured++).second;
            persistent &= emulated_launch.grid == emulated_multiprocessors && counter < emulated_own_counters;
        }
    }
    expect(apart, "two streams have two counters");
    expect(owner.size() == 65 + (size_t)captured, "a stream keeps its counter");
    expect(persistent, "a call has a persistent grid");
    int mine = counter_of(a, cudaStreamPerThread), again = counter_of(a, cudaStreamPerThread), theirs[2];
    for (int &t : theirs)
        std::thread([&] { t = counter_of(a, cudaStreamPerThread); }).join();
    expect(mine == again && std::set<int>{mine, theirs[0], theirs[1]}.size() == 3 && !owner.count(mine) && !owner.count(theirs[0]) &&
               !owner.count(theirs[1]),
           "cudaStreamPerThread is another stream in every thread");
    for (auto s : streams) /* the next ones are new streams, whatever their handles */
        CUDA(cudaStreamDestroy(s));
    for (int i = 0; i < 9000; i++) {
        cudaStream_t s;
        enough &= cudaStreamCreate(&s) == cudaSuccess;
        int counter = counter_of(a, s);
        if (counter < emulated_stream_counters)
            fresh &= owner.emplace(counter, 1000 + i).second;
        else
            without++, enough &= counter >= emulated_own_counters && emulated_launch.grid >= emulated_launch.tiles;
        cudaStreamDestroy(s);
    }
    expect(fresh, "a counter never changes its stream");
    expect(enough && without > 0 && owner.size() > 7000, "streams without a counter get a CTA for each tile");
    while (captured++ < emulated_counters) {
        int counter = counter_of(a, capturing);
        if (counter < emulated_own_counters)
            once &= owner.emplace(counter, 1000000 + captured).second;
        else
            enough &= emulated_launch.grid >= emulated_launch.tiles;
    }
    CUDA(cudaStreamEndCapture(capturing, &graph));
    cudaGraphDestroy(graph), cudaStreamDestroy(capturing);
    emulated_launch.skip = false;
    expect(once, "a captured call has a counter of its own");
    expect(enough && owner.size() > 120000, "captured calls without a counter get a CTA for each tile");
    std::map<int, int> grid_of;
    for (int64_t tiles = 1; tiles <= INT32_MAX / 4; tiles += tiles < 5000 ? 1 : tiles / 1000) {
        int grid, counter = emulated_shared_counter((int)tiles, &grid);
        classes &= counter >= emulated_own_counters && counter < emulated_counters && grid >= tiles && grid <= tiles + tiles / 16 + 1;
        classes &= grid_of.emplace(counter, grid).first->second == grid;
    }
    expect(classes, "launches that share a counter have grids of one size");
}

/* As another launch under way leaves them, wherever it is. */
static void disturb_counters(void)
{
    std::vector<unsigned int> all(2 * (size_t)emulated_counters);
    for (size_t i = 0; i < all.size(); i++)
        all[i] = i % 2 ? 0 : 1000 + i;
    CUDA(emulated_write_counters(all.data()));
}
static bool counters_are_zero(void)
{
    std::vector<unsigned int> all(2 * (size_t)emulated_counters, 1);
    CUDA(emulated_read_counters(all.data()));
    for (unsigned int x : all)
        if (x)
            return false;
    return true;
}

/* A captured call gives the bits of a plain one; without a counter of its own, whatever is in the one that it shares. */
static void captures(bool bf16, int dim, bool causal, int seqlen_k, bool own)
{
    call c(bf16, dim, causal, 1, 900, seqlen_k, 2, 1, noise, noise, noise), plain(bf16, dim, causal, 1, 900, seqlen_k, 2, 1, noise, noise, noise);
    cudaStream_t s[2];
    cudaGraph_t graph;
    cudaGraphExec_t exec[2];
    plain.run();
    expect(emulated_launch.tiles > emulated_launch.grid, "tiles are drawn");
    for (auto &x : s)
        CUDA(cudaStreamCreate(&x));
    CUDA(cudaStreamBeginCapture(s[0], cudaStreamCaptureModeGlobal));
    CUDA(flash_attention_forward(&c.a, s[0]));
    CUDA(cudaStreamEndCapture(s[0], &graph));
    expect(own == (emulated_launch.grid < emulated_launch.tiles), "persistent with a counter of its own");
    for (auto &x : exec)
        CUDA(cudaGraphInstantiate(&x, graph, 0));
    for (int i = 0; i < 2; i++) {
        c.poison();
        CUDA(cudaGraphLaunch(exec[i], s[i]));
        CUDA(cudaDeviceSynchronize());
        c.fetch();
        expect(c.same_as(plain), "a replay gives the bits of the call");
    }
    expect(counters_are_zero(), "counters are back to zero");
    if (!own) {
        disturb_counters();
        c.poison();
        CUDA(cudaGraphLaunch(exec[0], s[0]));
        CUDA(cudaDeviceSynchronize());
        c.fetch();
        expect(c.same_as(plain), "so does one beside other launches");
        std::vector<unsigned int> zero(2 * (size_t)emulated_counters);
        CUDA(emulated_write_counters(zero.data()));
    }
    for (int i = 0; i < 2; i++)
        cudaGraphExecDestroy(exec[i]), cudaStreamDestroy(s[i]);
    cudaGraphDestroy(graph);
}

/* ---- range ---------------------------------------------------------------------------------------------------------------- */

/* Scores row_score(key) * (1, 1/2 or 1/4 by row) from one product each, so that fp32 holds them; values +-value. */
struct scores : call {
    template <class F>
    scores(bool bf16, int dim, bool causal, int seqlen_k, float size, float value, F part)
        : call(
              bf16, dim, causal, 1, 40, seqlen_k, 1, 1, [&](int r, int c) { return c ? 0 : sqrtf(size * sqrtf(dim)) / (1 << r % 3); },
              [&](int r, int c) { return c ? 0 : sqrtf(size * sqrtf(dim)) * part(r); },
              [&](int r, int c) { return value * ((r + c) % 3 - 1); })
    {
        run();
    }
};

/* Largest error of O relative to the largest |v|, and of LSE. */
static void against_exact(const call &c, double *ret_o, double *ret_lse)
{
    const struct flash_attention_args &a = c.a;
    bool bf16 = a.dtype == FLASH_ATTENTION_BF16;
    double largest = 0;
    *ret_o = *ret_lse = 0;
    for (uint16_t x : c.v)
        largest = std::fmax(largest, std::fabs(to_float(x, bf16)));
    for (int i = 0; i < a.seqlen_q; i++) {
        int keys = a.causal ? i + 1 + a.seqlen_k - a.seqlen_q : a.seqlen_k;
        std::vector<double> p(keys);
        double m = -INFINITY, l = 0;
        for (int j = 0; j < keys; j++) {
            p[j] = (double)to_float(c.q[(size_t)i * a.head_dim], bf16) * to_float(c.k[(size_t)j * a.head_dim], bf16) * a.scale;
            m = std::fmax(m, p[j]);
        }
        for (double &x : p)
            l += x = std::exp(x - m);
        for (int d = 0; d < a.head_dim; d++) {
            double exact = 0;
            for (int j = 0; j < keys; j++)
                exact += p[j] / l * to_float(c.v[(size_t)j * a.head_dim + d], bf16);
            double e = std::fabs(to_float(c.o[(size_t)i * a.head_dim + d], bf16) - exact) / largest;
            *ret_o = e <= *ret_o ? *ret_o : e; /* NaN stays */
        }
        double want = m + std::log(l), e = std::fabs(c.lse[i] - want) / std::fmax(1, std::fabs(want));
        *ret_lse = e <= *ret_lse ? *ret_lse : e;
    }
}

static void in_range(bool bf16, int dim, bool causal, int seqlen_k)
{
    float most = bf16 ? 5e8f : 5e7f, value = bf16 ? 5e21f / (seqlen_k < 64 ? 64 : seqlen_k) : 30000;
    struct {
        const char *what;
        float size, value;
        float (*part)(int);
    } cases[] = {
        {"scores of both signs up to the largest", most, 1, [](int r) { return noise(r, 0); }},
        {"all scores large", most, 1, [](int r) { return 1 - r % 7 / 64.0f; }},
        {"all scores far below 0", most, 1, [](int r) { return r % 7 / 64.0f - 1; }},
        {"the last keys far below the others", most, 1, [](int r) { return r < 40 ? r / 64.0f : -1.0f; }},
        {"the first keys far above the others", most, 1, [](int r) { return r < 40 ? 1.0f : -r / 1024.0f; }},
        {"P up to 2^50 and the largest values", 36, value, [](int r) { return r < 60 ? 0.97f : 0.0f; }},
    };
    for (auto &x : cases) {
        scores c(bf16, dim, causal, seqlen_k, x.size * 0.98f, x.value * 0.98f, x.part);
        double o, lse;
        against_exact(c, &o, &lse);
        bool ok = o <= (bf16 ? 0.01 : 0.002) && lse <= 1e-4;
        (ok ? n_passed : n_failed)++;
        if (!ok)
            printf("WRONG %s D%d%s Sk%d, %s: error %.3g of the largest value, of LSE %.3g\n", bf16 ? "bf16" : "fp16", dim,
                   causal ? " causal" : "", seqlen_k, x.what, o, lse);
    }
}

#ifndef FLASH_BLACKWELL
/* Where it ends: an error of fp32 in the reference (softmax.cuh) leaves P of the maximum 2^t, and no more of O. */
static void out_of_range(int dim)
{
    float scale_log2 = 1 / sqrtf(dim) * 1.44269504088896f;
    int gone = 0, infinite = 0, below = 0;
    /* what the largest score of row 0 becomes */
    auto left = [&](float size) {
        float side = to_float(from_float(sqrtf(size * sqrtf(dim)), true), true), m = side * side * scale_log2;
        return (double)(side * side) * scale_log2 - m;
    };
    for (float size = 4e9f; size < 1e12f && !(gone && infinite); size *= 1.03f) {
        double t = left(size);
        if (t < -150 ? gone++ : t > 130 ? infinite++ : true)
            continue;
        scores c(true, dim, false, 64, size, 1, [](int r) { return r ? 0.0f : 1.0f; });
        float o = to_float(c.o[2], true);
        expect(t < 0 ? o == 0 && c.lse[0] == -INFINITY : !std::isfinite(o), "scores out of range give 0 or no number");
    }
    expect(gone && infinite, "both were met");
    for (float size = 1e36f; !below && size < 2e36f; size *= 1.03f)
        if (left(size) < -150) { /* upwards for the score of the other sign */
            scores c(true, dim, false, 200, size, 1, [](int r) { return r < 40 ? 0.0f : -1.0f; });
            expect(std::isnan(to_float(c.o[2], true)), "last keys at -1e36 give NaN");
            below++;
        }
    expect(below, "such a score was met");
    scores large(true, dim, false, 200, 36, 1e24f, [](int r) { return r < 60 ? 0.97f : 0.0f; });
    expect(!std::isfinite(to_float(large.o[2], true)), "values of 1e24 overflow while P is large");
}
#endif

int main(void)
{
    refuses();
    captures(false, 64, true, 1000, true);
    for (int dim = 64; dim <= 256; dim *= 2)
        for (int bf16 = 0; bf16 < 2; bf16++)
            in_range(bf16, dim, dim == 128, 200);
#ifndef FLASH_BLACKWELL
    for (int dim = 64; dim <= 256; dim *= 2)
        out_of_range(dim);
#endif
    counters_are_apart();
    captures(true, 64, false, 100, false);
    captures(true, 128, true, 900, false);
    captures(true, 256, false, 64, false);
    printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed ? 1 : 0;
}
