#ifndef KS_HARNESS_EMULATED_EXEC_MEM_H
#define KS_HARNESS_EMULATED_EXEC_MEM_H

/* Address handling shared by loads, stores, atomics and the tensor loads: resolution, bounds, counting, checks. */

#include "harness/emulated/device.h"

/* Addresses of operand `ref` (64- or 32-bit register by `wide`, EMU_NONE: absolute) plus imm; inactive lanes repeat the first
 * active one. */
void ks_emu_addresses(struct emu_warp *w, uint32_t ref, bool wide, int64_t imm, uint32_t mask, struct emu_access *x);
/* Turns addresses of a space into host pointers in x->ad, after bounds, alignment, counters and checks.  False: faulted. */
bool ks_emu_resolve_global(struct emu_warp *w, const struct emu_insn *in, struct emu_access *x);
bool ks_emu_resolve_shared(struct emu_warp *w, const struct emu_insn *in, struct emu_access *x);
bool ks_emu_resolve_local(struct emu_warp *w, const struct emu_insn *in, struct emu_access *x);
/* Generic addresses: splits the mask by space.  out[0]: global, out[1]: shared, out[2]: local; each with its mask, 0 when empty.
 * Addresses of the latter two become offsets. */
void ks_emu_split_generic(struct emu_warp *w, const struct emu_access *x, struct emu_access out[3]);
/* Counts one contiguous access of the async proxy. */
void ks_emu_count_bulk(struct emu_warp *w, const struct emu_insn *in, uint64_t address, uint32_t bytes, bool store);
void ks_emu_unit_forget(struct emu_worker *wk); /* a unit of a sampled launch has ended */
void ks_emu_count(struct emu_warp *w, const struct emu_insn *in, const struct emu_access *x);
uint32_t ks_emu_wavefronts(const struct emu_access *x, uint32_t *ret_ideal);
static inline uint32_t ks_emu_pc(const struct emu_warp *w, const struct emu_insn *in)
{
    return (uint32_t)(in - w->worker->launch->program->code);
}

#endif
