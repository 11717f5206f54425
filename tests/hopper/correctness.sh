#!/usr/bin/env bash
# Shows on a card that the Hopper attention kernel is right, and writes what was seen: one command, one file.
#
#   correctness.sh [OUT]                on an H100 or H200; nvcc >= 12.8 and compute-sanitizer in the path.  OUT: the file to write (default
#                                       docs/results/fa_hopper_correctness.txt)
#   correctness.sh --small BUILD OUT    without a card: the same steps with a few of the small cases on the emulated device of BUILD, without
#                                       compute-sanitizer and without the large ones.  CHECK: a program in place of its check
#
# Builds the kernel and the check; a few small cases of every instance; these under memcheck, racecheck, synccheck, initcheck; then
# refusals, 360 ragged cases, 200 equal runs of 32 cases, the 182 scenarios.  The file says what was tested (SHA-256 of the library and of its
# source), on what and when, and has a line for every case with its errors and how many of its rows were compared.  It appears only when
# everything passed; else OUT.failed has what there is, and the status is 1.  About 10 minutes, most of it compute-sanitizer.  COMMIT is named in
# its head where there is no git.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
small=0
[ "${1:-}" = --small ] && small=1 && shift
[ $# -le $((1 + small)) ] && [ $# -ge $((2 * small)) ] || { sed -n '2,15p' "$0"; exit 2; }
[ $small = 0 ] || { build=$(cd "$1" && pwd) || exit 2; shift; }
out=${1:-$root/docs/results/fa_hopper_correctness.txt}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
text=$work/text

fail() {
    echo "FAILED: $*" | tee -a "$text"
    tail -n 20 "$text"
    cp "$text" "$out.failed" && echo "what there is: $out.failed"
    exit 1
}
hash_of() { cat "$@" | sha256sum | cut -d' ' -f1; }
# step NAME COMMAND...: its output goes into the file.  Ends everything unless the command ends well and says that nothing failed.
step() {
    echo "== $1" | tee -a "$text"
    shift
    "$@" >"$work/step" 2>&1
    status=$?
    sed "s#$root/##g; s#$work/##g" "$work/step" >>"$text"
    [ $status = 0 ] || fail "status $status"
    grep -E '^[1-9][0-9]* passed, 0 failed$' "$work/step" || fail "it does not say that nothing failed"
}

fa=$root/kernels/flash_attention
if [ $small = 1 ]; then
    library=$build/tests/emulated/flash_emulated_90a.o check=${CHECK:-$build/tests/flash_gpu_check} device="emulated device, $(uname -m)"
    compiler="PTX alone; build of $build"
    export LD_LIBRARY_PATH="$build/lib/emulated" KSCC_EMU_ARCH=sm_90a KSCC_EMU_CHECKS=bounds
    [ -e "$library" ] || fail "no '$library': build first"
else
    library=$work/libfa.so check=$work/check
    device=$(nvidia-smi --query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.limit --format=csv,noheader -i 0) || fail "nvidia-smi finds no card"
    compiler=$(nvcc --version | tail -n 1)
    arch=-gencode=arch=compute_90a,code=sm_90a
    nvcc $arch -O3 -std=c++17 -I"$root" -Xcompiler -fPIC -shared -cudart shared "$fa/hopper.cu" -o "$library" >>"$text" 2>&1 || fail "hopper.cu does not compile"
    nvcc $arch -O2 -std=c++17 -I"$root" -cudart shared "$root/tests/gpu/flash_attention_check.cu" "$library" -Xlinker -rpath="$work" -o "$check" >>"$text" 2>&1 ||
        fail "the check does not compile"
    command -v compute-sanitizer >/dev/null || fail "no compute-sanitizer in the path"
fi
changed=$(git -C "$root" status --porcelain -- kernels/flash_attention kernels/ptx tests/gpu 2>/dev/null | head -n 1)
{
    echo "# flash_attention_forward_sm90: what was compared with double precision, case by case, and what compute-sanitizer found (tests/hopper/correctness.sh)"
    echo "# date $(date -u +%Y-%m-%d); $device"
    echo "# commit ${COMMIT:-$(git -C "$root" log -1 --format=%h 2>/dev/null || echo unknown)}${changed:+ with changes}; $compiler"
    echo "# source $(hash_of "$fa"/hopper.cu "$fa"/flash_attention.h "$fa"/[!b]*.cuh "$root"/kernels/ptx/*.cuh)"
    echo "# library $(hash_of "$library")"
    echo "# check $(hash_of "$root"/tests/gpu/flash_attention_check.cu "$root"/tests/gpu/flash_cases.h "$root"/tests/gpu/flash_refusals.h)"
    echo "# a case: kind of numbers and shape: largest error of O (of a reference that rounds P and O), mean error (same), error of LSE, elements written, not finite, rows compared"
} >>"$text"
export FA_VERBOSE=1
if [ $small = 1 ]; then
    step "small cases, one of eight" "$check" --small 8
else
    step "small cases of every instance" "$check" --small
    for tool in memcheck racecheck synccheck initcheck; do
        step "compute-sanitizer $tool, the same cases" compute-sanitizer --tool "$tool" --error-exitcode 9 "$check" --small
        grep -q 'ERROR SUMMARY: 0 errors\|RACECHECK SUMMARY: 0 hazards' "$work/step" || fail "$tool does not say that it found nothing"
    done
    step "refusals, ragged cases, equal runs, scenarios" "$check" "$fa/scenarios.tsv"
fi
cp "$text" "$out" && rm -f "$out.failed" && echo "written: $out"
