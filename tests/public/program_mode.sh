#!/bin/bash
# usage: program_mode.sh [-j JOBS] [-t SECONDS] [-d DEVICE] [-n TRIALS] [-s] BUILD SOURCES OUT.tsv [PATTERN]
# Takes public programs through program mode (kscc -O-agent --kscc-args=...): recorded, searched with the first set of arguments, and put
# in place where every set does what it did.  program_mode.tsv says which, and what is made smaller (sed over a copy of the sources).
#   BUILD     kscc's build folder (BUILD/bin/kscc)
#   SOURCES   holds HeCBench/; what is missing is fetched into it (nothing is where all is there, so a machine without network will do)
#   OUT.tsv   one line a program: program, share of the device's time in kernels that were searched, gain of the device's time, lower bound
#             of the best kernel's gain, verdict, seconds, why
#   PATTERN   an extended regular expression over ids
#   -j 1, -t 900 s for each program, -d emulated:sm_90a (cuda: trials on the GPU), -n 6 trials; -s: sources only
# Verdicts: gain; no-gain (searched, nothing faster); refused (no kernel can be tried by itself: why); differs (the program with
# candidates did something else and nvcc's stayed: why); not-run (the baseline does not run on the device); limit (time or memory ran out);
# error (kscc or nvcc failed).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
jobs=1 limit=900 device=emulated:sm_90a trials=6 only_sources=
while getopts j:t:d:n:s o; do
  case $o in
  j) jobs=$OPTARG ;; t) limit=$OPTARG ;; d) device=$OPTARG ;; n) trials=$OPTARG ;; s) only_sources=1 ;;
  *) sed -n 2p "$0" && exit 2 ;;
  esac
done
shift $((OPTIND - 1))
[ $# -ge 3 ] || { sed -n 2p "$0" && exit 2; }
build=$(cd "$1" && pwd) && sources=$(mkdir -p "$2" && cd "$2" && pwd) && : >"$3" && out=$(realpath "$3") || exit 2
pattern=${4:-.}
export kscc=$build/bin/kscc limit device trials sources
[ -d "$sources/HeCBench" ] || {
  git init -q "$sources/HeCBench" && git -C "$sources/HeCBench" fetch -q --depth 1 https://github.com/zjin-lcf/HeCBench f27000a5188f8ac79bd43fc95a1b3f890c18823d &&
    git -C "$sources/HeCBench" checkout -q FETCH_HEAD
} || exit 1
[ -z "$only_sources" ] || exit 0
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
export work

one_line() { tr '\t\r\n' '   ' | sed 's/  */ /g; s/^ //; s/ $//' | cut -c1-200; }
first() { grep -aoE -m1 "$1" "$log" | head -n 1; } # first REGEX: of the log

describe() { # describe ID STATUS SECONDS
  local share gain bound verdict why=-
  share=$(grep -aoE 'kernels of this unit take [0-9.]+ %' "$log" | grep -oE '[0-9.]+' | paste -sd+ | bc)
  gain=$(grep -aoE 'all of it [0-9.]+x' "$log" | grep -oE '[0-9.]+' | sort -n | tail -n 1)
  bound=$(grep -aoE 'gate passed: .*' "$log" | grep -oE '(\[|at least )[0-9.]+' | grep -oE '[0-9.]+' | sort -n | tail -n 1)
  if grep -aqF 'the same output, files and copies' "$log" && [ -n "$gain" ]; then
    verdict=gain
  elif why=$(first 'with the arguments .* the program with candidates.*'); [ -n "$why" ]; then
    verdict=differs
  elif [ "$2" = 124 ] || [ "$2" = 137 ]; then
    verdict=limit why="stopped after $limit s"
  elif why=$(first 'the program needs more than .* MiB.*|out of memory.*'); [ -n "$why" ]; then
    verdict=limit
  elif why=$(first 'no candidate of .* passed the gate \(.*\)'); [ -n "$why" ]; then
    verdict=no-gain
  elif why=$(first 'cannot be tried by itself: .*, it stays|its trials would prove nothing: .*|no workload: .*|the unit keeps .*'); [ -n "$why" ]; then
    verdict=refused
  elif why=$(first '(with the arguments .* no process|the program with the arguments).*'); [ -n "$why" ]; then
    verdict=not-run
  else
    verdict=error
    why="status $2: $(grep -aE -m1 'error|warning' "$log" || tail -n 1 "$log")"
  fi
  printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$1" "${share:--}" "${gain:--}" "${bound:--}" "$verdict" "$3" "$(one_line <<<"${why:--}")"
}

one() { # one LINE: of the list
  local id dir words reduce sets to log arch=(arch=compute_90,code=compute_90) begin=$SECONDS
  IFS=$'\t' read -r id dir words reduce sets <<<"$1"
  [[ $device = cuda* ]] && arch=('arch=compute_90a,code=[compute_90a,sm_90a]')
  to=$work/$id log=$work/${id//\//.}.log
  mkdir -p "$(dirname "$to")" && cp -r "$sources/$dir" "$to" || return
  [ "$reduce" = - ] || find "$to" -type f \( -name '*.cu' -o -name '*.h' -o -name '*.cuh' \) -exec sed -i -E "$reduce" {} +
  # shellcheck disable=SC2086
  (cd "$to" && timeout -k 10 "$limit" "$kscc" "-O-agent=trials:$trials" --kscc-agent=builtin "--kscc-device=$device" "--kscc-args=$sets" \
    -O3 -std=c++17 -w -gencode "${arch[0]}" -I. $words -o prog) >"$log" 2>&1 </dev/null
  describe "$id" $? $((SECONDS - begin))
  [ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp "$log" "$KEEP/"; }
  rm -rf "$to"
}
export -f one describe first one_line

grep -vE '^(#|$)' "$here/program_mode.tsv" | awk -F'\t' -v p="$pattern" '$1 ~ p' | xargs -d '\n' -P "$jobs" -n 1 bash -c 'one "$0"' >"$work/rows"
{
  printf '# %s, kscc %s, device %s, %s trials for each kernel, limit %s s\n' "$(date -u +%Y-%m-%d)" "$(git -C "$here" rev-parse --short HEAD 2>/dev/null)" "$device" "$trials" "$limit"
  printf '# program\tshare of the time in kernels that is of searched units, %%\tgain of that time\tlower bound of the best kernel\tverdict\tseconds\twhy\n'
  LC_ALL=C sort "$work/rows"
} >"$out"
