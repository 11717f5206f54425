#!/usr/bin/env bash
# Two builds of one project, as a team has them: the first explores, on a machine with a device (the emulated one); people approve
# what it proved; the second is a build server's (CI=true), which has no agent and needs no device.
#
#   approved.sh KSCC cmake|make [OUT]
#
# The second build must run no agent, add and change no certificate, put every approved candidate in, make the dependency files that
# nvcc makes, and take at most 1.05 times as long as the same build by nvcc alone (the best of two each, taken in turn; of up to six
# where other load on the machine hits the first; of three for a table).  A third line says what the build costs on a machine where no
# object was kept yet.  OUT: the table goes there, under a head.
# Closing line: N passed, N failed.
set -u
KSCC=$(realpath "$1") kind=$2 out=${3:-}
[ -z "$out" ] || out=$(realpath -m "$out")
export LC_ALL=C NVCC=${REAL_NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
unset NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN CI MAKEFLAGS CC CXX CUDACXX CFLAGS CXXFLAGS ${!CMAKE_@} ${!KSCC_@}
T=$(mktemp -d "${TMPDIR:-/tmp}/kscc-approved.XXXXXX") || exit 2
trap 'rm -rf "$T"' EXIT
failed=0
fail() { echo "check failed: $*"; failed=1; }
need() { command -v "$1" >/dev/null || { echo "SKIP: no $1 here"; echo "0 passed, 0 failed"; exit 77; }; }

# two units with something to gain, one without a contract, one of plain C++
sources() {
    local f
    printf '#define THREADS 256\n' >threads.h
    for f in scale add; do
        cat >$f.cu <<U
// kscc: entry run_$f
// kscc: dims  n=1..65536
// kscc: in    x : float[n] ~ normal(0,1)
// kscc: out   y : float[n] rtol=1e-5 atol=1e-5
// kscc: time  n=65536
#include <cuda_runtime.h>
#include "threads.h"
__global__ void first_$f(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * 3.0f;
}
__global__ void second_$f(float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = y[i] + 1.0f;
}
extern "C" void run_$f(const float *x, float *y, int n, cudaStream_t stream)
{
    first_$f<<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(x, y, n);
    second_$f<<<(n + THREADS - 1) / THREADS, THREADS, 0, stream>>>(y, n);
}
U
        mkdir -p cand
        { echo '// kscc-propose: operator-boundary 1.8 y makes a round trip through memory between two launches'
          sed -e 's/x\[i\] \* 3\.0f/& + 1.0f/' -e '/second_.*<<</d' $f.cu; } >cand/$f.cu
    done
    printf '#include <cuda_runtime.h>\n#include "threads.h"\n__global__ void touch(int *p) { *p = THREADS; }\nvoid run_touch(int *p) { touch<<<1, 1>>>(p); }\n' >touch.cu
    printf 'extern "C" void run_scale(const float *, float *, int, struct CUstream_st *);\nextern "C" void run_add(const float *, float *, int, struct CUstream_st *);\nvoid run_touch(int *);\nint main(int c, char **) { if (c > 99) { run_scale(0, 0, 1, 0); run_add(0, 0, 1, 0); run_touch(0); } return 0; }\n' >main.cpp
    cat >CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.20)
project(approved LANGUAGES CXX CUDA)
add_executable(program main.cpp scale.cu add.cu touch.cu)
C
    printf 'NVCC ?= nvcc\nOBJ = main.o scale.o add.o touch.o\nprogram: $(OBJ)\n\t$(NVCC) -o $@ $(OBJ)\n%%.o: %%.cu\n\t$(NVCC) -O2 -MD -MF $*.d -c $< -o $@\n%%.o: %%.cpp\n\tg++ -O2 -c $< -o $@\nclean:\n\trm -f $(OBJ) *.d program\n-include *.d\n' >Makefile
}

# ---- the build systems: configure COMPILER; clean; build -----------------------------------------------------------------
configure() {
    compiler=$1
    [ "$kind" = make ] || cmake -G Ninja -S . -B "out-$(basename "$1")" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CUDA_ARCHITECTURES=80 -DCMAKE_CUDA_COMPILER="$1" >"$T/log" 2>&1 ||
        { cat "$T/log"; exit 2; }
}
folder() { if [ "$kind" = make ]; then echo .; else echo "out-$(basename "$1")"; fi; }
clean() { if [ "$kind" = make ]; then make clean; else ninja -C "$(folder "$1")" -t clean; fi >/dev/null; }
build() { # build COMPILER LOG: everything, one job
    if [ "$kind" = make ]; then make NVCC="$1"; else ninja -j1 -v -C "$(folder "$1")"; fi >"$2" 2>&1 </dev/null || { cat "$2"; echo "the build by $1 fails"; exit 2; }
}
# what the build system has read of the dependency files: ninja removes them
deps() { if [ "$kind" = make ]; then cat ./*.d; else ninja -C "$(folder "$1")" -t deps | sed 's/, deps mtime.*//' | awk '/^[^ ]/ { n = $1 } { print n, $0 }' | sort; fi; }
now_ms() { date +%s%3N; }
timed() { local begin; clean "$1"; begin=$(now_ms); build "$1" "$2"; took=$(($(now_ms) - begin)); }
certificates() { (cd .kscc && find objects -type f | sort | xargs sha256sum); }
agent_runs() { "$KSCC" stats --kscc-dir=.kscc | sed -n 's/ *agent runs *\([0-9]*\)/\1/p'; }

case $kind in
cmake) need cmake; need ninja ;;
make) need make ;;
esac
mkdir "$T/w" && cd "$T/w" || exit 2
sources
export KSCC_DIR=$T/w/.kscc
mkdir .kscc
configure "$NVCC"; configure "$KSCC"

# ---- the first build: explore --------------------------------------------------------------------------------------------
export KSCC_O_AGENT=1 KSCC_DEVICE=emulated KSCC_AGENT=file:$T/w/cand
build "$KSCC" "$T/explore"
[ "$(grep -c 'kscc: emitted' "$T/explore")" = 2 ] || { fail "the first build does not emit two candidates"; grep kscc: "$T/explore"; }
"$KSCC" approve $(ls .kscc/objects) >"$T/approve" 2>&1 || fail "cannot approve: $(cat "$T/approve")"
certificates >"$T/before"; runs=$(agent_runs)

# ---- the second: approved, no agent, no device of anybody's choice -------------------------------------------------------
unset KSCC_DEVICE KSCC_AGENT
export CI=true
build "$KSCC" "$T/nothing" # up to date
nvcc_ms=0 kscc_ms=0 rounds=2
[ -z "$out" ] || rounds=3
fast_enough() { awk "BEGIN { exit !($kscc_ms <= 1.05 * $nvcc_ms) }"; }
for i in 1 2 3 4 5 6; do
    [ "$i" -le "$rounds" ] || ! fast_enough || break
    timed "$NVCC" "$T/plain"; [ $nvcc_ms != 0 ] && [ $took -ge $nvcc_ms ] || nvcc_ms=$took
    deps "$NVCC" >"$T/deps.nvcc"
    timed "$KSCC" "$T/second"; [ $kscc_ms != 0 ] && [ $took -ge $kscc_ms ] || kscc_ms=$took
    deps "$KSCC" >"$T/deps.kscc"
done
[ "$(grep -c 'kscc: emitted' "$T/second")" = 2 ] || { fail "the second build does not emit two candidates"; grep kscc: "$T/second"; }
grep -qE 'kscc: (trial|hypothesis|question)' "$T/second" && fail "an agent ran"
[ "$(agent_runs)" = "$runs" ] || fail "agent runs: $runs before, $(agent_runs) after"
certificates | diff "$T/before" - || fail "other certificates"
[ -s "$T/deps.nvcc" ] && cmp -s "$T/deps.nvcc" "$T/deps.kscc" || { fail "other dependency files"; diff "$T/deps.nvcc" "$T/deps.kscc" | head -5; }
find . -name 'scale*.o' -newer "$T/plain" -exec nm {} + | grep -q __kscc || fail "no candidate in scale.o"
rm -rf .kscc/cache
timed "$KSCC" "$T/cold"; cold_ms=$took
certificates | diff "$T/before" - || fail "other certificates"

ratio() { awk "BEGIN { printf \"%.2f\", $1 / $2 }"; }
row="$kind	$nvcc_ms	$kscc_ms	$(ratio $kscc_ms $nvcc_ms)	$cold_ms	$(ratio $cold_ms $nvcc_ms)"
head="build_system	nvcc_ms	approved_ms	approved_ratio	first_approved_ms	first_approved_ratio"
printf '%s\n%s\n' "$head" "$row"
if [ -n "$out" ]; then
    [ -s "$out" ] || printf '# Two units with approved candidates, one without a contract, main.cpp and the link, one job; best of three builds in turn.\n# approved: objects kept by an earlier build on this machine; first_approved: none kept yet, one build.\n# %s, %s, %s CPUs, commit %s\n# tests/projects/approved.sh KSCC %s OUT\n%s\n' \
        "$(date -u +%F)" "$("$NVCC" --version | sed -n 's/.*release.*V/nvcc /p')" "$(nproc)" "$(git -C "$(dirname "$0")" rev-parse --short HEAD 2>/dev/null)" '{cmake,make}' "$head" >"$out"
    echo "$row" >>"$out"
fi
fast_enough || fail "the second build takes $kscc_ms ms, nvcc's $nvcc_ms ms"
echo "$((1 - failed)) passed, $failed failed"
[ $failed = 0 ]
