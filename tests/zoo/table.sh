#!/bin/bash
# The zoo on the emulated device as one table: candidate, kind, the gate that was expected and the one that failed, verdict, result.
# Usage: tests/zoo/table.sh [BUILD_DIR]      NVCC from the environment; exit status 0 when every row is as wanted.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
tables=$(mktemp -d)
trap 'rm -rf "$tables"' EXIT
status=0
for folder in row_dot row_oracle; do
    KSCC_ZOO_TABLE=$tables/$folder "$build/tests/run_zoo" "$build/bin" "$nvcc" "$here/$folder" >"$tables/out" 2>&1 || status=1
    [ -s "$tables/$folder" ] || { cat "$tables/out"; status=1; }
done
echo "# $(date -u +%Y-%m-%d), $("$nvcc" --version | tail -1), $(grep -h '^session ready' "$tables"/row_* | head -1 | sed 's/.*: {/{/')"
printf '%-22s %-6s %-10s %-10s %-9s %s\n' candidate kind expected gate verdict result
cat "$tables"/row_* | grep -vE '^(session ready|candidate |[0-9]+ passed)' | LC_ALL=C sort |
    awk '{ printf "%-22s %-6s %-10s %-10s %-9s %s\n", $1, $2, $3, $4, $5 == "no" ? "no gain" : $5, /as wanted/ ? "as wanted" : "WRONG" }'
cat "$tables"/row_* | awk '/^[0-9]+ passed, [0-9]+ failed/ { p += $1; f += $3 } END { print p + 0 " passed, " f + 0 " failed" }'
exit $status
