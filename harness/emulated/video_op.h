#ifndef KS_HARNESS_EMULATED_VIDEO_OP_H
#define KS_HARNESS_EMULATED_VIDEO_OP_H

/* A video instruction as its decoder describes it, packed into emu_insn.imm. */

#include <stdint.h>

enum emu_video_op {
    EMU_V_ADD,
    EMU_V_SUB,
    EMU_V_ABSDIFF,
    EMU_V_MIN,
    EMU_V_MAX,
    EMU_V_AVRG,
    EMU_V_SHL,
    EMU_V_SHR,
    EMU_V_SET,
    EMU_V_MAD
};
enum emu_video_second { EMU_V2_NONE, EMU_V2_ADD, EMU_V2_MIN, EMU_V2_MAX };

struct emu_video {
    uint8_t op, parts; /* 1, 2 halves, 4 bytes */
    uint8_t d_signed : 1, a_signed : 1, b_signed : 1, saturate : 1, wrap : 1;
    uint8_t second;
    uint8_t compare; /* eq ne lt le gt ge */
    uint8_t shift;   /* of vmad */
    uint8_t unused[2];
};
_Static_assert(sizeof(struct emu_video) == sizeof(int64_t), "fits emu_insn.imm");

#endif
