# Entries and kernels of every linkage, called by their own unit as well: each caller inside the proved domain gets the candidate, every other the
# original, whatever the compiler inlines.
export KSCC_KEPT=off # not about objects kept for later builds
contract() { printf '// kscc: entry %s\n// kscc: dims  n=1..4096\n// kscc: in    x : float[n] ~ normal(0,1)\n// kscc: out   y : float[n] rtol=1e-5 atol=1e-5\n// kscc: time  n=4096\n' "$1"; }
kernels() {
  cat <<'F'
#include <cuda_runtime.h>
template <typename T> __global__ void scale(const T *x, T *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = x[i] * 3.0f;
}
template <typename T> __global__ void shift(T *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = y[i] + 1.0f;
}
F
}
# the same kernels as no templates: plain_kernels QUALIFIER PREFIX
plain_kernels() { kernels | sed -e 1d -e "s/template <typename T> __global__ void /$1 __global__ void $2/; s/T \*/float */g"; }
with_prefix() { sed "s/ \(scale\|shift\)</ $1\1</"; } # the launches of those
# function HEAD TEMPLATE_ARGUMENT BLOCK END: the two launches in a body
function_of() {
  printf '%s\n{\n    scale%s<<<(n + %s - 1) / %s, %s>>>(x, y, n);\n    shift%s<<<(n + %s - 1) / %s, %s>>>(y, n); // second\n%s}\n' \
    "$1" "$2" "$3" "$3" "$3" "$2" "$3" "$3" "$3" "${4:-}"
}
{
  kernels
  echo 'namespace shop {'
  plain_kernels static own_
  contract shop::hidden;              function_of 'static void hidden(const float *x, float *y, int n)' '' 256 | with_prefix own_
  echo 'namespace {'
  plain_kernels '' nameless_
  contract shop::nameless;            function_of 'int nameless(const float *x, float *y, int n)' '' 256 '    return 0;
' | with_prefix nameless_
  echo '}'
  contract 'shop::generic<float, 256>'; function_of 'template <typename T, int BLOCK> void generic(const T *x, T *y, int n)' '<T>' BLOCK
  echo 'template void generic<float, 256>(const float *, float *, int);'
  echo 'template void generic<float, 128>(const float *, float *, int);'
  echo '}'
  contract over;                      function_of 'cudaError_t over(const float *x, float *y, int n)' '' 256 '    return cudaGetLastError();
'
  echo 'void over(float *y, int n) { shift<<<1, 32>>>(y, n); }'
  cat <<'F'
void call(int which, const float *x, float *y, int n)
{
    if (which == 0)
        shop::hidden(x, y, n);
    if (which == 1)
        shop::nameless(x, y, n);
    if (which == 2)
        shop::generic<float, 256>(x, y, n);
    if (which == 3)
        shop::generic<float, 128>(x, y, n);
    if (which == 4)
        over(x, y, n);
}
F
} >unit.cu
improve() { { echo '// kscc-propose: operator-boundary 1.8 y makes a round trip through memory between two launches'
  sed 's/y\[i\] = x\[i\] \* 3.0f;/y[i] = fmaf(x[i], 3.0f, 1.0f);/; /; \/\/ second/d' "$1"; } >cand/1.cu; }
mkdir -p cand; improve unit.cu
run "$KSCC" contract unit.cu
expect_status 0
agent --kscc-agent=file:cand -std=c++14 -O2 -lineinfo -arch=sm_90a -c unit.cu -o unit.o
expect_status 0
for e in shop::hidden shop::nameless 'shop::generic<float, 256>' over; do expect_err "candidate of $e"; done
"$REAL_NVCC" -std=c++14 -O2 -lineinfo -arch=sm_90a -c unit.cu -o base.o
exports() { nm -g --defined-only "$1" | awk '{print $3}' | grep -v __kscc_ | sed 's/_GLOBAL__N__[0-9a-f]*/_GLOBAL__N__/g' | sort; }
expect_same <(exports unit.o) <(exports base.o)
# the text that asks has no lines of its own
grep -qF "unit.cu" <(strings -a unit.o) || fail "no line names unit.cu"
strings -a unit.o | grep -E '^[[:space:]]*\.file' | grep kscc-emit && fail "a line names a scratch folder"

# sides.cu: what call(0..N-1) does inside and outside the domain, told by rounding (see side_program of lib.sh)
side_program
sed -e 's/extern "C" void scale_shift.*/void call(int which, const float *x, float *y, int n);/' \
  -e 's/side(int n, int offset)/side(int which, int n, int offset)/' -e 's/scale_shift(x + offset, y, n, 0);/call(which, x + offset, y, n);/' \
  -e '/^int main/d' side.cu >sides.cu
echo 'int main() { for (int i = 0; i < COUNT; i++) printf("%d %s %s %s\n", i, side(i, 1000, 0), side(i, 5000, 0), side(i, 1000, 1)); return 0; }' >>sides.cu
sides() { # sides COUNT OBJECT FLAGS...: links and runs
  local count=$1 object=$2; shift 2
  run "$REAL_NVCC" -std=c++14 "-DCOUNT=$count" "$@" -cudart shared sides.cu "$object" -o program
  expect_status 0
  run timeout 120 env LD_PRELOAD="$PROGRAM_PRELOAD" "$KSCC" run --kscc-device=emulated:sm_90a -- ./program
  expect_status 0
}
sides 5 unit.o -arch=sm_90a
cat >want <<'F'
0 candidate original original
1 candidate original original
2 candidate original original
3 original original original
4 candidate original original
F
expect_same out want

# a static entry under other standards and flags, and a sidecar's contract with no line in the source
sidecar() { # sidecar ENTRY
  cat >small.kscc.json <<F
{"entry": "$1", "dims": [{"name": "n", "lo": 1, "hi": 4096}],
 "buffers": [{"name": "x", "direction": "in", "dtype": "float", "shape": ["n"]},
             {"name": "y", "direction": "out", "dtype": "float", "shape": ["n"], "rtol": 1e-5, "atol": 1e-5}],
 "time": [{"shape": {"n": 4096}}]}
F
  improve small.cu
}
small() { echo '#line 70 "made.y"'; kernels; echo 'template __global__ void scale<float>(const float *, float *, int);'; }
variant() { # variant ENTRY FLAGS...
  local entry=$1; shift
  agent --kscc-agent=file:cand "$@" -arch=sm_90a -c small.cu -o small.o
  expect_status 0
  expect_err "candidate of $entry"
  sides 1 small.o -arch=sm_90a ${link:-}
  [ "$(cat out)" = "0 candidate original original" ] || { fail "$*: $(cat out)"; cat err; }
}
{ small; function_of 'static void hidden(const float *x, float *y, int n)' '' 256
  echo 'void call(int, const float *x, float *y, int n) { hidden(x, y, n); }'; } >small.cu
sidecar hidden
variant hidden -std=c++11 -O3 -lineinfo
grep -qF "made.y" <(strings -a small.o) || fail "no line names made.y"
# an instance of a template, without -O: what picks the instance leaves no symbols
{ small; function_of 'template <typename T> void hidden(const T *x, T *y, int n)' '' 256
  echo 'template void hidden<float>(const float *, float *, int);'
  echo 'void call(int, const float *x, float *y, int n) { hidden<float>(x, y, n); }'; } >small.cu
sidecar 'hidden<float>'
link="-rdc=true" variant 'hidden<float>' -std=c++20 -rdc=true
# a static member of a class without linkage, defined outside of it
{ small; echo 'namespace { struct box { static void hidden(const float *x, float *y, int n); };'
  function_of 'void box::hidden(const float *x, float *y, int n)' '' 256
  echo '}'; echo 'void call(int, const float *x, float *y, int n) { box::hidden(x, y, n); }'; } >small.cu
sidecar box::hidden
variant box::hidden -std=c++17 -G -g
# what has no name that could be called is refused, with its place
{ echo '#include <cuda_runtime.h>'; kernels; contract generic; function_of 'template <typename T> void generic(const float *x, float *y, int n)' '' 256; } >none.cu
run "$KSCC" contract none.cu
expect_status 1
expect_err "none.cu:15:16: error: parameter 'typename T' of the template has no value: name the instance, 'entry NAME<...>'"
