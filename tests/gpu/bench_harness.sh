#!/usr/bin/env bash
# What judging costs besides nvcc and the GPU, in two modes, each with workers that wait, as in a search, and without: trials that the first look decides, and trials that start both processes
# anew (the aim is less than 15 % of a trial's wall time in each).  Usage: tests/gpu/bench_harness.sh [BUILD_DIR [TRIALS]]; COMMIT is named
# in the head.  Exit status 77 when there is no GPU, 1 when a mode does not run or does not reach the aim.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/own_group.sh" "$0" "$@"
build=${1:-$here/../../build}
trials=${2:-8}
if ! command -v nvidia-smi >/dev/null || ! nvidia-smi -L >/dev/null 2>&1; then
    echo "skipped: no GPU (nvidia-smi finds none)"
    exit 77
fi
echo "# date    $(date -u +%Y-%m-%dT%H:%M:%SZ)"
echo "# device  $(nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem --format=csv,noheader -i 0)"
echo "# commit  ${COMMIT:-$(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)}"
status=0
for mode in '' --second-look --no-standby '--second-look --no-standby'; do
    echo "# kscc bench-harness $mode $trials"
    # shellcheck disable=SC2086
    said=$(timeout 180 "$build/bin/kscc" bench-harness --kscc-device=cuda $mode "$trials")
    printf '%s\n' "$said"
    awk '/^harness overhead:/ { ran = 1; if ($3 < 15) ok = 1 } END { exit !(ran && ok) }' <<<"$said" || status=1
done
[ $status = 0 ] || echo "the aim is missed, or a mode did not run"
exit $status
