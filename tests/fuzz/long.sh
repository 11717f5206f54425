#!/usr/bin/env bash
# Fuzzes each target for a time from the committed seeds, one after the other, and writes what came of it.
# usage: [TARGETS="sse ptx ..."] long.sh BUILD [SECONDS [OUT]]     default: all, 600 s each, docs/results/fuzz.tsv; rows of other targets stay
#
# ptx: damaged modules on the emulated device (tests/emulated/test_fuzz.c), programs: random valid ones under five schedules, sets of
# checks and numbers of threads, which must agree (test_random.c); both by number, without coverage: executions are modules and programs.
# A finding is a crash, a leak, a sanitizer's report, an input that takes longer than 20 s, or more than 2 GiB; it stays in
# BUILD/tests/fuzz/long.  Status 1 when there is one.
set -u
build=$(realpath "$1"); seconds=${2:-600}; here=$(cd "$(dirname "$0")" && pwd); out=${3:-$here/../../docs/results/fuzz.tsv}
work=$build/tests/fuzz/long; mkdir -p "$work"
commit=$(git -C "$here" rev-parse --short HEAD); status=0
targets=${TARGETS:-sse calls edit ptx programs}

# Numbers from a new place each time, in batches, until the time is up: [PTX files ...] are fed in turn.
by_number() {
  local t=$1 program=$2 batch=$3 first n=0 files=() k=0 from until end
  shift 3; files=("$@")
  first=$(( $(date +%s) % 1000000 * 10000 )); from=$first; until=$((SECONDS + seconds)); end=0
  : >"$work/$t.log"
  while [ $SECONDS -lt $until ]; do
    if ! timeout 120 "$program" ${files:+"${files[k++ % ${#files[@]}]}"} "$from" "$batch" >"$work/$t.last" 2>&1; then
      cp "$work/$t.last" "$work/$t.found/$from"; echo "${files[*]:+${files[(k - 1) % ${#files[@]}]}} $from $batch" >>"$work/$t.found/$from"; end=1
    fi
    from=$((from + batch)); n=$((n + batch))
  done
  echo "Done $n runs in $seconds second(s)"; echo "stat::number_of_executed_units: $n"
  return $end
}
for t in $targets; do
  rm -rf "$work/$t.found"; mkdir -p "$work/$t.found" "$work/$t.corpus"
  case $t in
    ptx) ( TIMEFORMAT='%U %S'; time by_number ptx "$build/tests/test_fuzz" 20 "$build"/tests/emulated/*.ptx >"$work/$t.log" ) 2>"$work/$t.cpu" || status=1 ;;
    programs) ( TIMEFORMAT='%U %S'; time by_number programs "$build/tests/test_random" 20 >"$work/$t.log" ) 2>"$work/$t.cpu" || status=1 ;;
    *)
      [ -x "$build/tests/fuzz_$t" ] || { echo "no $build/tests/fuzz_$t: clang with libFuzzer builds it"; exit 2; }
      ( TIMEFORMAT='%U %S'; time "$build/tests/fuzz_$t" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$work/$t.found/" "$work/$t.corpus" "$here/seeds/$t" >"$work/$t.log" 2>&1 ) 2>"$work/$t.cpu" || status=1 ;;
  esac
done
{
  [ -f "$out" ] && grep '^#' "$out" | grep -v " each: tests/fuzz/long.sh; $targets\$" || true
  echo "# $(date -u +%F), commit $commit, $("$(sed -n "s/^KSCC_CLANG:FILEPATH=//p" "$build/CMakeCache.txt")" --version | head -1), $seconds s each: tests/fuzz/long.sh; $targets"
  printf 'target\tseconds\tcpu_s\texecutions\tedges\tfeatures\tinputs_kept\tfindings\n'
  [ -f "$out" ] && awk -F'\t' -v done=" $targets " '!/^#/ && $1 != "target" && !index(done, " " $1 " ")' "$out" || true
  for t in $targets; do
    last=$(grep -E '^#[0-9]+.*cov:' "$work/$t.log" | tail -1)
    field() { sed -n "s/.* $1: *\([0-9]*\).*/\1/p" <<<"$last"; }
    printf '%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n' "$t" "$(sed -n 's/^Done [0-9]* runs in \([0-9]*\) second.*/\1/p' "$work/$t.log")" \
      "$(awk '{printf "%.0f", $1 + $2}' "$work/$t.cpu")" "$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/$t.log")" "$(field cov)" "$(field ft)" \
      "$(sed -n 's/.* corp: *\([0-9]*\).*/\1/p' <<<"$last")" "$(find "$work/$t.found" -type f | wc -l)"
  done
} >"$out.new"
mv "$out.new" "$out"
cat "$out"
exit $status
