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
agent() { run timeout 300 "$KSCC" -O-agent=trials:1 --kscc-device=emulated "${arch[@]}" -c p.cu -o p.o "$@"; }
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

KSCC_WORKLOAD=$PWD/rec agent
expect_status 0
expect_err "accepted"
expect_err "emitted p.o"
expect_err "kernel 'nested'"
expect_err "it follows pointers that are in memory"
exported() { nm -g --defined-only "$1" | grep ' [TBDR] ' | cut -c18- | sort; }
exported p.o >emitted; exported original.o >plain
expect_same emitted plain
"$REAL_NVCC" "${arch[@]}" p.o -o q 2>nvcc.log || fail "the object does not link: $(cat nvcc.log)"

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
