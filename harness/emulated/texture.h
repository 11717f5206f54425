#ifndef KS_HARNESS_EMULATED_TEXTURE_H
#define KS_HARNESS_EMULATED_TEXTURE_H

/* Textures and surfaces: what a 64-bit handle (cudaTextureObject_t, cudaSurfaceObject_t) names on the emulated device.
 *
 * An image is plain pitched device memory from ks_emu_malloc(), so bounds, initialised bytes and races are checked as for any
 * other access; CUDA arrays are images with a pitch of the runtime's choice.  Host code fills an image with ks_emu_write() row by
 * row (or ks_emu_copy()), describes it here and passes the handle to kernels.  Nothing is cached: a kernel sees the memory as it
 * is when it reads.
 *
 * Filtering is CUDA's (Programming Guide, "Texture Fetching"): coordinates minus a half, fractions rounded to 1/256, the
 * weighted sum in double precision rounded once.  Unnormalised coordinates know clamp and border only.  Fetches by integer
 * coordinates are not filtered.  Anisotropy is ignored; 3D, cube maps, layers and mipmaps work. */

#include "harness/emulated/emu.h"

enum ks_emu_texel { KS_EMU_TEXEL_UINT, KS_EMU_TEXEL_SINT, KS_EMU_TEXEL_FLOAT };
/* Values as in cudaTextureAddressMode and CUaddress_mode. */
enum ks_emu_address { KS_EMU_ADDRESS_WRAP, KS_EMU_ADDRESS_CLAMP, KS_EMU_ADDRESS_MIRROR, KS_EMU_ADDRESS_BORDER };

struct ks_emu_image {
    void *base;                     /* device memory of at least slices * slice_bytes */
    uint32_t width, height, depth;  /* in texels, 1 where there is no such dimension */
    uint32_t layers;                /* of a layered image, faces of cube maps included; 1: not layered */
    size_t pitch_bytes;             /* from row to row */
    size_t slice_bytes;             /* from depth slice to depth slice, or layer to layer */
    uint8_t channels, channel_bits; /* 1, 2 or 4 of 8, 16 or 32 bits */
    uint8_t kind;                   /* enum ks_emu_texel */
};

#define KS_EMU_MAX_MIPS 16
struct ks_emu_texture {
    struct ks_emu_image level[KS_EMU_MAX_MIPS];
    uint32_t n_levels;       /* 1: no mipmaps */
    uint8_t address[3];      /* enum ks_emu_address of x, y, z */
    bool linear_memory;      /* of cudaMalloc'd memory: fetches past its end give 0 */
    bool linear, mip_linear; /* filter between texels, between levels; false: nearest */
    bool normalized_coords;  /* 0 .. 1 over the image */
    bool normalized_float;   /* 8- and 16-bit integers are read as fractions (cudaReadModeNormalizedFloat) */
    bool srgb;               /* 8-bit channels 0 to 2 are decoded to linear light */
    float border[4];         /* colour past the edge with KS_EMU_ADDRESS_BORDER */
    float lod_bias, lod_min, lod_max;
};

/* Copies *t.  Errors: KS_ERR_RANGE (sizes, formats), KS_ERR_UNSUPPORTED (filtering of integers that are not read as fractions).
 */
KS_NODISCARD enum ks_code ks_emu_texture_new(struct ks_emu *emu, const struct ks_emu_texture *t, uint64_t *ret_handle,
                                             struct ks_err *err);
/* A surface: byte coordinates, no sampling. */
KS_NODISCARD enum ks_code ks_emu_surface_new(struct ks_emu *emu, const struct ks_emu_image *image, uint64_t *ret_handle,
                                             struct ks_err *err);
/* NULL: no such texture or surface, or freed. */
const struct ks_emu_texture *ks_emu_texture_find(const struct ks_emu *emu, uint64_t handle);
KS_NODISCARD enum ks_code ks_emu_texture_free(struct ks_emu *emu, uint64_t handle, struct ks_err *err);

#endif
