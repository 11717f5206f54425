#include "harness/emulated/texture.h"

#include "harness/emulated/device.h"

#define TAG      0x7e58000000000000u
#define TAG_MASK 0xffff000000000000u

static enum ks_code check_image(const struct ks_emu_image *i, struct ks_err *err)
{
    bool format = (i->channels == 1 || i->channels == 2 || i->channels == 4) &&
                  (i->channel_bits == 8 || i->channel_bits == 16 || i->channel_bits == 32) && i->kind <= KS_EMU_TEXEL_FLOAT &&
                  !(i->kind == KS_EMU_TEXEL_FLOAT && i->channel_bits == 8);
    if (!format)
        return ks_fail(err, KS_ERR_RANGE, "describe an image: %u channels of %u bits", i->channels, i->channel_bits);
    size_t row = (size_t)i->width * i->channels * i->channel_bits / 8;
    uint64_t slices = (uint64_t)i->depth * i->layers;
    if (!i->base || i->width == 0 || i->height == 0 || slices == 0 || (i->height > 1 && i->pitch_bytes < row) ||
        (slices > 1 && i->slice_bytes < row + (size_t)(i->height - 1) * i->pitch_bytes))
        return ks_fail(err, KS_ERR_RANGE, "describe an image: %u x %u x %u, %u layers, pitch %zu, slice %zu", i->width, i->height,
                       i->depth, i->layers, i->pitch_bytes, i->slice_bytes);
    return KS_OK;
}

static uint64_t keep(struct ks_emu *emu, const struct ks_emu_texture *t)
{
    struct ks_emu_texture *copy = ks_xcalloc(1, sizeof(*copy));
    *copy = *t;
    ks_vec_push(&emu->textures, copy);
    return TAG | emu->textures.n;
}

enum ks_code ks_emu_texture_new(struct ks_emu *emu, const struct ks_emu_texture *t, uint64_t *ret_handle, struct ks_err *err)
{
    if (t->n_levels < 1 || t->n_levels > KS_EMU_MAX_MIPS)
        return ks_fail(err, KS_ERR_RANGE, "make a texture of %u levels, must be 1 to %d", t->n_levels, KS_EMU_MAX_MIPS);
    for (uint32_t i = 0; i < t->n_levels; i++)
        KS_TRY(check_image(&t->level[i], err));
    bool fractions = t->level[0].kind == KS_EMU_TEXEL_FLOAT || (t->normalized_float && t->level[0].channel_bits < 32);
    if (t->linear && !fractions)
        return ks_fail(err, KS_ERR_UNSUPPORTED, "make a texture: filter integers that are not read as fractions");
    *ret_handle = keep(emu, t);
    return KS_OK;
}

enum ks_code ks_emu_surface_new(struct ks_emu *emu, const struct ks_emu_image *image, uint64_t *ret_handle, struct ks_err *err)
{
    struct ks_emu_texture t = {.level = {*image}, .n_levels = 1};
    KS_TRY(check_image(image, err));
    *ret_handle = keep(emu, &t);
    return KS_OK;
}

const struct ks_emu_texture *ks_emu_texture_find(const struct ks_emu *emu, uint64_t handle)
{
    uint64_t i = handle & ~TAG_MASK;
    return (handle & TAG_MASK) == TAG && i >= 1 && i <= emu->textures.n ? emu->textures.data[i - 1] : NULL;
}

enum ks_code ks_emu_texture_free(struct ks_emu *emu, uint64_t handle, struct ks_err *err)
{
    if (!ks_emu_texture_find(emu, handle))
        return ks_fail(err, KS_ERR_RANGE, "free a texture: 0x%llx is none", (unsigned long long)handle);
    struct ks_emu_texture **slot = &emu->textures.data[(handle & ~TAG_MASK) - 1]; /* numbers are not used again */
    free(*slot);
    *slot = NULL;
    return KS_OK;
}
