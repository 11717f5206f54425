/* One configuration as a shared library, for bench.py and the ladder of the README (bf16 only):
 * -DFA_D=64 -DFA_CAUSAL=0 -DFA_WARPGROUPS=3 -DFA_BLOCK_N=128 -DFA_STAGES=4 -DFA_ORDERED=1 -DFA_Q_REGS=0 -DFA_EARLY=6 -DFA_KEEP=0
 * -DFA_EARLY_S=0 -DFA_STAGED_O=0 -DFA_LOOK=0 -DFA_WALK=0 -DFA_TURNED=0 */
#include "kernels/flash_attention/launch.cuh"

extern "C" cudaError_t flash_attention_forward_sm90(const struct flash_attention_args *args, cudaStream_t stream)
{
    if (!fa_valid(args) || args->head_dim != FA_D || args->causal != FA_CAUSAL || args->dtype != FLASH_ATTENTION_BF16)
        return cudaErrorInvalidValue;
    return fa_launch<fa_config<__nv_bfloat16, FA_D, FA_CAUSAL, FA_WARPGROUPS, FA_BLOCK_N, FA_STAGES, FA_ORDERED, FA_Q_REGS, FA_EARLY,
                               FA_KEEP, FA_EARLY_S, FA_STAGED_O, FA_LOOK, FA_WALK, FA_TURNED>>(args, stream);
}
