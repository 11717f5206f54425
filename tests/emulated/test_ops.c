/* Every expression of ops.def over edge values and random ones, device against host. */

#include "tests/emulated/emu_test.h"
#include "tests/emulated/ops_host.h"

#define N       4096
#define MAX_OPS 64

static uint64_t rng = 0x1234567;
static uint64_t next(void)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return rng;
}

static const char *names[MAX_OPS];
static int ulps[MAX_OPS], n_ops;

static void run(const char *kernel, void *a, void *b, void *c, size_t item, void *out)
{
    int n = N;
    void *da = upload(a, N * item, "a"), *db = upload(b, N * item, "b"), *dc = upload(c, N * item, "c");
    void *dout = upload(NULL, (size_t)n_ops * N * item, "out");
    verdict(launch(kernel, N / 128, 128, 0, &da, &db, &dc, &dout, &n) == KS_OK, kernel, "%s", err.message);
    download(out, dout, (size_t)n_ops * N * item);
    drop(da);
    drop(db);
    drop(dc);
    drop(dout);
}

#define INT_TEST(TYPE, SUFFIX)                                                                                                   \
    static void test_##SUFFIX(void)                                                                                              \
    {                                                                                                                            \
        static TYPE x[3][N], got[MAX_OPS * N];                                                                                   \
        static const long long edge[] = {0,     1,         -1,        2,          31,        32,       33,    63,                \
                                         64,    127,       128,       255,        256,       32767,    32768, 65535,             \
                                         65536, INT32_MAX, INT32_MIN, UINT32_MAX, INT64_MAX, INT64_MIN};                         \
        for (int v = 0; v < 3; v++)                                                                                              \
            for (int i = 0; i < N; i++)                                                                                          \
                x[v][i] = (TYPE)(next() % 3 == 0 ? edge[next() % (sizeof(edge) / sizeof(*edge))]                                 \
                                                 : (long long)(next() >> (next() % 64)));                                        \
        n_ops = 0;                                                                                                               \
        register_##SUFFIX();                                                                                                     \
        run("ops_" #SUFFIX, x[0], x[1], x[2], sizeof(TYPE), got);                                                                \
        for (int k = 0; k < n_ops; k++) {                                                                                        \
            int bad = -1;                                                                                                        \
            for (int i = 0; i < N && bad < 0; i++)                                                                               \
                if (got[k * N + i] != host_##SUFFIX(k, x[0][i], x[1][i], x[2][i]))                                               \
                    bad = i;                                                                                                     \
            verdict(bad < 0, names[k], #SUFFIX " of %llx %llx %llx is %llx, expected %llx", (long long)x[0][bad < 0 ? 0 : bad],  \
                    (long long)x[1][bad < 0 ? 0 : bad], (long long)x[2][bad < 0 ? 0 : bad],                                      \
                    (long long)got[k * N + (bad < 0 ? 0 : bad)],                                                                 \
                    (long long)host_##SUFFIX(k, x[0][bad < 0 ? 0 : bad], x[1][bad < 0 ? 0 : bad], x[2][bad < 0 ? 0 : bad]));     \
        }                                                                                                                        \
    }

static void add_name(const char *name, int ulp)
{
    names[n_ops] = name;
    ulps[n_ops++] = ulp;
}

static void register_i32(void)
{
#define I32(name, expr) add_name(#name, 0);
#include "ops.def"
}
static int host_i32(int k, int a, int b, int c)
{
    int n = 0;
#define I32(name, expr)                                                                                                          \
    if (k == n++)                                                                                                                \
        return (int)(expr);
#include "ops.def"
    return 0;
}
static void register_u32(void)
{
#define U32(name, expr) add_name(#name, 0);
#include "ops.def"
}
static unsigned host_u32(int k, unsigned a, unsigned b, unsigned c)
{
    int n = 0;
#define U32(name, expr)                                                                                                          \
    if (k == n++)                                                                                                                \
        return (unsigned)(expr);
#include "ops.def"
    return 0;
}
static void register_i64(void)
{
#define I64(name, expr) add_name(#name, 0);
#include "ops.def"
}
static long long host_i64(int k, long long a, long long b, long long c)
{
    int n = 0;
#define I64(name, expr)                                                                                                          \
    if (k == n++)                                                                                                                \
        return (long long)(expr);
#include "ops.def"
    return 0;
}
static void register_u64(void)
{
#define U64(name, expr) add_name(#name, 0);
#include "ops.def"
}
static unsigned long long host_u64(int k, unsigned long long a, unsigned long long b, unsigned long long c)
{
    int n = 0;
#define U64(name, expr)                                                                                                          \
    if (k == n++)                                                                                                                \
        return (unsigned long long)(expr);
#include "ops.def"
    return 0;
}
INT_TEST(int, i32)
INT_TEST(unsigned, u32)
INT_TEST(long long, i64)
INT_TEST(unsigned long long, u64)

static void register_f32(void)
{
#define F32(name, expr, ulp) add_name(#name, ulp);
#include "ops.def"
}
static float host_f32(int k, float a, float b, float c)
{
    int n = 0;
#define F32(name, expr, ulp)                                                                                                     \
    if (k == n++)                                                                                                                \
        return (float)(expr);
#include "ops.def"
    return 0;
}
static void register_f64(void)
{
#define F64(name, expr, ulp) add_name(#name, ulp);
#include "ops.def"
}
static double host_f64(int k, double a, double b, double c)
{
    int n = 0;
#define F64(name, expr, ulp)                                                                                                     \
    if (k == n++)                                                                                                                \
        return (double)(expr);
#include "ops.def"
    return 0;
}

/* Distance in units of the last place; zero for two NaNs, two zeros of the same sign. */
static double distance32(float x, float y)
{
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? 0 : 1e30;
    int32_t p, q;
    memcpy(&p, &x, 4);
    memcpy(&q, &y, 4);
    p = p < 0 ? (int32_t)(0x80000000u - (uint32_t)p) : p;
    q = q < 0 ? (int32_t)(0x80000000u - (uint32_t)q) : q;
    return fabs((double)p - q);
}
static double distance64(double x, double y)
{
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? 0 : 1e30;
    int64_t p, q;
    memcpy(&p, &x, 8);
    memcpy(&q, &y, 8);
    p = p < 0 ? (int64_t)(0x8000000000000000u - (uint64_t)p) : p;
    q = q < 0 ? (int64_t)(0x8000000000000000u - (uint64_t)q) : q;
    __int128 d = (__int128)p - q;
    return (double)(d < 0 ? -d : d);
}

#define FLOAT_TEST(TYPE, SUFFIX, DISTANCE)                                                                                       \
    static void test_##SUFFIX(void)                                                                                              \
    {                                                                                                                            \
        static TYPE x[3][N], got[MAX_OPS * N];                                                                                   \
        static const TYPE edge[] = {0.0,   -0.0,  1,      -1,    0.5,      1.5,       2.5, -2.5,     3e38,                       \
                                    -3e38, 1e-38, -1e-40, 1e-44, INFINITY, -INFINITY, NAN, 16777217, 0.1};                       \
        for (int v = 0; v < 3; v++)                                                                                              \
            for (int i = 0; i < N; i++)                                                                                          \
                x[v][i] = next() % 4 == 0 ? edge[next() % (sizeof(edge) / sizeof(*edge))]                                        \
                                          : (TYPE)ldexp((double)(int64_t)next() * 0x1p-63, (int)(next() % 24) - 8);              \
        n_ops = 0;                                                                                                               \
        register_##SUFFIX();                                                                                                     \
        run("ops_" #SUFFIX, x[0], x[1], x[2], sizeof(TYPE), got);                                                                \
        for (int k = 0; k < n_ops; k++) {                                                                                        \
            int worst = 0;                                                                                                       \
            double by = -1;                                                                                                      \
            for (int i = 0; i < N; i++) {                                                                                        \
                double d = DISTANCE(got[k * N + i], host_##SUFFIX(k, x[0][i], x[1][i], x[2][i]));                                \
                if (d > by) {                                                                                                    \
                    by = d;                                                                                                      \
                    worst = i;                                                                                                   \
                }                                                                                                                \
            }                                                                                                                    \
            verdict(by <= ulps[k], names[k], #SUFFIX " of %.9g %.9g %.9g is %.17g, expected %.17g: %g ulp", (double)x[0][worst], \
                    (double)x[1][worst], (double)x[2][worst], (double)got[k * N + worst],                                        \
                    (double)host_##SUFFIX(k, x[0][worst], x[1][worst], x[2][worst]), by);                                        \
        }                                                                                                                        \
    }
FLOAT_TEST(float, f32, distance32)
FLOAT_TEST(double, f64, distance64)

int main(int argc, char **argv)
{
    if (argc != 2) {
        printf("usage: %s core_ops.ptx\n", argv[0]);
        return 2;
    }
    struct ks_emu_config c = {.arch = "sm_90a", .checks = KS_EMU_CHECK_ALL};
    start_device(&c, argv[1]);
    test_i32();
    test_u32();
    test_i64();
    test_u64();
    test_f32();
    test_f64();
    struct ks_json *found = ks_emu_findings(dev);
    verdict(ks_json_len(found) == 0, "no findings", "%zu findings", ks_json_len(found));
    ks_json_free(found);
    return finish();
}
