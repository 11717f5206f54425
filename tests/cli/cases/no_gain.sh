# Nothing passes the gate: the baseline object stays and a remark says why; --kscc-require-gate makes that a failure.
light
unit
candidate 1 'compute 1.5 answers wrongly' 'if (i < n) y[i] = 0;'
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "remark: no candidate of 'scale_shift' passed the gate (1 trial: 0 accepted, 0 without gain, 1 rejected by numerics), the baseline object stays [kscc-gate]"
expect_file unit.o
nm unit.o | grep -q kscc && fail "the object is not the baseline"
agent --kscc-require-gate --kscc-agent=file:cand -c unit.cu -o unit2.o
expect_status 1
expect_err "resuming: 1 verdict in the journal"
expect_file unit2.o
# a text that came into the folder since is tried, and a search that would be the same is not made again
good_candidate 2
agent --kscc-agent=file:cand -c unit.cu -o unit3.o
expect_status 0
nm unit3.o | grep -q kscc || fail "the second text of the folder was not tried"
for i in 1 2; do agent --kscc-delta=1 --kscc-budget=trials:1 -c unit.cu -o unit4.o; expect_status 0; done
expect_err "in an earlier search"
# the agent at hand has no edit: who asked is told, and what else there is
cat >t.cu <<'U'
// kscc: entry twice
// kscc: dims n=1..64
// kscc: in   x : float[n]
// kscc: out  y : float[n]
// kscc: time n=64
template <typename T> __global__ void twice_kernel(const T *x, T *y, int n) { if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x]; }
void twice(const float *x, float *y, int n) { twice_kernel<<<1, 64>>>(x, y, n); }
U
agent --kscc-agent=builtin -c t.cu -o t.o
expect_status 0
expect_err "the agent 'builtin' has no edit for these kernels (it leaves templates as they are)"
