#!/bin/bash
# The zoo on the emulated device as one table: candidate, kind, the gate that was expected and the one that failed, verdict, result.
# Made of what the tests `ctest -L zoo` left in BUILD_DIR/tests/zoo; those that have not run, or not since a program or a candidate
# changed, are run first, two at a time.  Usage: tests/zoo/table.sh [BUILD_DIR]; exit status 0 when every row is as wanted.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "${1:-$here/../../build}" && pwd) || exit 2
tables=$build/tests/zoo
parts=$(cd "$build" && ctest -N -L zoo | sed -n 's/.*: zoo\.//p')
[ -n "$parts" ] || { echo "no tests with the label zoo in $build"; exit 2; }

# is_current PART: finished, after everything that it depends on was made
is_current() {
    local t=$tables/$1.table folder
    folder=$here/$(sed -E 's/_(hostile|honest)_[0-9]+$//' <<<"$1")
    grep -qE '^[0-9]+ passed, [0-9]+ failed' "$t" 2>/dev/null || return 1
    [ -z "$(find "$folder" "$build/tests/run_zoo" "$build/bin/kscc-worker" "$build/lib/emulated/libcudart.so.13" -newer "$t" -type f)" ]
}

old=
for part in $parts; do
    is_current "$part" || old="$old|zoo\.$part"
done
[ -z "$old" ] || (cd "$build" && ctest -j2 -R "^(${old#|})\$" >"$tables/ctest.log" 2>&1)
for part in $parts; do
    is_current "$part" || { echo "zoo.$part did not finish (see $tables/ctest.log)"; missing=1; }
done
cd "$tables" || exit 2
echo "# $(date -u +%Y-%m-%d), $(grep -h '^session ready' ./*.table | head -1 | sed 's/[^{]*//')"
printf '%-22s %-6s %-10s %-10s %-9s %s\n' candidate kind expected gate verdict result
for part in $parts; do cat "$part.table"; done 2>/dev/null | grep -vE '^(session ready|candidate |[0-9]+ passed)' | LC_ALL=C sort |
    awk '{ printf "%-22s %-6s %-10s %-10s %-9s %s\n", $1, $2, $3, $4, $5 == "no" ? "no gain" : $5, /as wanted/ ? "as wanted" : "WRONG" }'
for part in $parts; do cat "$part.table"; done 2>/dev/null |
    awk -v missing="${missing:-0}" '/^[0-9]+ passed, [0-9]+ failed/ { p += $1; f += $3 }
        END { print p + 0 " passed, " f + 0 " failed"; exit missing || f > 0 || p == 0 }'
