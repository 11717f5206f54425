# Nothing passes the gate: the baseline object stays and a remark says why; --kscc-require-gate makes that a failure.
unit
candidate 1 'compute 1.5 answers wrongly' 'if (i < n) y[i] = 0;'
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "remark: no candidate of 'scale_shift' passed the gate (1 trial: 0 accepted, 0 without gain, 1 rejected by numerics), the baseline object stays [kscc-gate]"
expect_file unit.o
nm unit.o | grep -q kscc && fail "the object is not the baseline"
agent --kscc-require-gate --kscc-agent=file:cand -c unit.cu -o unit2.o
expect_status 1
expect_err "in an earlier search"
expect_file unit2.o
