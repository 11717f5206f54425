#!/usr/bin/env bash
# The ladder of the Blackwell kernel (../README.md) through kscc try on the emulated device: the plain kernel, every idea of ladder.py on top of the
# ones before, then what was tried on top of all.  bf16, head_dim 64, causal, 18 heads of 2048 keys.
#
#   ladder.sh OUTDIR [kscc options]         KSCC: the program.  FLASH_SMALL=1: one head of 256 keys.  STEPS: only the first so many
#
# OUTDIR must be new; it gets flash.cu, log.txt and store/ with the trace.  Status 0: every step got a verdict of a gate.  About 10 minutes.
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?usage: ladder.sh OUTDIR [kscc options]}
arch=100a may_fail=rejected
shift
set -- --kscc-device=emulated:sm_100a "$@"
unit() { python3 "$here/ladder.py" unit ${FLASH_SMALL:+--small} "$1"; }
. "$here/steps.sh"

begin 0
while IFS=$'\t' read -r version layer predicted name why; do
    step "$version: $name" "$layer" "$predicted" "$version" "$why" </dev/null
done < <(python3 "$here/ladder.py" list)
[ -n "${FLASH_SMALL:-}" ] || { call --finish && tail -n 3 last.txt; }
exit $bad
