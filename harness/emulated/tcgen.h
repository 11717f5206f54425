#ifndef KS_HARNESS_EMULATED_TCGEN_H
#define KS_HARNESS_EMULATED_TCGEN_H

/* Operands of tcgen05 as decode_tcgen.c leaves them for exec_tcgen.c.  Tensor memory addresses are 32-bit registers.
 *
 *   alloc         a address in shared memory (64 bits), b columns
 *   dealloc       a tensor memory address, b columns
 *   ld, st        a address, ext registers, type enum emu_tc_shape, imm distance of the halves
 *   mma           ext: result, A, B, instruction descriptor, predicate, disabled lanes; type enum emu_tcgen_type, imm scale
 *   cp            a address, b descriptor, type enum emu_tcgen_cp
 *   shift         a address
 *   commit        a the barrier's address (64 bits), c mask of blocks or none */

#define EMU_TC_PAIR    1u /* .cta_group::2 */
#define EMU_TC_GENERIC 2u /* the address in shared memory is generic */
#define EMU_TC_A_TMEM  4u
#define EMU_TC_PACK    8u /* .pack::16b, .unpack::16b */
#define EMU_TC_STORE   16u

enum emu_tc_shape { EMU_TC_32X32, EMU_TC_16X64, EMU_TC_16X128, EMU_TC_16X256, EMU_TC_16X32X2 };

#endif
