#!/usr/bin/env bash
# Fuzzes each target for a time from the committed seeds, one after the other, and writes what came of it.
# usage: long.sh BUILD [SECONDS [OUT]]     default: 600 s each, docs/results/fuzz.tsv
#
# A finding is a crash, a leak, a sanitizer's report, an input that takes longer than 20 s, or more than 2 GiB; it stays in
# BUILD/tests/fuzz/long.  Status 1 when there is one.
set -u
build=$(realpath "$1"); seconds=${2:-600}; here=$(cd "$(dirname "$0")" && pwd); out=${3:-$here/../../docs/results/fuzz.tsv}
work=$build/tests/fuzz/long; mkdir -p "$work"
commit=$(git -C "$here" rev-parse --short HEAD); status=0
for t in sse calls edit; do
  [ -x "$build/tests/fuzz_$t" ] || { echo "no $build/tests/fuzz_$t: clang with libFuzzer builds it"; exit 2; }
  rm -rf "$work/$t.found"; mkdir -p "$work/$t.found" "$work/$t.corpus"
  ( TIMEFORMAT='%U %S'; time "$build/tests/fuzz_$t" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$work/$t.found/" "$work/$t.corpus" "$here/seeds/$t" >"$work/$t.log" 2>&1 ) 2>"$work/$t.cpu" || status=1
done
{
  echo "# $(date -u +%F), commit $commit, $("$(sed -n "s/^KSCC_CLANG:FILEPATH=//p" "$build/CMakeCache.txt")" --version | head -1), $seconds s each: tests/fuzz/long.sh"
  printf 'target\tseconds\tcpu_s\texecutions\tedges\tfeatures\tinputs_kept\tfindings\n'
  for t in sse calls edit; do
    last=$(grep -E '^#[0-9]+.*cov:' "$work/$t.log" | tail -1)
    field() { sed -n "s/.* $1: *\([0-9]*\).*/\1/p" <<<"$last"; }
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$t" "$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$work/$t.log")" \
      "$(awk '{printf "%.0f", $1 + $2}' "$work/$t.cpu")" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$t.log")" "$(field cov)" "$(field ft)" \
      "$(sed -n 's/.* corp: *\([0-9]*\).*/\1/p' <<<"$last")" "$(find "$work/$t.found" -type f | wc -l)"
  done
} >"$out"
cat "$out"
exit $status
