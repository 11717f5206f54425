# approved: nothing is emitted until a person approves; that is the default in CI. off: nothing at all.
light
unit; good_candidate 1
CI=true agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "no approved certificate in '.kscc' and the policy is 'approved'"
expect_no_file .kscc # a build that only looks up leaves the tree as it was
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "emitted unit.o"
CI=true agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "is not approved"
nm unit.o | grep -q kscc && fail "an unapproved candidate was emitted"
key=$(basename "$(key_dir)")
run "$KSCC" approve "${key:0:12}"
expect_status 0
CI=true agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "emitted unit.o"
agent --kscc-policy=off --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "policy is off, compiling with nvcc only"
nm unit.o | grep -q kscc && fail "policy off emitted a candidate"
# a certificate whose candidate was changed is worth nothing
echo '// touched' >>"$(key_dir)candidate.cu"
CI=true agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "candidate.cu' is not the file that the certificate names"
run "$KSCC" store verify
expect_status 1
# a build server needs no device of the proof's kind: what was proved elsewhere is emitted for where it was proved
rm -rf .kscc
agent --kscc-device=emulated:sm_100a --kscc-agent=file:cand -c unit.cu -o unit.o
expect_err "emitted unit.o"
run "$KSCC" approve "$(basename "$(key_dir)")"
CI=true agent --kscc-device=emulated:sm_90a -c unit.cu -o unit.o
expect_err "emitted unit.o"
strings -a unit.o | grep -q 'target sm_100' || fail "the candidate is not for the architecture of the proof"
CI=true agent --kscc-device=emulated:sm_90a --kscc-delta=0.5 -c unit.cu -o unit.o
expect_err "is stale: changed since: the device or the gate's thresholds"
