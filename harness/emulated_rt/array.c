/* CUDA arrays and mipmapped arrays. */
#include "harness/emulated_rt/array.h"

#include "base/str.h"

#include <string.h>

static KS_VEC(struct rt_array *) arrays;
static KS_VEC(struct rt_mipmap *) mipmaps;

struct rt_array *rt_array_find(cudaArray_const_t handle)
{
    for (size_t i = 0; i < arrays.n; i++)
        if ((const void *)arrays.data[i] == (const void *)handle)
            return arrays.data[i];
    return NULL;
}

struct rt_mipmap *rt_mipmap_find(cudaMipmappedArray_const_t handle)
{
    for (size_t i = 0; i < mipmaps.n; i++)
        if ((const void *)mipmaps.data[i] == (const void *)handle)
            return mipmaps.data[i];
    return NULL;
}

/* Bytes of an element, 0: no such format.  Channels have 8, 16 or 32 bits, all alike, and there are 1, 2 or 4 of them. */
static size_t elem_bytes(const struct cudaChannelFormatDesc *d)
{
    const int bits[4] = {d->x, d->y, d->z, d->w};
    int n = 0;
    while (n < 4 && bits[n])
        n++;
    for (int i = 0; i < 4; i++)
        if (i < n ? bits[i] != d->x : bits[i] != 0)
            return 0;
    if ((d->x != 8 && d->x != 16 && d->x != 32) || n == 3 || (d->f == cudaChannelFormatKindFloat && d->x == 8))
        return 0;
    return (size_t)n * (size_t)d->x / 8;
}

cudaError_t rt_array_new(struct rt_array **ret_array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                         unsigned flags)
{
    size_t bytes = desc ? elem_bytes(desc) : 0;
    const size_t most = (size_t)1 << 31;
    if (bytes == 0 || extent.width == 0 || extent.width > most || extent.height > most || extent.depth > most)
        return cudaErrorInvalidValue;
    if (flags & cudaArrayCubemap && (extent.width != extent.height || extent.depth % 6 || !extent.depth))
        return cudaErrorInvalidValue;
    struct rt_array a = {.desc = *desc, .extent = extent, .flags = flags, .elem_bytes = bytes};
    a.rows = extent.height ? extent.height : 1;
    a.slices = extent.depth ? extent.depth : 1;
    a.pitch_bytes = (extent.width * bytes + 127) / 128 * 128;
    a.slice_bytes = a.pitch_bytes * a.rows;
    a.base = a.slice_bytes <= SIZE_MAX / a.slices ? ks_emu_malloc(rt_emu(), a.slice_bytes * a.slices, NULL) : NULL;
    if (!a.base)
        return cudaErrorMemoryAllocation;
    struct rt_array *array = ks_xcalloc(1, sizeof *array);
    *array = a;
    ks_vec_push(&arrays, array);
    *ret_array = array;
    return cudaSuccess;
}

cudaError_t rt_array_free(struct rt_array *a)
{
    struct ks_err err;
    for (size_t i = 0; i < arrays.n; i++)
        if (arrays.data[i] == a)
            arrays.data[i] = arrays.data[--arrays.n];
    enum ks_code code = ks_emu_mfree(rt_emu(), a->base, &err);
    free(a);
    return code == KS_OK ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t cudaMalloc3DArray(cudaArray_t *ret_array, const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                              unsigned flags)
{
    RT_BEGIN;
    rt_spend(emu, RT_API_malloc, 0, 0);
    struct rt_array *a;
    cudaError_t e = ret_array ? rt_array_new(&a, desc, extent, flags) : cudaErrorInvalidValue;
    if (e == cudaSuccess)
        *ret_array = (cudaArray_t)(void *)a;
    RT_END(e);
}

cudaError_t cudaMallocArray(cudaArray_t *ret_array, const struct cudaChannelFormatDesc *desc, size_t width, size_t height,
                            unsigned flags)
{
    return cudaMalloc3DArray(ret_array, desc, (struct cudaExtent){width, height, 0}, flags);
}

cudaError_t cudaFreeArray(cudaArray_t array)
{
    if (!array)
        return cudaSuccess;
    RT_BEGIN;
    rt_spend(emu, RT_API_free, 0, 0);
    struct rt_array *a = rt_array_find(array);
    RT_END(!a ? cudaErrorContextIsDestroyed : a->of ? cudaErrorInvalidValue : rt_array_free(a));
}

static size_t halved(size_t n, unsigned level)
{
    return n == 0 ? 0 : n >> level ? n >> level : 1;
}

cudaError_t cudaMallocMipmappedArray(cudaMipmappedArray_t *ret_mipmap, const struct cudaChannelFormatDesc *desc,
                                     struct cudaExtent extent, unsigned n_levels, unsigned flags)
{
    if (n_levels == 0 || n_levels > 32 || !ret_mipmap)
        return rt_return(cudaErrorInvalidValue);
    RT_BEGIN;
    rt_spend(emu, RT_API_malloc, 0, 0);
    struct rt_mipmap *m = ks_xcalloc(1, sizeof *m);
    m->levels = ks_xcalloc(n_levels, sizeof *m->levels);
    cudaError_t e = cudaSuccess;
    bool layers = flags & (cudaArrayLayered | cudaArrayCubemap);
    while (m->n_levels < n_levels && e == cudaSuccess) {
        struct cudaExtent each = {halved(extent.width, m->n_levels), halved(extent.height, m->n_levels),
                                  layers ? extent.depth : halved(extent.depth, m->n_levels)};
        e = rt_array_new(&m->levels[m->n_levels], desc, each, flags);
        if (e == cudaSuccess)
            m->levels[m->n_levels++]->of = m;
    }
    if (e == cudaSuccess) {
        ks_vec_push(&mipmaps, m);
        *ret_mipmap = (cudaMipmappedArray_t)(void *)m;
        RT_END(cudaSuccess);
    }
    while (m->n_levels > 0)
        (void)rt_array_free(m->levels[--m->n_levels]);
    free(m->levels);
    free(m);
    RT_END(e);
}

cudaError_t cudaGetMipmappedArrayLevel(cudaArray_t *ret_array, cudaMipmappedArray_const_t mipmap, unsigned level)
{
    rt_lock();
    struct rt_mipmap *m = rt_mipmap_find(mipmap);
    if (m && level < m->n_levels)
        *ret_array = (cudaArray_t)(void *)m->levels[level];
    RT_END(!m ? cudaErrorInvalidResourceHandle : level < m->n_levels ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaFreeMipmappedArray(cudaMipmappedArray_t mipmap)
{
    if (!mipmap)
        return cudaSuccess;
    RT_BEGIN;
    rt_spend(emu, RT_API_free, 0, 0);
    struct rt_mipmap *m = rt_mipmap_find(mipmap);
    if (!m)
        RT_END(cudaErrorInvalidResourceHandle);
    for (size_t i = 0; i < mipmaps.n; i++)
        if (mipmaps.data[i] == m)
            mipmaps.data[i] = mipmaps.data[--mipmaps.n];
    while (m->n_levels > 0)
        (void)rt_array_free(m->levels[--m->n_levels]);
    free(m->levels);
    free(m);
    RT_END(cudaSuccess);
}

cudaError_t cudaArrayGetInfo(struct cudaChannelFormatDesc *ret_desc, struct cudaExtent *ret_extent, unsigned *ret_flags,
                             cudaArray_t array)
{
    rt_lock();
    const struct rt_array *a = rt_array_find(array);
    if (a && ret_desc)
        *ret_desc = a->desc;
    if (a && ret_extent)
        *ret_extent = a->extent;
    if (a && ret_flags)
        *ret_flags = a->flags;
    RT_END(a ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t cudaGetChannelDesc(struct cudaChannelFormatDesc *ret_desc, cudaArray_const_t array)
{
    return cudaArrayGetInfo(ret_desc, NULL, NULL, (cudaArray_t)(uintptr_t)array);
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){x, y, z, w, f};
}

static cudaError_t requirements(struct cudaArrayMemoryRequirements *ret, struct rt_array *const *levels, unsigned n)
{
    memset(ret, 0, sizeof *ret);
    for (unsigned i = 0; i < n; i++)
        ret->size += levels[i]->slice_bytes * levels[i]->slices;
    ret->alignment = 65536;
    return cudaSuccess;
}

cudaError_t cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *ret, cudaArray_t array, int dev)
{
    (void)dev;
    rt_lock();
    struct rt_array *a = rt_array_find(array);
    RT_END(a && ret ? requirements(ret, &a, 1) : cudaErrorInvalidValue);
}

cudaError_t cudaMipmappedArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *ret, cudaMipmappedArray_t mipmap, int dev)
{
    (void)dev;
    rt_lock();
    struct rt_mipmap *m = rt_mipmap_find(mipmap);
    RT_END(m && ret ? requirements(ret, m->levels, m->n_levels) : cudaErrorInvalidValue);
}
