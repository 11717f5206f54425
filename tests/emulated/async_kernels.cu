/* mbarrier, bulk and tensor copies, clusters: right uses, and one kernel for every mistake (bad_*).  Run by test_async.c. */
#include "kernels/ptx/mbarrier.cuh"
#include "kernels/ptx/tma.cuh"
#include "kernels/ptx/warpgroup.cuh"

#define K extern "C" __global__ void

static __device__ __forceinline__ void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
static __device__ __forceinline__ void bulk_load(uint32_t dst, const void *src, uint32_t bytes, uint32_t bar)
{
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(dst), "l"(src),
                 "r"(bytes), "r"(bar)
                 : "memory");
}
static __device__ __forceinline__ void bulk_store(void *dst, uint32_t src, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(dst), "r"(src), "r"(bytes) : "memory");
}
static __device__ __forceinline__ void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> static __device__ __forceinline__ void bulk_wait() { asm volatile("cp.async.bulk.wait_group %0;" ::"n"(N) : "memory"); }
template <int N> static __device__ __forceinline__ void bulk_wait_read()
{
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(N) : "memory");
}

/* ---------------------------------------------------------------------------------------------- mbarrier */

/* Warp 0 produces numbers, warp 1 adds them up; one slot, "full" and "empty". */
K ring(int *out, int rounds)
{
    __shared__ uint64_t full, empty;
    __shared__ int slot[32];
    uint32_t f = ks_shared_address(&full), e = ks_shared_address(&empty);
    if (threadIdx.x == 0) {
        ks_mbarrier_init(f, 32);
        ks_mbarrier_init(e, 32);
    }
    __syncthreads();
    int lane = threadIdx.x & 31, sum = 0;
    for (int i = 0; i < rounds; i++) {
        if (threadIdx.x < 32) {
            ks_mbarrier_wait(e, (i & 1) ^ 1);
            slot[lane] = i * 100 + lane;
            ks_mbarrier_arrive(f);
        } else {
            ks_mbarrier_wait(f, i & 1);
            sum += slot[31 - lane];
            ks_mbarrier_arrive(e);
        }
    }
    if (threadIdx.x >= 32)
        out[lane] = sum;
}

/* States instead of parities, polled with test_wait; arrive with a count; pending_count; drop; inval. */
K states(unsigned *out)
{
    __shared__ uint64_t bar;
    uint32_t b = ks_shared_address(&bar);
    if (threadIdx.x == 0)
        ks_mbarrier_init(b, 64);
    __syncthreads();
    uint64_t state = 0;
    if (threadIdx.x < 32) {
        asm volatile("mbarrier.arrive.shared::cta.b64 %0, [%1], 2;" : "=l"(state) : "r"(b) : "memory");
        unsigned done = 0, polls = 0;
        while (!done) {
            asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.shared::cta.b64 p, [%1], %2;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(b), "l"(state) : "memory");
            polls++;
        }
        out[threadIdx.x] = polls > 0;
        unsigned pending;
        asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(pending) : "l"(state));
        out[32 + threadIdx.x] = pending;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(b) : "memory");
        bar = 7; /* ordinary memory again */
        out[64] = (unsigned)bar;
    }
}

/* Bytes announced by one thread and completed by another without a copy. */
K transactions(int *out)
{
    __shared__ uint64_t bar;
    uint32_t b = ks_shared_address(&bar);
    if (threadIdx.x == 0)
        ks_mbarrier_init(b, 1);
    __syncthreads();
    if (threadIdx.x == 0)
        ks_mbarrier_arrive_expect(b, 64);
    if (threadIdx.x >= 32)
        asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 2;" ::"r"(b) : "memory");
    ks_mbarrier_wait(b, 0);
    out[threadIdx.x] = 1;
}

K cp_async_arrive(const int *in, int *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(16) int data[128];
    uint32_t b = ks_shared_address(&bar), d = ks_shared_address(data);
    if (threadIdx.x == 0)
        ks_mbarrier_init(b, 32);
    __syncthreads();
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(d + 16 * threadIdx.x), "l"(in + 4 * threadIdx.x) : "memory");
    asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(b) : "memory");
    ks_mbarrier_wait(b, 0);
    for (int i = 0; i < 4; i++)
        out[32 * i + threadIdx.x] = data[(32 * i + threadIdx.x) ^ 5];
}

/* ---------------------------------------------------------------------------------------------- bulk copies */

/* in -> shared, +1, -> out; two groups. */
K bulk_round(const int *in, int *out, int bytes)
{
    __shared__ uint64_t bar;
    extern __shared__ __align__(128) int data[];
    uint32_t b = ks_shared_address(&bar), d = ks_shared_address(data);
    if (threadIdx.x == 0) {
        ks_mbarrier_init(b, 1);
        ks_fence_mbarrier_init();
        ks_mbarrier_arrive_expect(b, bytes);
        bulk_load(d, in, bytes, b);
    }
    __syncthreads();
    ks_mbarrier_wait(b, 0);
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)
        data[i] += 1;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        bulk_store(out, d, bytes / 2);
        bulk_commit();
        bulk_store(out + bytes / 8, d + bytes / 2, bytes / 2);
        bulk_commit();
        bulk_wait_read<1>();
        bulk_wait<0>();
    }
}

K bulk_reduce(float *f, unsigned *u)
{
    __shared__ alignas(128) float x[32];
    __shared__ alignas(128) unsigned y[32];
    x[threadIdx.x] = threadIdx.x * 0.5f;
    y[threadIdx.x] = threadIdx.x * 3 % 7;
    fence_async();
    __syncwarp();
    if (threadIdx.x == 0) {
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], 128;" ::"l"(f), "r"(ks_shared_address(x)) : "memory");
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%0], [%1], 128;" ::"l"(u), "r"(ks_shared_address(y)) : "memory");
        bulk_commit();
        bulk_wait<0>();
    }
}

/* ---------------------------------------------------------------------------------------------- tensor copies */

#define LOAD(n, coords)                                                                                                          \
    asm volatile("cp.async.bulk.tensor." #n "d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, " coords "], [%2];" \
                 ::"r"(d), "l"(&map), "r"(b), "r"(x), "r"(y), "r"(z), "r"(u), "r"(v)                                             \
                 : "memory")

/* The box at (x, y, z, u, v), as shared memory holds it. */
K tensor_load(const __grid_constant__ CUtensorMap map, uint8_t *out, int bytes, int rank, int x, int y, int z, int u, int v)
{
    __shared__ uint64_t bar;
    extern __shared__ __align__(1024) uint8_t box[];
    uint32_t b = ks_shared_address(&bar), d = ks_shared_address(box);
    for (int i = threadIdx.x; i < bytes; i += blockDim.x)
        box[i] = 0xee;
    if (threadIdx.x == 0)
        ks_mbarrier_init(b, 1);
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        ks_tma_prefetch_map(&map);
        ks_mbarrier_arrive_expect(b, bytes);
        switch (rank) {
        case 1: LOAD(1, "{%3}"); break;
        case 2: LOAD(2, "{%3, %4}"); break;
        case 3: LOAD(3, "{%3, %4, %5}"); break;
        case 4: LOAD(4, "{%3, %4, %5, %6}"); break;
        default: LOAD(5, "{%3, %4, %5, %6, %7}");
        }
    }
    ks_mbarrier_wait(b, 0);
    for (int i = threadIdx.x; i < bytes; i += blockDim.x)
        out[i] = box[i];
}

/* A box of consecutive numbers, stored or added at (x, y). */
K tensor_store(const __grid_constant__ CUtensorMap map, int bytes, int x, int y, int add)
{
    extern __shared__ __align__(1024) uint8_t box[];
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x)
        ((int *)box)[i] = i;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        if (add)
            asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x), "r"(y), "r"(ks_shared_address(box)) : "memory");
        else
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&map), "r"(x), "r"(y), "r"(ks_shared_address(box)) : "memory");
        bulk_commit();
        bulk_wait_read<0>();
    }
}

/* ---------------------------------------------------------------------------------------------- clusters */

static __device__ __forceinline__ uint32_t cluster_rank()
{
    uint32_t r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}
static __device__ __forceinline__ void cluster_sync()
{
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
static __device__ __forceinline__ uint32_t mapa(uint32_t address, uint32_t rank)
{
    uint32_t r;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(r) : "r"(address), "r"(rank));
    return r;
}

K cluster_registers(unsigned *out)
{
    unsigned v[10];
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(v[0]));
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(v[1]));
    asm volatile("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(v[2]));
    asm volatile("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(v[3]));
    asm volatile("mov.u32 %0, %%cluster_nctaid.x;" : "=r"(v[4]));
    asm volatile("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(v[5]));
    asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(v[6]));
    asm volatile("mov.u32 %0, %%clusterid.y;" : "=r"(v[7]));
    asm volatile("mov.u32 %0, %%nclusterid.x;" : "=r"(v[8]));
    asm volatile("{\n.reg .pred p;\nmov.pred p, %%is_explicit_cluster;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(v[9]));
    if (threadIdx.x == 0)
        for (int i = 0; i < 10; i++)
            out[(blockIdx.y * gridDim.x + blockIdx.x) * 10 + i] = v[i];
}

/* Every block reads its right neighbour's memory and adds to its left neighbour's. */
K dsmem(int *out)
{
    __shared__ int mine[32], sum[32];
    uint32_t rank = cluster_rank(), n, right, left;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
    right = (rank + 1) % n;
    left = (rank + n - 1) % n;
    mine[threadIdx.x] = rank * 1000 + threadIdx.x;
    sum[threadIdx.x] = 0;
    cluster_sync();
    int got;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(got) : "r"(mapa(ks_shared_address(&mine[threadIdx.x]), right)) : "memory");
    asm volatile("red.relaxed.cluster.shared::cluster.add.u32 [%0], %1;" ::"r"(mapa(ks_shared_address(&sum[threadIdx.x]), left)), "r"(got) : "memory");
    cluster_sync();
    out[blockIdx.x * 64 + threadIdx.x] = got;
    out[blockIdx.x * 64 + 32 + threadIdx.x] = sum[threadIdx.x];
}

/* Rank 0 waits for all others, which arrive at its barrier; generic pointers through mapa. */
K remote_arrive(int *out)
{
    __shared__ uint64_t bar;
    __shared__ int value;
    uint32_t rank = cluster_rank(), b = ks_shared_address(&bar), n;
    asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
    if (threadIdx.x == 0)
        ks_mbarrier_init(b, n - 1);
    value = 0;
    ks_fence_mbarrier_init();
    cluster_sync();
    if (rank > 0 && threadIdx.x == 0) {
        int *theirs;
        asm volatile("mapa.u64 %0, %1, %2;" : "=l"(theirs) : "l"(&value), "r"(0));
        atomicAdd(theirs, (int)rank);
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(mapa(b, 0)) : "memory");
    }
    if (rank == 0) {
        ks_mbarrier_wait(b, 0);
        out[threadIdx.x] = value;
    }
    cluster_sync();
}

/* Rank 0 loads one tile into all blocks of the cluster; each waits at its own barrier. */
K multicast(const __grid_constant__ CUtensorMap map, int *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) int tile[32];
    uint32_t rank = cluster_rank(), b = ks_shared_address(&bar);
    if (threadIdx.x == 0) {
        ks_mbarrier_init(b, 1);
        ks_fence_mbarrier_init();
        ks_mbarrier_arrive_expect(b, 128);
    }
    cluster_sync();
    if (rank == 0 && threadIdx.x == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(ks_shared_address(tile)), "l"(&map), "r"(0), "r"(1), "r"(b), "h"((uint16_t)0xf)
                     : "memory");
    ks_mbarrier_wait(b, 0);
    out[blockIdx.x * 32 + threadIdx.x] = tile[threadIdx.x] + rank;
    cluster_sync();
}

/* st.async into the neighbour. */
K remote_store(int *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(16) int box[64];
    uint32_t b = ks_shared_address(&bar), peer = cluster_rank() ^ 1;
    if (threadIdx.x == 0) {
        ks_mbarrier_init(b, 1);
        ks_fence_mbarrier_init();
        ks_mbarrier_arrive_expect(b, 256);
    }
    cluster_sync();
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%0], {%1, %2}, [%3];" ::"r"(mapa(ks_shared_address(&box[2 * threadIdx.x]), peer)),
                 "r"((int)(blockIdx.x * 100 + threadIdx.x)), "r"((int)threadIdx.x), "r"(mapa(b, peer))
                 : "memory");
    ks_mbarrier_wait(b, 0);
    out[blockIdx.x * 64 + threadIdx.x] = box[threadIdx.x];
    out[blockIdx.x * 64 + 32 + threadIdx.x] = box[32 + threadIdx.x];
    cluster_sync();
}

/* Masking one's own address names the block of the pair with the even rank. */
K leader_address(int *out)
{
    __shared__ int word;
    uint32_t a = ks_shared_address(&word);
    if (threadIdx.x == 0)
        word = cluster_rank() * 10 + 5;
    cluster_sync();
    int v;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(a & 0xFEFFFFFFu) : "memory");
    out[blockIdx.x * 32 + threadIdx.x] = v;
    cluster_sync();
}

__global__ void __cluster_dims__(2, 1, 1) fixed_cluster(unsigned *out)
{
    if (threadIdx.x == 0)
        out[blockIdx.x] = cluster_rank();
}

/* ---------------------------------------------------------------------------------------------- mistakes */

/* Reads the copy's destination without waiting. */
K bad_no_wait(const int *in, int *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) int data[64];
    uint32_t b = ks_shared_address(&bar);
    data[threadIdx.x] = data[threadIdx.x + 32] = -1;
    fence_async();
    if (threadIdx.x == 0) {
        ks_mbarrier_init(b, 1);
        ks_mbarrier_arrive_expect(b, 256);
        bulk_load(ks_shared_address(data), in, 256, b);
    }
    __syncthreads();
    out[threadIdx.x] = data[threadIdx.x];
    ks_mbarrier_wait(b, 0);
}
/* Waits for the phase before the one it means. */
K bad_parity(const int *in, int *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) int data[64];
    uint32_t b = ks_shared_address(&bar);
    data[threadIdx.x] = data[threadIdx.x + 32] = -1;
    fence_async();
    if (threadIdx.x == 0) {
        ks_mbarrier_init(b, 1);
        ks_mbarrier_arrive_expect(b, 256);
        bulk_load(ks_shared_address(data), in, 256, b);
    }
    __syncthreads();
    ks_mbarrier_wait(b, 1);
    out[threadIdx.x] = data[threadIdx.x];
    ks_mbarrier_wait(b, 0);
}
K bad_expect(const int *in, int *out, int expect)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) int data[64];
    uint32_t b = ks_shared_address(&bar);
    if (threadIdx.x == 0) {
        ks_mbarrier_init(b, 1);
        ks_mbarrier_arrive_expect(b, expect);
        bulk_load(ks_shared_address(data), in, 256, b);
    }
    __syncthreads();
    ks_mbarrier_wait(b, 0);
    out[threadIdx.x] = data[threadIdx.x];
}
K bad_no_fence(int *out)
{
    __shared__ alignas(128) int data[32];
    data[threadIdx.x] = threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        bulk_store(out, ks_shared_address(data), 128);
        bulk_commit();
        bulk_wait<0>();
    }
}
/* Overwrites the source of a copy that may not have been read. */
K bad_no_read_wait(int *out)
{
    __shared__ alignas(128) int data[32];
    for (int i = 0; i < 2; i++) {
        data[threadIdx.x] = i * 100 + threadIdx.x;
        fence_async();
        __syncthreads();
        if (threadIdx.x == 0) {
            bulk_store(out + 32 * i, ks_shared_address(data), 128);
            bulk_commit();
        }
        __syncthreads();
    }
    if (threadIdx.x == 0)
        bulk_wait<0>();
}
K bad_unwaited(int *out)
{
    __shared__ alignas(128) int data[32];
    data[threadIdx.x] = threadIdx.x;
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0) {
        bulk_store(out, ks_shared_address(data), 128);
        bulk_commit();
    }
}
K bad_load_unwaited(const int *in)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) int data[64];
    if (threadIdx.x == 0) {
        ks_mbarrier_init(ks_shared_address(&bar), 1);
        ks_mbarrier_arrive_expect(ks_shared_address(&bar), 256);
        bulk_load(ks_shared_address(data), in, 256, ks_shared_address(&bar));
    }
}
K bad_over_arrival(int *out)
{
    __shared__ uint64_t bar;
    uint32_t b = ks_shared_address(&bar);
    if (threadIdx.x == 0)
        ks_mbarrier_init(b, 40);
    __syncthreads();
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0], 3;" ::"r"(b) : "memory");
    out[0] = 1;
}
K bad_uninitialised(int *out)
{
    __shared__ uint64_t bar;
    ks_mbarrier_arrive(ks_shared_address(&bar));
    out[0] = 1;
}
K bad_twice(int *out)
{
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        ks_mbarrier_init(ks_shared_address(&bar), 1);
        ks_mbarrier_init(ks_shared_address(&bar), 1);
    }
    out[0] = 1;
}
K bad_access(int *out)
{
    __shared__ uint64_t bar;
    if (threadIdx.x == 0)
        ks_mbarrier_init(ks_shared_address(&bar), 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        bar = 5;
        out[0] = (int)bar;
    }
}
/* 31 threads arrive where 32 are expected. */
K bad_deadlock(int *out)
{
    __shared__ uint64_t bar;
    uint32_t b = ks_shared_address(&bar);
    if (threadIdx.x == 0)
        ks_mbarrier_init(b, 32);
    __syncthreads();
    if (threadIdx.x != 7)
        ks_mbarrier_arrive(b);
    ks_mbarrier_wait(b, 0);
    out[0] = 1;
}
/* The same, polled for ever. */
K bad_poll(int *out)
{
    __shared__ uint64_t bar;
    uint32_t b = ks_shared_address(&bar), done = 0;
    if (threadIdx.x == 0)
        ks_mbarrier_init(b, 1);
    __syncthreads();
    while (!done)
        asm volatile("{\n.reg .pred p;\nmbarrier.test_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(done) : "r"(b) : "memory");
    out[0] = 1;
}
K bad_map(const CUtensorMap *map, int *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) int data[64];
    uint32_t b = ks_shared_address(&bar);
    if (threadIdx.x == 0) {
        ks_mbarrier_init(b, 1);
        ks_mbarrier_arrive_expect(b, 256);
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(ks_shared_address(data)), "l"(map), "r"(0), "r"(b) : "memory");
    }
    ks_mbarrier_wait(b, 0);
    out[0] = data[0];
}
/* A box from a coordinate the card refuses. */
K bad_coordinate(const __grid_constant__ CUtensorMap map, int store, int x)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) int data[64];
    uint32_t b = ks_shared_address(&bar);
    data[threadIdx.x] = data[threadIdx.x + 32] = 0;
    if (threadIdx.x == 0)
        ks_mbarrier_init(b, 1);
    fence_async();
    __syncthreads();
    if (threadIdx.x == 0 && store) {
        asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%1}], [%2];" ::"l"(&map), "r"(x), "r"(ks_shared_address(data)) : "memory");
        bulk_commit();
        bulk_wait<0>();
    } else if (threadIdx.x == 0) {
        ks_mbarrier_arrive_expect(b, 256);
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2}], [%3];" ::"r"(ks_shared_address(data)), "l"(&map), "r"(x), "r"(b) : "memory");
        ks_mbarrier_wait(b, 0);
    }
}
K bad_alignment(const int *in, int *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) int data[64];
    uint32_t b = ks_shared_address(&bar);
    if (threadIdx.x == 0) {
        ks_mbarrier_init(b, 1);
        ks_mbarrier_arrive_expect(b, 128);
        bulk_load(ks_shared_address(data) + 8, in, 128, b);
    }
    ks_mbarrier_wait(b, 0);
    out[0] = data[0];
}
K bad_global(const int *in, int *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) int data[64];
    uint32_t b = ks_shared_address(&bar);
    if (threadIdx.x == 0) {
        ks_mbarrier_init(b, 1);
        ks_mbarrier_arrive_expect(b, 256);
        bulk_load(ks_shared_address(data), in + 4, 256, b); /* in has 256 bytes */
    }
    ks_mbarrier_wait(b, 0);
    out[0] = data[0];
}
K bad_cluster_arrive(int *out)
{
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.arrive.aligned;" ::: "memory");
    out[0] = 1;
}
/* One block of the cluster does not come. */
K bad_cluster_wait(int *out)
{
    __shared__ uint64_t bar;
    uint32_t b = ks_shared_address(&bar);
    if (threadIdx.x == 0)
        ks_mbarrier_init(b, 1);
    __syncthreads();
    if (cluster_rank() == 1)
        ks_mbarrier_wait(b, 0);
    cluster_sync();
    out[0] = 1;
}
/* Writes to a block of the cluster that may have exited. */
K bad_cluster_exit(int *out)
{
    __shared__ int word;
    uint32_t rank = cluster_rank();
    word = 0;
    cluster_sync();
    if (rank == 0) {
        for (int i = 0; i < 20000; i++)
            asm volatile("" ::"r"(i));
        __nanosleep(100);
        asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(mapa(ks_shared_address(&word), 1)), "r"(5) : "memory");
        out[0] = 1;
    }
}
K bad_multicast(const int *in, int *out)
{
    __shared__ uint64_t bar;
    __shared__ alignas(128) int data[64];
    uint32_t b = ks_shared_address(&bar);
    if (threadIdx.x == 0) {
        ks_mbarrier_init(b, 1);
        ks_mbarrier_arrive_expect(b, 256);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, [%2], %3;" ::"r"(ks_shared_address(data)), "l"(in), "r"(b), "h"((uint16_t)0x10) : "memory");
    }
    ks_mbarrier_wait(b, 0);
    out[0] = data[0];
}
K bad_registers(int *out)
{
    ks_setmaxnreg_inc<240>();
    out[0] = 1;
}
