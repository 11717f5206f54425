/* FlashAttention forward for Hopper (sm_90a): the instances and the choice between them.  flash_attention.h is the manual,
 * forward.cuh the kernel, schedule.cuh the order of work.  One translation unit, nothing but the CUDA toolkit:
 *
 *     nvcc -gencode=arch=compute_90a,code=sm_90a -O3 -std=c++17 -I<root of the repository> -c kernels/flash_attention/hopper.cu
 */
#include "kernels/flash_attention/launch.cuh"

/* warpgroups, keys a block, stages, ordered, slices of Q in registers, early exponentials, keep S, early S, staged O, look, walk,
 * turned: layout.cuh */
template <typename T, int D, bool CAUSAL> struct fa_choice;
template <typename T> struct fa_choice<T, 64, false> : fa_config<T, 64, false, 4, 64, 6, 0, 0, 8, false, false, true, true> {
};
template <typename T>
struct fa_choice<T, 64, true> : fa_config<T, 64, true, 4, 64, 6, 0, 0, 8, false, false, false, true, true, true> {
};
template <typename T, bool CAUSAL>
struct fa_choice<T, 128, CAUSAL>
    : fa_config<T, 128, CAUSAL, 3, 64, 4, CAUSAL ? 0 : 2, 0, 8, false, false, true, false, false, CAUSAL> {
};
template <typename T, bool CAUSAL>
struct fa_choice<T, 256, CAUSAL> : fa_config<T, 256, CAUSAL, 2, 64, 2, CAUSAL ? 0 : 2, 0, 7, false, true, false, false, !CAUSAL> {
};

/* head_dim 64, many keys: fewer and larger blocks cost fewer barriers, S is kept; with few keys they waste more of their
 * tiles. */
template <typename T, bool CAUSAL>
struct fa_long_64 : fa_config<T, 64, CAUSAL, 3, 96, 4, 0, 1, 8, true, false, false, true, true, CAUSAL> {
};
static constexpr int FA_LONG_KEYS = 12288; /* measured: 4096, and causal 8192, are better off without */

template <typename T, int D, bool CAUSAL>
static cudaError_t fa_by_length(const struct flash_attention_args *a, cudaStream_t stream)
{
    if (D == 64 && a->seqlen_k >= FA_LONG_KEYS)
        return fa_launch<fa_long_64<T, CAUSAL>>(a, stream);
    return fa_launch<fa_choice<T, D, CAUSAL>>(a, stream);
}

template <typename T, int D> static cudaError_t fa_by_mask(const struct flash_attention_args *a, cudaStream_t stream)
{
    return a->causal ? fa_by_length<T, D, true>(a, stream) : fa_by_length<T, D, false>(a, stream);
}

template <typename T> static cudaError_t fa_by_head(const struct flash_attention_args *a, cudaStream_t stream)
{
    switch (a->head_dim) {
    case 64:
        return fa_by_mask<T, 64>(a, stream);
    case 128:
        return fa_by_mask<T, 128>(a, stream);
    default:
        return fa_by_mask<T, 256>(a, stream);
    }
}

extern "C" cudaError_t flash_attention_forward_sm90(const struct flash_attention_args *args, cudaStream_t stream)
{
    if (!fa_valid(args))
        return cudaErrorInvalidValue;
    return args->dtype == FLASH_ATTENTION_BF16 ? fa_by_head<__nv_bfloat16>(args, stream) : fa_by_head<__half>(args, stream);
}
