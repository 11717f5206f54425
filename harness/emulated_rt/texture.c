/* Texture and surface objects: descriptions of arrays and of plain memory, translated for the device. */
#include "harness/emulated/texture.h"
#include "harness/emulated_rt/array.h"

#include "base/str.h"

#include <string.h>

struct object {
    uint64_t handle;
    bool surface;
    struct cudaResourceDesc resource;
    struct cudaTextureDesc texture;
    struct cudaResourceViewDesc view;
    bool has_view;
};

static KS_VEC(struct object) objects;

static struct object *object_find(uint64_t handle, bool surface)
{
    for (size_t i = 0; i < objects.n; i++)
        if (objects.data[i].handle == handle && objects.data[i].surface == surface)
            return &objects.data[i];
    return NULL;
}

static bool texel(struct ks_emu_image *image, const struct cudaChannelFormatDesc *d)
{
    image->channel_bits = (uint8_t)d->x;
    image->channels = (uint8_t)(d->w ? 4 : d->z ? 3 : d->y ? 2 : 1);
    image->kind = d->f == cudaChannelFormatKindFloat    ? KS_EMU_TEXEL_FLOAT
                  : d->f == cudaChannelFormatKindSigned ? KS_EMU_TEXEL_SINT
                                                        : KS_EMU_TEXEL_UINT;
    return d->f <= cudaChannelFormatKindFloat && d->x > 0;
}

static cudaError_t image_of_array(struct ks_emu_image *image, const struct rt_array *a)
{
    bool layered = a->flags & (cudaArrayLayered | cudaArrayCubemap);
    uint32_t slices = (uint32_t)a->slices;
    *image = (struct ks_emu_image){.base = a->base,
                                   .width = (uint32_t)a->extent.width,
                                   .height = (uint32_t)a->rows,
                                   .depth = layered ? 1 : slices,
                                   .layers = layered ? slices : 1,
                                   .pitch_bytes = a->pitch_bytes,
                                   .slice_bytes = a->slice_bytes};
    return texel(image, &a->desc) ? cudaSuccess : cudaErrorInvalidChannelDescriptor;
}

static cudaError_t image_of_memory(struct ks_emu_image *image, const struct cudaResourceDesc *r)
{
    const struct cudaChannelFormatDesc *d = r->resType == cudaResourceTypeLinear ? &r->res.linear.desc : &r->res.pitch2D.desc;
    *image = (struct ks_emu_image){.height = 1, .depth = 1, .layers = 1};
    if (!texel(image, d))
        return cudaErrorInvalidChannelDescriptor;
    size_t elem = (size_t)image->channels * image->channel_bits / 8;
    if (r->resType == cudaResourceTypeLinear) {
        image->base = r->res.linear.devPtr;
        image->width = (uint32_t)(r->res.linear.sizeInBytes / (elem ? elem : 1));
        image->pitch_bytes = r->res.linear.sizeInBytes;
    } else {
        image->base = r->res.pitch2D.devPtr;
        image->width = (uint32_t)r->res.pitch2D.width;
        image->height = (uint32_t)r->res.pitch2D.height;
        image->pitch_bytes = r->res.pitch2D.pitchInBytes;
    }
    image->slice_bytes = image->pitch_bytes * image->height;
    if (image->width == 0 || (uintptr_t)image->base % 16)
        return image->width ? cudaErrorMisalignedAddress : cudaErrorInvalidValue;
    return rt_on_device(image->base) ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t levels_of(struct ks_emu_texture *t, const struct cudaResourceDesc *r)
{
    const struct rt_array *a;
    const struct rt_mipmap *m;
    cudaError_t e = cudaSuccess;
    t->n_levels = 1;
    switch (r->resType) {
    case cudaResourceTypeArray:
        a = rt_array_find(r->res.array.array);
        return a ? image_of_array(&t->level[0], a) : cudaErrorInvalidResourceHandle;
    case cudaResourceTypeMipmappedArray:
        m = rt_mipmap_find(r->res.mipmap.mipmap);
        if (!m || m->n_levels > KS_EMU_MAX_MIPS)
            return m ? cudaErrorNotSupported : cudaErrorInvalidResourceHandle;
        t->n_levels = m->n_levels;
        for (unsigned i = 0; i < m->n_levels && e == cudaSuccess; i++)
            e = image_of_array(&t->level[i], m->levels[i]);
        return e;
    case cudaResourceTypeLinear:
    case cudaResourceTypePitch2D:
        t->linear_memory = true;
        return image_of_memory(&t->level[0], r);
    }
    return cudaErrorInvalidValue;
}

/* The part of a view that reads the resource as it is: a range of levels and layers. */
static cudaError_t view_apply(struct ks_emu_texture *t, const struct cudaResourceViewDesc *v)
{
    if (v->firstMipmapLevel > v->lastMipmapLevel || v->lastMipmapLevel >= t->n_levels)
        return cudaErrorInvalidValue;
    t->n_levels = v->lastMipmapLevel - v->firstMipmapLevel + 1;
    memmove(t->level, t->level + v->firstMipmapLevel, t->n_levels * sizeof *t->level);
    for (uint32_t i = 0; i < t->n_levels && t->level[i].layers > 1; i++) {
        if (v->firstLayer > v->lastLayer || v->lastLayer >= t->level[i].layers)
            return cudaErrorInvalidValue;
        t->level[i].base = (char *)t->level[i].base + v->firstLayer * t->level[i].slice_bytes;
        t->level[i].layers = v->lastLayer - v->firstLayer + 1;
    }
    return cudaSuccess;
}

static cudaError_t texture_fill(struct ks_emu_texture *t, const struct cudaResourceDesc *r, const struct cudaTextureDesc *d,
                                const struct cudaResourceViewDesc *v)
{
    memset(t, 0, sizeof *t);
    cudaError_t e = levels_of(t, r);
    if (e == cudaSuccess && v)
        e = view_apply(t, v);
    for (int i = 0; i < 3; i++) /* values are the runtime's own */
        t->address[i] = (uint8_t)d->addressMode[i];
    t->linear = d->filterMode == cudaFilterModeLinear;
    t->mip_linear = d->mipmapFilterMode == cudaFilterModeLinear;
    t->normalized_coords = d->normalizedCoords != 0;
    t->normalized_float = d->readMode == cudaReadModeNormalizedFloat;
    t->srgb = d->sRGB != 0;
    memcpy(t->border, d->borderColor, sizeof t->border);
    t->lod_bias = d->mipmapLevelBias;
    t->lod_min = d->minMipmapLevelClamp;
    t->lod_max = d->maxMipmapLevelClamp;
    if (t->n_levels == 1 && t->lod_max == 0)
        t->lod_min = 0;
    return e;
}

static cudaError_t create(struct object *o, const struct ks_emu_texture *t, const struct ks_emu_image *image)
{
    struct ks_err err;
    enum ks_code code =
        o->surface ? ks_emu_surface_new(rt_emu(), image, &o->handle, &err) : ks_emu_texture_new(rt_emu(), t, &o->handle, &err);
    if (code != KS_OK) {
        rt_error_note(err.message);
        return code == KS_ERR_UNSUPPORTED ? cudaErrorNotSupported : cudaErrorInvalidValue;
    }
    ks_vec_push(&objects, *o);
    return cudaSuccess;
}

cudaError_t cudaCreateTextureObject(cudaTextureObject_t *ret, const struct cudaResourceDesc *resource,
                                    const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view)
{
    if (!ret || !resource || !texture)
        return rt_return(cudaErrorInvalidValue);
    RT_BEGIN;
    (void)emu;
    struct ks_emu_texture t;
    struct object o = {.resource = *resource, .texture = *texture, .has_view = view != NULL};
    if (view)
        o.view = *view;
    cudaError_t e = texture_fill(&t, resource, texture, view);
    if (e == cudaSuccess)
        e = create(&o, &t, NULL);
    if (e == cudaSuccess)
        *ret = o.handle;
    RT_END(e);
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t *ret, const struct cudaResourceDesc *resource)
{
    if (!ret || !resource || resource->resType != cudaResourceTypeArray)
        return rt_return(ret && resource ? cudaErrorInvalidChannelDescriptor : cudaErrorInvalidValue);
    RT_BEGIN;
    (void)emu;
    struct object o = {.surface = true, .resource = *resource};
    struct ks_emu_image image;
    const struct rt_array *a = rt_array_find(resource->res.array.array);
    cudaError_t e = !a                                     ? cudaErrorInvalidResourceHandle
                    : a->flags & cudaArraySurfaceLoadStore ? image_of_array(&image, a)
                                                           : cudaErrorInvalidValue;
    if (e == cudaSuccess)
        e = create(&o, NULL, &image);
    if (e == cudaSuccess)
        *ret = o.handle;
    RT_END(e);
}

static cudaError_t destroy(uint64_t handle, bool surface)
{
    struct ks_err err;
    RT_BEGIN;
    struct object *o = object_find(handle, surface);
    if (!o)
        RT_END(handle ? cudaErrorInvalidValue : cudaSuccess);
    *o = objects.data[--objects.n];
    RT_END(ks_emu_texture_free(emu, handle, &err) == KS_OK ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t handle)
{
    return destroy(handle, false);
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t handle)
{
    return destroy(handle, true);
}

#define OBJECT_GET(name, type, handle_type, surface, field, condition)                                                           \
    cudaError_t name(type *ret, handle_type handle)                                                                              \
    {                                                                                                                            \
        rt_lock();                                                                                                               \
        const struct object *o = object_find(handle, surface);                                                                   \
        if (!o || !ret || !(condition))                                                                                          \
            RT_END(cudaErrorInvalidValue);                                                                                       \
        *ret = o->field;                                                                                                         \
        RT_END(cudaSuccess);                                                                                                     \
    }

OBJECT_GET(cudaGetTextureObjectResourceDesc, struct cudaResourceDesc, cudaTextureObject_t, false, resource, true)
OBJECT_GET(cudaGetTextureObjectTextureDesc, struct cudaTextureDesc, cudaTextureObject_t, false, texture, true)
OBJECT_GET(cudaGetTextureObjectResourceViewDesc, struct cudaResourceViewDesc, cudaTextureObject_t, false, view, o->has_view)
OBJECT_GET(cudaGetSurfaceObjectResourceDesc, struct cudaResourceDesc, cudaSurfaceObject_t, true, resource, true)
