#!/bin/sh
# The Blackwell kernel on the emulated device, all that a test suite has no time for: scenarios at full length (all of 2048, 4096 and 8192,
# four of 16384, two of 32768; only batch and heads are fewer), the 182 scenarios shortened by the rule of tests/emulated/flash_scenarios.cu,
# all 360 ragged cases, the 26 scenarios of 512 keys with all checks in three orders of completion.  About 20 minutes of processor time.
#
#     nightly.sh BUILD [LIMIT] >docs/results/fa_blackwell_nightly.tsv        0 when all were right
#     LIMIT: ragged cases larger than that are left out (default: none)
set -u
build=$1 limit=${2:-1e9}
root=$(cd "$(dirname "$0")/../.." && pwd)
list=$root/kernels/flash_attention/scenarios.tsv
export LD_LIBRARY_PATH="$build/lib/emulated" KSCC_EMU_ARCH=sm_100a
failed=0
echo "# flash_attention_forward_sm100 on the emulated device (sm_100a): what was compared with double precision, and the errors found"
echo "# date $(date -u +%Y-%m-%d), kernel of commit $(cd "$root" && git log -1 --format=%h -- 'kernels/flash_attention/*.cu*' 2>/dev/null || echo unknown); command: tests/blackwell/nightly.sh BUILD $limit"
echo "# of: the scenario's heads and batch; max, mean: error of O; *_round: of a reference that rounds P and O, twice which is allowed"
part() { # part CHECKS SEED ARGUMENTS...
    checks=$1 seed=$2
    shift 2
    echo "# part: checks $checks, seed $seed: flash_scenarios $(echo "$*" | sed "s#$root/##")"
    KSCC_EMU_CHECKS=$checks KSCC_EMU_SEED=$seed "$build/tests/flash_scenarios" "$@" || failed=1
}
part bounds 0 --full --lengths=8192 "$list"
part bounds 0 --full --lengths=16384 --take=1/7 "$list"
part bounds 0 --full --lengths=32768 --take=3/13 "$list"
part bounds 0 --ragged=300 --too-large="$limit"
part bounds 0 --full --lengths=2048,4096 "$list"
part bounds 0 "$list"
for seed in 0 1 3; do
    part all "$seed" --lengths=512 "$list"
done
exit $failed
