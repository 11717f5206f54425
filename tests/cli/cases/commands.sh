# The commands answer on stdout, refuse on stderr with status 2 for usage and 1 for "no".
unit
run "$KSCC" analyze unit.cu -O3 -arch=sm_90a
expect_status 0
grep -qE '^unit.cu:[0-9]+:[0-9]+: remark: .* \[kscc-operator-boundary\]$' out || { fail "no remark about the two launches"; head -20 out; }
run "$KSCC" analyze unit.cu --json
expect_status 0
python3 -c 'import json,sys; d=json.load(open("out")); assert d["unit"]=="unit.cu" and d["hypotheses"] and d["kernels"][0]["left_out"] is False and d["kernels"][0]["line"] > 0, d' || fail "no JSON of hypotheses"
run "$KSCC" analyze
expect_status 1
expect_err "usage: kscc analyze FILE.cu"
run "$KSCC" contract unit.cu
expect_status 0
grep -q '1 contract, no errors' out || fail "contract was not accepted"
sed -i 's/y : float/y : half/' unit.cu
run "$KSCC" contract unit.cu
expect_status 1
expect_err "error:"
for command in 'store list' report 'approve 1234'; do
  run "$KSCC" $command
  expect_status 1
  expect_err "cannot find a store in '.kscc'"
done
run "$KSCC" approve
expect_status 2
run "$KSCC" --kscc-help
expect_status 0
grep -q 'kscc doctor' out || fail "help lacks a command"
run "$KSCC" --kscc-version
expect_status 0
grep -qE '^kscc [0-9]+\.[0-9]+\.[0-9]+$' out || fail "no version"
# called as nvcc, the names of commands are nothing special
ln -s "$KSCC" nvcc
run ./nvcc doctor
expect_err "nvcc fatal   : "
