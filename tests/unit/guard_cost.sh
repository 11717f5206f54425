#!/usr/bin/env bash
# What the guard costs a call, as a table: the unit test that limits it, run five times.
#   guard_cost.sh BUILD OUT
set -u
build=$1 out=$2
{
    echo "# The guard's cost a call: least of 200 batches of 20000 calls through the guard, less the same of the original alone."
    echo "# cudaGetDevice() and cudaDeviceGetAttribute() are stand-ins: what the runtime's own take comes on top.  The contract has six"
    echo "# conditions (tests/unit/test_guard.c)."
    echo "# $(date -u +%F), $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1), $(gcc --version | head -1), commit $(git -C "$(dirname "$0")" rev-parse --short HEAD)"
    echo "# tests/unit/guard_cost.sh BUILD OUT"
    printf 'run\tguard_ns\n'
    for i in 1 2 3 4 5; do
        printf '%s\t%s\n' "$i" "$("$build/tests/test_guard" 2>&1 | sed -n 's/^guard: \([0-9.]*\).*/\1/p')"
    done
} >"$out"
