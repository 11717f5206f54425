#!/usr/bin/env bash
# Which share of public kernels the emulated device can run, by their opcodes.
# usage: [KERNELS=N] opcodes.sh BUILD_DIR OPCODES.tsv   (columns: opcode, group, kernels that use it; others are ignored)
#
# An opcode counts when the device decodes a kernel made of it (test_isa's forms, those of opcode_forms.py) or when it stands
# in a kernel that the tests of BUILD_DIR run.  The rest is listed with the reason.  The share is a bound from below: as if every kernel
# that uses such an opcode used no other one, and no two opcodes the same kernel.  KERNELS: how many kernels there are; default:
# as many as use the most used opcode.  Decoding is not running: what runs right, the tests say.
set -euo pipefail
build=$(realpath "$1"); table=$(realpath "$2")
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
here=$(cd "$(dirname "$0")" && pwd)
"$build/tests/test_isa" "$here/isa_cases.txt" "$table" >"$dir/isa" || true # what it cannot decode is what we ask for
grep -q 'opcodes of the corpus' "$dir/isa" || { cat "$dir/isa" >&2; exit 1; }
find "$build/tests" -name '*.ptx' -print0 | xargs -0 cat |
  sed -nE 's/^[[:space:]]*(@!?%?[[:alnum:]_]+[[:space:]]+)?([a-z][[:alnum:]_]*([.:][[:alnum:]_:]+)*)[[:space:];].*/\2/p' | sort -u >"$dir/run"
{ sed -nE 's/^FAILED ([^ ]+): \(([0-9]+) kernels\).*/\1\t\2/p' "$dir/isa"; grep '^elsewhere' "$dir/isa" | cut -f2-3; } | sort -u |
  awk -F'\t' 'NR == FNR { run[$1] = 1; next } !($1 in run)' "$dir/run" - >"$dir/asked"
mkdir "$dir/ptx"
python3 "$here/opcode_forms.py" "$dir/ptx" <"$dir/asked" >"$dir/numbers"
find "$dir/ptx" -name '*.ptx' -print0 | xargs -0r "$build/tests/front_check" >"$dir/refused" || true
while read -r number opcode; do
  kernels=$(awk -F'\t' -v op="$opcode" '$1 == op { print $2 }' "$dir/asked")
  if [ ! -e "$dir/ptx/$number.ptx" ]; then
    printf '%s\t%s\tno kernel is known for it\n' "$opcode" "$kernels"
  else
    awk -F'\t' -v file="$dir/ptx/$number.ptx" -v op="$opcode" -v n="$kernels" '$1 == file { print op "\t" n "\t" $3; exit }' "$dir/refused"
  fi
done <"$dir/numbers" | sort -t"$(printf '\t')" -k2,2nr >"$dir/left"
awk -F'\t' -v all="${KERNELS:-0}" 'FNR == NR { missing += $2; n++; print; next } /^[^#]/ && $3 + 0 > 0 { ops++; most = $3 + 0 > most ? $3 + 0 : most }
  END { all = all ? all : most
        printf "# %d of %d opcodes decoded; the others, above, leave at least %.1f %% of %d kernels\n", ops - n, ops, 100 * (1 - missing / all), all }' "$dir/left" "$table"
