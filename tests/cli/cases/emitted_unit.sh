# Two entries in one unit, several architectures, kernels with internal linkage whose names hold a hash of the path, C++20, and lines.
mkdir -p sub cand
cat >sub/unit.cu <<'F'
// kscc: entry scale_shift
// kscc: dims  n=1..4096
// kscc: in    x : float[n] ~ normal(0,1)
// kscc: out   y : float[n] rtol=1e-5 atol=1e-5
// kscc: time  n=4096
// kscc: entry twice
// kscc: dims  m=1..4096
// kscc: in    a : float[m] ~ normal(0,1)
// kscc: out   b : float[m] rtol=1e-5 atol=1e-5
// kscc: time  m=4096
#include <cuda_runtime.h>
#include <concepts>
template <std::floating_point T> __device__ T times(T x, T f) { return x * f; }
namespace {
__global__ void scale(const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = times(x[i], 3.0f);
}
} // namespace
static __global__ void shift(float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = y[i] + 1.0f;
}
extern "C" void scale_shift(const float *x, float *y, int n, cudaStream_t stream)
{
    scale<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
    shift<<<(n + 255) / 256, 256, 0, stream>>>(y, n);
}
namespace shop {
void twice(const float *a, float *b, int m, cudaStream_t stream)
{
    scale<<<(m + 255) / 256, 256, 0, stream>>>(a, b, m);
    shift<<<(m + 255) / 256, 256, 0, stream>>>(b, m);
}
} // namespace shop
F
{ echo '// kscc-propose: operator-boundary 1.8 y makes a round trip through memory between two launches'
  sed 's/y\[i\] = times(x\[i\], 3.0f);/y[i] = times(x[i], 3.0f) + 1.0f;/; /shift<<</d; /^static __global__ void shift/,/^}/d' sub/unit.cu; } >cand/1.cu
flags="-std=c++20 -O2 -lineinfo -gencode arch=compute_80,code=[sm_80,compute_80] -gencode arch=compute_90a,code=[sm_90a,compute_90a]"
agent --kscc-agent=file:cand $flags -c sub/unit.cu -o unit.o
expect_status 0
expect_err "candidate of scale_shift"
expect_err "candidate of twice"
# the half that was nvcc's keeps nvcc's names, made of the path as the user wrote it
"$REAL_NVCC" $flags -c sub/unit.cu -o base.o
internal() { strings -a "$1" | grep -oE '_(GLOBAL__N__|INTERNAL_)[0-9a-f]{8}_[A-Za-z0-9_]+' | sort -u; }
internal base.o >want; internal unit.o >got
[ -s want ] || fail "nvcc makes no such names"
[ -z "$(comm -23 want got)" ] || { fail "names of the baseline are gone"; comm -23 want got; }
exports() { nm -g --defined-only "$1" | awk '{print $3}' | grep -v __kscc_ | sort; }
expect_same <(exports unit.o) <(exports base.o)
# every architecture of the baseline is still there
[ "$(strings -a unit.o | grep -c 'target sm_90a')" -ge 1 ] || fail "no PTX"
[ "$(objdump -h unit.o | grep -c nv_fatbin)" -ge 1 ] || fail "no device code"
# debuggers and profilers find the candidate's lines in the store, the original's in the user's file
for d in sub/.kscc/objects/*/; do grep -qF "$PWD/${d}candidate.cu" <(strings -a unit.o) || fail "no line names ${d}candidate.cu"; done
grep -qF "sub/unit.cu" <(strings -a unit.o) || fail "no line names sub/unit.cu"
side_program
run "$REAL_NVCC" -O2 -arch=sm_90a -cudart shared side.cu unit.o -o program
expect_status 0
expect_sides ./program
# on an architecture that nothing was proved for, the original answers
run timeout 120 env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" run --kscc-device=emulated:sm_80 -- ./program
expect_status 0
[ "$(cat out)" = "original original original" ] || { fail "on sm_80: $(cat out)"; cat err; }
