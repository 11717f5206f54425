#ifndef KS_HARNESS_EMULATED_WGMMA_H
#define KS_HARNESS_EMULATED_WGMMA_H

/* Flags of wgmma in emu_shape.flags; emu_shape.n counts eights, so that 256 fits. */

#include "harness/emulated/operand.h"
#include "harness/emulated/tensor.h"
#include "harness/emulated/warpgroup.h"

#define EMU_WGMMA_SATFINITE 1u
#define EMU_WGMMA_TRANS_A   2u
#define EMU_WGMMA_TRANS_B   4u
#define EMU_WGMMA_NEGATE    8u  /* one of the scales is -1 */
#define EMU_WGMMA_REGISTERS 16u /* A */

/* Notes an operation: counts it, remembers what it reads, and checks its registers against the last fence. */
void ks_emu_wgmma_issue(struct emu_warp *w, const struct emu_insn *in, struct emu_wgmma_state *s, const struct emu_shape *shape,
                        const struct emu_operand *a, const struct emu_operand *b);
void ks_emu_wgmma_over(struct emu_wgmma_state *s, uint32_t groups); /* groups before that number are waited for */

#endif
