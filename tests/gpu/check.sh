#!/bin/sh
# Judges the zoo on a real GPU: the unchanged original (several times: no gain may be seen), a faster candidate, honest and hostile ones.
# Usage: tests/gpu/check.sh [BUILD_DIR [NAME...]]     NVCC, ARCH and REPEAT (of the unchanged original, default 5) from the environment.
# Exit status 77 when there is no GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
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
echo "# date    $(date -u +%Y-%m-%dT%H:%M:%SZ)"
echo "# device  $(nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader -i 0), $arch"
echo "# nvcc    $("$nvcc" --version | tail -1)"
status=0
if [ $# -eq 0 ]; then
    echo "# the original against itself, ${REPEAT:-5} searches of one candidate each"
    i=0
    while [ $i -lt "${REPEAT:-5}" ]; do
        "$build/tests/run_zoo" "$build/bin" "$nvcc" "$root/tests/zoo/row_dot" cuda "$arch" same || status=1
        i=$((i + 1))
    done
    echo "# all of the zoo"
fi
"$build/tests/run_zoo" "$build/bin" "$nvcc" "$root/tests/zoo/row_dot" cuda "$arch" "$@" || status=1
exit $status
