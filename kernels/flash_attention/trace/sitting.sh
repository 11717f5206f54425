#!/usr/bin/env bash
# Steps of the ladder (../README.md) through kscc try: head_dim 64, causal, bf16, one key head a query head, 1024 and 2048 keys.
#
#   sitting.sh OUTDIR [kscc options]        KSCC: the program.  FLASH_SMALL=1: what the emulated device can run.  STEPS: only the first so many
#
# OUTDIR must be new; it gets flash.cu, log.txt and store/ with the trace.  Status 0: every step got a verdict of the time gate or better.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: sitting.sh OUTDIR [kscc options]}
shift
arch=90a
unit() { python3 "$here/unit.py" ${FLASH_SMALL:+--small} "$1"; }
. "$here/steps.sh"

begin "4, 64, 6, 0, 0, 6"
step "v9: all exponentials before the wait for O" synchronization 1.05 "4, 64, 6, 0, 0, 8" \
    "after three quarters of the exponentials the products of O are still under way when they are waited for; behind all of them they are done"
step "v11: what stands between two blocks made short" synchronization 1.04 "4, 64, 6, 0, 0, 8, false, false, false, true" \
    "a warp spends a third of a block on latencies alone: answers of barriers, descriptors, a vote; they can be asked for before the exponentials"
step "v12: every other tile the other way round" parallel-decomposition 1.04 "4, 64, 6, 0, 0, 8, false, false, false, true, true, true" \
    "without shared key heads the first warpgroup of every tile has the most keys and the others wait for it; with the fewest in the next tile it can catch up"
step "v10: products of the warpgroups in order" synchronization 1.02 "4, 64, 6, 2, 0, 8, false, false, false, true, true, true" \
    "the products of four warpgroups collide now and leave the tensor cores idle later; in turn they would spread"
step "v6: fewer and larger blocks, S kept" data-movement 1.02 "3, 96, 4, 0, 1, 8, true, false, false, true, true, true" \
    "every warpgroup reads all of K and V from shared memory: three of them with blocks of 96 read less and meet fewer barriers"
[ -n "${FLASH_SMALL:-}" ] || { call --finish && tail -n 3 last.txt; }
exit $bad
