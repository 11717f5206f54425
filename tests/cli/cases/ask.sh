# kscc ask: a question about a unit without an agent, why, and what an answer does to the next one; memories go out, in and together.
light
cat >sums.cu <<'F'
__global__ void sums(const float *x, float *total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(total, x[i]);
}
void run(const float *x, float *total, int n) { sums<<<(n + 255) / 256, 256>>>(x, total, n); }
F
run "$KSCC" ask sums.cu --why; expect_status 0
grep -q '^  synchronization/' out || fail "the question is not about synchronization"
grep -q 'because sums: .*atomics' out || fail "no reason"
grep -q 'next in line' out || fail "no others"
first=$(sed -n 2p out | cut -d, -f1)
run "$KSCC" ask sums.cu --json; expect_status 0
second=$(python3 -c 'import json; print(json.load(open("out"))["id"])')
[ "$(echo $first)" != "$second" ] || fail "$second was asked again"
expect_file .kscc/questions.json
run "$KSCC" ask sums.cu --gain=1.5; expect_status 0
grep -q "\"$second\"" .kscc/memory.json || fail "the answer is not in the memory"
run "$KSCC" ask sums.cu --gain=fast; expect_status 1; expect_err "--gain takes a speed-up"
cp .kscc/questions.json before.json
run "$KSCC" ask sums.cu --no-history; expect_status 0; expect_same before.json .kscc/questions.json
run "$KSCC" ask sums.cu --limit --why --no-history; expect_status 0; grep -q "asked at 'claimed-limit'" out || fail "a claimed limit is not doubted"
run "$KSCC" memory export mine.json; expect_status 0
run "$KSCC" memory merge both.json mine.json mine.json; expect_status 0
python3 - <<'P' || fail "two memories do not add up"
import json
one, two = (json.load(open(f))["answers"][0] for f in ("mine.json", "both.json"))
assert two["asked"] == 2 * one["asked"] and abs(two["log_gain_sum"] - 2 * one["log_gain_sum"]) < 1e-9
P
run "$KSCC" memory import mine.json --kscc-dir=other; expect_status 0; expect_same other/memory.json mine.json
run "$KSCC" memory; expect_status 0; grep -q "$second" out || fail "memory is not shown"
run "$KSCC" memory merge x; expect_status 2
run "$KSCC" memory export y --kscc-dir=nowhere; expect_status 1; expect_err "found no memory"
# where it stands under the roofline: 256 KiB and 4 bytes over the H200's 4800 GB/s
sed -i 's/^void run/\/\/ kscc: entry run\n\/\/ kscc: dims n=1..65536\n\/\/ kscc: in x : float[n] ~ int(0,3)\n\/\/ kscc: inout total : float[1] ~ const(0)\n\/\/ kscc: time n=65536\n&/' sums.cu
run "$KSCC" profile --json sums.cu -arch=sm_90a; expect_status 0; cp out p.json
run "$KSCC" ask sums.cu --counters=p.json --why --no-history; expect_status 0
grep -q 'roofline: at n=65536 .* take the H200 at least 0.0546 us, bound by memory; the original takes .* (modelled), so .* % of the roofline is reached' out || fail "no roofline in ask"
run "$KSCC" analyze sums.cu --counters=p.json; expect_status 0; grep -q '^sums.cu:[0-9]*:[0-9]*: remark: run: at n=65536 .*\[kscc-roofline\]' out || fail "no roofline in analyze"
run "$KSCC" analyze sums.cu --counters=p.json --json; expect_status 0
python3 - <<'P' || fail "no roofline, or nothing of the PTX, in JSON"
import json
d = json.load(open("out"))
assert d["roofline"]["ceiling"]["board"] == "H200" and 0 < d["roofline"]["reached"] < 1
kernel = json.load(open("p.json"))[0]["profile"]["kernels"][0]
assert kernel["ptx"]["loads"] >= 1 and kernel["warp_insts"] > 0
P
# counters of a GPU: Nsight Compute's CSV
cp "$SRC/tests/unit/ncu_h200.csv" .
printf '__global__ void copy_stride(const float *x, float *y, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[8 * i]; }\n' >stride.cu
run "$KSCC" analyze stride.cu --counters=ncu_h200.csv --json; expect_status 0
grep -q 'only 22 % of the bytes in the sectors moved were asked for' out || fail "counters of ncu give no evidence"
run "$KSCC" analyze --ncu-metrics; expect_status 0; [ "$(tr ',' '\n' <out | wc -l)" = 40 ] || fail "not 40 metrics"
printf '"ID","x"\n' >bad.csv; run "$KSCC" analyze stride.cu --counters=bad.csv; expect_status 1; expect_err "found no launch with a metric"
