# A program without a contract: its recording is the workload, and what is emitted runs in the place of the recorded launches alone.
cat >p.cu <<'F'
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>
static int verbose = 1, also = 2;
static std::vector<int> history;
namespace work {
struct pair { float a, b; };
// neighbouring threads are a row apart
__global__ void rows(const int *at, const float *x, float *sums, int n, int cols, float scale)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n)
        return;
    float sum = 0.0f;
    for (int k = 0; k < cols; k++)
        sum += x[row * cols + k];
    sums[row] = sum * scale + (float)at[row];
}
__global__ void nested(pair **p) { p[0]->a = 1; }
}
static void check(cudaError_t e)
{
    history.push_back(also);
    if (e != cudaSuccess)
        exit(1 + !std::cerr.put('x'));
}
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 64, cols = argc > 2 ? atoi(argv[2]) : 64, block = argc > 3 ? atoi(argv[3]) : 64;
    float scale = argc > 4 ? atof(argv[4]) : 1;
    std::vector<float> x(n * cols), sums(n);
    std::vector<int> at(n);
    for (int i = 0; i < n * cols; i++)
        x[i] = (float)(i * 7 % 17) - 8;
    for (int i = 0; i < n; i++)
        at[i] = i * 5 % n;
    float *dx, *ds;
    int *da;
    work::pair *p, **pp;
    check(cudaMalloc(&dx, x.size() * 4));
    check(cudaMalloc(&ds, n * 4));
    check(cudaMalloc(&da, n * 4));
    check(cudaMalloc(&p, sizeof *p));
    check(cudaMalloc(&pp, sizeof p));
    check(cudaMemcpy(dx, x.data(), x.size() * 4, cudaMemcpyHostToDevice));
    check(cudaMemcpy(da, at.data(), n * 4, cudaMemcpyHostToDevice));
    check(cudaMemcpy(pp, &p, sizeof p, cudaMemcpyHostToDevice));
    check(cudaMemset(ds, 0, n * 4));
    for (int i = 0; i < 3; i++)
        work::rows<<<(n + block - 1) / block, block>>>(da, dx, ds, n, cols, scale);
    work::nested<<<1, 1>>>(pp);
    check(cudaMemcpy(sums.data(), ds, n * 4, cudaMemcpyDeviceToHost));
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += sums[i] * (i % 5);
    if (verbose)
        printf("sum %.1f\n", sum);
}
F
arch=(-gencode 'arch=compute_90a,code=[compute_90a,sm_90a]' -std=c++14 -cudart shared)
on_device() { run env LD_PRELOAD="$PROGRAM_PRELOAD" timeout 300 "$KSCC" "$@"; }
agent() { run timeout 300 "$KSCC" -O-agent=trials:2 --kscc-device=emulated "${arch[@]}" -c p.cu -o p.o "$@"; }
"$REAL_NVCC" "${arch[@]}" -c p.cu -o original.o && "$REAL_NVCC" "${arch[@]}" original.o -o p 2>nvcc.log || fail "no program"
on_device record -o rec -- ./p
expect_status 0

# No recording there, one of another program: nvcc's object.
agent --kscc-workload=nowhere
expect_status 0
expect_err "compiling with nvcc only"
mkdir other && sed 's/_ZN4work4rows/_ZN4work3row/;s/_ZN4work6nested/_Z6nested/' rec/process-*.jsonl >other/process-1.jsonl
agent --kscc-workload=other
expect_status 0
expect_err "has no launch of this unit that is worth a search"

# The text that is judged, for whoever writes candidates: one that knows the recorded contents, and one that is right.
run "$KSCC" contract p.cu --json --kscc-workload=rec
expect_status 0
mkdir cand
python3 - <<'F' || fail "no text to write candidates from"
import json
j = json.load(open("out"))
text, calls = j["text"], j["calls"]
assert [c.get("entry") for c in calls] == ["kscc_launch_rows", None] and "in memory" in calls[1]["refused"], calls
def candidate(name, text, what):
    open("cand/" + name, "w").write("// kscc-propose: memory-access 2 " + what + "\n" + text)
add = "sum += x[row * cols + k];"
assert text.count(add) == 1
candidate("1.cu", text.replace(add, "sum += (float)((row * cols + k) * 7 % 17) - 8;"), "the contents are known")
launch = "<<<dim3(1, 1, 1), dim3(64, 1, 1)"
assert text.count(launch) == 1
body = text[text.index("    int row ="):text.index("__global__ void nested")]
warp = """    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    float sum = 0.0f;
    for (int k = lane; k < cols; k += 32)
        sum += x[row * cols + k];
    for (int i = 16; i > 0; i /= 2)
        sum += __shfl_xor_sync(~0u, sum, i);
    if (lane == 0)
        sums[row] = sum * scale + (float)at[row];
}
"""
candidate("2.cu", text.replace(body, warp).replace(launch, "<<<dim3(8, 1, 1), dim3(256, 1, 1)"), "a warp a row")
F
KSCC_WORKLOAD=$PWD/rec agent --kscc-agent=file:cand
expect_status 0
grep -qE 'trial 1 .*rejected by numerics' err || fail "who knows the recorded contents passes: $(grep 'trial 1' err)"
grep -qE 'of the recorded time in kernels: rows [0-9.]+ % at [0-9.]+x; all of it [0-9.]+x' err || fail "nothing is said of the whole"
expect_err "emitted p.o"
expect_err "kernel 'nested'"
expect_err "it follows pointers that are in memory"
exported() { nm -g --defined-only "$1" | grep ' [TBDR] ' | cut -c18- | sort; }
exported p.o >emitted; exported original.o >plain
expect_same emitted plain
# As part of a build of two units: the certificate is there, the other unit has nothing that was recorded, and its kernel stays.
cat >other.cu <<'F'
__global__ void rows(float *x) { x[0] = 1; }
void elsewhere(float *x) { rows<<<1, 1>>>(x); }
F
cat >Makefile <<F
q: p.o other.o
	"\$(NVCC)" ${arch[@]@Q} p.o other.o -o q
%.o: %.cu
	"\$(NVCC)" ${arch[@]@Q} -c \$< -o \$@
F
rm p.o
run env KSCC_O_AGENT=trials:2 KSCC_DEVICE=emulated KSCC_AGENT=file:cand KSCC_WORKLOAD="$PWD/rec" timeout 300 make -s NVCC="$KSCC"
expect_status 0
expect_err "other.cu: no workload"
expect_no_err "trial 1"
nm p.o | grep -q __kscc || fail "the build's object has no candidate: $(cat err)"
nm other.o | grep __kscc && fail "a kernel that was not recorded has a candidate"

# The candidate runs for what was recorded and for nothing else: other numbers, other blocks, another scale.
launches() { grep -h '"kernel":"_ZN4work4rows' "$1"/process-*.jsonl | grep -o '"grid":[^"]*"block":[^"]*' | sort | uniq -c; }
n=0
for arguments in "" "64 63" "60 64" "64 64 32" "64 64 64 2"; do
  n=$((n + 1))
  on_device run ./p $arguments
  expect_status 0
  cp out want
  on_device record -o "q$n" -- ./q $arguments
  expect_status 0
  expect_same out want
  on_device record -o "p$n" -- ./p $arguments
  launches "q$n" >emitted; launches "p$n" >plain
  if [ $n = 1 ]; then cmp -s emitted plain && fail "the candidate does not run: $(cat emitted)"; else expect_same emitted plain; fi
done

# The text that was judged has nothing of the program around the kernels.
original=$(ls .kscc/objects/*/original.cu)
grep -qE '^// kscc: time +weight=0\.[89]' "$original" || fail "the weight is not the share: $(grep 'kscc: time' "$original")"
grep -qE 'a recorded call, [0-9.]+ % of the program' .kscc/objects/*/report.txt || fail "the report says nothing of the whole"
grep -qE 'history|atoi|printf' "$original" && fail "host code is left: $(grep -nE 'history|atoi|printf' "$original")"
grep -qE '^// kscc: in +at : int32\[64\] recorded=[0-9a-f]{64}$' "$original" || fail "integers are not kept: $(grep 'kscc: in' "$original")"
grep -qE '^// kscc: in +x : float\[4096\] ~ uniform\(-8,8\) recorded=' "$original" || fail "no range is drawn: $(grep 'kscc: in' "$original")"
# Damaged contents are found, and nothing is emitted.
echo x >>"rec/contents/$(sed -n 's/.* at : .*recorded=//p' "$original").zst"
rm -r .kscc
agent --kscc-workload=rec
expect_status 0
expect_err "the baseline object stays"
nm p.o | grep __kscc && fail "something was emitted"

# A draft to keep: sizes by the integers, pasted without a word changed, and searched.
cat >q.cu <<'F'
__global__ void row_sums(const float *x, float *sums, int rows, int cols, float scale)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows)
        return;
    float sum = 0.0f;
    for (int k = 0; k < cols; k++)
        sum += x[row * cols + k];
    sums[row] = sum * scale;
}
int main()
{
    float x[12 * 80], *dx, *ds;
    for (int i = 0; i < 12 * 80; i++)
        x[i] = (float)(i * 7 % 17) - 8;
    cudaMalloc(&dx, sizeof x);
    cudaMalloc(&ds, 12 * 4);
    cudaMemset(ds, 0, 12 * 4);
    cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
    row_sums<<<3, 4>>>(dx, ds, 12, 80, 0.5f);
    return cudaDeviceSynchronize();
}
F
"$REAL_NVCC" "${arch[@]}" q.cu -o q || fail "no second program"
on_device record -o rec.q -- ./q
expect_status 0
run "$KSCC" contract q.cu --kscc-workload=rec.q
expect_status 0
cp out draft
for line in 'dims +rows=1..12 cols=1..80' 'in +x : float\[rows\*cols\] ~ uniform\(-8,8\)' 'inout sums : float\[rows\]' 'arg +scale = 0.5' 'time +rows=12 cols=80'; do
  grep -qE "^// kscc: $line" draft || fail "the draft lacks '$line': $(cat draft)"
done
grep -q '(rows + 3) / 4' draft || fail "the grid does not follow the size"
cat draft >>q.cu
run "$KSCC" contract q.cu
expect_status 0
run timeout 300 "$KSCC" -O-agent=trials:1 --kscc-device=emulated "${arch[@]}" -c q.cu -o q.o
expect_status 0
grep -qE 'trial 1 .*: (correct|accepted)' err || fail "a search does not take the draft: $(tail -5 err)"
