/* Host side of all architectures: argument checks, tensor maps, launch.  Tensor maps are built for every call and travel as kernel parameters. */
#pragma once
#include "kernels/flash_attention/counter.cuh"
#include "kernels/flash_attention/flash_attention.h"
#include "kernels/flash_attention/params.cuh"
#include "kernels/flash_attention/plain.cuh"
#include <cudaTypedefs.h>

/* K and V of a section of a causal call: what stays in the 50 or 60 MB of L2 beside Q and O */
static constexpr int64_t FA_SECTION_BYTES = 32 << 20;

/* Most tiles, row blocks of a group and groups of a call, and most rows of Q and K together: what is counted in 32 bits. */
static constexpr int64_t FA_MOST = INT32_MAX / 4;

static bool fa_valid(const struct flash_attention_args *a)
{
    if (!a || !a->q || !a->k || !a->v || !a->o)
        return false;
    if (a->batch < 1 || a->seqlen_q < 1 || a->seqlen_k < 1 || a->heads_q < 1 || a->heads_kv < 1)
        return false;
    if (a->heads_q % a->heads_kv != 0 || (a->head_dim != 64 && a->head_dim != 128 && a->head_dim != 256))
        return false;
    if (a->dtype != FLASH_ATTENTION_BF16 && a->dtype != FLASH_ATTENTION_FP16)
        return false;
    if (a->causal != 0 && a->causal != 1)
        return false;
    return ((uintptr_t)a->q | (uintptr_t)a->k | (uintptr_t)a->v | (uintptr_t)a->o) % 2 == 0 && (uintptr_t)a->lse % 4 == 0;
}

/* Whether 16-byte accesses and tensor maps can address the tensor; strides of extents of one are never used. */
static bool fa_aligned(const void *p, struct flash_attention_strides s, int batch, int rows, int heads)
{
    int64_t used = (batch > 1 ? s.batch : 0) | (rows > 1 ? s.row : 0) | (heads > 1 ? s.head : 0);
    return (uintptr_t)p % 16 == 0 && used % 8 == 0 && used >= 0 && used < ((int64_t)1 << 38);
}

/* (head_dim, rows, heads, batch) in boxes of 64 columns (one swizzled row of 128 bytes) by box_rows. */
static bool fa_tensor_map(PFN_cuTensorMapEncodeTiled_v12000 encode, CUtensorMap *map, const struct flash_attention_args *a,
                          const void *p, struct flash_attention_strides s, int rows, int heads, int box_rows)
{
    cuuint64_t extent[4] = {(cuuint64_t)a->head_dim, (cuuint64_t)rows, (cuuint64_t)heads, (cuuint64_t)a->batch};
    cuuint64_t packed = (cuuint64_t)a->head_dim * 2;
    cuuint64_t stride[3] = {rows > 1 ? (cuuint64_t)s.row * 2 : packed, heads > 1 ? (cuuint64_t)s.head * 2 : packed,
                            a->batch > 1 ? (cuuint64_t)s.batch * 2 : packed};
    cuuint32_t box[4] = {64, (cuuint32_t)box_rows, 1, 1}, step[4] = {1, 1, 1, 1};
    return encode(map, a->dtype == FLASH_ATTENTION_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 4,
                  (void *)p, extent, stride, box, step, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE) == CUDA_SUCCESS;
}

template <typename T, int D> static cudaError_t fa_launch_plain(const struct flash_attention_args *a, cudaStream_t stream)
{
    fa_plain_params p = {a->q, a->k, a->v, a->o, a->lse,
                         a->q_stride.batch, a->q_stride.row, a->q_stride.head, a->k_stride.batch, a->k_stride.row,
                         a->k_stride.head, a->v_stride.batch, a->v_stride.row, a->v_stride.head, a->o_stride.batch,
                         a->o_stride.row, a->o_stride.head, a->seqlen_q, a->seqlen_k, a->heads_q, a->heads_q / a->heads_kv,
                         a->causal, (int64_t)a->batch * a->heads_q * a->seqlen_q, a->scale};
    if ((p.rows + 3) / 4 > INT32_MAX)
        return cudaErrorInvalidValue;
    fa_plain<T, D><<<(unsigned)((p.rows + 3) / 4), 128, 0, stream>>>(p);
    return cudaGetLastError();
}

/* Cuts the tiles of a last, partial wave into smaller ones, one a multiprocessor (schedule.cuh). */
template <class C> static void fa_cut_tail(fa_shape *s, int sm_count)
{
    int whole = s->tiles / sm_count * sm_count, units = s->group_heads * s->row_blocks;
    int left = units - whole % s->group_tiles * C::WARPGROUPS, groups = s->groups - whole / s->group_tiles - 1;
    for (int tail = 1; whole < s->tiles && tail < C::WARPGROUPS; tail++) {
        int64_t tiles = (left + tail - 1) / tail + (int64_t)groups * ((units + tail - 1) / tail);
        if (tiles <= sm_count) {
            s->whole = whole;
            s->tail = tail;
            s->tiles = whole + (int)tiles;
            return;
        }
    }
}

/* One instance of a kernel, for devices of compute capability `major`. */
template <class C>
static cudaError_t fa_launch_as(void (*kernel)(fa_params), int major, const struct flash_attention_args *a, cudaStream_t stream)
{
    PFN_cuTensorMapEncodeTiled_v12000 encode = NULL;
    cudaDriverEntryPointQueryResult found;
    cudaError_t e = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", (void **)&encode, 12000, cudaEnableDefault, &found);
    if (e != cudaSuccess || found != cudaDriverEntryPointSuccess)
        return cudaErrorNotSupported;
    int device, sm_count, found_major;
    if ((e = cudaGetDevice(&device)) != cudaSuccess ||
        (e = cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, device)) != cudaSuccess ||
        (e = cudaDeviceGetAttribute(&found_major, cudaDevAttrComputeCapabilityMajor, device)) != cudaSuccess)
        return e;
    if (found_major != major)
        return cudaErrorNotSupported;

    fa_params p = {};
    fa_shape *s = &p.shape;
    s->seqlen_q = a->seqlen_q;
    s->seqlen_k = a->seqlen_k;
    s->heads_q = a->heads_q;
    s->heads_kv = a->heads_kv;
    s->group_heads = a->heads_q / a->heads_kv;
    s->row_blocks = (int)(((int64_t)a->seqlen_q + C::ROWS - 1) / C::ROWS);
    s->key_blocks = (int)(((int64_t)a->seqlen_k + C::BLOCK_N - 1) / C::BLOCK_N);
    int64_t units = (int64_t)s->group_heads * s->row_blocks, groups = (int64_t)a->batch * a->heads_kv;
    int64_t tiles = (units + C::WARPGROUPS - 1) / C::WARPGROUPS;
    if (units > FA_MOST || groups > FA_MOST || tiles * groups > FA_MOST || (int64_t)a->seqlen_k + a->seqlen_q > FA_MOST)
        return cudaErrorInvalidValue;
    s->group_tiles = (int)tiles;
    s->groups = (int)groups;
    s->whole = s->tiles = (int)(tiles * groups);
    if (!C::CAUSAL)
        fa_cut_tail<C>(s, sm_count);
    int64_t kv_bytes = (int64_t)a->seqlen_k * C::D * 4, section = FA_SECTION_BYTES / kv_bytes;
    s->section = (int)(section < 1 ? 1 : section > groups ? groups : section);
    p.q_at = a->q;
    p.q_batch = a->q_stride.batch;
    p.q_row = a->q_stride.row;
    p.q_head = a->q_stride.head;
    p.k_at = a->k;
    p.k_batch = a->k_stride.batch;
    p.k_row = a->k_stride.row;
    p.k_head = a->k_stride.head;
    p.o = a->o;
    p.lse = a->lse;
    p.o_batch = a->o_stride.batch;
    p.o_row = a->o_stride.row;
    p.o_head = a->o_stride.head;
    p.scale = a->scale;
    p.zero = 0;
    p.scale_log2 = a->scale * 1.44269504088896f;
    bool fast = a->scale > 0 && p.scale_log2 < INFINITY && fa_aligned(a->q, a->q_stride, a->batch, a->seqlen_q, a->heads_q) &&
                fa_aligned(a->k, a->k_stride, a->batch, a->seqlen_k, a->heads_kv) &&
                fa_aligned(a->v, a->v_stride, a->batch, a->seqlen_k, a->heads_kv) &&
                fa_aligned(a->o, a->o_stride, a->batch, a->seqlen_q, a->heads_q);
    fast = fast && fa_tensor_map(encode, &p.q, a, a->q, a->q_stride, a->seqlen_q, a->heads_q, C::ROWS) &&
           fa_tensor_map(encode, &p.k, a, a->k, a->k_stride, a->seqlen_k, a->heads_kv, C::BLOCK_N) &&
           fa_tensor_map(encode, &p.v, a, a->v, a->v_stride, a->seqlen_k, a->heads_kv, C::BLOCK_N) &&
           fa_tensor_map(encode, &p.o_map, a, a->o, a->o_stride, a->seqlen_q, a->heads_q, C::O_ROWS);
    if (!fast)
        return fa_launch_plain<typename C::T, C::D>(a, stream);

    int grid;
    if ((e = fa_choose_counter(s, sm_count, stream, &grid)) != cudaSuccess)
        return e;
    e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, C::SHARED_BYTES);
    if (e != cudaSuccess)
        return e;
    cudaLaunchAttribute early = {}; /* the copying warps wait for the kernels before (forward.cuh) */
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(C::THREADS);
    config.dynamicSmemBytes = C::SHARED_BYTES;
    config.stream = stream;
    config.attrs = &early;
    config.numAttrs = 1;
    return cudaLaunchKernelEx(&config, kernel, p);
}
