#!/bin/sh
# Runs the instruction tests of tests/emulated/isa_cases.txt on the GPU at hand and compares with the emulated device.
# usage: isa.sh BUILD [TABLE]   TABLE: where to write the comparison (docs/results/isa_h200.tsv was made so)
set -eu
build=$1 table=${2:-/dev/null} here=$(cd "$(dirname "$0")/.." && pwd)
command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1 || { echo "skipped: no GPU (nvidia-smi finds none)"; exit 77; }
scratch=$(mktemp -d) && trap 'rm -rf "$scratch"' EXIT
"$build/tests/test_isa" --dump "$scratch" "$here/emulated/isa_cases.txt"
"${NVCC%nvcc}ptxas" -arch=sm_90a "$scratch/isa.ptx" -o "$scratch/isa.cubin"
"$build/tests/isa_run" "$scratch/isa.cubin" "$scratch/isa.tsv" "$scratch/isa.out" || exit $?
"$build/tests/test_isa" --compare "$scratch" "$here/emulated/isa_cases.txt" >"$scratch/table" 2>"$scratch/log"
tail -1 "$scratch/log"
! grep -q 'DIFFERS\|no result' "$scratch/table" || { grep 'DIFFERS\|no result' "$scratch/table"; cat "$scratch/log"; exit 1; }
cp "$scratch/table" "$table"
