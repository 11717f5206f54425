#!/bin/bash
# Judges the zoo on a real GPU: the unchanged original (several times: no gain may be seen), faster candidates, honest and hostile ones.
# Usage: tests/gpu/check.sh [BUILD_DIR [NAME...]]
# From the environment: NVCC; ARCH; REPEAT (of the unchanged original, default 5); JOBS (sessions side by side, default 8: builds and checks
# overlap, timing is alone).  Exit status 77 when there is no GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/own_group.sh" "$0" "$@"
build=${1:-$root/build}
[ $# -gt 0 ] && shift
if ! command -v nvidia-smi > /dev/null || ! nvidia-smi -L > /dev/null 2>&1; then
    echo "skipped: no GPU (nvidia-smi finds none)"
    exit 77
fi
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
if [ ! -x "$nvcc" ]; then
    echo "skipped: no nvcc at '$nvcc'"
    exit 77
fi
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d '.')
suffix=
[ "$capability" -ge 90 ] && suffix=a
arch=${ARCH:-sm_$capability$suffix}
zoo=$root/tests/zoo/row_dot
echo "# date    $(date -u +%Y-%m-%dT%H:%M:%SZ)"
echo "# device  $(nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader -i 0), $arch"
echo "# nvcc    $("$nvcc" --version | tail -1)"
status=0
if [ $# -eq 0 ] && [ "${REPEAT:-5}" -gt 0 ]; then
    echo "# the original against itself, ${REPEAT:-5} searches of one candidate each"
    i=0
    while [ $i -lt "${REPEAT:-5}" ]; do
        "$build/tests/run_zoo" "$build/bin" "$nvcc" "$zoo" cuda "$arch" same || status=1
        i=$((i + 1))
    done
fi
if [ $# -gt 0 ]; then names=("$@"); else
    names=()
    for f in "$zoo"/*.cu; do
        f=$(basename "$f" .cu)
        [ "$f" = baseline ] || names+=("$f")
    done
fi
jobs=${JOBS:-8}
[ "$jobs" -gt ${#names[@]} ] && jobs=${#names[@]}
tables=${TABLES:-$(mktemp -d)}
mkdir -p "$tables"
[ -n "${TABLES:-}" ] || trap 'rm -rf "$tables"' EXIT
for ((j = 0; j < jobs; j++)); do
    part=()
    for ((k = j; k < ${#names[@]}; k += jobs)); do part+=("${names[k]}"); done
    KSCC_ZOO_TABLE=$tables/$j "$build/tests/run_zoo" "$build/bin" "$nvcc" "$zoo" cuda "$arch" "${part[@]}" > "$tables/$j.out" 2>&1 || echo 1 > "$tables/failed" &
done
wait
if [ $# -eq 0 ] || [[ " ${names[*]} " == *" row_oracle "* ]]; then
    KSCC_ZOO_TABLE=$tables/oracle "$build/tests/run_zoo" "$build/bin" "$nvcc" "$root/tests/zoo/row_oracle" cuda "$arch" > "$tables/oracle.out" 2>&1 || echo 1 > "$tables/failed"
fi
[ -e "$tables/failed" ] && status=1
echo "# all of the zoo, $jobs sessions side by side"
grep -h '^session ready' "$tables"/*.out | head -1 | sed 's/^/# /'
grep -h '^candidate ' "$tables"/*.out | head -1
cat "$tables"/*.out | grep -vE '^(session ready|candidate |[0-9]+ passed)' | LC_ALL=C sort
cat "$tables"/*.out | awk '/^[0-9]+ passed, [0-9]+ failed/ { p += $1; f += $3 } END { print p + 0 " passed, " f + 0 " failed" }'
exit $status
