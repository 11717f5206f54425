/* FlashAttention forward for Hopper (sm_90a): the instances and the choice between them.  flash_attention.h is the manual,
 * forward.cuh the kernel, schedule.cuh the order of work.  One translation unit, nothing but the CUDA toolkit:
 *
 *     nvcc -gencode=arch=compute_90a,code=sm_90a -O3 -std=c++17 -I<root of the repository> -c kernels/flash_attention/hopper.cu
 */
#include "kernels/flash_attention/launch.cuh"

/* Two instances for every head size and mask.   warpgroups, keys a block, stages, ordered, poly, Q in registers, early */
template <typename T, int D, bool CAUSAL, int WHICH> struct fa_instance;
template <typename T> struct fa_instance<T, 64, false, 0> : fa_config<T, 64, false, 4, 64, 6, true, 0, false, 6> {};
template <typename T> struct fa_instance<T, 64, false, 1> : fa_config<T, 64, false, 3, 128, 4, true, 0, false, 6> {};
template <typename T> struct fa_instance<T, 64, true, 0> : fa_config<T, 64, true, 4, 64, 6, false, 0, false, 6> {};
template <typename T> struct fa_instance<T, 64, true, 1> : fa_config<T, 64, true, 3, 128, 4, false, 0, false, 6> {};
template <typename T> struct fa_instance<T, 128, false, 0> : fa_config<T, 128, false, 2, 128, 3, false, 0, false, 7> {};
template <typename T> struct fa_instance<T, 128, false, 1> : fa_config<T, 128, false, 3, 64, 4, false, 0, false, 7> {};
template <typename T> struct fa_instance<T, 128, true, 0> : fa_config<T, 128, true, 2, 128, 3, false, 0, false, 7> {};
template <typename T> struct fa_instance<T, 128, true, 1> : fa_config<T, 128, true, 3, 64, 4, false, 0, false, 7> {};
template <typename T> struct fa_instance<T, 256, false, 0> : fa_config<T, 256, false, 2, 64, 2, false, 0, false, 7> {};
template <typename T> struct fa_instance<T, 256, false, 1> : fa_config<T, 256, false, 2, 80, 2, false, 0, false, 7> {};
template <typename T> struct fa_instance<T, 256, true, 0> : fa_config<T, 256, true, 2, 64, 2, false, 0, false, 7> {};
template <typename T> struct fa_instance<T, 256, true, 1> : fa_config<T, 256, true, 2, 80, 2, false, 0, false, 7> {};

/* Which of the two.  FA_CHOICE, for measuring them, forces one. */
static int fa_which(const struct flash_attention_args *a)
{
#ifdef FA_CHOICE
    return FA_CHOICE;
#else
    return 0;
#endif
}

template <typename T, int D> static cudaError_t fa_by_mask(const struct flash_attention_args *a, cudaStream_t stream)
{
    if (fa_which(a))
        return a->causal ? fa_launch<fa_instance<T, D, true, 1>>(a, stream) : fa_launch<fa_instance<T, D, false, 1>>(a, stream);
    return a->causal ? fa_launch<fa_instance<T, D, true, 0>>(a, stream) : fa_launch<fa_instance<T, D, false, 0>>(a, stream);
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
