# A gain beyond 10x is certified but not emitted until somebody has approved it.
light
unit
sed -i 's/^__global__ void scale(/__global__ void one_thread(const float *x, float *y, int n) { for (int i = 0; i < n; i++) y[i] = x[i] * 3.0f; }\n&/; s/scale<<<(n + 255) \/ 256, 256, 0, stream>>>/one_thread<<<1, 1, 0, stream>>>/' unit.cu
sed -i 's/65536/4096/g' unit.cu
good_candidate 1
sed -i 's/one_thread<<<1, 1, 0, stream>>>/scale<<<(n + 255) \/ 256, 256, 0, stream>>>/' cand/1.cu
sed -i 's,^    if (i < n).*,& // \xe2\x80\xae\x1b[8m,' cand/1.cu # letters turned round, and hidden
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "waits for approval: a gain of"
expect_err "is more than 10x"
nm unit.o | grep -q __kscc && fail "it was emitted unseen"
key=$(basename "$(key_dir)")
run "$KSCC" approve "${key:0:12}"
expect_status 0
grep -qF '// <U+202E>\x1b[8m' out || fail "what the difference hides is not shown: $(grep '3.0f + 1' out)"
for gate in interface build admission numerics safety resources time policy; do
  grep -q "^  $gate  *\(pass\|skipped\)" out || fail "the gate '$gate' is not shown with its state"
done
grep -q "^  self-test    rejects all zeros, a copy of an input, a constant, untouched buffers, the answer to other inputs" out || fail "the self-test is not shown"
grep -q "x modelled, 1 trial$" out || fail "a modelled gain is shown with an interval, or not at all"
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "emitted unit.o"
nm unit.o | grep -q __kscc || fail "the approved candidate is not in the object"
# a gain that waits in a store that nobody can write to cannot be approved: the message does not say that it can
rm -rf .kscc unit.o; echo not a folder >.kscc
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "needs approval: a gain of"
expect_err "it is not kept, because there is no store that can be written"
expect_no_err "waits for approval"
