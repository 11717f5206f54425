#ifndef KS_HARNESS_EMULATED_RT_ARRAY_H
#define KS_HARNESS_EMULATED_RT_ARRAY_H

/* CUDA arrays: device memory in rows, slices one after the other.  A layered array or a cubemap has its layers or faces as
 * slices. Lock held. */

#include "harness/emulated_rt/rt.h"

struct rt_array {
    struct cudaChannelFormatDesc desc;
    struct cudaExtent extent; /* elements; height and depth 0 where the array has no such dimension */
    unsigned flags;
    size_t elem_bytes, pitch_bytes, slice_bytes;
    size_t rows, slices;  /* at least 1 */
    unsigned char *base;  /* in the emulated device */
    struct rt_mipmap *of; /* the mipmapped array that it is a level of, NULL: none */
};
struct rt_mipmap {
    unsigned n_levels;
    struct rt_array **levels;
};

struct rt_array *rt_array_find(cudaArray_const_t handle); /* NULL: not one */
struct rt_mipmap *rt_mipmap_find(cudaMipmappedArray_const_t handle);
cudaError_t rt_array_new(struct rt_array **ret_array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                         unsigned flags);
cudaError_t rt_array_free(struct rt_array *a);

#endif
