#!/bin/bash
# What the time gate says to equal candidates (at most one in 50 may be accepted) and to a true gain of 3 % (nine of ten must be):
# tests/gpu/aa.c over tests/gpu/workloads.  Usage: tests/gpu/aa.sh [BUILD_DIR [N_EQUAL [N_BETTER]]]; NVCC and ARCH from the environment.
# Exit status 77 when there is no GPU.
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=${1:-$here/../../build}
if ! command -v nvidia-smi > /dev/null || ! nvidia-smi -L > /dev/null 2>&1; then
    echo "skipped: no GPU (nvidia-smi finds none)"
    exit 77
fi
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader -i 0 | tr -d '.')
[ "$capability" -ge 90 ] && capability=${capability}a
echo "# date    $(date -u +%Y-%m-%dT%H:%M:%SZ)"
echo "# device  $(nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.mem,clocks.max.sm --format=csv,noheader -i 0)"
echo "# command tests/gpu/aa.sh: ${2:-50} equal, ${3:-50} better by 3 %; gate: lower bound above 1.02 + the control's bias, no point below 0.99"
exec "$build/tests/aa" "$build/bin" "$nvcc" "${ARCH:-sm_$capability}" "${2:-50}" "${3:-50}" "$here/workloads"
