#ifndef KS_HARNESS_EMULATED_TEX_OP_H
#define KS_HARNESS_EMULATED_TEX_OP_H

/* What the decoder of texture and surface instructions tells their handlers, packed into emu_insn.target. */

#include <stdint.h>

enum emu_tex_geom { EMU_TEX_1D, EMU_TEX_2D, EMU_TEX_3D, EMU_TEX_A1D, EMU_TEX_A2D, EMU_TEX_CUBE, EMU_TEX_ACUBE };
enum emu_tex_mode { EMU_TEX_BASE, EMU_TEX_LEVEL, EMU_TEX_GRAD, EMU_TEX_GATHER };
enum emu_tex_clamp { EMU_SURF_TRAP, EMU_SURF_CLAMP, EMU_SURF_ZERO };
enum emu_tex_query { EMU_TXQ_WIDTH, EMU_TXQ_HEIGHT, EMU_TXQ_DEPTH, EMU_TXQ_ARRAY_SIZE, EMU_TXQ_LEVELS, EMU_TXQ_NORMALIZED };

struct emu_tex_op {
    uint8_t geom, mode; /* surfaces: mode is enum emu_tex_clamp */
    uint8_t component;  /* of tld4 */
    uint8_t n_dst : 4, float_coords : 1;
};
_Static_assert(sizeof(struct emu_tex_op) == sizeof(uint32_t), "fits emu_insn.target");

/* Coordinates of a geometry, its layer included. */
static inline uint32_t emu_tex_coords(uint8_t geom)
{
    static const uint8_t n[] = {1, 2, 3, 2, 3, 3, 4};
    return n[geom];
}

#endif
