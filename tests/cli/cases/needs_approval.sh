# A gain beyond 10x is certified but not emitted until somebody has approved it.
unit
sed -i 's/^__global__ void scale(/__global__ void one_thread(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i] * 3.0f; }\n&/; s/scale<<<(n + 255) \/ 256, 256, 0, stream>>>/one_thread<<<1, 1, 0, stream>>>/' unit.cu
sed -i 's/65536/4096/g' unit.cu
good_candidate 1
sed -i 's/one_thread<<<1, 1, 0, stream>>>/scale<<<(n + 255) \/ 256, 256, 0, stream>>>/' cand/1.cu
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "waits for approval: a gain of"
expect_err "is more than 10x"
nm unit.o | grep -q __kscc && fail "it was emitted unseen"
key=$(basename "$(key_dir)")
run "$KSCC" approve "${key:0:12}"
expect_status 0
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "emitted unit.o"
nm unit.o | grep -q __kscc || fail "the approved candidate is not in the object"
