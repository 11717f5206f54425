#!/usr/bin/env bash
# Every kind of finding of the table in docs/EMULATED.md is made by the device and asked for by a test, every kind that the device makes
# stands in the table, and the tests' kernels are at least 120.
# usage: kinds.sh BUILD_DIR
set -euo pipefail
build=$(realpath "$1"); here=$(cd "$(dirname "$0")" && pwd); root=$here/../..
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
sed -n '/^| kind | check/,/^$/p' "$root/docs/EMULATED.md" | sed -n '3,$p' | cut -d'|' -f2 | grep -oE '[a-z][a-z0-9-]+' | sort -u >"$dir/told"
grep -hoE '"[a-z][a-z0-9]+(-[a-z0-9]+)*"' "$root"/harness/emulated/*.c | tr -d '"' | sort -u >"$dir/words"
grep -hoE '"[a-z][a-z0-9]+(-[a-z0-9]+)*"' "$root"/tests/emulated/*.c "$root"/tests/emulated/*.def | tr -d '"' | sort -u >"$dir/asked"
grep -hozE 'ks_emu_(report|fault|fault_other)\([^;"]*"[a-z0-9-]+"' "$root"/harness/emulated/*.c | tr '\0' '\n' | grep -oE '"[a-z0-9-]+"$' |
  tr -d "\"" | grep -v "^unsupported$" | sort -u >"$dir/made" # which is a refusal
status=0
say() { [ -z "$2" ] || { echo "$1: $2"; status=1; }; }
[ "$(wc -l <"$dir/told")" -ge 45 ] && [ "$(wc -l <"$dir/made")" -ge 30 ] || { echo "the table or the code is not found"; exit 1; }
say "in the table, not in the code" "$(comm -23 "$dir/told" "$dir/words" | xargs)"
say "in the table, asked for by no test" "$(comm -23 "$dir/told" "$dir/asked" | xargs)"
say "in the code, not in the table" "$(comm -23 "$dir/made" "$dir/told" | xargs)"
kernels=$(find "$build/tests/emulated" -maxdepth 1 -name '*.ptx' -print0 | xargs -0 grep -hoE '\.entry [A-Za-z0-9_$]+' | sort -u | wc -l)
[ "$kernels" -ge 120 ] || { echo "$kernels kernels, fewer than 120"; status=1; }
echo "$(wc -l <"$dir/told") kinds of findings, $kernels kernels"
exit $status
