/* Host side of the Hopper kernel. */
#pragma once
#include "kernels/flash_attention/call.cuh"
#include "kernels/flash_attention/forward.cuh"

/* One instance of the kernel. */
template <class C> static cudaError_t fa_launch(const struct flash_attention_args *a, cudaStream_t stream)
{
    return fa_launch_as<C>(fa_forward<C>, 9, a, stream);
}
