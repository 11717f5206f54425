# What cannot be emitted is not searched: said at once.
unit; good_candidate 1
echo 'int calls;' >>unit.cu
agent --kscc-agent=file:cand -c unit.cu -o unit.o
expect_status 0
expect_err "has a variable that outlives a call ('calls')"
expect_no_err "trial 1"
unit
agent --kscc-agent=file:cand -c unit.cu -o /dev/null
expect_status 0
expect_err "cannot replace '/dev/null': not a regular file"
expect_no_err "trial 1"
