# approved: nothing is emitted until a person approves; that is the default in CI. off: nothing at all.
unit; good_candidate 1
CI=true agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "no approved certificate in '.kscc' and the policy is 'approved'"
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
