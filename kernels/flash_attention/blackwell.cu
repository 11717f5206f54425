/* FlashAttention forward for Blackwell (sm_100a, sm_103a): the instances and the choice between them.  flash_attention.h is the
 * manual, blackwell.cuh the kernel, schedule.cuh the order of work.  One translation unit, nothing but the CUDA toolkit:
 *
 *     nvcc -gencode=arch=compute_100a,code=sm_100a -O3 -std=c++17 -I<root of the repository> -c
 * kernels/flash_attention/blackwell.cu
 */
#include "kernels/flash_attention/blackwell.cuh"
#include "kernels/flash_attention/call.cuh"

/* slots of K and V, tiles whose Q there is room for, of 16 exponentials how many by polynomial: blackwell_layout.cuh */
template <typename T, int D, bool CAUSAL> struct fb_choice;
template <typename T, bool CAUSAL> struct fb_choice<T, 64, CAUSAL> : fb_config<T, 64, CAUSAL, 8, 2, 6> {
};
template <typename T, bool CAUSAL> struct fb_choice<T, 128, CAUSAL> : fb_config<T, 128, CAUSAL, 4, 1, 4> {
};
template <typename T, bool CAUSAL> struct fb_choice<T, 256, CAUSAL> : fb_config<T, 256, CAUSAL, 4, 1, 0> {
};

template <class C> static cudaError_t fb_launch(const struct flash_attention_args *a, cudaStream_t stream)
{
    return fa_launch_as<C>(fb_forward<C>, 10, a, stream);
}

template <typename T, int D> static cudaError_t fb_by_mask(const struct flash_attention_args *a, cudaStream_t stream)
{
    return a->causal ? fb_launch<fb_choice<T, D, true>>(a, stream) : fb_launch<fb_choice<T, D, false>>(a, stream);
}

template <typename T> static cudaError_t fb_by_head(const struct flash_attention_args *a, cudaStream_t stream)
{
    switch (a->head_dim) {
    case 64:
        return fb_by_mask<T, 64>(a, stream);
    case 128:
        return fb_by_mask<T, 128>(a, stream);
    default:
        return fb_by_mask<T, 256>(a, stream);
    }
}

extern "C" cudaError_t flash_attention_forward_sm100(const struct flash_attention_args *args, cudaStream_t stream)
{
    if (!fa_valid(args))
        return cudaErrorInvalidValue;
    return args->dtype == FLASH_ATTENTION_BF16 ? fb_by_head<__nv_bfloat16>(args, stream) : fb_by_head<__half>(args, stream);
}
