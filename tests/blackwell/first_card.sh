#!/bin/sh
# The first thing to run when a Blackwell card (B200 sm_100, B300 sm_103) is at hand: builds the kernel, checks it, times it against
# FlashAttention-4 and cuDNN, writes the table.  Each step ends the script when it fails, so that no number comes of a wrong kernel.
#
#     first_card.sh OUT                    on the card; nvcc >= 12.8 in the path; python3 with PyTorch (cuDNN), and FlashAttention-4 if wanted
#     first_card.sh --small OUT BUILD      without a card: the same steps as far as they go, the checks on the emulated device of BUILD
#
# Steps, results in OUT: 1 build (fa.o, check, libfa.so, tcgen_*)  2 tcgen.txt: is tcgen05 what the emulated device takes it for, 740 kernels; its
# failures do not end the script, they tell what the rest is worth  3 check.txt: every instance of the kernel, small  4 sanitizer.txt: the same under
# compute-sanitizer's four tools  5 check_all.txt: 182 scenarios, 360 ragged cases, refusals, repeatability  6 fa_blackwell.tsv: the times.
# About 15 minutes on a card, half of it compute-sanitizer.  Needs a C compiler, too.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
small=0
[ "${1:-}" = --small ] && small=1 && shift
[ $# -eq $((1 + small)) ] || { sed -n '2,12p' "$0"; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
fa=$root/kernels/flash_attention
step() { echo "== $*"; }
fail() { echo "FAILED: $*; nothing after it was run"; exit 1; }

step 1 build
if [ $small = 1 ]; then
    capability=100
    code=compute_100a # PTX only: there is no machine code to fall back to
else
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader | head -1 | tr -d .)
    case $capability in 100 | 103) ;; *) fail "compute capability $capability, not 100 or 103" ;; esac
    code=sm_${capability}a
fi
arch=-gencode=arch=compute_${capability}a,code=$code
nvcc "$arch" -O3 -std=c++17 -I"$root" -Xcompiler -fPIC -c "$fa/blackwell.cu" -o "$out/fa.o" || fail "blackwell.cu does not compile"
nvcc -cudart shared -shared "$out/fa.o" -o "$out/libfa.so" || fail "the library does not link"
nvcc "$arch" -O2 -std=c++17 -I"$root" -cudart shared -DFLASH_BLACKWELL "$root/tests/gpu/flash_attention_check.cu" "$out/fa.o" -o "$out/check" ||
    fail "the check does not compile"
for t in paths products; do
    ${CC:-cc} -std=gnu17 -O1 -D_GNU_SOURCE -DTCGEN_CARD -I"$root" "$root/tests/emulated/test_tcgen_$t.c" "$root/base/str.c" "$root/base/err.c" "$root/base/mem.c" \
        -o "$out/tcgen_$t" -ldl -lm || fail "tests/emulated/test_tcgen_$t.c does not compile"
done

if [ $small = 1 ]; then
    export LD_LIBRARY_PATH="$(cd "$2" && pwd)/lib/emulated" KSCC_EMU_ARCH=sm_100a KSCC_EMU_CHECKS=bounds
fi
step 2 data paths of tcgen05
: >"$out/tcgen.txt"
for t in paths products; do
    "$out/tcgen_$t" >>"$out/tcgen.txt" 2>&1 || { echo "tcgen_$t: exit $?; see $out/tcgen.txt"; [ $small = 0 ] || exit 1; }
    tail -1 "$out/tcgen.txt"
done

step 3 small cases of every instance
"$out/check" --small >"$out/check.txt" 2>&1 || { tail -20 "$out/check.txt"; fail "small cases, $out/check.txt"; }
tail -1 "$out/check.txt"

if [ $small = 0 ] && command -v compute-sanitizer >/dev/null; then
    step 4 compute-sanitizer
    for tool in memcheck racecheck synccheck initcheck; do
        echo "-- $tool" >>"$out/sanitizer.txt"
        compute-sanitizer --tool "$tool" --error-exitcode 9 "$out/check" --small >>"$out/sanitizer.txt" 2>&1 || fail "$tool, $out/sanitizer.txt"
    done
else
    step 4 compute-sanitizer: left out, "$([ $small = 1 ] && echo no card || echo not in the path)"
fi

if [ $small = 0 ]; then
    step 5 all cases
    "$out/check" "$fa/scenarios.tsv" >"$out/check_all.txt" 2>&1 || { tail -20 "$out/check_all.txt"; fail "all cases, $out/check_all.txt"; }
    tail -1 "$out/check_all.txt"
else
    step 5 all cases: left out, tests/blackwell/nightly.sh has them on the emulated device
fi

step 6 times
commit=$(git -C "$root" log -1 --format=%h 2>/dev/null || echo unknown)
PYTHONPATH=$fa python3 "$fa/bench_blackwell.py" --library "$out/libfa.so" --scenarios "$fa/scenarios.tsv" --model \
    "$root/docs/results/fa_blackwell_model.tsv" --out "$out/fa_blackwell.tsv" --commit "$commit" $([ $small = 1 ] && echo --plan) || fail "times"
[ $small = 1 ] || echo "done: copy $out/fa_blackwell.tsv to docs/results/fa_blackwell_b200.tsv, and say in kernels/flash_attention/README.md what it says"
