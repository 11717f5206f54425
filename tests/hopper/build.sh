#!/usr/bin/env bash
# The Hopper attention kernel compiles as one unit with nothing but toolkit headers, without a warning, and no instance spills.
#
#   build.sh NVCC      Closing line: N passed, N failed.
set -u
nvcc=$1
cd "$(dirname "$0")/../.."
. tests/checks.sh

"$nvcc" -std=c++17 -O3 -I. -gencode arch=compute_90a,code=sm_90a -Xptxas -v -c kernels/flash_attention/hopper.cu -o "$work/hopper.o" >"$work/log" 2>&1
check "hopper.cu compiles" $?
! grep -q 'warning' "$work/log"
check "without a warning" $?
instances=$(grep -c 'Compiling entry function' "$work/log")
[ "$instances" -gt 0 ] && [ "$(grep -c ' 0 bytes spill stores, 0 bytes spill loads' "$work/log")" -ge "$instances" ] && ! grep -qE '[1-9][0-9]* bytes spill' "$work/log"
check "none of its $instances instances spills" $?
foreign=$(grep -hE '^ *# *include' kernels/flash_attention/*.cuh kernels/flash_attention/hopper.cu kernels/flash_attention/flash_attention.h kernels/ptx/*.cuh |
    grep -vE '"kernels/|<(cuda[A-Za-z0-9_]*|cstdint|stdint|stddef|stdbool|math|float)(\.h)?>')
[ -z "$foreign" ]
check "it includes toolkit headers only${foreign:+: $foreign}" $?
nm -C --undefined-only "$work/hopper.o" | grep -E ' U (cu[A-Z]|cublas|cudnn)'
check "it links against nothing but the CUDA runtime" $((1 - $?))
rows=$(grep -vcE '^(#|dtype)' kernels/flash_attention/scenarios.tsv)
[ "$rows" = 182 ]
check "there are 182 scenarios (found $rows)" $?
[ "$failed" = 0 ] || tail -n 30 "$work/log"
printf '%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ]
