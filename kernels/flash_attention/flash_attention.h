/* FlashAttention forward.
 *
 *     O   = softmax(scale * Q K^T + mask) V
 *     LSE = log sum exp(scale * Q K^T + mask), one number a query row, natural logarithm
 *
 * One call is one attention over a batch.  It only reads q, k, v, writes every element of o (and of lse), allocates nothing,
 * keeps nothing, never waits for the device and runs in stream order on `stream`.  C and C++.
 */
#ifndef KERNELS_FLASH_ATTENTION_H
#define KERNELS_FLASH_ATTENTION_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Type of q, k, v and o. */
enum flash_attention_dtype {
    FLASH_ATTENTION_BF16 = 0,
    FLASH_ATTENTION_FP16 = 1,
};

/* Distance, in elements, from one batch entry, row and head of a tensor to the next; the head dimension is contiguous. */
struct flash_attention_strides {
    int64_t batch, row, head;
};

/* q, o  [batch, seqlen_q, heads_q, head_dim]      k, v  [batch, seqlen_k, heads_kv, head_dim]
 * lse   [batch, heads_q, seqlen_q] fp32, dense, or NULL
 *
 * All tensors in device memory; o and lse overlap nothing.  head_dim 64, 128 or 256; heads_q a multiple of heads_kv (query
 * head h reads key head h / (heads_q / heads_kv)); every extent at least 1.
 * causal: query row i sees keys 0 .. i + seqlen_k - seqlen_q (bottom-right aligned).  A row that sees no key gets O = 0 and
 * LSE = -inf.
 * Accumulation is fp32; P is rounded to dtype before the product with V.  Two equal calls give equal bits.
 *
 * Launched so that it may start while the kernel before it in the stream ends (it waits before it reads or writes tensors), and lets a
 * kernel behind it that is launched so start early too: that one must wait likewise (griddepcontrol.wait).
 *
 * Any number of calls may run at once, in any streams, and a call may be captured into a graph and replayed beside any others: they
 * never draw work from one counter (counter.cuh).  As two calls must not write one o at once, so must a captured call not run
 * beside itself, from two instances of its graph.  In a program that has called from more than some 7000 streams, or captured more than
 * 120000 calls, further ones get a CTA for each tile in place of a persistent grid: right, slower, by how much is not
 * measured.
 *
 * Range in which the answer is right (what is promised, not where it ends: softmax.cuh):
 *   every |scale * q k|     up to 5e8 (bf16), 5e7 (fp16), and q k finite in fp32
 *   |v|, bf16               up to 5e21 / max(64, seqlen_k): 1.5e17 with 32768 keys
 * Scores further out, also far below the others (keys pushed away by -1e36), may give O = 0 with LSE = -inf, infinities or NaN; no
 * error is returned.  The plain kernel has neither limit.
 *
 * Fast path: all four pointers 16-byte aligned, all strides multiples of 8 elements and not negative, scale > 0.  Anything
 * else legal (element-aligned pointers, any strides) is computed by a plain kernel, hundreds of times slower.
 */
struct flash_attention_args {
    const void *q, *k, *v;
    void *o;
    float *lse;
    struct flash_attention_strides q_stride, k_stride, v_stride, o_stride;
    int32_t batch, seqlen_q, seqlen_k, heads_q, heads_kv, head_dim;
    enum flash_attention_dtype dtype;
    int32_t causal; /* 0 or 1 */
    float scale;    /* usually 1 / sqrt(head_dim) */
};

/* For devices of compute capability 9.0 (sm_90a).
 * cudaErrorInvalidValue, with nothing launched: NULL args, q, k, v or o; an extent below 1; head_dim, heads, dtype or causal
 * other than above; a pointer not aligned to its element; more than 2^29 - 1 rows of q and k together in one head, or pieces of work
 * (heads of a group times seqlen_q / 64; batch times heads_kv; the product of both over the two to four pieces of a tile).
 * cudaErrorNotSupported: another architecture, or a driver without tensor maps.  Otherwise what asking for the state of the
 * stream or the launch returned; errors inside the kernel surface at the next synchronisation. */
cudaError_t flash_attention_forward_sm90(const struct flash_attention_args *args, cudaStream_t stream);

/* The same for devices of compute capability 10.0 and 10.3 (sm_100a, sm_103a): blackwell.cu. */
cudaError_t flash_attention_forward_sm100(const struct flash_attention_args *args, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
