#!/bin/sh
# Usage: build.sh NVCC.  blackwell.cu needs nothing but the toolkit and fits the registers: no instance spills or uses local memory, for
# sm_100a and sm_103a.
set -eu
nvcc=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
root=$(cd "$(dirname "$0")/../.." && pwd)
for arch in 100a 103a; do
    "$nvcc" "-gencode=arch=compute_$arch,code=sm_$arch" -O3 -std=c++17 -I"$root" -Xptxas -v -c \
        "$root/kernels/flash_attention/blackwell.cu" -o "$dir/blackwell.o" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
    instances=$(grep -c '^ptxas info    : Function properties for _Z10fb_forward' "$dir/log") || true
    frames=$(grep -c '0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads' "$dir/log") || true
    functions=$(grep -c 'Function properties for' "$dir/log") || true
    echo "sm_$arch: $instances instances, $frames of $functions functions without stack frame or spills"
    [ "$instances" -eq 12 ] && [ "$frames" -eq "$functions" ] || { grep -A1 'Function properties' "$dir/log"; exit 1; }
    ! grep -i 'warning\|serializ' "$dir/log" || exit 1
done
