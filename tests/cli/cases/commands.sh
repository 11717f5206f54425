# The commands answer on stdout, refuse on stderr with status 2 for usage and 1 for "no".
unit
run "$KSCC" analyze unit.cu -O3 -arch=sm_90a
expect_status 0
grep -qE '^unit.cu:[0-9]+:[0-9]+: remark: .* \[kscc-operator-boundary\]$' out || { fail "no remark about the two launches"; head -20 out; }
run "$KSCC" analyze unit.cu --json
expect_status 0
python3 -c 'import json,sys; d=json.load(open("out")); assert d["unit"]=="unit.cu" and d["hypotheses"] and d["kernels"][0]["left_out"] is False and d["kernels"][0]["line"] > 0, d' || fail "no JSON of hypotheses"
# a wrong command line is 2 for every command
for line in analyze 'analyze -p' contract ask profile 'profile --' approve revoke 'bench-harness x' 'bench-harness 0' check 'check --x' \
  'doctor x' 'explain a b' 'explain --x' 'help a b' interactive 'memory x' 'memory export' optimize 'optimize unit.cu' record 'record -o x' \
  'record -o x --' 'run' 'run --x -- true' shim 'shim a b' 'stats x' store 'store x' trace 'trace show' try \
  'try unit.cu --show x'; do
  run "$KSCC" $line
  expect_status 2
  expect_out_empty
  expect_err '[kscc-usage]'
done
# what is missing, a folder, empty or no text is refused with 1 and a sentence, and nothing is left of it
mkdir d; : >empty.cu; head -c 3000 "$KSCC-core" >bin.cu
while read -r sentence; do
  read -r line
  run "$KSCC" $line </dev/null
  expect_status 1
  expect_err "$sentence"
done <<'END'
cannot open 'no.cu'
analyze no.cu
cannot read 'd': is a directory
analyze d
error: cannot analyse 'bin.cu'
analyze bin.cu
found no kernel in 'empty.cu' to ask about
ask empty.cu
no contract
contract bin.cu
says how to call it
profile empty.cu
cannot find 'no.cu'
try no.cu --ask
cannot read 'd': is a directory
try d --ask
no workload: neither a contract
try empty.cu --ask
no workload: neither a contract
interactive empty.cu
cannot parse JSON in 'bin.cu'
memory import bin.cu
cannot find 'no.tar'
store import no.tar
'd' is no archive that 'kscc store export' has written
store import d
'empty.cu' is no archive that 'kscc store export' has written
store import empty.cu
holds no event of a trace
trace show bin.cu
found no trace ('trace.jsonl') in the folder 'd'
trace show d
cannot find a store in 'd'
report bin --kscc-dir=d
found no recording in 'd'
record --show=d
END
run "$KSCC" analyze empty.cu; expect_status 0; expect_out_empty; expect_err "note: empty.cu: no kernel"
run "$KSCC" record -o x -- true; expect_status 0; expect_err "nothing was recorded"
run "$KSCC" record -o x -- ./nothing; expect_status 127
[ "$(ls)" = "$(printf '%s\n' bin.cu d empty.cu err out unit.cu)" ] || fail "left behind: $(ls)"
[ -z "$(ls d .kscc/sittings .kscc/objects | grep -v :)" ] || fail "half written: $(find d .kscc)"
rm -rf .kscc
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
