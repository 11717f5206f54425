#!/usr/bin/env bash
# Speed, scaling and memory of the emulated device, beside oclgrind on the same kernels where that is installed.
# usage: run.sh BUILD_DIR [N] >docs/results/emulated_speed.tsv
#
# Rows: what, kernel, mode, host threads, value by processor time, value by wall clock, unit, spread.  Speeds are medians of five
# rounds, in which one thread and all take turns; the spread is the distance of the extremes, by wall clock, in terms of the median.
# Processor time is that of all threads of the process; on a busy machine it is the one to read.  Needs five minutes and 1 GiB.
set -euo pipefail
build=$(realpath "$1"); n=${2:-512}
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
ptx=$build/tests/emulated
echo "# $(date -u +%F), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(nproc) processors, load $(cut -d' ' -f1 /proc/loadavg), Linux $(uname -r);" \
  "commit $(git -C "$here" rev-parse --short HEAD); tests/emulated/bench/run.sh BUILD $n"
printf 'what\tkernel\tmode\tthreads\tcpu\twall\tunit\tspread\n'
"$build/tests/bench_emu" "$ptx/model_kernels.ptx" "$n" "$ptx/wgmma_kernels.ptx" "$ptx/tcgen_kernels.ptx"
# ---- the same kernels, the same size, here and in oclgrind -----------------------------------------------------------
small=128
steps=$((small * small * small))
"$build/tests/bench_emu" "$ptx/model_kernels.ptx" "$small" |
  awk -F'\t' -v OFS='\t' '$1 == "steps" && $2 != "matmul_register" { $1 = "beside"; print }' | tee "$dir/ours"
if ! command -v oclgrind-kernel >/dev/null; then
  echo "# oclgrind is not installed (Debian package oclgrind): not compared"
  exit 0
fi
cp "$here/matmul.cl" "$dir"
cd "$dir"
for kernel in matmul_naive matmul_tiled; do
  bytes=$((small * small * 4))
  printf '%s\n' matmul.cl $kernel "$small $small 1" "32 32 1" "<size=$bytes float fill=1>" "<size=$bytes float fill=2>" \
    "<size=$bytes float fill=0>" "<size=4 int>" $small >$kernel.sim
  for mode in "plain" "all checks"; do
    flags=(); [ "$mode" = plain ] || flags=(--data-races --uninitialized)
    TIMEFORMAT='%U %S %R'
    took=$({ time oclgrind-kernel --num-threads 1 "${flags[@]}" $kernel.sim >out 2>&1; } 2>&1)
    ! grep -qi error out || { cat out >&2; exit 1; }
    echo "$took" | awk -v OFS='\t' -v k=$kernel -v m="$mode" -v s=$steps \
      '{ printf "beside\t%s\toclgrind %s\t1\t%.5f\t%.5f\tG inner steps/s\n", k, m, s / ($1 + $2) / 1e9, s / $3 / 1e9 }' | tee "$dir/theirs"
    cat "$dir/ours" "$dir/theirs" | awk -F'\t' -v OFS='\t' -v k=$kernel -v m="$mode" \
      '$2 == k && $3 == m { ours = $5 } $2 == k && $3 == "oclgrind " m { theirs = $5 }
       END { printf "ratio\t%s\t%s\t1\t%.0f\t\toclgrind = 1\n", k, m, ours / theirs }'
  done
done
echo "# beside: n = $small, one host thread; an inner step is one multiply-add of the product; oclgrind's times hold its start and compiler"
