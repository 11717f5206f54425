/* The 182 scenarios and the ragged cases of attention on the emulated device, against double precision on the host, by the rule
 * of tests/gpu/flash_attention_check.cu: maximum and mean error at most twice those of a reference that rounds P and O to the
 * type and is exact otherwise, plus half a unit in the last place of the largest |O| for the maximum; LSE within 1e-4; every
 * element written, nothing beside them.  128 rows of a case are compared, the first and last of every head among them.
 *
 *     flash_scenarios [--full] [--lengths=512,4096] [--dims=64] [--take=I/N] scenarios.tsv
 *     flash_scenarios --count [--lengths= ...] LIST      the device's counters for each scenario of LIST (tests/blackwell/model.py)
 *     flash_scenarios --ragged=LIMIT [--too-large=N] [--take=I/N]        the ragged cases
 *
 * How a scenario is shortened (without --full):
 *   keys       all: every tile goes through as many blocks of keys, and so turns of every ring and phases of every barrier, as at
 *              full size
 *   queries    all up to 1024; of longer ones the last 256, which with a causal mask see what they see at full size
 *   heads      up to 1024: at most 2 heads of K and V, each for at most 4 heads of Q; longer: 1 for at most 2, or 2 for 1 each
 *   batch      1 (2 at length 512)
 *   device     2 multiprocessors, 1 for the longer ones, so that each has several tiles
 *
 * A ragged case of more than LIMIT units of 128 x 128 x 64 (8 times as many through the slow kernel) gets fewer of what is only
 * repeated, step by step: batch 2, batch 1, 2 heads of K and V, 1, 4 heads of Q for each, 2.  Lengths, gaps, offsets, distribution,
 * mask and scale stay.  What is then larger than LIMIT and than N is left out and counted.
 *
 * --full: all queries; heads and batch as above.  --take: every Nth case from the Ith on.  One line a case on stdout,
 * tab-separated. */
#include "tests/emulated/flash_emulated.h"
#include "tests/gpu/flash_cases.h"

#include <algorithm>
#include <cmath>
#include <dlfcn.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static int passed, failed, skipped, taken;
static int take_first = 0, take_every = 1;

static float from_bits(uint16_t h, int dtype)
{
    if (dtype == FLASH_ATTENTION_BF16) {
        uint32_t b = (uint32_t)h << 16;
        float f;
        memcpy(&f, &b, 4);
        return f;
    }
    return __half2float(*(__half *)&h);
}
static uint16_t to_bits(float f, int dtype)
{
    uint16_t r;
    __nv_bfloat16 b = __float2bfloat16(f);
    __half h = __float2half(f);
    memcpy(&r, dtype == FLASH_ATTENTION_BF16 ? (void *)&b : (void *)&h, 2);
    return r;
}
static uint32_t hash(uint64_t x)
{
    x ^= x >> 33, x *= 0xff51afd7ed558ccdull, x ^= x >> 33, x *= 0xc4ceb9fe1a85ec53ull, x ^= x >> 33;
    return (uint32_t)x;
}
/* One of 65536 normal numbers. */
static float normal(uint64_t i)
{
    static std::vector<float> table;
    if (table.empty())
        for (int k = 0; k < 65536; k++)
            table.push_back(sqrtf(-2.0f * logf((k + 0.5f) / 65536)) * cosf(6.2831853f * (hash(k) * 2.3283064e-10f)));
    return table[hash(i) & 65535];
}

struct tensor {
    struct flash_attention_strides s;
    int64_t elements;
    std::vector<uint16_t> host;
    uint16_t *device = nullptr;
    uint16_t at(int64_t b, int64_t r, int64_t h, int64_t d) const
    {
        return host[b * s.batch + r * s.row + h * s.head + d];
    }
};

static tensor make_tensor(const test_case &t, int rows, int heads)
{
    tensor x;
    if (t.heads_first)
        x.s.row = t.dim + t.gap, x.s.head = x.s.row * rows, x.s.batch = x.s.head * heads;
    else
        x.s.head = t.dim, x.s.row = (int64_t)heads * t.dim + t.gap, x.s.batch = x.s.row * rows + t.gap;
    x.elements = x.s.batch * t.batch + 64; /* the 64 are a guard */
    x.host.assign(x.elements, 0xffff);
    if (cudaMalloc(&x.device, (x.elements + t.offset) * 2) != cudaSuccess)
        exit(2);
    x.device += t.offset;
    return x;
}

/* which: 0 q, 1 k, 2 v; the distributions of the check on GPUs. */
static void fill(tensor &x, const test_case &t, int rows, int heads, int which)
{
    uint64_t seed = 1 + t.seqlen_q * 31ull + t.seqlen_k, key = seed * 0x9e3779b97f4a7c15ull + which * 0x1000000000ull, i = 0;
    for (int b = 0; b < t.batch; b++)
        for (int r = 0; r < rows; r++)
            for (int h = 0; h < heads; h++)
                for (int d = 0; d < t.dim; d++, i++) {
                    float y = normal(key + i);
                    if (t.dist == TIMES_10)
                        y *= 10;
                    else if (t.dist == HOT_ROW && which == 1)
                        y = r == rows / 3 ? 8 * normal(seed + d) : y;
                    else if (t.dist == HOT_ROW && which == 0)
                        y = normal(seed + d) + 0.1f * y;
                    else if (t.dist == EQUAL_ROWS && which != 2)
                        y = normal(key + d);
                    else if (t.dist == SPIKES && which == 1)
                        y = r % 64 == (int)(hash(seed + r / 64) % 64) ? 6 * y : y;
                    else if (t.dist == SHIFTED && which != 1)
                        y += 5;
                    x.host[b * x.s.batch + r * x.s.row + h * x.s.head + d] = to_bits(y, t.dtype);
                }
    cudaMemcpy(x.device, x.host.data(), x.elements * 2, cudaMemcpyHostToDevice);
}

struct errors {
    double max_kernel, max_round, sum_kernel, sum_round, lse, largest;
};

/* One row of O and its LSE against double precision. */
static void compare_row(const test_case &t, const tensor &q, const tensor &k, const tensor &v, const tensor &o, double scale,
                        int b, int h, int row, const float *lse, errors &e)
{
    static std::vector<double> p, exact;
    static std::vector<float> x, rounded;
    int hk = h / (t.heads_q / t.heads_kv),
        see = t.causal ? std::min(t.seqlen_k, std::max(0, row + 1 + t.seqlen_k - t.seqlen_q)) : t.seqlen_k;
    double top = -INFINITY, l = 0;
    p.resize(t.seqlen_k);
    exact.assign(t.dim, 0);
    rounded.assign(t.dim, 0);
    x.resize(t.dim);
    for (int d = 0; d < t.dim; d++)
        x[d] = from_bits(q.at(b, row, h, d), t.dtype);
    for (int j = 0; j < see; j++) {
        const uint16_t *kr = &k.host[b * k.s.batch + j * k.s.row + hk * k.s.head];
        double s = 0;
        for (int d = 0; d < t.dim; d++)
            s += (double)x[d] * from_bits(kr[d], t.dtype);
        p[j] = s * scale;
        top = std::max(top, p[j]);
    }
    for (int j = 0; j < see; j++)
        l += p[j] = std::exp(p[j] - top);
    for (int j = 0; j < see; j++) {
        const uint16_t *vr = &v.host[b * v.s.batch + j * v.s.row + hk * v.s.head];
        double w = p[j] / l;
        float wr = from_bits(to_bits((float)w, t.dtype), t.dtype);
        for (int d = 0; d < t.dim; d++) {
            float y = from_bits(vr[d], t.dtype);
            exact[d] += w * y;
            rounded[d] += wr * y;
        }
    }
    for (int d = 0; d < t.dim; d++) {
        double err = std::fabs(from_bits(o.at(b, row, h, d), t.dtype) - exact[d]);
        double round = std::fabs(from_bits(to_bits(rounded[d], t.dtype), t.dtype) - exact[d]);
        err = err < INFINITY ? err : INFINITY;
        e.max_kernel = std::max(e.max_kernel, err);
        e.max_round = std::max(e.max_round, round);
        e.sum_kernel += err;
        e.sum_round += round;
        e.largest = std::max(e.largest, std::fabs(exact[d]));
    }
    if (lse) {
        double want = l > 0 ? top + std::log(l) : -INFINITY, got = lse[((int64_t)b * t.heads_q + h) * t.seqlen_q + row];
        double err = want == got ? 0 : std::fabs(want - got) / std::max(1.0, std::fabs(want));
        e.lse = std::max(e.lse, err < INFINITY ? err : INFINITY);
    }
}

static void run_case(const test_case &t, const char *note)
{
    tensor q = make_tensor(t, t.seqlen_q, t.heads_q), o = make_tensor(t, t.seqlen_q, t.heads_q);
    tensor k = make_tensor(t, t.seqlen_k, t.heads_kv), v = make_tensor(t, t.seqlen_k, t.heads_kv);
    fill(q, t, t.seqlen_q, t.heads_q, 0);
    fill(k, t, t.seqlen_k, t.heads_kv, 1);
    fill(v, t, t.seqlen_k, t.heads_kv, 2);
    cudaMemset(o.device, 0xff, o.elements * 2);
    std::vector<float> lse((size_t)t.batch * t.heads_q * t.seqlen_q, NAN);
    float *device_lse = nullptr;
    if (t.lse && cudaMalloc(&device_lse, lse.size() * 4) != cudaSuccess)
        exit(2);
    flash_attention_args a = {};
    a.q = q.device, a.k = k.device, a.v = v.device, a.o = o.device, a.lse = device_lse;
    a.q_stride = q.s, a.k_stride = k.s, a.v_stride = v.s, a.o_stride = o.s;
    a.batch = t.batch, a.seqlen_q = t.seqlen_q, a.seqlen_k = t.seqlen_k, a.heads_q = t.heads_q, a.heads_kv = t.heads_kv;
    a.head_dim = t.dim, a.dtype = (enum flash_attention_dtype)t.dtype, a.causal = t.causal;
    a.scale = t.scale != 0 ? t.scale : 1.0f / sqrtf((float)t.dim);
    cudaError_t status = flash_attention_forward(&a, 0);
    if (status == cudaSuccess)
        status = cudaDeviceSynchronize();
    cudaMemcpy(o.host.data(), o.device, o.elements * 2, cudaMemcpyDeviceToHost);
    if (t.lse)
        cudaMemcpy(lse.data(), device_lse, lse.size() * 4, cudaMemcpyDeviceToHost);
    int64_t rows = (int64_t)t.batch * t.heads_q * t.seqlen_q, written = 0;
    for (uint16_t x : o.host)
        written += x != 0xffff;
    errors e = {};
    int compared = 0;
    for (int64_t i = 0; i < std::min<int64_t>(rows, 128); i++, compared++) {
        int64_t heads = (int64_t)t.batch * t.heads_q, at = rows <= 128 ? i : hash(i * 7919 + 1) % rows;
        if (rows > 128 && i < 2 * heads && i < 64) /* the ends of every head */
            at = i / 2 * t.seqlen_q + (i & 1) * (t.seqlen_q - 1);
        int b = at / t.seqlen_q / t.heads_q, h = at / t.seqlen_q % t.heads_q;
        compare_row(t, q, k, v, o, a.scale, b, h, at % t.seqlen_q, t.lse ? lse.data() : nullptr, e);
    }
    double n = (double)compared * t.dim, unit = t.dtype == FLASH_ATTENTION_BF16 ? 1.0 / 256 : 1.0 / 2048;
    bool ok = status == cudaSuccess && e.max_kernel <= 2 * e.max_round + 1e-5 + unit / 2 * e.largest &&
              e.sum_kernel / n <= 2 * e.sum_round / n + unit / 500 && e.lse <= 1e-4 && written == rows * t.dim;
    (ok ? passed : failed)++;
    printf("%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%.3g\t%.3g\t%.3g\t%.3g\t%.2g\t%s%s%s\n", ok ? "right" : "WRONG",
           t.dtype ? "fp16" : "bf16", t.dim, t.heads_q, t.heads_kv, t.batch, t.seqlen_q, t.seqlen_k, t.causal, note, e.max_kernel,
           e.max_round, e.sum_kernel / n, e.sum_round / n, e.lse, status == cudaSuccess ? "" : cudaGetErrorString(status),
           t.dist ? distribution_name[t.dist] : "", written == rows * t.dim ? "" : " not all written, or too much");
    fflush(stdout);
    if (status != cudaSuccess)
        exit(1);
    for (tensor *x : {&q, &k, &v, &o})
        cudaFree(x->device - t.offset);
    cudaFree(device_lse);
}

/* Is it this process's turn? */
static bool take(void)
{
    return taken++ % take_every == take_first;
}

static bool listed(const char *list, int value)
{
    for (const char *p = list; p && *p; p = strchr(p, ',') ? strchr(p, ',') + 1 : "")
        if (atoi(p) == value)
            return true;
    return !list;
}

static void shorten(test_case &t, bool full)
{
    bool few = t.seqlen_q <= 1024;
    int group = t.heads_q / t.heads_kv;
    emulated_multiprocessors = few ? 2 : 1;
    t.batch = t.seqlen_q <= 512 ? 2 : 1;
    group = std::min(group, few ? 4 : 2);
    t.heads_kv = std::min(t.heads_kv, few || group == 1 ? 2 : 1);
    t.heads_q = group * t.heads_kv;
    if (!few && !full)
        t.seqlen_q = 256;
}

/* What the emulated device counted, and its model made of it, in one launch of one head on one multiprocessor: a line of JSON.  Nothing is
 * compared. */
static void count_case(test_case t)
{
    auto counters = (char *(*)(void))dlsym(RTLD_DEFAULT, "kscc_emu_counters");
    auto clear = (void (*)(void))dlsym(RTLD_DEFAULT, "kscc_emu_clear");
    emulated_multiprocessors = 1;
    t.batch = t.heads_q = t.heads_kv = 1;
    tensor x[4];
    for (int i = 0; i < 4; i++) {
        x[i] = make_tensor(t, t.seqlen_q, 1);
        fill(x[i], t, t.seqlen_q, 1, std::min(i, 2));
    }
    flash_attention_args a = {};
    a.q = x[0].device, a.k = x[1].device, a.v = x[2].device, a.o = x[3].device;
    a.q_stride = x[0].s, a.k_stride = x[1].s, a.v_stride = x[2].s, a.o_stride = x[3].s;
    a.batch = 1, a.seqlen_q = a.seqlen_k = t.seqlen_q, a.heads_q = a.heads_kv = 1;
    a.head_dim = t.dim, a.dtype = (enum flash_attention_dtype)t.dtype, a.causal = t.causal, a.scale = 1.0f / sqrtf((float)t.dim);
    if (!counters || !clear)
        exit(2);
    clear();
    if (flash_attention_forward(&a, 0) || cudaDeviceSynchronize())
        exit(1);
    char *json = counters();
    printf("{\"dtype\": \"%s\", \"head_dim\": %d, \"seqlen\": %d, \"causal\": %d, \"kernels\": %s}\n", t.dtype ? "fp16" : "bf16", t.dim,
           t.seqlen_q, t.causal, json);
    free(json);
    for (tensor &each : x)
        cudaFree(each.device);
}

static int run_scenarios(const char *path, const char *lengths, const char *dims, bool full, bool count)
{
    FILE *f = fopen(path, "r");
    char line[256], type[8], note[64];
    if (!f) {
        printf("cannot open '%s'\n", path);
        return 2;
    }
    while (fgets(line, sizeof line, f)) {
        test_case t = {};
        if (sscanf(line, "%7s %d %d %d %d %d %d", type, &t.dim, &t.heads_q, &t.heads_kv, &t.batch, &t.seqlen_q, &t.causal) != 7 ||
            !listed(lengths, t.seqlen_q) || !listed(dims, t.dim) || !take())
            continue;
        snprintf(note, sizeof note, "%d/%d x %d", t.heads_q, t.heads_kv, t.batch);
        t.dtype = strcmp(type, "fp16") == 0 ? FLASH_ATTENTION_FP16 : FLASH_ATTENTION_BF16;
        t.seqlen_k = t.seqlen_q;
        t.lse = 1;
        if (count) {
            count_case(t);
            continue;
        }
        shorten(t, full);
        run_case(t, note);
    }
    fclose(f);
    return 0;
}

static double ragged_limit, too_large = -1;
/* One step fewer of what a ragged case has more of than it needs; false: nothing is left to take. */
static bool fewer(test_case &t)
{
    int group = t.heads_q / t.heads_kv;
    if (t.batch > 1)
        t.batch = t.batch > 2 ? 2 : 1;
    else if (t.heads_kv > 1)
        t.heads_kv = t.heads_kv > 2 ? 2 : 1;
    else if (group > 2)
        group = group > 4 ? 4 : 2;
    else
        return false;
    t.heads_q = group * t.heads_kv;
    return true;
}
static void ragged(const test_case *t)
{
    test_case u = *t;
    char note[64];
    bool plain = u.gap % 8 || u.offset % 8 || u.scale < 0; /* tens of times slower */
    auto units = [&] {
        return (plain ? 8.0 : 1.0) * u.batch * u.heads_q * ((u.seqlen_q + 127) / 128) * ((u.seqlen_k + 127) / 128) * (u.dim / 64);
    };
    while (units() > ragged_limit && fewer(u))
        continue;
    if (units() > std::max(ragged_limit, too_large)) {
        skipped++;
        return;
    }
    snprintf(note, sizeof note, "%s %d/%d x %d", plain ? "plain" : "ragged", t->heads_q, t->heads_kv, t->batch);
    if (take())
        run_case(u, note);
}

int main(int argc, char **argv)
{
    const char *lengths = nullptr, *dims = nullptr, *path = nullptr;
    bool full = false, count = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--full"))
            full = true;
        else if (!strcmp(argv[i], "--count"))
            count = true;
        else if (!strncmp(argv[i], "--lengths=", 10))
            lengths = argv[i] + 10;
        else if (!strncmp(argv[i], "--dims=", 7))
            dims = argv[i] + 7;
        else if (!strncmp(argv[i], "--ragged=", 9))
            ragged_limit = atof(argv[i] + 9);
        else if (!strncmp(argv[i], "--too-large=", 12))
            too_large = atof(argv[i] + 12);
        else if (sscanf(argv[i], "--take=%d/%d", &take_first, &take_every) != 2)
            path = argv[i];
    }
    if (count)
        return run_scenarios(path, lengths, dims, full, true);
    printf("verdict\tdtype\thead_dim\theads_q\theads_kv\tbatch\tseqlen_q\tseqlen_k\tcausal\tof\tmax\tmax_round\tmean\tmean_"
           "round\tlse\tremark\n");
    if (ragged_limit > 0)
        run_ragged(360, ragged);
    if (path && run_scenarios(path, lengths, dims, full, false))
        return 2;
    printf("# %d passed, %d failed%s", passed, failed, ragged_limit > 0 ? "" : "\n");
    if (ragged_limit > 0)
        printf(", %d too large\n", skipped);
    return failed || !passed;
}
