/* flash_attention_forward_sm90 (with -DFLASH_BLACKWELL: _sm100) against a double-precision reference computed on the GPU by plain code that shares nothing with
 * the kernel.
 *
 *     flash_attention_check [scenarios.tsv]    all scenarios, ragged and strided cases, distributions, refusals, repeatability
 *     flash_attention_check --small [N]        a few small cases of every instance, for compute-sanitizer; every Nth of them
 *
 * FA_VERBOSE=1 in the environment: a line for every case (tests/hopper/correctness.sh).
 *
 * Rule for O: max and mean error at most twice those of a reference that rounds P = softmax(...) and O to the type and is exact
 * otherwise (fp32 sums), plus a floor: for the maximum, half a unit in the last place of the largest |O|; LSE within
 * 1e-4 (relative above 1).  Every output starts as NaN; every element must be written, finite, and nothing beside them.  Of cases of more
 * than 4 million scores in all, 192 rows have their values compared, the first and the last among them.  Last line: "N passed, N failed". */
#include "kernels/flash_attention/flash_attention.h"
#include "tests/gpu/flash_cases.h"
#include "tests/gpu/flash_refusals.h"
#include <algorithm>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

#define CUDA(call)                                                                                                           \
    do {                                                                                                                     \
        cudaError_t e_ = (call);                                                                                             \
        if (e_ != cudaSuccess) {                                                                                             \
            printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_));                                    \
            exit(2);                                                                                                         \
        }                                                                                                                    \
    } while (0)

#ifdef FLASH_BLACKWELL
#define flash_attention_forward flash_attention_forward_sm100
#else
#define flash_attention_forward flash_attention_forward_sm90
#endif

static int passed, failed;

static __device__ float from_bits(uint16_t x, int dtype)
{
    return dtype == FLASH_ATTENTION_BF16 ? __bfloat162float(__ushort_as_bfloat16(x)) : __half2float(__ushort_as_half(x));
}
static __device__ uint16_t to_bits(float x, int dtype)
{
    return dtype == FLASH_ATTENTION_BF16 ? __bfloat16_as_ushort(__float2bfloat16(x)) : __half_as_ushort(__float2half(x));
}
static __device__ uint32_t hash(uint64_t x)
{
    x ^= x >> 33, x *= 0xff51afd7ed558ccdull, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ull, x ^= x >> 33;
    return (uint32_t)x;
}
static __device__ float normal(uint64_t i)
{
    float u = (hash(2 * i) + 0.5f) * 2.3283064e-10f, w = hash(2 * i + 1) * 2.3283064e-10f;
    return sqrtf(-2.0f * logf(fmaxf(u, 1e-30f))) * cospif(2 * w);
}

/* which: 0 q, 1 k, 2 v */
__global__ void fill(uint16_t *x, int64_t n, struct flash_attention_strides s, int rows, int heads, int dim, int dtype, int dist,
                     int which, uint64_t seed)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        int d = i % dim, h = i / dim % heads;
        int64_t r = i / dim / heads % rows, b = i / dim / heads / rows;
        uint64_t key = seed * 0x9e3779b97f4a7c15ull + which * 0x1000000000ull;
        float y = normal(key + i);
        if (dist == TIMES_10)
            y *= 10;
        else if (dist == HOT_ROW && which == 1)
            y = r == rows / 3 ? 8 * normal(seed + d) : y;
        else if (dist == HOT_ROW && which == 0)
            y = normal(seed + d) + 0.1f * y;
        else if (dist == EQUAL_ROWS && which != 2)
            y = normal(key + d);
        else if (dist == SPIKES && which == 1)
            y = r % 64 == hash(seed + r / 64) % 64 ? 6 * y : y;
        else if (dist == SHIFTED && which != 1)
            y += 5;
        x[b * s.batch + r * s.row + h * s.head + d] = to_bits(y, dtype);
    }
}

__global__ void count_written(const uint16_t *x, int64_t n, unsigned long long *count)
{
    unsigned long long c = 0;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        c += x[i] != 0xffff;
    atomicAdd(count, c);
}

__global__ void count_nan(const uint16_t *x, int64_t n, struct flash_attention_strides s, int rows, int heads, int dim, int dtype,
                          unsigned long long *count)
{
    unsigned long long c = 0;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        int64_t d = i % dim, h = i / dim % heads, r = i / dim / heads % rows, b = i / dim / heads / rows;
        c += !isfinite(from_bits(x[b * s.batch + r * s.row + h * s.head + d], dtype));
    }
    atomicAdd(count, c);
}

/* count[0] += words that differ, count[1]: the first of them */
__global__ void count_different(const uint32_t *x, const uint32_t *y, int64_t n, unsigned long long *count)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        if (x[i] != y[i]) {
            atomicAdd(count, 1);
            atomicMin(count + 1, (unsigned long long)i);
        }
}

/* One block a sampled row; score: scratch of seqlen_k doubles a block.  out[block]: max and sum of the error of the kernel and of
 * the rounding reference, LSE error.  NaN anywhere gives an infinite error. */
struct row_errors {
    double max_kernel, sum_kernel, max_round, sum_round, lse, largest;
};

static __device__ double block_reduce(double x, bool maximum)
{
    __shared__ double part[256];
    __syncthreads();
    part[threadIdx.x] = x;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (threadIdx.x < d)
            part[threadIdx.x] = maximum ? fmax(part[threadIdx.x], part[threadIdx.x + d]) : part[threadIdx.x] + part[threadIdx.x + d];
        __syncthreads();
    }
    return part[0];
}

__global__ void __launch_bounds__(256) reference(const struct flash_attention_args a, int64_t rows, int samples, double *scratch,
                                                 struct row_errors *out)
{
    int64_t index = samples == rows ? blockIdx.x : hash(blockIdx.x * 7919ull + 1) % rows;
    if (samples != rows && blockIdx.x < 4) /* always the ends */
        index = blockIdx.x < 2 ? blockIdx.x * (a.seqlen_q - 1) : rows - 1 - (blockIdx.x - 2) * (a.seqlen_q - 1);
    int row = index % a.seqlen_q, head = index / a.seqlen_q % a.heads_q;
    int64_t batch = index / a.seqlen_q / a.heads_q;
    int head_kv = head / (a.heads_q / a.heads_kv), dtype = a.dtype;
    const uint16_t *q = (const uint16_t *)a.q + batch * a.q_stride.batch + row * a.q_stride.row + head * a.q_stride.head;
    const uint16_t *k = (const uint16_t *)a.k + batch * a.k_stride.batch + head_kv * a.k_stride.head;
    const uint16_t *v = (const uint16_t *)a.v + batch * a.v_stride.batch + head_kv * a.v_stride.head;
    const uint16_t *o = (const uint16_t *)a.o + batch * a.o_stride.batch + row * a.o_stride.row + head * a.o_stride.head;
    double *score = scratch + (int64_t)blockIdx.x * a.seqlen_k;
    __shared__ float x[256];
    if (threadIdx.x < a.head_dim)
        x[threadIdx.x] = from_bits(q[threadIdx.x], dtype);
    __syncthreads();
    int keys = a.causal ? min(a.seqlen_k, max(0, row + 1 + a.seqlen_k - a.seqlen_q)) : a.seqlen_k;
    double top = -INFINITY;
    for (int j = threadIdx.x; j < keys; j += 256) {
        double s = 0;
        for (int d = 0; d < a.head_dim; d++)
            s += (double)x[d] * from_bits(k[j * a.k_stride.row + d], dtype);
        score[j] = s * a.scale;
        top = fmax(top, score[j]);
    }
    top = block_reduce(top, true);
    double l = 0;
    for (int j = threadIdx.x; j < keys; j += 256)
        l += score[j] = exp(score[j] - top);
    l = block_reduce(l, false);
    double err = 0, err_round = 0, size = 0;
    if (threadIdx.x < a.head_dim) {
        double exact = 0;
        float rounded = 0;
        for (int j = 0; j < keys; j++) {
            float y = from_bits(v[j * a.v_stride.row + threadIdx.x], dtype);
            exact += score[j] * y;
            rounded += from_bits(to_bits((float)(score[j] / l), dtype), dtype) * y;
        }
        exact = l > 0 ? exact / l : 0;
        size = fabs(exact);
        err_round = fabs(from_bits(to_bits(rounded, dtype), dtype) - exact);
        err = fabs(from_bits(o[threadIdx.x], dtype) - exact);
        if (!(err < INFINITY))
            err = INFINITY;
    }
    struct row_errors r;
    r.max_kernel = block_reduce(err, true);
    r.sum_kernel = block_reduce(err, false);
    r.max_round = block_reduce(err_round, true);
    r.sum_round = block_reduce(err_round, false);
    r.largest = block_reduce(size, true);
    r.lse = 0;
    if (a.lse) {
        double want = l > 0 ? top + log(l) : -INFINITY, got = a.lse[index];
        r.lse = want == got ? 0 : fabs(want - got) / fmax(1.0, fabs(want));
        if (!(r.lse < INFINITY))
            r.lse = INFINITY;
    }
    if (threadIdx.x == 0)
        out[blockIdx.x] = r;
}

/* Device memory, one block a role, grown as needed. */
static void *arena(int role, size_t bytes)
{
    static void *p[8];
    static size_t have[8];
    if (bytes > have[role]) {
        CUDA(cudaFree(p[role]));
        CUDA(cudaMalloc(&p[role], have[role] = bytes));
    }
    return p[role];
}

static struct flash_attention_strides strides_of(const struct test_case *t, int rows, int heads, int64_t *elements)
{
    struct flash_attention_strides s;
    if (t->heads_first) {
        s.row = t->dim + t->gap;
        s.head = s.row * rows;
        s.batch = s.head * heads;
    } else {
        s.head = t->dim;
        s.row = (int64_t)heads * t->dim + t->gap;
        s.batch = s.row * rows + t->gap;
    }
    *elements = s.batch * t->batch + 64; /* the 64 are a guard */
    return s;
}

static const int GRID = 132 * 8;

static struct flash_attention_args setup(const struct test_case *t, int64_t *o_elements)
{
    struct flash_attention_args a = {};
    int64_t n[4];
    a.q_stride = strides_of(t, t->seqlen_q, t->heads_q, &n[0]);
    a.k_stride = a.v_stride = strides_of(t, t->seqlen_k, t->heads_kv, &n[1]);
    a.o_stride = strides_of(t, t->seqlen_q, t->heads_q, &n[3]);
    n[2] = n[1];
    for (int i = 0; i < 3; i++) {
        int rows = i ? t->seqlen_k : t->seqlen_q, heads = i ? t->heads_kv : t->heads_q;
        uint16_t *x = (uint16_t *)arena(i, (n[i] + t->offset) * 2) + t->offset;
        fill<<<GRID, 256>>>(x, (int64_t)t->batch * rows * heads * t->dim, i ? a.k_stride : a.q_stride, rows, heads, t->dim, t->dtype,
                            t->dist, i, 1 + t->seqlen_q * 31ull + t->seqlen_k);
        *(i == 0 ? &a.q : i == 1 ? &a.k : &a.v) = x;
    }
    a.o = (uint16_t *)arena(3, (n[3] + t->offset) * 2) + t->offset;
    CUDA(cudaMemset(a.o, 0xff, n[3] * 2));
    *o_elements = n[3];
    size_t lse_bytes = (size_t)t->batch * t->heads_q * t->seqlen_q * 4;
    a.lse = t->lse ? (float *)arena(4, lse_bytes) : NULL;
    if (a.lse)
        CUDA(cudaMemset(a.lse, 0xff, lse_bytes));
    a.batch = t->batch, a.seqlen_q = t->seqlen_q, a.seqlen_k = t->seqlen_k, a.heads_q = t->heads_q, a.heads_kv = t->heads_kv;
    a.head_dim = t->dim, a.dtype = (enum flash_attention_dtype)t->dtype, a.causal = t->causal;
    a.scale = t->scale != 0 ? t->scale : 1.0f / sqrtf((float)t->dim);
    return a;
}

static void run_case(const struct test_case *t)
{
    int64_t o_elements;
    struct flash_attention_args a = setup(t, &o_elements);
    int64_t rows = (int64_t)t->batch * t->heads_q * t->seqlen_q, elements = rows * t->dim;
    unsigned long long *count = (unsigned long long *)arena(5, 64), host_count[2];
    CUDA(cudaMemset(count, 0, 64));
    cudaError_t e = flash_attention_forward(&a, 0);
    if (e == cudaSuccess)
        e = cudaDeviceSynchronize();
    if (e != cudaSuccess) {
        printf("stopped by %s\n", cudaGetErrorString(e));
        exit(2);
    }
    count_written<<<GRID, 256>>>((uint16_t *)a.o, o_elements, count);
    count_nan<<<GRID, 256>>>((uint16_t *)a.o, elements, a.o_stride, t->seqlen_q, t->heads_q, t->dim, t->dtype, count + 1);
    int samples = (int)std::min<int64_t>(rows, rows * t->seqlen_k <= 4000000 ? rows : 192);
    double *scratch = (double *)arena(6, (size_t)samples * t->seqlen_k * 8);
    struct row_errors *out = (struct row_errors *)arena(7, (size_t)samples * sizeof *out);
    reference<<<samples, 256>>>(a, rows, samples, scratch, out);
    std::vector<struct row_errors> r(samples);
    CUDA(cudaMemcpy(r.data(), out, samples * sizeof *out, cudaMemcpyDeviceToHost));
    CUDA(cudaMemcpy(host_count, count, sizeof host_count, cudaMemcpyDeviceToHost));
    double max_kernel = 0, max_round = 0, mean_kernel = 0, mean_round = 0, lse = 0, largest = 0;
    for (const struct row_errors &x : r) {
        max_kernel = std::max(max_kernel, x.max_kernel);
        max_round = std::max(max_round, x.max_round);
        mean_kernel += x.sum_kernel / ((double)samples * t->dim);
        mean_round += x.sum_round / ((double)samples * t->dim);
        lse = std::max(lse, x.lse);
        largest = std::max(largest, x.largest);
    }
    double unit = t->dtype == FLASH_ATTENTION_BF16 ? 1.0 / 256 : 1.0 / 2048; /* relative rounding error is up to half of it */
    bool ok = max_kernel <= 2 * max_round + 1e-5 + unit / 2 * largest && mean_kernel <= 2 * mean_round + unit / 500 && lse <= 1e-4 &&
              host_count[0] == (unsigned long long)elements && host_count[1] == 0;
    ok ? passed++ : failed++;
    if (!ok)
        printf("FAILED ");
    if (!ok || getenv("FA_VERBOSE"))
        printf("%s D%d %d/%d B%d Sq%d Sk%d causal%d %s gap%d off%d hf%d scale%g: max %.3g (%.3g) mean %.3g (%.3g) lse %.3g written "
               "%llu of %lld nan %llu rows %d of %lld\n",
               t->dtype ? "fp16" : "bf16", t->dim, t->heads_q, t->heads_kv, t->batch, t->seqlen_q, t->seqlen_k, t->causal,
               distribution_name[t->dist], t->gap, t->offset, t->heads_first, t->scale, max_kernel, max_round, mean_kernel, mean_round,
               lse, host_count[0], (long long)elements, host_count[1], samples, (long long)rows);
    fflush(stdout);
}

static void run_scenarios(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[256], type[8];
    struct test_case t = {};
    if (!f) {
        printf("cannot open '%s'\n", path);
        exit(2);
    }
    t.lse = 1;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%7s %d %d %d %d %d %d", type, &t.dim, &t.heads_q, &t.heads_kv, &t.batch, &t.seqlen_q, &t.causal) == 7) {
            t.dtype = strcmp(type, "fp16") == 0 ? FLASH_ATTENTION_FP16 : FLASH_ATTENTION_BF16;
            t.seqlen_k = t.seqlen_q;
            run_case(&t);
        }
    fclose(f);
}

static void expect(bool ok, const char *what)
{
    ok ? passed++ : failed++;
    if (!ok || getenv("FA_VERBOSE"))
        printf("%s%s\n", ok ? "" : "FAILED ", what);
}

static void run_refusals(void)
{
    struct test_case t = {0, 64, 4, 2, 2, 100, 100, 0, NORMAL, 0, 0, 0, 1, 0};
    int64_t n;
    struct flash_attention_args good = setup(&t, &n);
    expect(flash_attention_forward(NULL, 0) == cudaErrorInvalidValue, "refused: args = NULL");
    for (int i = 0; i < n_refusals; i++) {
        struct flash_attention_args a = good;
        char what[100];
        refusals[i].spoil(&a);
        snprintf(what, sizeof what, "refused: %s", refusals[i].what);
        expect(flash_attention_forward(&a, 0) == cudaErrorInvalidValue, what);
    }
    CUDA(cudaDeviceSynchronize());
    unsigned long long *count = (unsigned long long *)arena(5, 64), written;
    CUDA(cudaMemset(count, 0, 64));
    count_written<<<GRID, 256>>>((uint16_t *)good.o, n, count);
    CUDA(cudaMemcpy(&written, count, 8, cudaMemcpyDeviceToHost));
    expect(written == 0, "refused calls launch nothing");
}

/* Half of the cases have a tile a multiprocessor, half have many; the last eight are of the head-64 instances for many keys. */
static void run_repeats(int runs)
{
    for (int i = 0; i < 32; i++) {
        struct test_case t = {i / 6 % 2, 64 << i % 3, 8, 2, 2, 1000 + i, 1500, i / 3 % 2, TIMES_10, 0, 0, 0, 1, 0};
        if (i < 24 ? i >= 12 : i % 4 >= 2)
            t.heads_q = 64, t.heads_kv = 8, t.batch = 8, t.seqlen_q = 512 + i, t.seqlen_k = 512, t.dist = NORMAL;
        if (i >= 24)
            t.dim = 64, t.causal = i % 2, t.dtype = i / 4 % 2, t.seqlen_k = 12300 + i;
        int64_t n;
        struct flash_attention_args a = setup(&t, &n);
        size_t bytes = (size_t)(n - 64) * 2, lse_bytes = (size_t)t.batch * t.heads_q * t.seqlen_q * 4;
        char *first = (char *)arena(6, bytes + lse_bytes);
        unsigned long long *count = (unsigned long long *)arena(5, 64), different[2];
        CUDA(cudaMemset(count, 0, 8));
        CUDA(cudaMemset(count + 1, 0xff, 8));
        for (int r = 0; r < runs; r++) {
            CUDA(flash_attention_forward(&a, 0));
            if (r == 0) {
                CUDA(cudaMemcpyAsync(first, a.o, bytes, cudaMemcpyDeviceToDevice, 0));
                CUDA(cudaMemcpyAsync(first + bytes, a.lse, lse_bytes, cudaMemcpyDeviceToDevice, 0));
            } else {
                count_different<<<GRID, 256>>>((uint32_t *)a.o, (uint32_t *)first, bytes / 4, count);
                count_different<<<GRID, 256>>>((uint32_t *)a.lse, (uint32_t *)(first + bytes), lse_bytes / 4, count);
            }
            CUDA(cudaMemsetAsync(a.o, 0xff, bytes, 0));
        }
        CUDA(cudaMemcpy(different, count, 16, cudaMemcpyDeviceToHost));
        char what[100];
        snprintf(what, sizeof what, "%d equal runs: %s D%d causal%d B%d Sq%d Sk%d %d/%d", runs, t.dtype ? "fp16" : "bf16", t.dim, t.causal, t.batch,
                 t.seqlen_q, t.seqlen_k, t.heads_q, t.heads_kv);
        expect(different[0] == 0, what);
        if (different[0])
            printf("D%d causal%d dtype%d: %llu words in %d runs, the first is word %llu\n", t.dim, t.causal, t.dtype, different[0],
                   runs, different[1]);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--small") == 0) {
        int every = argc > 2 ? std::max(1, atoi(argv[2])) : 1;
        for (int i = 0; i < 24; i += every) { /* one tile a multiprocessor, then several */
            struct test_case t = {i / 6 % 2, 64 << i % 3, 4, 2, 1, 200, 333, i / 3 % 2, NORMAL, 0, 0, 0, 1, 0};
            if (i >= 12)
                t.heads_q = 32, t.heads_kv = 4, t.batch = 8, t.seqlen_q = t.seqlen_k = 130;
            run_case(&t);
        }
        for (int i = 0; every == 1 && i < 4; i++) { /* the same for the instances for many keys */
            struct test_case t = {i / 2, 64, 64, 8, 3, 65, 12300, i % 2, NORMAL, 0, 0, 0, 1, 0};
            run_case(&t);
        }
        struct test_case t = {0, 64, 2, 1, 1, 20, 33, 1, NORMAL, 0, 1, 0, 1, 0}; /* the plain kernel */
        run_case(&t);
    } else {
        run_refusals();
        run_ragged(360, run_case);
        printf("ragged: %d passed, %d failed\n", passed, failed);
        run_repeats(200);
        printf("repeats: %d passed, %d failed\n", passed, failed);
        run_scenarios(argc > 1 ? argv[1] : "kernels/flash_attention/scenarios.tsv");
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
