/* TMA, bulk copies, reductions and asynchronous stores on a GPU and on the emulated device, the same PTX: copies OUT.
 * Everything here is exact: the ISA leaves nothing open but the order of reductions, of which there is one an element.
 * Boxes that are loaded, stored and reduced are also compared with what a walk over their elements says here (PTX ISA 5.5.3 tiled mode,
 * 5.5.7 swizzling), for types that are not converted on their way; `unlike` at the end counts those that differ. */
#include "tests/emulated/async_kernels.cu"
#include "tests/gpu/async/record.cuh"

#include <cudaTypedefs.h>

static PFN_cuTensorMapEncodeTiled_v12000 encode;

/* ---------------------------------------------------------------------------------------------- kernels */

#define TILE(n, coords)                                                                                                          \
    asm volatile("cp.async.bulk.tensor." #n "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " coords "], [%2];" \
                 ::"r"(d), "l"(&map), "r"(b), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)                                             \
                 : "memory")
#define UNTILE(n, coords)                                                                                                        \
    asm volatile("cp.async.bulk.tensor." #n "d.global.shared::cta.tile.bulk_group [%0, " coords "], [%1];"                       \
                 ::"l"(&map), "r"(d), "r"(0), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)                                             \
                 : "memory")
#define RANKS(WHAT)                                                                                                              \
    switch (rank) {                                                                                                              \
    case 1: WHAT(1, "{%3}"); break;                                                                                              \
    case 2: WHAT(2, "{%3, %4}"); break;                                                                                          \
    case 3: WHAT(3, "{%3, %4, %5}"); break;                                                                                      \
    case 4: WHAT(4, "{%3, %4, %5, %6}"); break;                                                                                  \
    default: WHAT(5, "{%3, %4, %5, %6, %7}");                                                                                    \
    }
/* The box at (x, y, z, u, v) to `at` bytes behind a multiple of 1024. */
K load_box(const __grid_constant__ CUtensorMap map, uint8_t *out, int bytes, int rank, int at, int x, int y, int z, int u, int v)
{
    __shared__ uint64_t bar;
    extern __shared__ __align__(1024) uint8_t box[];
    uint32_t b = ks_shared_address(&bar), d = ks_shared_address(box) + at;
    for (int i = threadIdx.x; i < bytes + 1024; i += blockDim.x)
        box[i] = 0xee;
    if (threadIdx.x == 0)
        ks_mbarrier_init(b, 1);
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        ks_mbarrier_arrive_expect(b, bytes);
        RANKS(TILE)
    }
    ks_mbarrier_wait(b, 0);
    for (int i = threadIdx.x; i < bytes + 1024; i += blockDim.x)
        out[i] = box[i];
}
K store_box(const __grid_constant__ CUtensorMap map, const uint8_t *in, int bytes, int rank, int at, int x, int y, int z, int u, int v)
{
    extern __shared__ __align__(1024) uint8_t box[];
    uint32_t d = ks_shared_address(box) + at;
    for (int i = threadIdx.x; i < bytes + 1024; i += blockDim.x)
        box[i] = in[i];
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        RANKS(UNTILE)
        bulk_commit();
        bulk_wait<0>();
    }
}
#define REDUCE_BOX(op)                                                                                                           \
    K reduce_box_##op(const __grid_constant__ CUtensorMap map, const uint8_t *in, int bytes, int x, int y)                       \
    {                                                                                                                            \
        extern __shared__ __align__(1024) uint8_t box[];                                                                         \
        for (int i = threadIdx.x; i < bytes; i += blockDim.x)                                                                    \
            box[i] = in[i];                                                                                                      \
        fence_async();                                                                                                           \
        __syncthreads();                                                                                                         \
        if (threadIdx.x == 0) {                                                                                                  \
            asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." #op ".tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"( \
                             &map),                                                                                              \
                         "r"(x), "r"(y), "r"(ks_shared_address(box))                                                             \
                         : "memory");                                                                                            \
            bulk_commit();                                                                                                       \
            bulk_wait<0>();                                                                                                      \
        }                                                                                                                        \
    }
REDUCE_BOX(add) REDUCE_BOX(min) REDUCE_BOX(max) REDUCE_BOX(inc) REDUCE_BOX(dec) REDUCE_BOX(and) REDUCE_BOX(or) REDUCE_BOX(xor)

/* 256 bytes added (or whatever) to global memory. */
#define BULK_REDUCE(name, what)                                                                                                  \
    K bulk_##name(uint32_t *to, const uint32_t *in)                                                                              \
    {                                                                                                                            \
        __shared__ alignas(128) uint32_t x[64];                                                                                  \
        x[threadIdx.x] = in[threadIdx.x];                                                                                        \
        fence_async();                                                                                                           \
        __syncthreads();                                                                                                         \
        if (threadIdx.x == 0) {                                                                                                  \
            asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." what " [%0], [%1], 256;" ::"l"(to),               \
                         "r"(ks_shared_address(x))                                                                               \
                         : "memory");                                                                                            \
            bulk_commit();                                                                                                       \
            bulk_wait<0>();                                                                                                      \
        }                                                                                                                        \
    }
#define BULK_REDUCTIONS(X)                                                                                                       \
    X(add_u32, "add.u32") X(add_s32, "add.s32") X(add_u64, "add.u64") X(add_f16, "add.noftz.f16") X(add_bf16, "add.noftz.bf16")  \
    X(add_f32, "add.f32") X(add_f64, "add.f64") X(min_u32, "min.u32") X(min_s32, "min.s32") X(min_u64, "min.u64")                \
    X(min_s64, "min.s64") X(min_f16, "min.f16") X(min_bf16, "min.bf16") X(max_u32, "max.u32") X(max_s32, "max.s32")              \
    X(max_u64, "max.u64") X(max_s64, "max.s64") X(max_f16, "max.f16") X(max_bf16, "max.bf16") X(inc_u32, "inc.u32")              \
    X(dec_u32, "dec.u32") X(and_b32, "and.b32") X(and_b64, "and.b64") X(or_b32, "or.b32") X(or_b64, "or.b64")                    \
    X(xor_b32, "xor.b32") X(xor_b64, "xor.b64")
BULK_REDUCTIONS(BULK_REDUCE)

/* The same into the other block of a pair, whose barrier hears of it; and red.async. */
#define PEER(name, instruction)                                                                                                  \
    K peer_##name(uint32_t *out, const uint32_t *in)                                                                             \
    {                                                                                                                            \
        __shared__ uint64_t bar;                                                                                                 \
        __shared__ alignas(128) uint32_t x[64], y[64];                                                                           \
        uint32_t b = ks_shared_address(&bar), peer = cluster_rank() ^ 1, t = threadIdx.x;                                        \
        x[t] = in[blockIdx.x * 64 + t];                                                                                          \
        y[t] = in[128 + blockIdx.x * 64 + t];                                                                                    \
        if (t == 0) {                                                                                                            \
            ks_mbarrier_init(b, 1);                                                                                              \
            ks_fence_mbarrier_init();                                                                                            \
            ks_mbarrier_arrive_expect(b, 256);                                                                                   \
        }                                                                                                                        \
        fence_async();                                                                                                           \
        cluster_sync();                                                                                                          \
        instruction;                                                                                                             \
        ks_mbarrier_wait(b, 0);                                                                                                  \
        out[blockIdx.x * 64 + t] = y[t];                                                                                         \
        cluster_sync();                                                                                                          \
    }
#define PEER_BULK(what)                                                                                                          \
    if (t == 0)                                                                                                                  \
    asm volatile(what " [%0], [%1], 256, [%2];" ::"r"(mapa(ks_shared_address(y), peer)), "r"(ks_shared_address(x)), "r"(mapa(b, peer)) : "memory")
#define PEER_REDUCE(name, what) PEER(name, PEER_BULK("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." what))
#define PEER_RED(name, what)                                                                                                     \
    PEER(red_##name, asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes." what " [%0], %1, [%2];" ::"r"( \
                                      mapa(ks_shared_address(&y[t]), peer)),                                                     \
                                  "r"(x[t]), "r"(mapa(b, peer))                                                                  \
                                  : "memory"))
#define PEER_REDUCTIONS(X)                                                                                                       \
    X(add_u32, "add.u32") X(add_s32, "add.s32") X(min_u32, "min.u32") X(min_s32, "min.s32") X(max_u32, "max.u32")                \
    X(max_s32, "max.s32") X(inc_u32, "inc.u32") X(dec_u32, "dec.u32") X(and_b32, "and.b32") X(or_b32, "or.b32") X(xor_b32, "xor.b32")
PEER_REDUCTIONS(PEER_REDUCE)
PEER_REDUCTIONS(PEER_RED)
PEER(copy, PEER_BULK("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"))
#define ST_ASYNC(type, registers) "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes" type " [%0], " registers ", [%1];"
PEER(st_b32, asm volatile(ST_ASYNC(".b32", "%2")::"r"(mapa(ks_shared_address(&y[t]), peer)), "r"(mapa(b, peer)), "r"(x[t]) : "memory"))
PEER(st_b64, if (t % 2 == 0) asm volatile(ST_ASYNC(".b64", "%2")::"r"(mapa(ks_shared_address(&y[t]), peer)), "r"(mapa(b, peer)),
                                          "l"(*(uint64_t *)&x[t])
                                          : "memory"))
PEER(st_v4, if (t % 4 == 0) asm volatile(ST_ASYNC(".v4.b32", "{%2, %3, %4, %5}")::"r"(mapa(ks_shared_address(&y[t]), peer)),
                                         "r"(mapa(b, peer)), "r"(x[t]), "r"(x[t + 1]), "r"(x[t + 2]), "r"(x[t + 3])
                                         : "memory"))

/* Rank 1 copies to the blocks of `mask`; each of them waits at its own barrier. */
K spread(uint32_t *out, const uint32_t *in, int mask)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) uint32_t y[64];
    uint32_t b = ks_shared_address(&bar), rank = cluster_rank(), t = threadIdx.x;
    y[t] = t;
    if (t == 0) {
        ks_mbarrier_init(b, 1);
        ks_fence_mbarrier_init();
        ks_mbarrier_arrive_expect(b, mask >> rank & 1 ? 256 : 0);
    }
    fence_async();
    cluster_sync();
    if (rank == 1 && t == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], %3;" ::"r"(ks_shared_address(y)), "l"(in), "r"(b), "h"((uint16_t)mask)
                     : "memory");
    ks_mbarrier_wait(b, 0);
    out[blockIdx.x * 64 + t] = y[t];
    cluster_sync();
}

/* ---------------------------------------------------------------------------------------------- tensors */

struct element {
    const char *name;
    CUtensorMapDataType type;
    int bytes;
    bool is_float;
};
static const element elements[] = {
    {"u8", CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, 0},      {"u16", CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, 0},
    {"u32", CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, 0},    {"s32", CU_TENSOR_MAP_DATA_TYPE_INT32, 4, 0},
    {"u64", CU_TENSOR_MAP_DATA_TYPE_UINT64, 8, 0},    {"s64", CU_TENSOR_MAP_DATA_TYPE_INT64, 8, 0},
    {"f16", CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, 1},   {"f32", CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, 1},
    {"f64", CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, 1},   {"bf16", CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, 1},
    {"f32ftz", CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ, 4, 1}, {"tf32", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, 4, 1},
    {"tf32ftz", CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ, 4, 1}};
static const element &element_of(const char *name)
{
    for (const element &e : elements)
        if (!strcmp(e.name, name))
            return e;
    exit(2);
}

/* Rows of 160 bytes, of which two elements at the end are outside; 7 x 5 x 4 x 3 of them. */
#define TENSOR_BYTES (160 * 7 * 5 * 4 * 3)
#define BOX_BYTES    (128 * 5 * 3 * 2 * 2)
static uint8_t contents[TENSOR_BYTES];
static const int spans[] = {64, 32, 64, 128}; /* of a box's row, by swizzle */
/* Where a box begins; the first coordinate in pieces of 16 bytes, since a box that begins elsewhere in a row is an illegal instruction. */
static const int corners[][5] = {{1, 1, 0, 1, 0}, {-1, -2, -1, -1, -1}, {8, 5, 4, 3, 2}, {-100, 1, 1, 1, 1}, {2, 9, 0, 0, 0},
                                {1, -2, -1, -1, -1}, {100, 0, 0, 0, 0}};
/* So is a store or a reduction before the tensor, from a second dimension on here.  On a card, where each costs a start, one of 40 of these
 * is run; on the emulated device test_async.c shows them. */
static const int store_corners[] = {0, 5, 2, 6};
static bool is_refused(int corner, int rank)
{
    return corner == 5 && rank > 1;
}
static bool begin_store(int corner, int rank)
{
    return begin_case() && !(is_refused(corner, rank) && (!sharded || next_case % 40));
}
static void corner_of(int corner, const element &e, int at[5])
{
    memcpy(at, corners[corner], sizeof corners[corner]);
    at[0] *= 16 / e.bytes;
}

static CUtensorMap make_map(void *base, const element &e, int rank, int swizzle, bool nan, const int *step)
{
    alignas(64) CUtensorMap map;
    cuuint64_t dim[5] = {160u / e.bytes - 2u, 7, 5, 4, 3}, stride[4] = {160, 160 * 7, 160 * 7 * 5, 160 * 7 * 5 * 4};
    cuuint32_t box[5] = {(cuuint32_t)(spans[swizzle] / e.bytes), 5, 3, 2, 2}, steps[5] = {1, 1, 1, 1, 1};
    for (int i = 0; step && i < 5; i++)
        steps[i] = step[i];
    CUresult r = encode(&map, e.type, rank, base, dim, stride, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, (CUtensorMapSwizzle)swizzle,
                        CU_TENSOR_MAP_L2_PROMOTION_NONE,
                        nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (r) {
        printf("a map of %s, rank %d, swizzle %d is refused: %d\n", e.name, rank, swizzle, (int)r);
        exit(3);
    }
    return map;
}
static int box_bytes(const element &e, int rank, int swizzle, const int *step)
{
    static const int box[5] = {0, 5, 3, 2, 2};
    int bytes = spans[swizzle];
    for (int i = 1; i < rank; i++)
        bytes *= step ? (box[i] + step[i] - 1) / step[i] : box[i];
    (void)e;
    return bytes;
}

/* One element of a box: where it lies in shared memory, and in the tensor unless it is outside.  What is written goes on to the end of a
 * piece of 16 bytes. */
template <typename F>
static void walk(const element &e, int rank, int swizzle, const int *corner, const int *step, int at, bool written, F visit)
{
    static const uint32_t bits[] = {0, 1, 3, 7}; /* of the row of 128 bytes, that change the piece of 16 */
    static const int64_t strides[] = {0, 160, 160 * 7, 160 * 7 * 5, 160 * 7 * 5 * 4};
    static const int dims[] = {0, 7, 5, 4, 3}, boxes[] = {0, 5, 3, 2, 2};
    int i[5] = {0, 0, 0, 0, 0}, row = 0;
    for (;; row++) {
        for (i[0] = 0; i[0] < spans[swizzle] / e.bytes; i[0]++) {
            uint32_t a = (uint32_t)(at + row * spans[swizzle] + i[0] * e.bytes);
            int x = corner[0] + i[0];
            bool inside = x >= 0 && x < (written ? (160 - 2 * e.bytes + 15) / 16 * 16 / e.bytes : 160 / e.bytes - 2);
            int64_t from = (int64_t)x * e.bytes;
            for (int k = 1; k < rank; k++) {
                int c = corner[k] + i[k] * (step ? step[k] : 1);
                inside = inside && c >= 0 && c < dims[k];
                from += c * strides[k];
            }
            visit(a ^ (a >> 7 & bits[swizzle]) << 4, inside ? from : -1);
        }
        int k = 1; /* the next row: as many as steps fit into the box */
        while (k < rank && ++i[k] == (boxes[k] + (step ? step[k] : 1) - 1) / (step ? step[k] : 1))
            i[k++] = 0;
        if (k == rank)
            return;
    }
}
static int unlike;
static void judge(const char *name, const void *device, const uint8_t *want, size_t n)
{
    static uint8_t got[TENSOR_BYTES];
    if (cudaMemcpy(got, device, n, cudaMemcpyDeviceToHost) == cudaSuccess && memcmp(got, want, n) == 0)
        return;
    if (unlike++ < 20)
        printf("%s is not what the walk over its elements says\n", name);
}
/* Behind record(), which does not come back from a case that the card refused. */
static void must_be_refused(const char *name, int corner, int rank)
{
    if (is_refused(corner, rank) && ++unlike)
        printf("%s is not refused\n", name);
}
static bool converts(const element &e)
{
    return strstr(e.name, "ftz") || strstr(e.name, "tf32");
}

static void load_case(const element &e, int rank, int swizzle, int corner, bool nan, const int *step, int at)
{
    if (!begin_case())
        return;
    char name[96];
    void *tensor = device_bytes(contents, TENSOR_BYTES), *out = device_bytes(nullptr, BOX_BYTES + 1024);
    CUtensorMap map = make_map(tensor, e, rank, swizzle, nan, step);
    int bytes = box_bytes(e, rank, swizzle, step), c[5];
    corner_of(corner, e, c);
    snprintf(name, sizeof name, "load_%dd_%s_sw%d_corner%d%s_step%d%d%d_at%d", rank, e.name, swizzle, corner, nan ? "_nan" : "",
             step ? step[0] : 1, step ? step[1] : 1, step ? step[2] : 1, at);
    void *args[] = {&map, &out, &bytes, &rank, &at, &c[0], &c[1], &c[2], &c[3], &c[4]};
    launch((const void *)load_box, 1, 128, BOX_BYTES + 1024, 1, args);
    record(name, "exact", out, bytes + 1024);
    static uint8_t want[BOX_BYTES + 1024];
    memset(want, 0xee, sizeof want);
    walk(e, rank, swizzle, c, step, at, false, [&](uint32_t to, int64_t from) {
        from < 0 ? (void)memset(want + to, 0, e.bytes) : (void)memcpy(want + to, contents + from, e.bytes);
    });
    if (!nan && !converts(e))
        judge(name, out, want, bytes + 1024);
    cudaFree(tensor), cudaFree(out);
}
static void store_case(const element &e, int rank, int swizzle, int corner, const int *step, int at)
{
    if (!begin_store(corner, rank))
        return;
    char name[96];
    void *tensor = device_bytes(nullptr, TENSOR_BYTES), *in = device_bytes(contents, BOX_BYTES + 1024);
    CUtensorMap map = make_map(tensor, e, rank, swizzle, false, step);
    int bytes = box_bytes(e, rank, swizzle, step), c[5], whole = 160;
    static const int dims[5] = {1, 7, 5, 4, 3};
    for (int i = 1; i < rank; i++)
        whole *= dims[i];
    corner_of(corner, e, c);
    snprintf(name, sizeof name, "store_%dd_%s_sw%d_corner%d_step%d%d%d_at%d", rank, e.name, swizzle, corner, step ? step[0] : 1,
             step ? step[1] : 1, step ? step[2] : 1, at);
    void *args[] = {&map, &in, &bytes, &rank, &at, &c[0], &c[1], &c[2], &c[3], &c[4]};
    launch((const void *)store_box, 1, 128, BOX_BYTES + 1024, 1, args);
    record(name, "exact", tensor, whole);
    must_be_refused(name, corner, rank);
    static uint8_t want[TENSOR_BYTES];
    memset(want, 0xee, sizeof want);
    walk(e, rank, swizzle, c, step, at, true, [&](uint32_t from, int64_t to) {
        if (to >= 0)
            memcpy(want + to, contents + from, e.bytes);
    });
    if (!converts(e))
        judge(name, tensor, want, whole);
    cudaFree(tensor), cudaFree(in);
}

/* Finite numbers only, so that no NaN is compared: each element's exponent lies in the middle. */
static void finite(uint8_t *p, size_t n, const char *type)
{
    bool f16 = strstr(type, "f16") && !strstr(type, "bf16"), f64 = strstr(type, "f64"), f = strchr(type, 'f');
    size_t each = strstr(type, "f16") ? 2 : f64 ? 8 : 4;
    for (size_t i = 0; i < n; i++) {
        p[i] = (uint8_t)noise();
        if (f && i % each == each - 1)
            p[i] = (p[i] & 0x80) | (f16 ? 0x38 + (noise() & 7) : 0x3f);
        if (f && !f16 && i % each == each - 2)
            p[i] = (p[i] & 0x7f) | (f64 ? 0xe0 : 0x80) * (noise() & 1);
    }
}
/* d of a type of integers by s. */
template <typename T> static void reduce(const char *op, void *to, const void *from)
{
    T d, s;
    memcpy(&d, to, sizeof d), memcpy(&s, from, sizeof s);
    switch (op[0] + op[1]) {
    case 'a' + 'd': d = (T)((uint64_t)d + (uint64_t)s); break;
    case 'm' + 'i': d = s < d ? s : d; break;
    case 'm' + 'a': d = s > d ? s : d; break;
    case 'i' + 'n': d = d >= s ? 0 : d + 1; break;
    case 'd' + 'e': d = d == 0 || d > s ? s : d - 1; break;
    case 'a' + 'n': d &= s; break;
    case 'o' + 'r': d |= s; break;
    default: d ^= s;
    }
    memcpy(to, &d, sizeof d);
}
static void reduce_case(const void *kernel, const char *op, const char *type, int swizzle, int corner)
{
    if (!begin_store(corner, 2))
        return;
    char name[96];
    uint8_t before[160 * 7], in[BOX_BYTES];
    finite(before, sizeof before, type), finite(in, sizeof in, type);
    const element &e = element_of(type);
    void *tensor = device_bytes(before, sizeof before), *d_in = device_bytes(in, sizeof in);
    CUtensorMap map = make_map(tensor, e, 2, swizzle, false, nullptr);
    int bytes = box_bytes(e, 2, swizzle, nullptr), c[5];
    corner_of(corner, e, c);
    snprintf(name, sizeof name, "reduce_%s_%s_sw%d_corner%d", op, type, swizzle, corner);
    void *args[] = {&map, &d_in, &bytes, &c[0], &c[1]};
    launch(kernel, 1, 128, BOX_BYTES, 1, args);
    record(name, "exact", tensor, sizeof before);
    must_be_refused(name, corner, 2);
    walk(e, 2, swizzle, c, nullptr, 0, true, [&](uint32_t from, int64_t to) {
        if (to >= 0 && !e.is_float)
            strcmp(type, "u32") == 0   ? reduce<uint32_t>(op, before + to, in + from)
            : strcmp(type, "s32") == 0 ? reduce<int32_t>(op, before + to, in + from)
            : strcmp(type, "u64") == 0 ? reduce<uint64_t>(op, before + to, in + from)
                                       : reduce<int64_t>(op, before + to, in + from);
    });
    if (!e.is_float)
        judge(name, tensor, before, sizeof before);
    cudaFree(tensor), cudaFree(d_in);
}

static void tensors(void)
{
    static const int steps[][5] = {{2, 1, 1, 1, 1}, {1, 2, 3, 1, 1}, {1, 3, 1, 1, 1}, {1, 5, 2, 1, 1}};
    static const char *const few[] = {"u8", "f32", "u64"};
    for (const element &e : elements)
        for (int swizzle = 0; swizzle < 4; swizzle++)
            for (int corner = 0; corner < 5; corner++) {
                load_case(e, 3, swizzle, corner, false, nullptr, 0);
                if (e.is_float)
                    load_case(e, 3, swizzle, corner, true, nullptr, 0);
                if (corner < 3)
                    store_case(e, 3, swizzle, store_corners[corner], nullptr, 0);
            }
    for (const char *name : few)
        for (int rank = 1; rank <= 5; rank++)
            for (int swizzle = 0; swizzle < 4; swizzle++)
                for (int corner = 0; corner < 4; corner++) {
                    load_case(element_of(name), rank, swizzle, corner, false, nullptr, rank % 2 ? 128 : 640);
                    store_case(element_of(name), rank, swizzle, store_corners[corner], nullptr, rank % 2 ? 128 : 640);
                }
    for (auto &s : steps)
        for (int swizzle = 0; swizzle < 4; swizzle++)
            for (int corner = 0; corner < 3; corner++) {
                load_case(element_of("f16"), 3, swizzle, corner, false, s, 0);
                store_case(element_of("f16"), 3, swizzle, store_corners[corner], s, 0);
            }
    static const struct {
        const char *op;
        const void *kernel;
        const char *types;
    } ops[] = {{"add", (const void *)reduce_box_add, "u32 s32 u64 f16 bf16 f32"}, {"min", (const void *)reduce_box_min, "u32 s32 u64 s64 f16 bf16"},
               {"max", (const void *)reduce_box_max, "u32 s32 u64 s64 f16 bf16"}, {"inc", (const void *)reduce_box_inc, "u32"},
               {"dec", (const void *)reduce_box_dec, "u32"},              {"and", (const void *)reduce_box_and, "u32 u64"},
               {"or", (const void *)reduce_box_or, "u32 u64"},            {"xor", (const void *)reduce_box_xor, "u32 u64"}};
    for (auto &o : ops) {
        char types[64];
        snprintf(types, sizeof types, "%s", o.types);
        for (char *t = strtok(types, " "); t; t = strtok(nullptr, " "))
            for (int swizzle = 0; swizzle < 4; swizzle++)
                for (int corner = 0; corner < 3; corner++)
                    reduce_case(o.kernel, o.op, t, swizzle, store_corners[corner]);
    }
}

/* ---------------------------------------------------------------------------------------------- the rest */

static void pair_case(const char *name, const void *kernel, const char *type, unsigned blocks, int mask)
{
    if (!begin_case())
        return;
    uint8_t in[1024];
    finite(in, sizeof in, type);
    void *d_in = device_bytes(in, sizeof in), *out = device_bytes(in + 256, blocks * 256);
    void *args[] = {&out, &d_in, &mask};
    launch(kernel, blocks, 64, 0, blocks, args);
    record(name, "exact", out, blocks * 256);
    cudaFree(d_in), cudaFree(out);
}
static void plain_case(const char *name, const void *kernel, unsigned blocks, unsigned threads, unsigned cluster, size_t in_bytes,
                       size_t out_bytes, int number)
{
    if (!begin_case())
        return;
    void *in = device_bytes(contents, in_bytes + 16), *out = device_bytes(nullptr, out_bytes);
    void *with[] = {&in, &out, &number}, *without[] = {&out, &number};
    launch(kernel, blocks, threads, 4096, cluster, in_bytes ? with : without);
    record(name, "exact", out, out_bytes);
    cudaFree(in), cudaFree(out);
}

static void others(void)
{
#define BULK_CASE(name, what) pair_case("bulk_" #name, (const void *)bulk_##name, #name, 1, 0);
#define PEER_CASE(name, what) pair_case("peer_" #name, (const void *)peer_##name, #name, 2, 0);
#define RED_CASE(name, what)  pair_case("red_async_" #name, (const void *)peer_red_##name, #name, 2, 0);
    BULK_REDUCTIONS(BULK_CASE)
    PEER_REDUCTIONS(PEER_CASE)
    PEER_REDUCTIONS(RED_CASE)
    pair_case("peer_copy", (const void *)peer_copy, "b32", 2, 0);
    pair_case("st_async_b32", (const void *)peer_st_b32, "b32", 2, 0);
    pair_case("st_async_b64", (const void *)peer_st_b64, "b32", 2, 0);
    pair_case("st_async_v4", (const void *)peer_st_v4, "b32", 2, 0);
    for (int mask = 1; mask < 16; mask += 3) {
        char name[32];
        snprintf(name, sizeof name, "multicast_bulk_%x", mask);
        pair_case(name, (const void *)spread, "b32", 4, mask);
    }
    for (int bytes = 32; bytes <= 4096; bytes *= 2) {
        char name[32];
        snprintf(name, sizeof name, "bulk_round_%d", bytes);
        plain_case(name, (const void *)bulk_round, 1, 64, 1, 4096, bytes, bytes);
    }
    plain_case("cp_async_arrive", (const void *)cp_async_arrive, 1, 32, 1, 512, 512, 0);
    plain_case("transactions", (const void *)transactions, 1, 64, 1, 0, 256, 0);
    plain_case("ring", (const void *)ring, 1, 64, 1, 0, 128, 9);
    plain_case("dsmem", (const void *)dsmem, 4, 32, 4, 0, 1024, 0);
    plain_case("remote_arrive", (const void *)remote_arrive, 4, 32, 4, 0, 128, 0);
    plain_case("remote_store", (const void *)remote_store, 2, 32, 2, 0, 512, 0);
    plain_case("cluster_registers", (const void *)cluster_registers, 8, 32, 4, 0, 320, 0);
    if (!begin_case())
        return;
    void *tensor = device_bytes(contents, TENSOR_BYTES), *out = device_bytes(nullptr, 512);
    alignas(64) CUtensorMap map;
    cuuint64_t dim[2] = {32, 4}, stride[1] = {128};
    cuuint32_t box[2] = {32, 1}, ones[2] = {1, 1};
    if (encode(&map, CU_TENSOR_MAP_DATA_TYPE_INT32, 2, tensor, dim, stride, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
               CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE))
        exit(3);
    void *args[] = {&map, &out};
    launch((const void *)multicast, 4, 32, 0, 4, args);
    record("multicast_tensor", "exact", out, 512);
}

int main(int argc, char **argv)
{
    cudaDriverEntryPointQueryResult found;
    if (!open_results(argc, argv))
        return 2;
    if (cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000, cudaEnableDefault, &found) || !encode)
        return 77;
    for (uint8_t &x : contents)
        x = (uint8_t)noise();
    tensors();
    others();
    printf("%d unlike\n", unlike);
    return close_results() || unlike;
}
