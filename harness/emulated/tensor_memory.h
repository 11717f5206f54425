#ifndef KS_HARNESS_EMULATED_TENSOR_MEMORY_H
#define KS_HARNESS_EMULATED_TENSOR_MEMORY_H

/* Tensor memory of a block (tcgen05): 128 lanes by 512 columns of 32 bits. */

#include "harness/emulated/device.h"

struct emu_async_op;
struct emu_tensor_memory;

void ks_emu_tmem_free(struct emu_tensor_memory *t);
void ks_emu_tmem_check_end(struct emu_block *b); /* all threads exited: was everything given back? */
void ks_emu_tcgen_run(struct emu_async_op *op);

#endif
